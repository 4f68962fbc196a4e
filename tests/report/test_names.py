from heedful.report.names import distinct_names, printable, short_name, shown_settings


def test_runs_with_names_of_their_own_keep_them():
    assert distinct_names(["average", "bilstm"], [{"seed": 0}, {"seed": 1}]) == ("average", "bilstm")


def test_runs_of_one_name_are_distinguished_by_what_differs():
    settings = [{"run": {"seed": 0, "method": "seat", "fingerprint": "a"}}, {"run": {"seed": 3, "method": "vanilla"}}]
    assert distinct_names(["cnn", "cnn"], settings) == ("cnn, seat, seed 0", "cnn, vanilla, seed 3")


def test_the_same_run_twice_is_numbered():
    assert distinct_names(["cnn", "cnn", "gru"], [{}, {}, {}]) == ("cnn (1)", "cnn (2)", "gru")


def test_a_model_of_the_users_own_goes_by_its_name():
    assert short_name({"audit": {"seed": 1}, "run": None}, "MyModel") == "MyModel"


def test_a_seed_of_0_is_not_said():
    assert short_name({"run": {"encoder": "cnn", "seed": 0}}, "key") == "cnn"


def test_one_and_true_are_not_confused():
    assert shown_settings({"count": 1, "search": True, "none": [], "zero": 0}) == {
        "count": "1",
        "search": "yes",
        "none": "none",
        "zero": "0",
    }


def test_control_characters_are_dropped_from_names():
    assert printable("a\x00b\nc") == "a b c"

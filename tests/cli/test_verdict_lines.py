"""The answer in the terminal: its order, its words, and at most 25 lines of 80 columns whatever was found."""

import re

from rich.cells import cell_len
from rich.console import Console

from heedful.cli.auditing import AuditOutput, print_answer
from heedful.cli.output import Output
from heedful.cli.printed_audit import LINES, print_verdict
from heedful.schema import Interval, Recommendation, Training, updated
from support.answered import make_answered, make_example
from support.lines import make_line

LONG = "a rather long sentence about what was found in this audit and what it means " * 3
CROWDED = {
    "recommendation": Recommendation(show="key words", sentence=LONG),
    "moved": Interval(value=0.3, low=0.2, high=0.4, n=100),
    "wrong_sentence": LONG,
    "uncounted": {"one word": 12, "undefined": 3},
    "left_out": ("run1", "run2"),
}
YES, NO, SOME, NONE, FEW = (150, 0.9, 0.97), (150, 0.9, 0.1), (150, 0.9, 0.65), (150, 0.1, 0.5), (12, 1.0, 0.5)
HIDDEN = make_example(
    200, tuple(range(0, 200, 50)), tuple(range(25, 200, 50)), "misses", word="lengthy-word-", is_moved=True
)
ANSWERS = {
    "Yes": make_answered([YES, YES]),
    "No": make_answered([NO, NO], replaced=[NO, NO]),
    "For some texts": make_answered([SOME, SOME], replaced=[NO, SOME], seeds=3, gap=0.3),
    "No small set decides": make_answered(
        [NONE, NONE], example=make_example(outcome="no_small_set", reason="many words")
    ),
    "Too few texts": make_answered([FEW, FEW]),
    "Nothing to explain": make_answered([YES, NO], is_learned=False),
    "It depends on the class": make_answered([YES, NO, FEW, NONE], ("good", "bad", "odd", "plain")),
    "many classes": make_answered([YES, NO, SOME] * 20 + [FEW] * 15, [f"class with a name {n}" for n in range(75)]),
}
CROWD = {
    name: updated(
        own,
        model="a model whose folder has a long name " * 4,
        trainings=[Training(run=f"run{seed}", seed=seed) for seed in range(12)],
        answer=updated(own.answer, example=HIDDEN, **CROWDED),
    )
    for name, own in ANSWERS.items()
}


def drawn(verdict, width=80, name="", **options):
    console = Console(width=width, highlight=False, color_system=None, **options)
    with console.capture() as captured:
        print_verdict(console, verdict, name or verdict.model)
    return captured.get()


def test_every_answer_fits_25_lines_of_80_columns():
    for verdict in (*ANSWERS.values(), *CROWD.values()):
        lines = drawn(verdict, width=200).splitlines()
        assert len(lines) <= LINES == 23
        assert max(map(cell_len, lines)) <= 80
        assert lines == [line.rstrip() for line in lines]


def test_the_answer_is_printed_after_what_was_audited():
    for name, verdict in ANSWERS.items():
        words, own = " ".join(drawn(verdict).split()), verdict.answer
        assert words.startswith("reviews: bilstm, additive attention, seed")
        assert "Accuracy 97.0% (most common class: 52.0%)." in words
        headline = own.headline if name != "many classes" else "It depends on the class:"
        parts = ("Accuracy", f"explanation? {headline}", own.sentence, "Show attention.")
        places = [words.index(part) for part in parts if part]
        assert places == sorted(places)


def test_each_class_has_its_answer_share_luck_and_bar():
    output = drawn(make_answered([YES, NO], ("good", "bad"), replaced=[SOME, NO]))
    good, bad = (line for line in output.splitlines() if re.match("good |bad ", line))
    assert re.fullmatch(r"good +█+▒·+ +Yes +97 \(9\d to 9\d\) +10 +65", good)
    assert re.fullmatch(r"bad +█+▒+·+ +No +10 \(\d to 1\d\) +10 +10", bad)
    assert good.count("█") > 8 * bad.count("█")


def test_at_most_six_classes_have_a_bar_and_the_rest_are_counted():
    output = drawn(ANSWERS["many classes"])
    assert len(re.findall(r"(?m)^class with a", output)) == 6
    assert re.search(r"and 54 other classes: \d+ Yes, \d+ No, \d+ For some texts", output)


def test_classes_with_too_few_texts_are_named_and_have_no_bar():
    output = drawn(ANSWERS["It depends on the class"])
    assert "Too few texts for an answer: odd (12)." in output and not re.search(r"(?m)^odd", output)
    assert "explanation? It depends on the class: good: Yes, bad: No, plain:" in " ".join(output.split())


def test_an_example_shows_key_words_and_top_words_without_color():
    words = " ".join(drawn(ANSWERS["Yes"]).split())
    assert "word2 *[word3]* word4 word5 word6 [word7] word8" in words and "word11 *word12* word13" in words
    assert "Key words: word3, word7. With these words alone: positive 0.97; without them: negative 0.61." in words


def test_a_long_example_is_cut_around_its_words_to_four_lines():
    marked = make_answered([NO, NO], example=HIDDEN)
    example = drawn(marked).split("attention*\n")[1].split("Attention misses")[0].splitlines()
    assert 1 < len(example) <= 4
    words = " ".join(example)
    assert words.count("…") == 8 and all(f"[lengthy-word-{place}]" in words for place in HIDDEN.outcome.key_words)
    assert all(f"*lengthy-word-{place}*" in words for place in HIDDEN.outcome.top_words)


def test_a_text_steers_no_terminal():
    example = make_example(word="\x1b[31m\n")
    assert "\x1b" not in drawn(make_answered([YES, YES], ("a\x1bb", "c"), example=example))


def test_texts_without_labels_are_said_to_be_unchecked():
    verdict = ANSWERS["Yes"]
    unchecked = updated(verdict, answer=updated(verdict.answer, is_checked=False, most_common=None))
    assert "Accuracy not checked: the texts have no labels." in drawn(unchecked)


def test_seeds_that_were_left_out_are_named_by_their_number():
    verdict = make_answered([YES, YES], seeds=3, more={"left_out": ("run1",)})
    assert "Seed left out, not significantly better than a constant prediction: 1." in drawn(verdict)


def test_without_the_answer_the_tests_are_printed(capsys, tmp_path):
    verdict = updated(ANSWERS["Yes"], answer=None, lines=[make_line(question="How far?", group="relevance")])
    print_answer(Output(), AuditOutput(tmp_path / "report.html", (tmp_path,), (verdict,)))
    printed = capsys.readouterr().out
    assert "No answer: `--tests` does not include" in printed and "How far?" in printed
    assert not re.search("holds|fails|undecided", printed)


def test_the_command_prints_25_lines_and_details_only_on_request(capsys, tmp_path):
    verdict = updated(
        CROWD["many classes"], lines=[make_line(question="How far?", group="stability", floor=0.1, best=0.9)]
    )
    answer = AuditOutput(tmp_path / "report.html", (tmp_path,), (verdict,))
    print_answer(Output(), answer)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 25 and "How far?" not in printed
    print_answer(Output(), answer, with_details=True)
    detailed = capsys.readouterr().out
    assert "How far?" in detailed and "Does attention stay when little changes?" in detailed


def test_a_terminal_without_unicode_gets_other_blocks(tmp_path):
    with (tmp_path / "out").open("w", encoding="ascii", errors="backslashreplace") as file:
        console = Console(file=file, width=80)
        print_verdict(console, make_answered([NO, NO], example=make_example(5, (1,), (2,))), "model")
    assert "xxxx" in (tmp_path / "out").read_text("ascii")

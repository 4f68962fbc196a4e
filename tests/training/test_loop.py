"""The loop, on data small enough to train in a second."""

from dataclasses import replace

import pytest
import torch

from heedful.data.batching import collate, encode_split
from heedful.errors import HeedfulError, SettingError
from heedful.models.trace import trace
from heedful.settings import TextSettings, TrainingSettings
from heedful.token_scores.scores import global_scores
from heedful.training.loop import OPTIMIZERS, make_optimizer, train
from heedful.training.methods import METHODS, Method, stopping
from support.runs import RUN, changed, same, toy, weights

NEEDING_ALL_EPOCHS = {"adversary", "adversary_kl", "seat", "seat_fresh", "seat_all", "seat_code", "deceptive"}


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "hierarchical"])
@pytest.mark.parametrize("task", ["classification", "nli"])
def test_other_encoders_tasks_and_more_labels_train(encoder, task):
    if encoder == "hierarchical" and task == "nli":
        pytest.skip("a hierarchical encoder takes no query")
    run = changed(network__encoder=encoder, training__epochs=1)
    trained = train(run, toy(task, ("bad", "good", "dull"), sentences=encoder == "hierarchical"))
    assert set(trained.scores["test"]) == {"accuracy", "f1", "macro_f1", "roc_auc"}


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    once, again, other = train(RUN, toy()), train(RUN, toy()), train(changed(seed=1), toy())
    assert same(once, again) and once.history == again.history
    assert not same(once, other)


def test_training_leaves_the_callers_random_state_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    train(RUN, toy())
    assert torch.equal(before, torch.get_rng_state())


def test_the_best_epoch_on_dev_is_kept_and_test_is_scored_once():
    trained = train(changed(training__epochs=4), toy())
    auc = {r.epoch: r.value for r in trained.history if (r.split, r.measure) == ("dev", "roc_auc")}
    assert len(auc) == 4
    assert trained.chosen_epoch == min(epoch for epoch in auc if auc[epoch] == max(auc.values()))
    assert {r.epoch for r in trained.history if r.split == "test"} == {trained.chosen_epoch}


def test_the_papers_selection_looks_at_test_every_epoch():
    trained = train(changed(training__selection="paper"), toy())
    assert [r.epoch for r in trained.history if (r.split, r.measure) == ("test", "accuracy")] == [1, 2, 3]


def test_patience_stops_early_but_not_before_the_least_number_of_epochs():
    stopping = {"training__epochs": 30, "training__patience": 2, "training__learning_rate": 0.2}
    early, later = train(changed(**stopping), toy()), train(changed(**stopping, training__min_epochs=12), toy())
    epochs = [max(r.epoch for r in t.history if r.split == "train") for t in (early, later)]
    assert epochs[0] < 12 <= epochs[1] < 30


@pytest.mark.parametrize("patience", [0, 3])
def test_no_epoch_is_chosen_before_the_first_that_may_be_and_patience_counts_from_there(patience):
    """Dev is as good as it can be from the second epoch on; the fifth is the first that may be chosen."""
    fast = {"training__epochs": 9, "training__learning_rate": 0.2}
    trained = train(changed(**fast, training__chosen_from=5, training__patience=patience), toy())
    auc = [r.value for r in trained.history if (r.split, r.measure) == ("dev", "roc_auc")]
    assert train(changed(**fast), toy()).chosen_epoch < 5 == trained.chosen_epoch
    assert auc[4:] == [1.0] * (4 if patience else 5)


def test_early_stopping_is_the_default_but_for_methods_that_need_all_epochs():
    default = TrainingSettings()
    assert {name for name, method in METHODS.items() if stopping(method, default) != (4, 2)} == NEEDING_ALL_EPOCHS
    assert stopping(METHODS["adversary"], default) == (1, 0) and stopping(METHODS["deceptive"], default) == (3, 0)
    assert stopping(METHODS["vanilla"], TrainingSettings(record_flow=(1,))) == (4, 0)
    assert stopping(METHODS["vanilla"], TrainingSettings(epochs=2)) == (2, 2)
    for name in ("vanilla", "adversary"):
        assert stopping(METHODS[name], TrainingSettings(patience=5, chosen_from=2)) == (2, 5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_lowers_the_loss(name):
    trained = train(changed(training__optimizer=name, training__epochs=5), toy())
    losses = [r.value for r in trained.history if (r.split, r.measure) == ("train", "loss")]
    assert losses[-1] < losses[0]


def test_attention_has_no_weight_decay():
    model = train(RUN, toy()).model
    rest, attention = make_optimizer(model, RUN.training, "all").param_groups
    assert rest["weight_decay"] == 1e-5 and attention["weight_decay"] == 0
    assert {id(p) for p in attention["params"]} == {id(p) for p in model.attention.parameters()}
    assert len(rest["params"]) + len(attention["params"]) == len(list(model.parameters()))


def test_weight_decay_may_name_its_layers():
    run = changed(training__weight_decay={"attention": 1e-3, "encoder": 1e-2})
    model = train(run, toy()).model
    amounts = {
        id(p): g["weight_decay"] for g in make_optimizer(model, run.training, "all").param_groups for p in g["params"]
    }
    by_layer = {(name.split(".")[0], amounts[id(p)]) for name, p in model.named_parameters()}
    assert by_layer == {("attention", 1e-3), ("encoder", 1e-2), ("embedding", 0.0), ("head", 0.0)}
    with pytest.raises(SettingError, match="weight_decay"):
        changed(training__weight_decay={"atention": 1e-3})


def test_one_step_is_the_step_written_out_by_hand():
    """One batch, summed loss, class weights, L2 on all but attention, against plain SGD."""
    run = changed(training__epochs=1, training__batch_size=64, training__optimizer="sgd", training__weight_decay=0.1)
    dataset = replace(toy(), train=tuple(e for e in toy().train if e.label or len(e.tokens) == 3))
    ours = train(run, dataset)
    start = train(changed(training__epochs=1, training__batch_size=64, training__learning_rate=1e-30), dataset)
    model = start.model.train()
    rest = [p for n, p in model.named_parameters() if not n.startswith("attention")]
    groups = [{"params": rest, "weight_decay": 0.1}, {"params": list(model.attention.parameters())}]
    optimizer = torch.optim.SGD(groups, lr=0.05)
    split = encode_split(dataset.train, start.words)
    batch = collate(split, range(len(split.texts)))
    logits = trace(model, batch).logits
    weight = (split.labels == 0).sum() / (split.labels == 1).sum()
    losses = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 1], split.labels.float(), reduction="none")
    (losses * torch.where(split.labels == 1, weight, 1.0)).sum().backward()
    optimizer.step()
    for name, wanted in model.state_dict().items():
        torch.testing.assert_close(weights(ours)[name], wanted, atol=1e-6, rtol=1e-5)


def test_the_learning_rate_halves_on_a_plateau():
    stuck = {"training__epochs": 4, "training__learning_rate": 1e-6}
    rates = [
        [
            r.value
            for r in train(changed(**stuck, training__plateau=plateau), toy()).history
            if r.measure == "learning_rate"
        ]
        for plateau in (False, True)
    ]
    assert rates == [[1e-6] * 4, [1e-6, 1e-6, 5e-7, 2.5e-7]]


@pytest.mark.parametrize("clip", ["clip_norm", "clip_value"])
def test_clipping_bounds_the_step(clip):
    sgd = {"training__optimizer": "sgd", "training__epochs": 1, "training__weight_decay": 0.0}
    start = train(changed(**sgd, training__learning_rate=1e-30), toy())
    clipped = train(changed(**sgd, **{f"training__{clip}": 1e-6}), toy())
    moved = max((weights(start)[n] - w).abs().max() for n, w in weights(clipped).items())
    assert 0 < moved < 1e-4


def test_frozen_attention_is_the_reference_runs():
    base = train(RUN, toy())
    follower = train(changed(network__attention="frozen", reference="base"), toy(), reference=base)
    assert not list(follower.model.attention.parameters())
    assert follower.scores["test"]["accuracy"] == 1.0


def test_frozen_attention_needs_a_reference():
    with pytest.raises(SettingError, match="attention 'frozen' needs a reference run"):
        train(changed(network__attention="frozen"), toy())


def test_a_reference_must_cut_texts_alike():
    base = train(RUN, toy())
    with pytest.raises(SettingError, match="must cut texts as this run does"):
        train(changed(network__attention="frozen", text=TextSettings(start_end=True)), toy(), reference=base)


def test_a_method_may_start_from_the_reference_and_train_attention_alone(monkeypatch):
    def closeness(step):
        own = step.trace.attention
        return ((own - step.reference.attention).abs().sum(1) - own.amax(1)) + 1

    method = Method(closeness, start="reference", trains="attention", selects="loss", needs_reference=True)
    monkeypatch.setitem(METHODS, "closeness", method)
    base = train(RUN, toy())
    follower = train(changed(training__method="closeness"), toy(), reference=base)
    for name, weight in weights(follower).items():
        assert torch.equal(weight, weights(base)[name]) != name.startswith("attention")
    assert any((r.split, r.measure) == ("dev", "loss") for r in follower.history)
    with pytest.raises(SettingError, match="method 'closeness' needs a reference run"):
        train(changed(training__method="closeness"), toy())


def test_scores_of_tokens_are_recorded_after_the_chosen_epochs_and_change_nothing_else():
    plain, recorded = train(RUN, toy()), train(changed(training__record_flow=(0, 2)), toy())
    assert plain.tokens is None and same(plain, recorded) and plain.history == recorded.history
    assert recorded.tokens["epoch"].unique().sort().to_list() == [0, 2]
    before, after = (recorded.tokens.filter(epoch=epoch, measure="polarity") for epoch in (0, 2))
    assert before["token"].to_list() == recorded.words.words[4:] == after["token"].to_list()
    assert before["value"].to_list() != after["value"].to_list()
    assert recorded.tokens.filter(measure="V.W")["token"].null_count() == 2


def test_what_is_recorded_after_the_last_epoch_is_of_the_model_as_it_then_is():
    run = changed(training__epochs=1, training__record_flow=(1,), network__encoder="identity")
    trained = train(run, toy())
    measured = trained.tokens.filter(measure="attention")["value"].to_numpy()
    wanted = global_scores(trained.model.double(), trained.words.size).attention[4:]
    torch.testing.assert_close(torch.tensor(measured), wanted)


def test_the_chosen_epoch_is_recorded_as_the_model_that_is_kept_and_only_once():
    fast = {"training__epochs": 9, "training__learning_rate": 0.2, "network__encoder": "identity"}
    trained = train(changed(**fast, training__record_flow=("chosen",)), toy())
    assert trained.chosen_epoch < 9 and trained.tokens["epoch"].unique().to_list() == [trained.chosen_epoch]
    measured = trained.tokens.filter(measure="attention")["value"].to_numpy()
    wanted = global_scores(trained.model.double(), trained.words.size).attention[4:]
    torch.testing.assert_close(torch.tensor(measured), wanted)
    twice = train(changed(**fast, training__record_flow=(trained.chosen_epoch, "chosen")), toy())
    assert twice.tokens.equals(trained.tokens)


def test_recording_where_attention_has_no_direction_is_refused_before_training():
    with pytest.raises(SettingError, match="to have a direction V of its own"):
        train(changed(network__attention="uniform", training__record_flow=(3,)), toy())


def test_a_loss_that_is_no_number_is_named(monkeypatch):
    def broken(step):
        return step.trace.logits[:, 1] * torch.nan

    monkeypatch.setitem(METHODS, "broken", Method(broken))
    with pytest.raises(HeedfulError, match="loss became nan in epoch 1. Lower learning_rate"):
        train(changed(training__method="broken"), toy())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training__method": "vanila"}, "unknown method 'vanila'. Did you mean 'vanilla'?"),
        ({"training__metric": "auc"}, "unknown metric 'auc'"),
        ({"training__optimizer": "adagrat"}, "Did you mean 'adagrad'?"),
        ({"training__options": {"radius": 1}}, "unknown option 'radius' of method 'vanilla'. Known: none"),
    ],
)
def test_unknown_names_list_the_known(change, message):
    with pytest.raises(SettingError, match=message.replace("?", r"\?")):
        train(changed(**change), toy())


def test_progress_is_reported_after_every_batch_and_epoch():
    reports = []
    train(RUN, toy(), report=reports.append)
    assert [(p.epoch, p.batch) for p in reports if p.scores is None] == [
        (e, b) for e in (1, 2, 3) for b in range(1, 10)
    ]
    assert all(p.batches == 9 for p in reports if p.scores is None)
    assert [p.epoch for p in reports if p.scores is not None] == [1, 2, 3]


def test_a_split_without_every_class_has_no_auc_and_training_goes_on():
    dataset = toy()
    one_sided = replace(dataset, dev=tuple(e for e in dataset.dev if e.label == 0))
    trained = train(changed(training__epochs=2), one_sided)
    assert trained.chosen_epoch == 1

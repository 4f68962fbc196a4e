import torch

from heedful.attribution.leave_one_out import leave_one_out
from heedful.auditing import heads
from heedful.auditing.heads import heads_of
from heedful.models.hugging_face.head_measures import HeadMeasures, head_measures
from heedful.models.trace import trace
from heedful.report.loading import audit
from heedful.settings import AuditSettings
from heedful.subjects.hugging_face_subject import HuggingFaceSubject
from support.classifiers import make_dataset, two_classes


def measures_on(model, dataset, split):
    subject = HuggingFaceSubject(model).texts(dataset, AuditSettings(split=split))
    parts = []
    for batch in subject.batches():
        with torch.no_grad():
            seen = trace(model, batch)
        parts.append(head_measures(model, seen, leave_one_out(model, seen)))
    return HeadMeasures.joined(parts)


def test_the_best_head_is_chosen_on_dev_and_reported_on_test(monkeypatch):
    model, dataset = two_classes(), make_dataset()
    glance = heads_of(HuggingFaceSubject(model.at("rollout")).usual_view(), dataset, AuditSettings())
    dev, test = (measures_on(model, dataset, split) for split in ("dev", "test"))
    place = divmod(int(dev.means("agreement").argmax()), 2)
    assert (glance.layer, glance.head) == place and glance.chosen_on == "dev texts"
    assert glance.agreement.value == torch.nanmean(test.agreement[place]).item()
    for name, rows in glance.measures.items():
        torch.testing.assert_close(torch.tensor(rows, dtype=torch.float64), test.means(name), equal_nan=True)
    assert f"Head {place[1]} of layer {place[0]}" in glance.sentence


def test_what_heads_do_is_measured_on_fewer_texts(monkeypatch):
    monkeypatch.setattr(heads, "CHANGED", 3)
    model, dataset = two_classes(), make_dataset()
    asked = []

    def counting(*arguments, what_it_does):
        asked.append((len(arguments[1].batch.labels), what_it_does))
        return head_measures(*arguments, what_it_does=what_it_does)

    monkeypatch.setattr(heads, "head_measures", counting)
    heads_of(HuggingFaceSubject(model), dataset, AuditSettings())
    assert asked == [(3, True), (16, False), (12, False)]


def test_without_dev_texts_it_is_chosen_on_half():
    glance = heads_of(HuggingFaceSubject(two_classes()), make_dataset(dev=0), AuditSettings())
    assert glance.chosen_on == "half of the texts" and glance.agreement.n == 8


def test_heads_are_measured_with_the_test_of_leaving_words_out_and_not_with_others():
    for test, is_measured in (("leave_one_out_agreement", True), ("uniform", False)):
        verdict = audit(two_classes(), make_dataset(), AuditSettings(tests=(test,), examples=4, shown=0)).verdict
        assert (verdict.heads is not None) == is_measured

import torch

from heedful.data.batching import EncodedSplit, encode_split
from heedful.data.tokenizer import WordTokenizer
from heedful.models.attention_model import build_model
from heedful.settings import NetworkSettings, TextSettings
from heedful.token_scores import OTHER, measurements, token_classes, token_counts
from heedful.token_scores.measurements import RECORD, Recorder
from heedful.types import Example

TEXTS = [(("good", "film"), 1), (("bad", "film"), 0), (("so", "good", "good"), 1), (("bad", "so"), 0)]
EXAMPLES = [Example(tokens, label) for tokens, label in TEXTS]
WORDS = WordTokenizer.from_settings(TextSettings()).learn(tokens for tokens, _ in TEXTS)
SPLIT = encode_split(EXAMPLES, WORDS)
LABELS = ("bad", "good")


def make(encoder="identity", attention="dot", head="linear"):
    network = NetworkSettings(encoder=encoder, attention=attention, head=head, embed_size=5, hidden_size=2)
    return build_model(network, WORDS.size, 2)


def recorder(model, epochs):
    return Recorder(model, SPLIT, WORDS, LABELS, epochs)


def test_the_table_holds_every_measurement_of_every_word():
    model = make("identity", "dot")
    recording = recorder(model, (0, 2))
    for epoch in range(3):
        recording.record(epoch)
    table = recording.table
    assert table.schema == RECORD
    classes = token_classes(token_counts(SPLIT, WORDS.size, 2))
    measured = measurements(model, SPLIT, classes, LABELS)
    for epoch in (0, 2):
        for measure, value in measured.items():
            rows = table.filter(epoch=epoch, measure=measure)
            wanted = value[4:] if value.dim() else value[None]
            torch.testing.assert_close(torch.tensor(rows["value"].to_numpy()), wanted, equal_nan=True)
            assert rows["token"].to_list() == (WORDS.words[4:] if value.dim() else [None])
    assert set(table["epoch"]) == {0, 2}


def test_the_class_of_each_word_stands_under_the_first_epoch():
    recording = recorder(make("bilstm"), (1, 2))
    recording.record(1)
    recording.record(2)
    rows = recording.table.filter(measure="class")
    assert rows["epoch"].to_list() == [1] * 4
    assert dict(rows.select("token", "value").iter_rows()).keys() == {"good", "film", "bad", "so"}


def test_for_three_labels_the_classes_are_by_the_rule_for_three():
    labels = torch.tensor([0] * 21 + [1] * 7 + [2] * 2)  # the word has .7 of its occurrences under label 0
    split = EncodedSplit((torch.tensor([4, 4]),) * 30, (), (), labels, framed=False)
    network = NetworkSettings(encoder="identity", attention="dot", embed_size=5)
    recording = Recorder(build_model(network, WORDS.size, 3), split, WORDS, ("a", "b", "c"), (1,))
    recording.record(1)
    assert recording.table.filter(measure="class")["value"][0] == 0
    assert token_classes(token_counts(split, WORDS.size, 3))[4] == OTHER


def test_without_epochs_nothing_is_recorded_of_any_model():
    recording = recorder(make(head="tanh"), ())
    recording.record(0)
    assert recording.table is None

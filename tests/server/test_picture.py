"""The heat map as a file."""

import pytest

from heedful.server.picture import MOST_WORDS, WIDTH, words_on_lines


@pytest.mark.parametrize("kind, begins", [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_picture_is_drawn(client, model, kind, begins):
    response = client.post("/api/picture", json={**model("average").request, "format": kind})
    assert response.status_code == 200 and response.content.startswith(begins)
    assert response.headers["content-disposition"] == f'attachment; filename="attention.{kind}"'


def test_it_says_what_the_model_says_under_these_weights(client, model, post):
    case = model("bilstm")
    widest = post("read", case.request)["widest"]["attention"]
    decoded = post("decode", {**case.request, "attention": widest})
    label = case.served.info.labels[decoded["predicted"]]
    picture = client.post("/api/picture", json={**case.request, "attention": widest}).text
    assert f"{label} ({max(decoded['probabilities']):.2f})" in picture


def test_markup_is_escaped(client, model):
    picture = client.post("/api/picture", json={**model("average").request, "text": "<b> & good\x00"}).text
    assert "<b>" not in picture


def test_words_are_laid_out_without_overlap(model):
    case = model("average")
    with case.served.reading("good film " * 30) as read:
        frame = words_on_lines(read, read.listed(read.evidence.attention))
    assert frame["right"].max() <= WIDTH and frame["share"].max() == 1
    for _, line in frame.group_by("line", maintain_order=True):
        assert all(left >= right for left, right in zip(line["left"][1:], line["right"][:-1], strict=True))


def test_a_long_text_is_cut(model):
    case = model("average")
    with case.served.reading("good " * (MOST_WORDS + 50)) as read:
        frame = words_on_lines(read, read.listed(read.evidence.attention))
    assert len(frame) == MOST_WORDS + 1 and frame["word"][-1] == "…"


def test_a_sentence_has_one_color(model):
    case = model("hierarchical")
    with case.served.reading(case.text) as read:
        frame = words_on_lines(read, [0.5, 0.3, 0.2])
    assert frame["weight"].to_list() == [0.5] * 5 + [0.3] * 6 + [0.2] * 4

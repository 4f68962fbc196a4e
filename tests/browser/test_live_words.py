"""Words deleted from the text or kept alone on the live page, next to their weights; and every change undone."""

import pytest

from heedful.server.text_state import decode
from support.live import SENTENCES, TEXT

pytestmark = pytest.mark.browser


def text(page):
    return page.page.locator("#text").input_value()


def answered(live, name, probabilities):
    place = max(range(len(probabilities)), key=lambda at: probabilities[at])
    return f"{live.models[name].info.labels[place]} {100 * probabilities[place]:.1f} %"


def edited(page):
    page.page.locator("#edited").wait_for()
    return page.page.locator("#edited").inner_text().replace("\xa0", " ")


def without_weight(live, name, places, read_text=TEXT):
    """The probabilities of the whole text without weight on some items."""
    with live.models[name].reading(read_text) as read:
        weights = [0.0 if at in places else weight for at, weight in enumerate(read.listed(read.evidence.attention))]
        return decode(read, [weight / sum(weights) for weight in weights]).probabilities


@pytest.mark.parametrize("name", ["average", "curved"])
def test_a_word_is_deleted_and_its_weight_alone_is_compared(opened, live, name):
    page = opened().choose(name)
    page.fader(4).focus()
    page.page.locator("#delete-words").click()
    shorter = "the film was so , so the film was not so bad ."
    said, whole = edited(page), live.read(name, TEXT)
    page.read()
    assert text(page) == shorter
    assert page.numbers() == pytest.approx(live.read(name, shorter)["probabilities"], abs=1e-6)
    after = answered(live, name, live.read(name, shorter)["probabilities"])
    weighed = answered(live, name, without_weight(live, name, {4}))
    assert said.startswith(f"Without “good”: {after}.")
    assert said.endswith(
        f"With the whole text but no weight on it: {weighed}. Before: {answered(live, name, whole['probabilities'])}."
    )
    page.page.locator("#undo").click()
    page.read()
    assert text(page) == TEXT and page.page.locator("#edited").is_hidden()
    assert page.numbers() == pytest.approx(whole["probabilities"], abs=1e-6)


def test_words_are_picked_by_mouse_or_keys_and_kept_alone(opened, live):
    page = opened()
    page.page.locator("#items .word").nth(4).click()
    page.fader(1).focus()
    page.page.keyboard.press("Enter")
    page.fader(2).focus()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")
    assert "Picked: “film”, “good”." in page.page.locator("#words-says").inner_text()
    assert page.page.locator("#items .picked").count() == 2
    page.page.locator("#keep-words").click()
    said = edited(page)
    page.read()
    assert text(page) == "film good" and page.page.locator("#items .picked").count() == 0
    weighed = answered(live, "average", without_weight(live, "average", set(range(14)) - {1, 4}))
    assert said.startswith("Only “film”, “good” left: ") and f"no weight on the other words: {weighed}." in said


def test_the_key_words_are_deleted_or_kept_as_the_outcome_says(opened, live):
    page = opened()
    outcome = live.read("average", TEXT)["outcome"]
    words = TEXT.split()
    for button, key, label, probability in [
        ("#keep-key", True, "alone_predicted", "alone_probability"),
        ("#delete-key", False, "without_predicted", "without_probability"),
    ]:
        page.page.locator(button).click()
        edited(page)
        page.read()
        assert text(page) == " ".join(w for at, w in enumerate(words) if (at in outcome["key_words"]) == key)
        assert f"{outcome[label]} {100 * outcome[probability]:.1f} %" in page.page.locator(
            ".says"
        ).inner_text().replace("\xa0", " ").replace("\n", " ")
        page.page.locator("#undo").click()
        page.read()


def test_a_sentence_is_deleted(opened):
    page = opened().choose("sentences")
    page.page.locator('[data-sentence="2"] .fader').focus()
    assert page.page.locator("#delete-words").inner_text() == "Delete this sentence"
    page.page.locator("#delete-words").click()
    edited(page)
    page.read()
    assert text(page) == SENTENCES.replace("so bad was the film ! ", "")


def test_not_all_words_are_deleted(opened):
    page = opened().write("so good")
    for place in range(2):
        page.page.locator("#items .word").nth(place).click()
    assert page.page.locator("#delete-words").is_disabled() and page.page.locator("#keep-words").is_disabled()


def test_a_text_is_cut_where_its_words_are(opened):
    page = opened().write("It isn't  so, so GOOD!")
    words = page.page.locator("#items .word").all_inner_texts()
    for word in ("'", "so"):
        page.page.locator("#items .word").nth(words.index(word)).click()
    page.page.locator("#delete-words").click()
    edited(page)
    page.read()
    assert text(page) == "It isn t , so GOOD!"
    assert [word for word in words if word != "'"].count("so") == 2
    assert page.page.locator("#items .word").all_inner_texts() == ["It", "isn", "t", ",", "so", "GOOD", "!"]


def test_every_change_is_undone_by_the_button(opened, monkeypatch):
    page = opened()
    own = page.weights

    def undo():
        page.page.locator("#undo").click()
        page.read()
        assert text(page) == TEXT and page.weights == own and page.page.locator("#undo").is_disabled()

    page.write("so good")
    undo()
    page.page.locator("#text").fill("")
    page.page.locator("#failure").wait_for()
    undo()
    assert page.page.locator("#failure").is_hidden()
    page.fader(0).focus()
    page.page.locator("#everything").click()
    undo()
    page.page.locator("#pin").click()
    page.page.locator("#undo").click()
    assert "pinned" not in page.fader(0).get_attribute("aria-valuetext")
    for action in ("uniform", "smallest_set"):
        page.press(action)
        undo()
    page.page.locator("#model").select_option(page.live.id_of("bilstm"))
    page.read()
    undo()
    assert page.page.locator("#model").input_value() == page.live.id_of("average")

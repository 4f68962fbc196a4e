"""The live page in a real browser: a text is read, its bars are dragged, and the prediction follows as Python says."""

import pytest

from support.live import TEXT, TOKEN

pytestmark = pytest.mark.browser

SCRIPT = "<script>alert(1)</script> <img src=x onerror=alert(2)> so good"


def shown(page, place="#prediction"):
    return page.page.locator(place).inner_text().replace("\xa0", " ")


def decoded(live, name, attention, text=TEXT):
    """The probabilities under other attention, by the model itself."""
    from heedful.server.text_state import decode

    with live.models[name].reading(text) as read:
        return decode(read, attention).probabilities


def test_the_page_shows_what_the_model_says_and_attends_to(opened, live):
    page, state = opened(), live.read("average", TEXT)
    assert page.page.locator("#items .word").all_inner_texts() == [item["label"] for item in state["items"]]
    assert page.weights == pytest.approx(state["attention"], abs=6e-4)
    assert page.numbers("logit") == pytest.approx(state["logits"], abs=1e-6)
    assert page.numbers() == pytest.approx(state["probabilities"], abs=1e-6)
    widest = f"{state['widest']['tvd']:.2f}".lstrip("0")
    assert f"The weights have not moved the prediction; the most that any attention can move it is {widest}." in shown(
        page
    )
    assert page.page.locator("#prediction .badge").inner_text() == "exact"


def test_the_token_is_no_longer_in_the_address(opened):
    page = opened().page
    assert TOKEN not in page.url
    assert TOKEN not in page.evaluate("document.cookie"), "scripts cannot read the cookie"


def test_a_typed_text_is_read(opened, live):
    page = opened().write("so bad was the film")
    assert page.page.locator("#items .word").all_inner_texts() == ["so", "bad", "was", "the", "film"]
    assert page.numbers() == pytest.approx(live.read("average", "so bad was the film")["probabilities"], abs=1e-6)


def test_an_example_is_picked(opened):
    page = opened()
    page.page.locator("#examples").select_option("1")
    page.read()
    assert page.page.locator("#text").input_value() == "so bad was the film"
    page.page.locator("#undo").click()
    page.read()
    assert page.page.locator("#text").input_value() == TEXT


def test_a_bar_is_dragged_with_the_mouse(opened, live):
    page = opened()
    box, before = page.fader(4).locator(".track").bounding_box(), page.weights
    middle = box["x"] + box["width"] / 2
    page.page.mouse.move(middle, box["y"] + box["height"] - 1)
    page.page.mouse.down()
    page.page.mouse.move(middle, box["y"] + box["height"] / 2, steps=4)
    page.page.mouse.move(middle, box["y"] - 60, steps=4)
    held = page.weights
    page.page.mouse.up()
    assert held[4] > before[4] + 0.05 and sum(held) == pytest.approx(1, abs=0.01)
    others = [weight / (1 - held[4]) for at, weight in enumerate(held) if at != 4]
    own = live.read("average", TEXT)["attention"]
    assert others == pytest.approx([weight / (1 - own[4]) for at, weight in enumerate(own) if at != 4], abs=5e-3)
    assert "The weights have moved the prediction by ." in shown(page)
    page.page.locator("#undo").click()
    assert page.weights == before, "a drag is undone as one"


def test_a_bar_is_dragged_by_touch(opened):
    page = opened(has_touch=True)
    before = page.weights
    page.fader(4).evaluate(
        """fader => {
            const box = fader.querySelector(".track").getBoundingClientRect();
            const at = (kind, y) => new PointerEvent(kind, {
                pointerId: 7, pointerType: "touch", isPrimary: true, button: 0, bubbles: true, cancelable: true,
                clientX: box.x + 5, clientY: y });
            fader.setPointerCapture = () => {};
            fader.dispatchEvent(at("pointerdown", box.bottom - 1));
            fader.dispatchEvent(at("pointermove", box.top));
            fader.dispatchEvent(at("pointerup", box.top));
        }"""
    )
    assert page.weights[4] > before[4] + 0.02
    assert page.fader(4).evaluate("fader => getComputedStyle(fader).touchAction") == "none"


def test_a_bar_is_moved_by_every_key(opened, live):
    page = opened()
    page.fader(4).focus()
    own = live.read("average", TEXT)["attention"][4]
    steps = {
        "ArrowUp": 0.01,
        "ArrowRight": 0.01,
        "PageUp": 0.1,
        "ArrowDown": -0.01,
        "ArrowLeft": -0.01,
        "PageDown": -0.1,
    }
    expected = own
    for key, step in steps.items():
        page.page.keyboard.press(key)
        expected += step
        assert page.weights[4] == pytest.approx(expected, abs=1e-3), key
    page.page.keyboard.press("End")
    assert page.weights[4] == 1 and page.fader(4).get_attribute("aria-valuetext").startswith("1 of the attention")
    page.page.keyboard.press("Home")
    assert page.weights[4] == 0
    page.page.keyboard.press("Control+z")
    assert page.weights[4] == pytest.approx(own, abs=1e-3), "keys on one bar are undone as one"
    page.page.keyboard.press("Control+y")
    assert page.weights[4] == 0


def test_the_prediction_under_dragged_weights_is_the_models(opened, live):
    page = opened()
    page.fader(4).focus()
    page.page.keyboard.press("End")
    count = len(page.weights)
    own = live.read("average", TEXT)
    expected = decoded(live, "average", [float(at == 4) for at in range(count)])
    assert page.numbers() == pytest.approx(expected, abs=1e-6)
    moved = abs(expected[0] - own["probabilities"][0])
    assert f"The weights have moved the prediction by {f'{moved:.2f}'.lstrip('0')};" in shown(page)


def test_a_pinned_weight_stays(opened):
    page = opened()
    page.fader(0).focus()
    page.page.keyboard.press("PageUp")
    page.page.keyboard.press("p")
    held = page.weights[0]
    assert "pinned" in page.fader(0).get_attribute("aria-valuetext")
    page.fader(4).focus()
    page.page.keyboard.press("End")
    assert page.weights[0] == held and page.weights[4] == pytest.approx(1 - held, abs=2e-3)
    page.page.keyboard.press("PageDown")
    assert page.weights[0] == held
    page.fader(0).focus()
    page.page.locator("#pin").click()
    assert "pinned" not in page.fader(0).get_attribute("aria-valuetext")


def test_the_selected_word_is_emptied_and_filled_by_buttons(opened):
    page = opened()
    page.fader(3).focus()
    page.page.locator("#remove").click()
    assert page.weights[3] == 0
    page.page.locator("#everything").click()
    assert page.weights[3] == 1
    assert "“so” weighs 1; the model gives it" in shown(page, "#selected-says")


def test_undo_redo_and_reset(opened):
    page = opened()
    own = page.weights
    page.fader(1).focus()
    page.page.keyboard.press("End")
    page.fader(2).focus()
    page.page.keyboard.press("End")
    assert page.weights[2] == 1
    page.page.locator("#undo").click()
    assert page.weights[1] == 1
    page.page.locator("#undo").click()
    assert page.weights == own
    page.page.locator("#redo").click()
    assert page.weights[1] == 1
    page.page.locator("#reset").click()
    assert page.weights == own and page.page.locator("#reset").is_disabled()
    page.page.locator("#undo").click()
    assert page.weights[1] == 1, "a reset is undone, too"


def test_the_live_region_says_the_prediction(opened):
    page = opened()
    page.fader(4).focus()
    page.page.keyboard.press("End")
    page.page.locator("#live", has_text="have moved the prediction by").wait_for(state="attached")
    assert page.page.locator("#live").get_attribute("aria-live") == "polite"


def test_markup_in_a_text_is_shown_as_text(opened):
    page = opened().write(SCRIPT)
    assert page.page.locator("main script, main img").count() == 0
    assert "script" in shown(page, "#items")


def test_a_refused_text_is_a_sentence_on_the_page_and_the_next_is_read(opened):
    page = opened()
    page.page.locator("#text").fill("   ")
    page.page.locator("#failure").wait_for()
    assert "text must have a word" in page.page.locator("#failure").inner_text()
    page.write("so good")
    assert page.page.locator("#failure").is_hidden()


def test_a_model_that_is_not_linear_is_decoded_by_the_server(opened, live):
    page = opened().choose("curved")
    page.fader(4).focus()
    with page.page.expect_response("**/api/decode"):
        page.page.keyboard.press("End")
    expected = decoded(live, "curved", [float(at == 4) for at in range(len(page.weights))])
    page.page.locator("#prediction .movement", has_text="have moved the prediction by").wait_for()
    assert page.numbers() == pytest.approx(expected, abs=1e-6)
    assert page.page.locator("#save-page").is_disabled() and page.page.locator("#save-note").is_visible()


def test_of_many_classes_the_top_five_have_bars(opened):
    page = opened().choose("classes")
    assert page.page.locator(".classes li").count() == 5
    assert len(page.numbers()) == 7
    assert "and 2 more classes" in shown(page)

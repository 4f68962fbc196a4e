"""The papers' buttons of the live page: what they show is what the Python functions say."""

import pytest

from heedful.server.actions import ACTIONS, replace_word
from heedful.server.contract import ActOptions
from support.live import TEXT

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def synonyms(monkeypatch):
    """The only synonym: installed ones differ between machines."""
    monkeypatch.setattr(replace_word, "_synonyms", lambda context, model: ({"good": "bad"}, "a synonym"))


def acted(live, name, action, options, text=TEXT):
    """The answer of the Python function behind a button."""
    model = live.models[name]
    with model.reading(text) as read:
        return ACTIONS[action].function(read, ActOptions(**options), model.read)


def asked(page, action):
    """Presses a button; what the page asked for."""
    with page.page.expect_request("**/api/act") as request:
        page.press(action)
    return request.value.post_data_json


def test_every_button_shows_what_python_says(opened, live):
    page = opened()
    assert page.page.locator("#actions .action").count() == len(ACTIONS)
    for action in ACTIONS:
        options = asked(page, action)["options"]
        answer = acted(live, "average", action, options)
        result = page.page.locator("#result")
        assert result.locator(".found").inner_text() == answer.sentence, action
        assert result.locator("h3 .badge").inner_text() == answer.solver, action
        assert answer.paper in result.inner_text(), action
        if answer.is_settable:
            assert page.weights == pytest.approx(answer.attention, abs=6e-4), action
            assert page.numbers() == pytest.approx(answer.probabilities, abs=1e-6), action
        if action == "replace_word":
            page.read()
            assert page.page.locator("#text").input_value() == answer.text
        if action == "embedding_noise":
            continue  # noise changes no weight of the page: there is nothing to undo
        page.page.locator("#undo").click()
        page.read()
        assert page.page.locator("#text").input_value() == TEXT


def test_each_button_has_its_question_and_its_paper(opened, live):
    page = opened().page
    for action in live.models["average"].info.actions:
        button = page.locator(f'[data-action="{action.name}"]')
        described = page.locator("#" + button.get_attribute("aria-describedby")).inner_text()
        assert button.inner_text() == action.title
        assert action.sentence in described and action.paper in described


def test_erasing_down_a_ranking_has_a_slider_over_the_prefix(opened, live):
    page = opened()
    page.press("erase_ranking")
    answer = acted(live, "average", "erase_ranking", {})
    slider = page.page.locator("[data-control=prefix]")
    for count in (0, 1, len(answer.steps)):
        slider.fill(str(count))
        expected = answer.steps[count - 1].probabilities if count else live.read("average", TEXT)["probabilities"]
        assert page.numbers() == pytest.approx(expected, abs=1e-6)
        assert page.page.locator("#items .item.erased").count() == count
    assert f"Erased {len(answer.steps)}:" in page.page.locator(".prefix").inner_text()
    page.page.locator("[data-control=ranking]").select_option("leave_one_out")
    page.page.locator("#result .found", has_text="leave-one-out").wait_for()
    other = acted(live, "average", "erase_ranking", {"ranking": "leave_one_out"})
    start = other.flips_at if other.flips_at is not None else len(other.steps)
    assert page.page.locator("[data-control=prefix]").input_value() == str(start)
    erased = [step.item for step in other.steps[:start]]
    marked = page.page.locator("#items .item.erased")
    assert {int(each.get_attribute("data-item")) for each in marked.all()} == set(erased)


def test_the_ball_of_a_perturbation_has_its_certified_radius_on_the_same_axis(opened, live):
    page = opened()
    page.press("worst_perturbation")
    answer = acted(live, "average", "worst_perturbation", {})
    mark = page.page.locator(".certified")
    share = mark.evaluate("mark => mark.getBoundingClientRect().width / mark.parentNode.getBoundingClientRect().width")
    assert share == pytest.approx(min(answer.radius / answer.most_radius, 1), abs=0.02)
    with page.page.expect_response("**/api/act"):
        page.page.locator("[data-control=radius]").fill("1")
    page.page.locator("#result .found", has_text="within 1 (l1)").wait_for()
    wider = acted(live, "average", "worst_perturbation", {"radius": 1.0})
    assert page.numbers() == pytest.approx(wider.probabilities, abs=1e-6)
    page.page.locator("[data-control=norm]").select_option("linf")
    page.page.locator("#result .found", has_text="(linf)").wait_for()


def test_noise_is_drawn_again_and_grows(opened, live):
    page = opened()
    first = asked(page, "embedding_noise")["options"]
    with page.page.expect_request("**/api/act") as second:
        page.page.locator("#result [data-control=again]").click()
    assert second.value.post_data_json["options"]["seed"] != first["seed"]
    page.page.locator("[data-control=scale]").fill("1")
    page.page.locator("#result .found", has_text="variance 10").wait_for()
    assert page.page.locator("#items .item.changed").count() == 1


def test_the_selected_word_is_the_one_that_is_replaced_and_this_is_undone(opened, live):
    page = opened()
    page.fader(4).focus()
    request = asked(page, "replace_word")
    assert request["options"]["item"] == 4
    page.read()
    answer = acted(live, "average", "replace_word", {"item": 4})
    assert page.page.locator("#text").input_value() == answer.text
    assert page.page.locator("#items .item.changed .word").inner_text() == answer.replaced[1] == "bad"
    page.page.locator("#undo").click()
    page.read()
    assert page.page.locator("#text").input_value() == TEXT and page.page.locator("#undo").is_disabled()


def test_a_word_without_a_synonym_stays_and_the_page_says_so(opened):
    page = opened()
    page.fader(0).focus()
    page.page.locator("[data-action=replace_word]").click()
    page.page.locator("#result .failure").wait_for()
    assert "“the” has no synonym" in page.page.locator("#result .failure").inner_text()
    assert page.page.locator("#text").input_value() == TEXT and page.page.locator("#undo").is_disabled()


def test_shuffles_differ_and_are_undone_one_by_one(opened):
    page = opened()
    own = page.weights
    page.press("shuffle")
    first = page.weights
    with page.page.expect_response("**/api/act"):
        page.page.locator("#result [data-control=again]").click()
    page.page.locator("#undo").click()
    page.page.locator("#undo").click()
    assert page.weights == own and sorted(first) == pytest.approx(sorted(own), abs=2e-3)


def test_a_refusal_is_a_sentence_on_the_page(opened):
    page = opened().write("good")
    with page.page.expect_response("**/api/act"):
        page.page.locator("[data-action=worst_permutation]").click()
    page.page.locator("#result .failure").wait_for()
    assert page.page.locator("#result .failure").inner_text().endswith(".")

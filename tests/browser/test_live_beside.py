"""The live page beside itself: rankings, two models, two texts; the audit's answer; sentences and long texts."""

import pytest

from support.live import SENTENCES, TEXT

pytestmark = pytest.mark.browser

LONG = "the film was so good , so bad was the film . was the film not so good ? so bad ! " * 105


def rows(page, place):
    return page.page.locator(f"{place} tbody tr")


def test_rankings_stand_beside_each_other(opened, live):
    page, state = opened(), live.read("average", TEXT)
    names = [ranking["name"] for ranking in state["rankings"]]
    assert [row.get_attribute("data-ranking") for row in rows(page, "#rankings").all()] == names
    assert {"attention", "weight_gradient", "leave_one_out", "attention_x_gradient"} <= set(names)
    tallest = (
        "all => all.map(each => +each.style.getPropertyValue('--weight')).reduce((b, x, i, a) => x > a[b] ? i : b, 0)"
    )
    for place, ranking in enumerate(state["rankings"]):
        tokens = rows(page, "#rankings").nth(place).locator(".token")
        sizes = [abs(weight) for weight in ranking["weights"]]
        assert tokens.evaluate_all(tallest) == sizes.index(max(sizes)), ranking["name"]
        against = [at for at, weight in enumerate(ranking["weights"]) if weight < 0]
        assert rows(page, "#rankings").nth(place).locator(".token.against").count() == len(against)
    page.fader(4).focus()
    page.page.keyboard.press("End")
    page.page.locator("#rankings [data-ranking=set]").wait_for()


def test_what_people_marked_is_a_row_of_its_own_and_a_mark_on_the_words(opened, live):
    page, example = opened(), live.models["average"].info.examples[2]
    page.page.locator("#examples").select_option("2")
    page.read()
    assert page.page.locator("#rankings [data-ranking=rationale]").count() == 1
    marked = page.page.locator("#items .item.rationale")
    assert [int(each.get_attribute("data-item")) for each in marked.all()] == example.marks
    assert marked.locator(".note").first.inner_text() == "key, rationale"


def test_a_word_is_pointed_out_in_every_row(opened):
    page = opened()
    page.page.locator("#rankings .token").nth(2).hover()
    assert page.page.locator("#rankings .token.linked").count() == rows(page, "#rankings").count()


def test_two_models_read_the_same_text(opened, live):
    page = opened()
    page.page.locator("#other-model").select_option(live.id_of("bilstm"))
    page.page.locator("#models-result tr").nth(1).wait_for()
    first, second = rows(page, "#models-result").all_inner_texts()
    expected = live.read("bilstm", TEXT)
    probability = expected["probabilities"][expected["predicted"]]
    assert first.startswith("average") and second.startswith("bilstm")
    assert f"{100 * probability:.1f}\xa0%" in second
    page.fader(4).focus()
    page.page.keyboard.press("End")
    page.page.locator("#models-result", has_text="With the weights set above, bilstm would predict").wait_for()
    row = page.page.locator("#models-result tr").nth(1).locator(".token")
    row.nth(3).hover()
    assert page.page.locator("#models-result .token.linked").count() == 2
    page.page.locator("#other-model").select_option(live.id_of("sentences"))
    page.page.locator("#models-result", has_text="over different things").wait_for()


def test_two_texts_show_what_changed(opened, live):
    page = opened()
    page.page.locator("#second-open").click()
    page.page.locator("#texts-result", has_text="Both texts are the same").wait_for()
    other = TEXT.replace("good", "bad")
    page.page.locator("#second-text").fill(other)
    page.page.locator("#texts-result .difference").wait_for()
    changed = page.page.locator("#texts-result .token.changed").all_inner_texts()
    assert changed == ["good", "bad"]
    own, new = (live.read("average", text)["probabilities"] for text in (TEXT, other))
    moved = f"{abs(own[0] - new[0]):.2f}".lstrip("0")
    assert f"The prediction moved by {moved}" in page.page.locator(".difference").inner_text()
    page.page.locator("#second-close").click()
    assert page.page.locator("#second").is_hidden()


def test_the_audit_has_a_strip_with_links(opened, live):
    page, info = opened(), live.models["average"].info
    strip = page.page.locator("#audit")
    assert strip.locator(".lead").inner_text() == info.guidance.headline
    assert strip.locator(".do").inner_text() == info.guidance.recommendation
    assert strip.locator(".answer > p").all_inner_texts()[2:-1] == [info.guidance.sentence]
    assert strip.locator(".question").inner_text() == "Can attention be shown as an explanation?"
    strip.locator("summary").click()
    assert strip.locator(".line").count() == len(info.lines)
    assert strip.locator(".line a").first.get_attribute("href") == f"/report/{info.id}#verdict"
    assert strip.locator("a", has_text="The whole report").get_attribute("href") == f"/report/{info.id}"


def test_a_model_without_an_audit_says_so(opened):
    page = opened().choose("bilstm")
    assert "This model has no audit" in page.page.locator("#audit").inner_text()


def test_sentences_are_dragged_and_then_their_words(opened, live):
    from heedful.server.text_state import decode

    page = opened().choose("sentences")
    state = live.read("sentences", SENTENCES)
    sentences = page.page.locator("#items .sentence")
    assert sentences.count() == len(state["items"]) == 3
    sentences.nth(1).locator(".fader.flat").focus()
    page.page.keyboard.press("End")
    with live.models["sentences"].reading(SENTENCES) as read:
        expected = decode(read, [0, 1, 0])
    assert page.numbers() == pytest.approx(expected.probabilities, abs=1e-6)
    sentences.nth(1).locator("button", has_text="Words").click()
    word = sentences.nth(1).locator(".item .fader").nth(1)
    word.focus()
    with page.page.expect_response("**/api/decode"):
        page.page.keyboard.press("End")
    inside = state["items"][1]["words"]
    moved = [
        weight if at not in inside else float(at == inside[1]) for at, weight in enumerate(state["word_attention"])
    ]
    with live.models["sentences"].reading(SENTENCES) as read:
        expected = decode(read, [0, 1, 0], moved)
    first = f"{expected.probabilities[0]:.7f}"
    page.page.locator("#prediction .probability", has_text=first).wait_for(state="attached")
    assert word.get_attribute("aria-valuenow") == "1.000"
    page.page.locator("#undo").click()
    assert word.get_attribute("aria-valuenow") != "1.000"


def test_a_long_text_stays_usable(opened, live):
    page = opened().write(LONG)
    state = live.read("average", LONG)
    assert len(state["items"]) == 2_000
    assert any("2,000" in note for note in page.page.locator("#notes li").all_inner_texts())
    assert page.page.locator("#items .sentence").count() > 200
    assert page.page.locator("#items .item").count() < 60, "bars stand only where a sentence is opened"
    flat = page.page.locator("#items .fader.flat").first
    flat.focus()
    own = sum(state["attention"][:12])
    assert float(flat.get_attribute("aria-valuenow")) == pytest.approx(own, abs=1e-3)
    page.page.keyboard.press("PageUp")
    assert float(flat.get_attribute("aria-valuenow")) == pytest.approx(own + 0.1, abs=2e-3)
    changes = page.page.evaluate(
        """() => new Promise(done => {
            let changes = 0;
            const seen = new MutationObserver(records => changes += records.length);
            seen.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
            const fader = document.querySelector("#items .fader.flat");
            for (let times = 0; times < 10; times++)
                fader.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
            requestAnimationFrame(() => requestAnimationFrame(() => done(changes)));
        })"""
    )
    assert 10 <= changes < 10 * 2_000, "a step changes the bars of sentences, not each word"
    assert page.page.locator("#rankings tr").first.locator(".token").count() == 12

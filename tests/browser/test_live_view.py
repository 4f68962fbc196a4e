"""The live page for everyone: widths, colors, contrast, keyboard, tour."""

import pytest

pytestmark = pytest.mark.browser

BEYOND = """width => [...document.querySelectorAll("body *")].filter(each => {
    const box = each.getBoundingClientRect();
    const isCut = each.closest(".scroll, .unseen, .skip, #tour");
    return box.width && !isCut && (box.right > width + 1 || box.left < -1);
}).map(each => each.outerHTML.slice(0, 120))"""
"""What reaches beyond the page."""
PALE = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = color => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = each => {
        for (let at = each; at; at = at.parentElement) {
            const color = rgba(getComputedStyle(at).backgroundColor);
            if (color[3] === 255) return color;
        }
        return rgba(getComputedStyle(document.body).backgroundColor);
    };
    return [...document.querySelectorAll("body *")].filter(each => {
        const own = [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        if (!own || !each.checkVisibility() || each.closest(":disabled, .unseen, .skip, option, script")) return false;
        const [a, b] = [light(rgba(getComputedStyle(each).color)), light(behind(each))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05) < 4.5;
    }).map(each => each.outerHTML.slice(0, 120));
}"""
"""Text whose contrast to what is behind it is less than 4.5."""
LIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"


def is_dark(page):
    return sum(page.page.evaluate(LIGHTNESS)) < 200


def test_the_page_fits_and_can_be_read(opened, live):
    for width, scheme in [(390, "light"), (390, "dark"), (768, "dark"), (1280, "dark"), (1600, "light")]:
        page = opened(width=width, height=844, color_scheme=scheme)
        page.write("the film was so good " + "x" * 120 + " http://" + "y" * 90 + ".example bad")
        page.press("erase_ranking")
        page.page.locator("#second-open").click()
        page.page.locator("#audit summary").click()
        page.fader(4).focus()
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.page.evaluate(BEYOND, width) == []
        assert page.page.evaluate(PALE) == []
        assert is_dark(page) == (scheme == "dark")


def test_on_a_phone_the_prediction_stays_in_view_while_a_bar_is_dragged(opened):
    page = opened(width=390, height=844, has_touch=True, is_mobile=True)
    page.fader(10).scroll_into_view_if_needed()
    page.page.evaluate("document.getElementById('papers').scrollIntoView()")
    page.page.locator("#brief").wait_for()
    assert "moved 0 of ." in page.page.locator("#brief").inner_text()
    wide = opened(width=1280)
    wide.page.evaluate("document.getElementById('papers').scrollIntoView()")
    assert wide.page.locator("#prediction").is_visible() and not wide.page.locator("#brief").is_visible()
    box = wide.page.locator("#prediction .movement").bounding_box()
    assert 0 <= box["y"] < 900, "on a wide screen the whole panel stays"


def test_the_switch_beats_the_system_and_is_remembered(opened):
    page = opened(color_scheme="light")
    page.page.locator("#theme").click()
    assert is_dark(page)
    page.page.reload()
    page.read()
    assert is_dark(page)
    page.page.get_by_label("Switch to light colors").click()
    assert not is_dark(page)


def test_the_tour_has_three_steps_and_comes_once(opened):
    page = opened(tour=True)
    tour = page.page.locator("#tour")
    assert tour.is_visible()
    page.page.reload()
    page.read()
    assert tour.is_hidden(), "not even if it was left at its first step"
    page.page.locator("#tour-open").click()
    titles = []
    for _ in range(3):
        titles.append(tour.locator("h2").inner_text())
        assert page.page.locator(".spot").count() == 1
        page.page.keyboard.press("Enter")
    assert len(set(titles)) == 3 and tour.is_hidden() and page.page.locator(".spot").count() == 0
    assert page.page.evaluate("document.activeElement.id") == "tour-open", "the focus returns to where it was"
    page.page.locator("#tour-open").click()
    page.page.keyboard.press("Escape")
    assert tour.is_hidden()
    page.page.locator("#tour-open").click()
    tour.locator("button", has_text="Skip").click()
    assert tour.is_hidden()


def test_the_tour_does_not_open_by_itself_if_the_browser_cannot_remember_it(opened):
    page = opened(tour=True)
    page.page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error(); }})")
    page.page.reload()
    page.read()
    assert page.page.locator("#tour").is_hidden()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_tour_covers_nothing(opened, width):
    page = opened(tour=True, width=width, reduced_motion="reduce").page
    covered = """() => {
        const tour = document.getElementById("tour").getBoundingClientRect();
        const meets = box => box.left < tour.right && tour.left < box.right
            && box.top < tour.bottom && tour.top < box.bottom;
        const boxes = ["prediction", "text", "items", "actions"].map(id => document.getElementById(id));
        return boxes.filter(each => meets(each.getBoundingClientRect())).map(each => each.id);
    }"""
    for _ in range(3):
        page.locator("#tour").wait_for()
        box = page.locator("#tour").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900, "the step is in view"
        assert page.evaluate(covered) == []
        page.keyboard.press("Enter")


def focused(page):
    return page.page.evaluate("document.activeElement.id || document.activeElement.className")


def test_everything_is_reached_by_the_keyboard_in_the_order_of_the_page(opened):
    page = opened().write("so good")
    page.page.locator(".skip").first.focus()
    seen = [focused(page)]
    for _ in range(60):
        page.page.keyboard.press("Tab")
        seen.append(focused(page))
        ring = page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring != "none", f"no focus is seen on {seen[-1]}"
        if seen[-1] == "save-svg":
            break
    wanted = ["skip", "tour-open", "theme", "model", "examples", "text", "skip inline", "fader", "fader", "action"]
    wanted += ["second-open", "copy-link", "save-page", "save-png", "save-svg"]
    places = iter(seen)
    assert all(name in places for name in wanted), seen


def test_sliders_have_names_values_and_limits(opened):
    page = opened()
    sliders = page.page.get_by_role("slider")
    assert sliders.count() >= 14
    first = page.fader(0)
    assert first.get_attribute("aria-label") in ("the", "the, key")
    assert first.get_attribute("aria-valuemin") == "0" and first.get_attribute("aria-valuemax") == "1"
    assert first.get_attribute("aria-valuetext").endswith("of the attention")
    labels = "all => all.filter(each => !each.labels?.length && !each.getAttribute('aria-label')).length"
    assert page.page.locator("select, textarea, input:not([hidden])").evaluate_all(labels) == 0


def test_without_motion_nothing_moves(opened):
    page = opened(reduced_motion="reduce")
    moving = (
        "[...document.querySelectorAll('*')].filter(each => getComputedStyle(each).transitionDuration !== '0s').length"
    )
    assert page.page.evaluate(moving) == 0
    assert page.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"

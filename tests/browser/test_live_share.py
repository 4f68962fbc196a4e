"""Taking the live page along: its link, the page that works offline, and pictures."""

import pytest

from heedful.cli.serve import opened_in_browser
from support.live import SENTENCES, TEXT, TOKEN

pytestmark = pytest.mark.browser


def saved(page, tmp_path, button="#save-page", name="heedful.html"):
    with page.page.expect_download() as download:
        page.page.locator(button).click()
    assert download.value.suggested_filename == name
    path = tmp_path / name
    download.value.save_as(path)
    return path


def test_a_link_opens_the_same_state_in_a_new_page(opened, live):
    page = opened().choose("bilstm")
    page.fader(4).focus()
    page.page.keyboard.press("PageUp")
    page.page.keyboard.press("p")
    page.page.locator("#copy-link").click()
    link = page.page.locator("#link").input_value()
    assert link.startswith(live.address + "/#") and "token" not in link
    again = opened(fragment=link.removeprefix(live.address + "/"))
    assert again.page.locator("#model").input_value() == live.id_of("bilstm")
    assert again.page.locator("#text").input_value() == TEXT
    assert again.weights == pytest.approx(page.weights, abs=1e-3)
    assert again.numbers() == pytest.approx(page.numbers(), abs=1e-6)
    assert "pinned" in again.fader(4).get_attribute("aria-valuetext")


def test_the_page_that_open_writes_leads_to_the_live_page(browser, live, monkeypatch):
    addresses = []
    monkeypatch.setattr("webbrowser.open", addresses.append)
    with opened_in_browser(f"{live.address}/?token={TOKEN}"):
        context = browser.new_context()
        page = context.new_page()
        page.goto(addresses[0])
        page.locator("#beside[aria-busy=false]").wait_for()
        assert page.url.startswith(live.address) and TOKEN not in page.url
        context.close()


def test_the_address_follows_the_state(opened, live):
    page = opened().write("so bad was the film")
    page.page.wait_for_url("**/#*so+bad+was+the+film*")
    page.page.reload()
    page.read()
    assert page.page.locator("#text").input_value() == "so bad was the film"


def test_a_malformed_link_does_no_harm(opened):
    fragment = "#model=nobody&text=so+good&attention=1,x,-3&pinned=-1,99,a"
    page = opened(fragment=fragment)
    assert page.page.locator("#text").input_value() == "so good"
    assert sum(page.weights) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("name, text", [("classes", TEXT), ("sentences", SENTENCES)])
def test_the_saved_page_works_offline_with_the_same_logits(opened, browser, live, tmp_path, name, text):
    from heedful.server.text_state import decode

    page = opened().choose(name)
    fader = page.page.locator("#items .fader").nth(1)
    fader.focus()
    page.page.keyboard.press("PageUp")
    path = saved(page, tmp_path)
    context = browser.new_context(offline=True)
    offline, complaints, asked = context.new_page(), [], []
    offline.on("console", lambda message: complaints.append(message.text))
    offline.on("pageerror", lambda error: complaints.append(str(error)))
    offline.on("request", lambda request: asked.append(request.url))
    offline.goto(path.as_uri())
    logits = lambda: [float(each) for each in offline.locator("#prediction .logit").all_text_contents()]  # noqa: E731
    assert logits() == pytest.approx(page.numbers("logit"), abs=1e-6)
    sliders = offline.locator("#items .fader")
    sliders.nth(0).focus()
    offline.keyboard.press("End")
    count = sliders.count()
    with live.models[name].reading(text) as read:
        expected = decode(read, [float(at == 0) for at in range(count)]).logits
    assert logits() == pytest.approx(expected, abs=1e-6)
    offline.locator("#reset").click()
    assert logits() == pytest.approx(live.read(name, text)["logits"], abs=1e-6)
    offline.locator("#undo").click()
    assert logits() == pytest.approx(expected, abs=1e-6)
    assert complaints == [] and {url for url in asked if not url.startswith("data:")} == {path.as_uri()}
    context.close()


def test_markup_in_a_saved_text_is_shown_as_text(opened, browser, tmp_path):
    page = opened().write("</script><script>alert(1)</script> <!-- so good")
    path = saved(page, tmp_path)
    context = browser.new_context(offline=True)
    offline, complaints = context.new_page(), []
    offline.on("pageerror", lambda error: complaints.append(str(error)))
    offline.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    offline.goto(path.as_uri())
    assert "script" in offline.locator("#items").inner_text() and offline.locator("body > script").count() == 3
    assert complaints == []
    context.close()


def test_pictures_are_saved(opened, tmp_path):
    for kind, start in [("svg", b"<svg"), ("png", b"\x89PNG")]:
        page = opened()
        path = saved(page, tmp_path, f"#save-{kind}", f"heedful.{kind}")
        assert start in path.read_bytes()[:200]

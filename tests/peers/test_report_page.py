"""The report as a browser shows it: no complaint, no request, nothing of the data runs, light and dark, on a phone.
Screenshots are left in build/screens."""
import pytest
from conftest import BUILD, darkroom
from chromium import PROGRAM, Browser
from planted import Planted

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
SCREENS = BUILD / "screens"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    d = tmp_path_factory.mktemp("page")
    Planted(d / "place", d / "shards")
    darkroom("report", d / "place", "-o", d / "report.html", check=0)
    return (d / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser():
    b = Browser()
    yield b
    b.close()


@pytest.mark.parametrize("width,scheme", [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_page(browser, url, width, scheme):
    browser.look(width, scheme)
    browser.open(url)
    browser.screenshot(SCREENS / f"report-{width}-{scheme}.png")
    assert browser.complaints() == []
    assert {u.split(":")[0] for u in browser.requests()} <= {"file", "data"} and [u for u in browser.requests() if u.startswith("file")] == [url]
    assert browser.value("document.images.length") > 50
    assert browser.value("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    assert browser.value("document.documentElement.scrollWidth") <= width, "the page is wider than the window"
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) > 600) == (scheme == "light")
    # charts have a size, and letters are not shrunk with them
    assert browser.value("[...document.querySelectorAll('svg.chart')].every(s => s.getBoundingClientRect().width > 200)")
    assert browser.value("Math.min(...[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height))") >= 10


def test_no_text_outside_its_chart(browser, url):
    for width in (390, 1280):
        browser.look(width, "light")
        browser.open(url)
        assert browser.value("""[...document.querySelectorAll('svg text')].every(t => { const b = t.getBoundingClientRect();
                                return b.left >= 0 && b.right <= innerWidth + 1; })""")


def test_data_stays_data(browser, url):
    browser.look(1280, "light")
    browser.open(url)
    assert browser.value("document.scripts.length") == 1 and browser.value("document.scripts[0].type") == "application/json"
    assert browser.value("document.querySelectorAll('[onload],[onerror],[onmouseover],[style],iframe,svg svg').length") == 0
    assert browser.value("document.body.innerText.includes('</script><script>alert(1)</script>')")
    assert browser.value("JSON.parse(document.getElementById('report-data').textContent).rows") == 600


def test_toggle_without_script(browser, url):
    for scheme in ("light", "dark"):
        browser.look(1280, scheme)
        browser.open(url)
        before = browser.value("getComputedStyle(document.body).backgroundColor")
        browser.click("label.flip")
        after = browser.value("getComputedStyle(document.body).backgroundColor")
        assert before != after and browser.value("document.getElementById('flip').checked")
    browser.screenshot(SCREENS / "report-flipped.png")


def test_policy_holds_even_if_escaping_failed(browser, url):
    browser.look(1280, "light")
    browser.open(url)
    browser.value("""document.body.insertAdjacentHTML('beforeend', '<img src="http://127.0.0.1:9/x.png" onerror="window.hacked = 1">');
                     const s = document.createElement('script'); s.textContent = 'window.hacked = 2'; document.body.appendChild(s);
                     const t = document.createElement('style'); t.textContent = 'body { color: rgb(1, 2, 3) }'; document.body.appendChild(t); 1""")
    browser.listen(0.5)
    assert browser.value("window.hacked === undefined")
    assert browser.value("getComputedStyle(document.body).color") != "rgb(1, 2, 3)"
    assert any("Content Security Policy" in c for c in browser.complaints())
    assert not [u for u in browser.requests() if u.startswith("http") and not any(
        e.get("method") == "Network.loadingFailed" and e["params"].get("blockedReason") == "csp" for e in browser.events)]


def test_print_is_light(browser, url):
    browser.look(1280, "dark")
    browser.ask("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.open(url)
    assert sum(map(int, browser.value("getComputedStyle(document.body).backgroundColor")[4:-1].split(","))) > 600
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert len(browser.ask("Page.printToPDF", printBackground=True)["data"]) > 10000
    browser.ask("Emulation.setEmulatedMedia", media="", features=[])

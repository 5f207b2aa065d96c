"""The page in a real browser, headless: what people do with it, with the mouse, by keys and on a phone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from served import CAT, EXAMPLES, Served

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not (CHROMIUM and DRIVER):
    pytest.skip("there is no chromium with chromedriver here; make browser installs both", allow_module_level=True)
selenium = pytest.importorskip("selenium", reason="the browser is driven by selenium")

from selenium import webdriver  # noqa: E402
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-dev-shm-usage
"""
SOFT = "example=cat&align=soft&penalty=0.5"


class Page:
    """The page, as a test uses it."""

    def __init__(self, driver: Any, served: Served, downloads: Path):
        self.driver, self.served, self.downloads = driver, served, downloads

    def open(self, state: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(self.served.address + (f"#{state}" if state else ""))
        self.wait(lambda: "sentence" in self.text("count"))

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def click(self, selector: str, number: int = 0) -> None:
        """Click what a selector finds; again where the page draws it anew in that moment."""
        errors = StaleElementReferenceException, IndexError
        WebDriverWait(self.driver, 30, 0.05, errors).until(lambda _: self.all(selector)[number].click() is None)

    def text(self, id: str) -> str:
        return self.driver.execute_script("return document.getElementById(arguments[0]).textContent", id)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, holds: Callable[[], Any]) -> Any:
        return WebDriverWait(self.driver, 30, 0.05).until(lambda _: holds())

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def pick(self, id: str, value: str) -> None:
        """Choose from a list."""
        self.run(
            "const list = document.getElementById(arguments[0]); list.value = arguments[1];"
            "list.dispatchEvent(new Event('change'))",
            id,
            value,
        )

    def slide(self, value: float) -> None:
        """Move the penalty's slider."""
        self.run(
            "const slider = document.querySelector('input[type=range]'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input', {bubbles: true}))",
            value,
        )

    @property
    def sentences(self) -> list[str]:
        return self.run("return [...document.querySelectorAll('#sentences-list .say')].map((one) => one.ariaLabel)")

    @property
    def marked(self) -> int:
        return self.run("return document.querySelectorAll('#map [data-node].on').length")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = CHROMIUM
    made = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield made, downloads
    made.quit()


@pytest.fixture
def page(driver: tuple[Any, Path], served: Served) -> Iterator[Page]:
    """The page; behind each test, nothing may stand in the console, and no request may have left the machine."""
    made, downloads = driver
    size(made, 1366, 768)
    for name in ("browser", "performance"):
        made.get_log(name)
    yield Page(made, served, downloads)
    assert [line["message"] for line in made.get_log("browser") if line["level"] in ("SEVERE", "WARNING")] == []
    logged = [json.loads(line["message"])["message"] for line in made.get_log("performance")]
    asked = [line["params"]["request"]["url"] for line in logged if line["method"] == "Network.requestWillBeSent"]
    assert asked
    assert {urlsplit(url).hostname for url in asked if not url.startswith(("blob:", "about:"))} == {"127.0.0.1"}


def size(driver: Any, width: int, height: int, *, phone: bool = False, dark: bool = False) -> None:
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def test_the_first_example_is_shown(page: Page):
    page.open()
    assert page.text("name") == "cat"
    assert page.text("count").startswith("2,560 sentences, 2,555 of them new")
    assert len(page.sentences) == 15
    assert len(page.all("#references-list li")) == len(CAT)
    assert page.marked > 5
    page.wait(lambda: page.all("#matrix-picture svg"))
    assert page.text("command").startswith("polyref expand ")
    assert page.text("command").endswith("examples.jsonl -o expanded.jsonl")


def test_an_example_is_chosen_by_search_and_by_its_neighbours(page: Page):
    page.open()
    page.click("#choose")
    page.find("#search").send_keys("dogs fast")
    page.wait(lambda: len(page.all("#list li")) == 1)
    page.click("#list button")
    page.wait(lambda: page.text("name") == "dogs")
    assert "example=dogs" in page.driver.current_url
    page.find("body").send_keys("/")
    page.find("#search").clear()
    page.find("#search").send_keys(" ")
    page.wait(lambda: len(page.all("#list li")) == len(EXAMPLES))
    page.press(Keys.ESCAPE)
    page.click("#previous")
    page.wait(lambda: page.text("name") == "cat")
    page.driver.back()
    page.wait(lambda: page.text("name") == "dogs")


def test_examples_are_sorted_by_what_their_lattices_hold(page: Page):
    page.open("example=one")
    page.click("#choose")
    page.pick("order", "sentences")
    page.wait(lambda: f"of the first {len(EXAMPLES)}" in page.text("found"))
    assert page.find("#list button").text.startswith("cat")
    assert "2,560 sentences" in page.find("#list button").text


def test_own_references_are_typed(page: Page):
    page.open()
    page.click("#write")
    assert page.run("return document.getElementById('own-text').value").split("\n") == CAT
    page.find("#own-text").clear()
    page.find("#own-text").send_keys("a cat sleeps on the mat\nthe cat is asleep on a mat\n\n")
    page.click("#own-show")
    page.wait(lambda: page.text("name") == "Your own references")
    assert page.text("count").startswith("8 sentences, 6 of them new")
    assert "own.jsonl" in page.text("command")


def test_the_slider_changes_count_list_and_address_without_a_reload(page: Page):
    page.open(SOFT)
    page.run("window.same = true")
    page.wait(lambda: page.all(".curve"))
    count, sentences = page.text("count"), page.sentences
    page.slide(0.95)
    page.wait(lambda: page.text("count") != count)
    assert page.sentences != sentences
    assert "penalty=0.95" in page.driver.current_url
    assert "--penalty 0.95" in page.text("command")
    page.slide(0.5)
    page.wait(lambda: page.text("count") == count)
    assert page.sentences == sentences
    assert page.run("return window.same")


def test_many_moves_of_the_slider_end_at_the_last_one(page: Page):
    page.open(SOFT)
    for n in range(101):
        page.slide(n / 100)
    page.wait(lambda: "penalty 1" in page.text("count").split(", "))
    assert "--penalty 1" in page.text("command")


def test_every_control_changes_what_is_asked(page: Page):
    page.open("example=cat")
    page.click("input[value=soft]")
    page.wait(lambda: "penalty 0.5" in page.text("count"))
    page.find("#set-penalty-adaptive").click()
    page.wait(lambda: "--penalty adaptive" in page.text("command"))
    page.pick("set-judge", "bleu")
    page.wait(lambda: "--judge bleu" in page.text("command"))
    number = page.find("#set-per_example")
    number.clear()
    number.send_keys("8" + Keys.ENTER)
    page.wait(lambda: len(page.sentences) == 3)
    page.pick("set-tokenizer", "whitespace")
    page.wait(lambda: "--tokenizer whitespace" in page.text("command"))


def test_a_wrong_setting_is_told_and_mended(page: Page):
    page.open("example=cat")
    number = page.find("#set-per_example")
    number.clear()
    number.send_keys("5000" + Keys.ENTER)
    page.wait(lambda: page.find("#error").is_displayed())
    assert "1,000 at most" in page.text("error")
    page.driver.get_log("browser")  # the browser itself notes that the server refused
    number.clear()
    number.send_keys("6" + Keys.ENTER)
    page.wait(lambda: not page.find("#error").is_displayed())
    assert len(page.sentences) == 1


def test_a_cell_of_the_matrix_tells_its_numbers(page: Page):
    page.open("example=dogs&align=soft")
    page.wait(lambda: page.all("#matrix-picture svg"))
    page.run(
        "const grid = document.querySelector('#matrix-picture svg g').getScreenCTM();"
        "const [x, y] = arguments, place = document.querySelector('#matrix-picture svg');"
        "const at = {clientX: grid.e + grid.a * x, clientY: grid.f + grid.d * y};"
        "place.dispatchEvent(new MouseEvent('click', {bubbles: true, ...at}))",
        19,
        19,
    )
    assert "never linked: they are different numbers" in page.text("cell")
    assert "cell=0%2C0" in page.driver.current_url
    page.find("#matrix-picture").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert page.text("cell").startswith("Adogs – Bdogs: similarity ")
    assert "linked" in page.text("cell")


def test_another_pair_of_references_is_compared(page: Page):
    page.open("example=cat")
    page.pick("right", "4")
    page.wait(lambda: "words of reference E" in page.text("matrix-picture"))
    assert "pair=0%2C4" in page.driver.current_url


def test_a_sentence_that_is_clicked_lights_up_and_can_be_left(page: Page):
    page.open("example=cat")
    second = page.all("#sentences-list .say")[1]
    text = second.get_attribute("aria-label")
    second.click()
    assert page.find("#sentences-list tr.on .say").get_attribute("aria-label") == text
    assert page.marked >= len(text.split())
    assert page.all("#map .way")
    page.click("#references-list button")
    assert page.run("return document.querySelector('#map svg').classList.contains('dim')")
    page.click("#references-list button")
    assert not page.run("return document.querySelector('#map svg').classList.contains('dim')")


def test_a_word_that_is_pointed_at_tells_who_says_it(page: Page):
    page.open(SOFT)
    word = next(one for one in page.all("#map [data-node]") if one.text == "tabby")
    ActionChains(page.driver).move_to_element(word).perform()
    page.wait(lambda: page.text("word"))
    assert page.text("word").startswith("tabby said by A")


def test_what_was_left_out_is_shown_with_the_reason_on_request(page: Page):
    page.open("example=cat")
    assert not page.all("#left-out-list .reason")
    page.click("#left-out > summary")
    page.wait(lambda: page.all("#left-out-list .reason"))
    reason = page.find("#left-out-list .reason").text
    assert "says" in reason or "say" in reason
    page.click("#left-out-list .say")
    assert page.all("#map .way")


def test_everything_can_be_exported(page: Page):
    page.open("example=cat&per_example=8")
    for form, name in (("svg", "map.svg"), ("jsonl", "expanded.jsonl")):
        page.click(f"[data-export={form}]")
        path = page.downloads / name
        page.wait(path.exists)
    assert (page.downloads / "map.svg").read_text("utf-8").startswith("<svg")
    assert len(json.loads((page.downloads / "expanded.jsonl").read_text("utf-8"))["pseudo_references"]) == 3


def test_the_address_brings_everything_back(page: Page):
    page.open()
    page.click("#write")
    page.find("#own-text").clear()
    page.find("#own-text").send_keys("a cat & a dog sleep\nthe cat and the dog sleep\na dog sleeps #1")
    page.click("#own-show")
    page.wait(lambda: page.text("name") == "Your own references")
    page.click("input[value=soft]")
    page.wait(lambda: "penalty 0.5" in page.text("count"))
    page.slide(0.35)
    page.wait(lambda: "penalty 0.35" in page.text("count"))
    page.click("#sentences-list .say", 2)
    page.pick("right", "2")
    page.wait(lambda: "words of reference C" in page.text("matrix-picture"))
    page.find("#matrix-picture").send_keys(Keys.ARROW_RIGHT)
    shown = [page.text(id) for id in ("count", "references-list", "sentences-list", "command", "cell")]
    marked = page.find("#sentences-list tr.on").text
    address = page.driver.current_url
    page.open(address.partition("#")[2])
    page.wait(lambda: "words of reference C" in page.text("matrix-picture"))
    assert [page.text(id) for id in ("count", "references-list", "sentences-list", "command", "cell")] == shown
    assert page.find("#sentences-list tr.on").text == marked
    assert page.driver.current_url == address


def test_all_of_it_works_by_keys_alone(page: Page):
    page.open("example=cat")
    page.press("n")
    page.wait(lambda: page.text("name") == "dogs")
    page.press("/")
    page.press("t", "a", "b", "b", "y")
    page.wait(lambda: len(page.all("#list li")) == 1)
    tab_until(page, "#list button")
    page.press(Keys.ENTER)
    page.wait(lambda: page.text("name") == "cat")
    tab_until(page, "#map [data-node]")
    first = page.text("word")
    page.press(Keys.ARROW_RIGHT)
    assert page.text("word") != first
    tab_until(page, "input[value=hard]")
    page.press(Keys.ARROW_RIGHT)
    page.wait(lambda: "penalty 0.5" in page.text("count"))
    tab_until(page, "input[type=range]")
    page.press(Keys.ARROW_RIGHT)
    page.wait(lambda: "penalty 0.51" in page.text("count"))
    tab_until(page, "#sentences-list .say")
    page.press(Keys.TAB, Keys.ENTER)
    assert page.run("return document.activeElement.closest('tr').classList.contains('on')")
    tab_until(page, "#matrix-picture")
    page.press(Keys.ARROW_RIGHT)
    assert page.text("cell").startswith("Aa – B")


def tab_until(page: Page, selector: str) -> int:
    """Go on with the tabulator until something has the focus; how often it was pressed."""
    for times in range(1, 80):
        page.press(Keys.TAB)
        if page.run("return document.activeElement.matches(arguments[0])", selector):
            return times
    pytest.fail(f"no key leads to {selector}")


def test_every_control_has_a_name_for_a_screen_reader(page: Page):
    page.open(SOFT)
    page.click("form details summary")
    nameless = page.run(
        "return [...document.querySelectorAll('button, input, select, textarea, [role=application], [role=group]')]"
        ".filter((one) => !one.ariaLabel && !one.getAttribute('aria-labelledby'))"
        ".filter((one) => !one.labels?.length && !one.textContent.trim())"
        ".map((one) => one.outerHTML)"
    )
    assert nameless == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(dark: bool, page: Page):
    size(page.driver, 390, 844, phone=True, dark=dark)
    page.open(SOFT)
    assert page.run("return document.documentElement.scrollWidth") <= 390
    paper = page.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(21, 24, 29)" if dark else "rgb(255, 255, 255)")
    for selector in ("#map svg", "#sentences-list .say", "#matrix-picture svg", "#set-penalty"):
        assert page.find(selector).is_displayed()
    page.slide(0.9)
    page.wait(lambda: "penalty 0.9" in page.text("count"))
    page.click("#choose")
    assert page.find("#list").is_displayed()


def test_zoom_makes_the_map_larger_and_fits_it_again(page: Page):
    page.open("example=cat")
    width = "return document.querySelector('#map svg').getBoundingClientRect().width"
    before = page.run(width)
    page.click("#larger")
    assert page.run(width) > before
    page.click("#fit")
    assert page.run(width) == pytest.approx(before)


def test_a_long_example_is_not_drawn_and_everything_else_is_there(page: Page):
    references = "&".join(f"reference=a+cat+number+{n}" for n in range(30))
    page.open(references)
    assert "a drawing has room for 20 references" in page.text("map")
    assert len(page.all("#references-list li")) == 30


def test_text_of_the_data_stays_text(page: Page):
    page.open()
    page.click("#choose")
    page.wait(lambda: len(page.all("#list li")) == len(EXAMPLES))
    page.click("#list button", 2)
    page.wait(lambda: page.text("name") == EXAMPLES[2]["id"])
    assert page.text("about") == "<b>bold</b>"
    assert "<script>alert(1)</script>" in page.text("references-list")
    assert "\u202e" not in page.run("return document.body.textContent")
    assert not page.all("main script, main img, main style, dialog script")
    page.open("reference=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E+a+cat&reference=a+%E2%80%AEcat&sentence=%3Cscript%3E")
    assert not page.all("main img")


def test_an_example_that_is_not_there_is_told(page: Page):
    page.driver.get(page.served.address + "#example=nobody")
    page.driver.refresh()
    page.wait(lambda: "there is no example" in page.text("error"))
    page.driver.get_log("browser")

"""The page in a browser: offline and silent, for keyboards and screen readers, its link, its files, narrow and printed."""

import re
import shlex

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from conftest import first
from playwright.sync_api import expect

from ingest.reports.web.page import FORMS

TABS = tuple(FORMS)
#: What the browser would complain about, kept by the page itself.
WATCH = (
    "window.violations = []; addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective));"
)
#: Another link in the same window, at once.
FOLLOW = "(link) => { history.replaceState(null, '', link); dispatchEvent(new PopStateEvent('popstate')); }"
#: Names of the quantities of a tab that have no derivation, and the sources without a title.
UNEXPLAINED = """(tab) => {
    const values = Object.fromEntries(Ingest.forms[tab].map((field) => [field.name, String(field.default ?? "")]));
    const below = (tree) => [tree, ...(tree.parts ?? []).flatMap(below)];
    return Ingest.answer(tab, values).rows.map(({ name }) => [name, Ingest.derivation(tab, values, name)])
        .filter(([, tree]) => tree === null || below(tree).some((one) => one.sources.some(({ title }) => !title)))
        .map(([name]) => name);
}"""


@pytest.fixture(scope="module")
def opened(browser, url):
    """The page without a network, and what it said and loaded."""
    context = browser.new_context(offline=True, accept_downloads=True, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(5000)
    context.add_init_script(WATCH)
    said, loaded = [], []
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))
    context.on("request", lambda request: loaded.append(request.url.partition("#")[0]))
    page = context.new_page()
    page.goto(url)
    page.evaluate(AXE_SCRIPT)
    yield page, said, loaded
    context.close()


@pytest.fixture
def show(opened, url):
    """Turn the page to a link, with the other tabs as at its start; whatever a test does, it loads and says nothing."""
    page, said, loaded = opened

    def call(state="#v=1&tab=bw", width=1280, **media):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(**{"media": "screen", "color_scheme": "light", **media})
        for link in (*(f"#v=1&tab={tab}" for tab in TABS), state):
            page.evaluate(FOLLOW, link)
        return page

    yield call
    page.evaluate("document.querySelector('dialog').close()")
    heard = (said[:], page.evaluate("violations.splice(0)"), set(loaded))
    said.clear()
    assert heard == ([], [], {url})


def settle(page):
    """Draw what waits for a pause of the reader: charts, tables, sources."""
    page.evaluate("dispatchEvent(new Event('beforeprint'))")


def answered(page):
    page.locator("#answer:not([aria-busy])").wait_for()
    return page


def command(page):
    return answered(page).locator("#command pre code").inner_text()


def number(page):
    answered(page)
    return page.locator(".big").first.inner_text().replace("\n", " ")


def test_the_policy_refuses_scripts_and_styles_that_are_not_of_the_page(browser, url):
    page = browser.new_page()
    page.add_init_script(WATCH)
    page.goto(url)
    page.evaluate("""() => {
        const added = document.createElement("script");
        added.textContent = "window.ran = true";
        document.body.append(added);
        document.body.setAttribute("style", "color: red");
        new Image().src = "https://example.org/x";
    }""")
    page.wait_for_timeout(100)
    assert {"script-src-elem", "style-src-attr", "img-src"} <= set(page.evaluate("violations"))
    assert page.evaluate("window.ran") is None
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(show, scheme):
    page = show(color_scheme=scheme)
    states = [f"#v=1&tab={tab}" for tab in TABS] + ["#v=1&tab=bw&model=cosmoflw&colour=red"]
    found = {}
    for state in states:
        page.evaluate(FOLLOW, state)
        settle(page)
        found[state] = _serious(page, scheme)
    page.evaluate(FOLLOW, "#v=1&tab=bw")
    page.locator(".big").first.click()
    page.locator("dialog summary").first.click()
    found["derivation"] = _serious(page, scheme)
    page.keyboard.press("Escape")
    page.locator("#in-gpu").press("ArrowDown")
    found["list"] = _serious(page, scheme)
    assert found == {state: [] for state in found}


def _serious(page, scheme):
    """What axe finds; the dark page differs from the light one in its colours alone."""
    rules = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}
    answer = Axe("0").run(page, options={"resultTypes": ["violations"], **rules}).response
    assert len(answer["passes"]) >= (1 if rules else 10)
    return [(one["id"], one["nodes"][0]["html"]) for one in answer["violations"] if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("tab", TABS)
def test_the_keyboard_reaches_every_input_and_every_number(show, tab):
    page = show()
    page.locator("#tab-bw").focus()
    for _ in range(TABS.index(tab)):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == f"tab-{tab}"
    names = page.evaluate("(tab) => Ingest.forms[tab].map((field) => field.name)", tab)
    numbers = page.locator("#answer button[data-name]").count()
    assert numbers > 2
    assert page.evaluate(UNEXPLAINED, tab) == []
    reached, pressed = [], 0
    while pressed < 200 and len([one for one in reached if one == "number"]) < numbers:
        page.keyboard.press("Tab")
        pressed += 1
        kind, name = page.evaluate("[document.activeElement.tagName, document.activeElement.dataset.name]")
        if kind == "SUMMARY" and page.evaluate("!document.activeElement.parentElement.open"):
            page.keyboard.press("Enter")
        if name:
            reached.append("number" if kind == "BUTTON" else name)
    assert [one for one in reached if one != "number"] == names
    page.keyboard.press("Enter")
    focused = page.evaluate("document.activeElement.closest('dialog')?.open")
    page.keyboard.press("Escape")
    assert (focused, page.evaluate("document.querySelector('dialog').open")) == (True, False)
    assert page.evaluate("document.activeElement.dataset.name") == page.locator("#answer button[data-name]").last.get_attribute(
        "data-name"
    )


def test_a_model_is_chosen_by_typing_a_part_of_its_name(show, run):
    page = show()
    box = page.get_by_role("combobox", name="Model")
    box.focus()
    page.keyboard.type("resnet")
    assert page.get_by_role("option").first.is_visible()
    # Of several rows none is taken before a key chooses it.
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.locator("#in-nodes").fill("16")
    expect(page).to_have_url(re.compile("model=resnet50.*nodes=16"))
    shown = run(*shlex.split(command(page))[1:]).out
    assert "ResNet" in shown.splitlines()[1]
    assert number(page) in shown
    expect(page.locator("#spoken")).to_contain_text(number(page).split(" (")[0])


def test_a_name_as_tools_write_it_offers_its_entry(show):
    page = show()
    for box, written, entry in (("Model", "qwen3:8b", "model=qwen3-8b"), ("GPU", "Tesla V100-SXM2-16GB", "gpu=v100-sxm2-16")):
        page.get_by_role("combobox", name=box, exact=True).focus()
        page.keyboard.type(written)
        expect(page.get_by_role("option").first).to_be_visible()
        for key in ("ArrowDown", "Enter"):
            page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"{entry}\b"))


def test_a_refusal_is_that_of_the_command_line_in_words_of_the_fields(show, run):
    page = show()
    page.locator("#in-nodes").fill("0")
    refused = run(*shlex.split(command(page))[1:])
    assert refused.code != 0
    assert page.locator(".refusal").inner_text() == refused.refusal.replace("--nodes", "“Nodes”")
    assert page.locator("#in-nodes").get_attribute("aria-invalid") == "true"
    assert page.locator("#quantities").is_hidden()


def test_the_link_holds_the_state_and_back_returns_to_it(show):
    page = show()
    first = number(page)
    page.locator("#in-nodes").fill("7")
    page.locator("#in-nodes").blur()
    second = number(page)
    page.locator("#tab-checkpoint").click()
    state = page.evaluate("location.hash")
    assert state.startswith("#v=1&tab=checkpoint")
    page.go_back()
    assert (number(page), page.locator("#in-nodes").input_value()) == (second, "7")
    state = page.evaluate("location.hash")
    page.go_back()
    assert number(page) == first
    page.evaluate(FOLLOW, state)
    assert number(page) == second


@pytest.mark.parametrize(
    ("tab", "name", "text", "yielding"),
    [("vectors", "documents", "1M", "vectors"), ("dataset", "samples", "1M", "tokens"), ("bw", "node", "dgx-b200", "gpu"),
     ("fit", "model", "cosmoflow", "read_bandwidth")],
)  # fmt: skip
def test_what_a_box_begins_with_gives_way_to_an_input_in_its_place(show, tab, name, text, yielding):
    page = show(f"#v=1&tab={tab}&{name}={text}")
    linked = page.locator(f"#in-{yielding}").input_value()
    page = show(f"#v=1&tab={tab}")
    with_start = page.locator(f"#in-{yielding}").input_value()
    page.evaluate("([id]) => document.getElementById(id).closest('details')?.setAttribute('open', '')", [f"in-{name}"])
    page.locator(f"#in-{name}").fill(text)
    page.locator(f"#in-{name}").blur()
    given_way = page.locator(f"#in-{yielding}").input_value()
    assert given_way == linked != with_start
    assert f"--{yielding.replace('_', '-')} " not in page.locator("#command").inner_text()


def test_a_link_warns_of_what_the_page_does_not_know(show):
    page = show("#v=2&tab=bw&nodes=7&colour=red&<b>=1")
    warned = page.locator("#notices").inner_text()
    assert "version 2" in warned
    assert "“colour”, “<b>”" in warned
    assert page.locator("#in-nodes").input_value() == "7"


@pytest.mark.parametrize("tab", TABS)
def test_a_link_of_all_inputs_stays_below_300_characters(show, tab):
    page = show(f"#v=1&tab={tab}")
    for more in page.locator("#fields summary").all():
        more.click()
    boxes = page.locator("#fields input:not([role])")
    for box in boxes.all():
        box.fill("1234")
    boxes.last.blur()
    link = page.evaluate("location.hash")
    assert link.count("=1234") == boxes.count()
    assert len(link) <= 300
    for box in boxes.all()[:3]:
        box.fill("9" * 100)
        box.blur()
    assert len(page.evaluate("location.hash")) <= 300


def test_the_command_is_copied_and_the_site_file_plans(show, run, tmp_path):
    page = show(f"#v=1&tab={TABS[-1]}")
    page.locator("#copy").click()
    expect(page.locator("#done")).not_to_be_empty()
    assert page.evaluate("navigator.clipboard.readText()") == command(page)
    with page.expect_download() as saved:
        page.locator("#download").click()
    saved.value.save_as(tmp_path / "site.yaml")
    assert saved.value.suggested_filename == "site.yaml"
    assert run("plan", "site.yaml", cwd=tmp_path).code == 0


#: The tables that hide a part of themselves.
CUT = """[...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.ariaLabel)"""


@pytest.mark.parametrize("width", first(3, (320, 768, 1280, 390, 748, 3840)))
def test_nothing_is_wider_than_the_window(show, width):
    page = show(width=width)
    for tab in (*TABS, "fit&storage=all", "plan&storage=ddn-ai400x2"):
        page.evaluate(FOLLOW, f"#v=1&tab={tab}")
        answered(page)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab
        assert page.evaluate(CUT) == [], tab
    page.locator(".big").first.click()
    assert page.evaluate(
        "[...document.querySelectorAll('dialog *')].every((one) => one.getBoundingClientRect().right <= innerWidth)"
    )


def test_options_and_ids_in_cautions_keep_their_letters(show):
    said = show("#v=1&tab=checkpoint").locator("#cautions").inner_text()
    assert "set “Checkpoint overhead allowed”" in said
    assert "\nCheckpoints, lost work" in said


def test_paper_has_inputs_answer_and_sources_but_no_controls(show):
    page = show("#v=1&tab=bw&nodes=7", color_scheme="dark", media="print")
    settle(page)
    assert re.search(r"Nodes\s+7\b", page.locator("#given").inner_text())
    titles = page.locator("#sources li .title").all_inner_texts()
    assert len(titles) > 2
    assert all(titles)
    assert page.locator(".big").first.is_visible()
    for hidden in ("#inputs", "nav", ".actions", "dialog"):
        assert page.locator(hidden).is_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.sheet')).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(prefer_css_page_size=True).count(b"/MediaBox [0 0 594.95996 841.91998]") >= 1


#: What the headline says from now on, each time that it changes.
LISTEN = """() => {
    const label = document.getElementById("question"), number = document.getElementById("headline");
    window.said = [];
    new MutationObserver(() => said.push([label.textContent, number.querySelector("button").firstChild.textContent]))
        .observe(number, { childList: true });
}"""
#: Label and number of a comparison, or of one of its systems alone.
HEAD = """([rate, alone]) => {
    const given = Object.fromEntries(Ingest.forms.fit.map(({ name, default: usual }) => [name, String(usual ?? "")]));
    const asked = { ...given, storage: "all", read_bandwidth: rate };
    const one = alone ? Ingest.answer("fit", { ...asked, ...Ingest.answer("fit", { ...asked, read_bandwidth: alone }).leader })
                      : Ingest.answer("fit", asked);
    return [one.headline.label, one.headline.display.split(" ")[0]];
}"""


@pytest.mark.slow
def test_a_slow_comparison_answers_its_leader_first(browser, url):
    """On a slow processor the number of the system that led comes before all are ranked again."""
    page = browser.new_page()
    page.goto(f"{url}#v=1&tab=fit&storage=all")
    processor = page.context.new_cdp_session(page)
    processor.send("Emulation.setCPUThrottlingRate", {"rate": 10})
    answer = page.locator("#answer")
    for rate in ("800 GB/s", "900 GB/s"):  # from here on the page knows that it takes long
        page.fill("#in-read_bandwidth", rate)
        expect(answer).not_to_have_attribute("aria-busy", "true", timeout=60_000)
    page.evaluate(LISTEN)
    page.fill("#in-read_bandwidth", "1 TB/s")
    expect(answer).not_to_have_attribute("aria-busy", "true", timeout=60_000)
    said = page.evaluate("() => said")
    processor.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    (led, first), ranked = page.evaluate(HEAD, ["1 TB/s", "900 GB/s"]), page.evaluate(HEAD, ["1 TB/s", ""])
    page.context.close()
    assert said == [[f"{led} (first in the last comparison, comparing again …)", first], ranked]

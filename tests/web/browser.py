"""The page in Debian's Chromium: how the tests, the pictures and the bench open it."""

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from playwright.sync_api import Browser, sync_playwright

#: The console script of the environment that runs this.
COMMAND = str(Path(sys.executable).parent / "ingest")
CHROMIUM = shutil.which("chromium")


def written_page(folder: Path) -> str:
    """Address of the page that `ingest page` writes into a folder."""
    path = folder / "calc.html"
    subprocess.run([COMMAND, "page", "-o", str(path)], check=True, capture_output=True)
    return path.as_uri()


@contextmanager
def chromium() -> Iterator[Browser]:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        try:
            yield browser
        finally:
            browser.close()


#: Marks the press of a key in a box and the frame after the number has changed, or after the last number is settled.
STOPWATCH = """([box, settled]) => new Promise((resolve) => {
    const number = document.getElementById("headline"), field = document.getElementById(box);
    field.addEventListener("keydown", () => { performance.mark("pressed"); }, { once: true });
    new MutationObserver((_, observer) => {
        if (settled && document.getElementById("answer").hasAttribute("aria-busy")) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => {
            performance.mark("shown");
            resolve(performance.measure("key", "pressed", "shown").duration / 1000);
        }));
    }).observe(number, { childList: true, subtree: true, characterData: true });
    field.focus();
    const digits = /^[0-9]*/.exec(field.value)[0].length;
    field.setSelectionRange(digits, digits);
})"""
MARKS = ("pressed", "shown")
#: The questions that the bench asks: what they are called, link, and the box in which it types.
RANKED = "fit of all systems, ranked"
TYPED = (
    ("bandwidth", "#v=1&tab=bw", "in-nodes"),
    ("checkpoint", "#v=1&tab=checkpoint", "in-gpus"),
    ("data set", "#v=1&tab=dataset", "in-tokens"),
    ("fit of one system", "#v=1&tab=fit", "in-read_bandwidth"),
    ("fit of all systems, its leader so far", "#v=1&tab=fit&storage=all", "in-read_bandwidth"),
    (RANKED, "#v=1&tab=fit&storage=all", "in-read_bandwidth"),
    ("small site", "#v=1&tab=plan", "in-nodes"),
)


class KeyTimes(NamedTuple):
    """Seconds from the press of a key to the new number.

    Attributes:
        wall: median by the clock, which on a busy machine counts other programs too.
        own: median of the processor time of the page.
    """

    wall: float
    own: float


def key_times(browser: Browser, url: str, box: str, settled: bool = False, slower: int = 4, presses: int = 9) -> KeyTimes:
    """Time from the press of a key in a box to the new number, or to the last of them, with the processor slowed."""
    page = browser.new_page()
    page.goto(url)
    page.wait_for_timeout(1500)
    session = page.context.new_cdp_session(page)
    events: list[dict[str, Any]] = []
    session.on("Tracing.dataCollected", lambda found: events.extend(one for one in found["value"] if one["name"] in MARKS))
    session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    session.send(
        "Tracing.start", {"traceConfig": {"includedCategories": ["blink.user_timing"]}, "transferMode": "ReportEvents"}
    )
    wall = []
    for press in range(presses):
        page.evaluate(f"(given) => {{ window.taken = ({STOPWATCH})(given); }}", [box, settled])
        page.keyboard.press("Backspace" if press % 2 else "6")
        wall.append(page.evaluate("() => window.taken"))
        page.wait_for_timeout(1000)
    session.send("Tracing.end")
    while len(events) < 2 * presses:
        page.wait_for_timeout(50)
    page.context.close()
    pressed, shown = (sorted(one["tts"] for one in events if one["name"] == name) for name in MARKS)
    own = [(end - start) / 1e6 for start, end in zip(pressed, shown, strict=True)]
    return KeyTimes(median(wall), median(own))


def page_rows() -> list[tuple[str, ...]]:
    """Rows of the bench: size of the page, time to open it, time from a key to the number."""
    with tempfile.TemporaryDirectory() as folder:
        url = written_page(Path(folder))
        content = (Path(folder) / "calc.html").read_bytes()
        with chromium() as browser:
            keys = [(name, key_times(browser, url + link, box, settled=name == RANKED)) for name, link, box in TYPED]
            opened = sorted(_opening_seconds(browser, url) for _ in range(5))
    return [
        ("the page", "1.25 MB", f"{len(content) / 1.25e6:.2f}", "≤ 1"),
        ("the page, compressed with gzip", "450 kB", f"{len(gzip.compress(content)) / 450e3:.2f}", "≤ 1"),
        ("the page, opened to its first number", "one second", f"{opened[2]:.2f}", "≤ 1"),
        *((f"key press to number, slowed four times: {name}", "200 ms", f"{one.own / 0.2:.2f}", "≤ 1") for name, one in keys),
    ]


def _opening_seconds(browser: Browser, url: str) -> float:
    page = browser.new_page()
    page.goto(url)
    seconds = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") / 1000
    page.context.close()
    return seconds

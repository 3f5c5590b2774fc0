"""The page in Debian's Chromium: how the tests, the pictures and the bench open it."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    """A browser without a window."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        try:
            yield browser
        finally:
            browser.close()


#: Time from a key press to the frame after the number has changed.
STOPWATCH = """() => new Promise((resolve) => {
    const number = document.getElementById("headline"), field = document.getElementById("in-nodes");
    let start = 0;
    field.addEventListener("keydown", () => { start = performance.now(); }, { once: true });
    new MutationObserver((_, observer) => {
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - start) / 1000)));
    }).observe(number, { childList: true, subtree: true, characterData: true });
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
    window.armed = true;
})"""


def key_seconds(url: str, slower: int = 4, presses: int = 9) -> list[float]:
    """Seconds from the press of a key in the box of nodes to the new number, with the processor slowed, sorted."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(url)
        page.wait_for_timeout(1000)
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        times = []
        for press in range(presses):
            page.evaluate(f"() => {{ window.taken = ({STOPWATCH})(); }}")
            page.keyboard.press("Backspace" if press % 2 else "6")
            times.append(page.evaluate("() => window.taken"))
            page.wait_for_timeout(1500)
        return sorted(times)


def page_rows() -> list[tuple[str, ...]]:
    """Rows of the bench: size of the page, time to open it, time from a key to the number."""
    with tempfile.TemporaryDirectory() as folder:
        url = written_page(Path(folder))
        content = (Path(folder) / "calc.html").read_bytes()
        keys = key_seconds(url)
        with chromium() as browser:
            opened = sorted(_opening_seconds(browser, url) for _ in range(5))
    return [
        ("the page", "1.5 MB", f"{len(content) / 1.5e6:.2f}", "≤ 1"),
        ("the page, compressed with gzip", "350 kB", f"{len(gzip.compress(content)) / 350e3:.2f}", "≤ 1"),
        ("the page, opened to its first number", "one second", f"{opened[2]:.2f}", "≤ 1"),
        ("key press to number, processor slowed four times", "200 ms", f"{keys[len(keys) // 2] / 0.2:.2f}", "≤ 1"),
    ]


def _opening_seconds(browser: Browser, url: str) -> float:
    page = browser.new_page()
    page.goto(url)
    seconds = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") / 1000
    page.context.close()
    return seconds

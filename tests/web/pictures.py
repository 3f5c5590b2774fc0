"""Pictures of the page: without an argument docs/pictures/page.png; into the folder given, every tab in every form."""

import subprocess
import sys
import tempfile
from pathlib import Path

from browser import chromium, written_page

from ingest.reports.web.page import FORMS

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "page.png"
#: Name of a form: width and height of the window, colours.
WINDOWS = {
    "320": (320, 700, "light"), "390": (390, 844, "light"), "768": (768, 1024, "light"), "1280": (1280, 900, "light"),
    "dark": (1280, 900, "dark"), "3840": (3840, 2160, "light"),
}  # fmt: skip
#: Inputs beside those that a tab begins with.
ASKED = {"plan": "&storage=ddn-ai400x2", "fit": "&storage=all"}


def shown(browser, url, width, height, scheme, state=""):
    """The page at rest in a window of this size."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce")
    page.goto(url + state)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(100)
    return page


def every_picture(browser, url: str, folder: Path) -> None:
    """Each tab narrow, wide, dark and on paper; a derivation and a refusal."""
    folder.mkdir(parents=True, exist_ok=True)
    for tab in FORMS:
        for name, form in WINDOWS.items():
            page = shown(browser, url, *form, f"#v=1&tab={tab}{ASKED.get(tab, '')}")
            page.screenshot(path=folder / f"{tab}-{name}.png", full_page=True)
            page.context.close()
        page = shown(browser, url, 1280, 900, "light", f"#v=1&tab={tab}{ASKED.get(tab, '')}")
        printed = folder / f"{tab}-print.pdf"
        page.pdf(path=printed, prefer_css_page_size=True)
        subprocess.run(["pdftoppm", "-r", "80", "-png", printed, printed.with_suffix("")], check=True)
        printed.unlink()
        page.context.close()
    for name, form in WINDOWS.items():
        page = shown(browser, url, *form, "#v=1&tab=bw")
        page.locator(".big").first.click()
        page.locator("dialog summary").first.click()
        page.screenshot(path=folder / f"derivation-{name}.png")
        page.context.close()
    page = shown(browser, url, 1280, 900, "light", "#v=1&tab=bw&model=cosmoflw&colour=red")
    page.locator("#in-gpu").fill("h")
    page.screenshot(path=folder / "refusal-1280.png")
    page.context.close()


def main() -> None:
    """Write the picture of the README, or all into the folder given."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        url = written_page(Path(folder))
        if sys.argv[1:]:
            every_picture(browser, url, Path(sys.argv[1]))
            return
        PICTURE.parent.mkdir(exist_ok=True)
        page = shown(browser, url, 1280, 860, "light", "#v=1&tab=bw")
        page.screenshot(path=PICTURE)
        page.context.close()
    print(f"wrote {PICTURE.name}, {PICTURE.stat().st_size / 1e3:,.0f} kB")


if __name__ == "__main__":
    main()

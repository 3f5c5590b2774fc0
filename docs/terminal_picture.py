"""The picture of the terminal in the README: the output of a real run as SVG text."""

from __future__ import annotations

from xml.sax.saxutils import escape

from common import DOCS

PATH = DOCS / "pictures" / "terminal.svg"
COMMAND = "bw --model cosmoflow --gpu h100 --nodes 128"
#: A space that no renderer of SVG collapses.
NO_BREAK = "\u00a0"
#: Lines of a terminal, and pixels of a character and a line.
PROMPT = ' fill="#7ee787"'
LINES, ACROSS, DOWN, MARGIN = 24, 8.4, 19, 16


def content(printed: str) -> str:
    r"""The first lines of an output, below its prompt, as SVG; no fonts or scripts are loaded.

    >>> "<text" in content("a < b"), "a\u00a0&lt;\u00a0b" in content("a < b")
    (True, True)
    """
    lines = [f"$ ingest {COMMAND}", *printed.splitlines()[: LINES - 1]]
    width, height = max(map(len, lines)) * ACROSS + 2 * MARGIN, len(lines) * DOWN + 2 * MARGIN
    rows = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + (place + 0.75) * DOWN:g}"{"" if place else PROMPT}>{_unbroken(line)}</text>\n'
        for place, line in enumerate(lines)
        if line.strip()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">\n'
        f"<title>ingest {escape(COMMAND)}</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g font-family="Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="#e6edf3">\n'
        f"{rows}</g>\n</svg>\n"
    )


def _unbroken(line: str) -> str:
    return escape(line).replace(" ", NO_BREAK)

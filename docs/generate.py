"""Write every generated page and marked block of the documentation; `--check` writes nothing and names what is stale.

A marked block is one of these, up to `<!-- end -->`:

- `<!-- output: ARGUMENTS -->`: what `ingest ARGUMENTS` prints. With ` | until WORDS` behind, what it prints before the first
  line that starts with these words (dates and versions of engines change from run to run); with ` | from WORDS`, from there on.
- `<!-- site: ARGUMENTS -->`: the same, in a new folder that holds the site file of `ingest plan --new` as `site.yaml`;
  commands before ` && ` run there first.
- `<!-- json: KEYS of ARGUMENTS -->`: these keys of its JSON, with commas between them, dots for inner ones, and
  numbers for places in a list.
- `<!-- table: NAME -->` and `<!-- file: PATH -->`.
"""

from __future__ import annotations

import doctest
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import evidence_tables
import training_tables
from common import DOCS, ROOT, UNBROKEN, WIDTH
from reference_pages import PAGES

STARTER = ROOT / "ingest" / "site" / "starter.yaml"
LEXERS = {".yaml": "yaml", ".json": "json"}
TABLES = evidence_tables.TABLES | training_tables.TABLES


def beside_a_site(asked: str) -> str:
    """A block with what a command prints in a folder that holds a site file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "site.yaml").write_bytes(STARTER.read_bytes())
        *before, last = asked.split(" && ")
        for arguments in before:
            printed(arguments, Path(folder))
        told = "".join(f"$ ingest {arguments}\n" for arguments in before)
        return console(last, Path(folder)).replace("```console\n", f"```console\n{told}", 1)


def console(asked: str, folder: Path = ROOT) -> str:
    """A block with what a command prints, cut where `until` says so."""
    arguments, _, words = asked.partition(" | until ")
    arguments, _, first = arguments.partition(" | from ")
    lines = printed(arguments, folder).splitlines()
    if words:
        lines = [*lines[: _line(lines, words, arguments)], "…"]
    if first:
        lines = ["…", *lines[_line(lines, first, arguments) :]]
    told = "\n".join(lines)
    return f"```console\n$ ingest {arguments}\n{told}\n```"


def _line(lines: list[str], words: str, arguments: str) -> int:
    """Where the first line stands that starts with these words."""
    found = [place for place, line in enumerate(lines) if line.strip().startswith(words)]
    if not found:
        raise SystemExit(f"ingest {arguments}: no line starts with '{words}'")
    return found[0]


def excerpt(asked: str) -> str:
    """A block with some keys of a command's JSON."""
    keys, _, arguments = asked.partition(" of ")
    whole = json.loads(printed(f"{arguments} --format json", ROOT, notes=False))
    found = {key: reduce(_below, key.split("."), whole) for key in keys.split(", ")}
    return f"```json\n{json.dumps(found, indent=1, ensure_ascii=False)}\n```"


def _below(node: Any, part: str) -> Any:
    return node[int(part)] if isinstance(node, list) else node[part]


def printed(arguments: str, folder: Path, notes: bool = True) -> str:
    """What `ingest ARGUMENTS` prints on a terminal 92 columns wide, notes on standard error last."""
    reader, writer = pty.openpty()
    script = Path(sys.executable).with_name("ingest")
    with subprocess.Popen([script, *shlex.split(arguments)], stdout=writer, stderr=subprocess.PIPE, cwd=folder) as process:
        os.close(writer)
        payload = "".join(_read(reader)).replace("\r\n", "\n")
        assert process.stderr is not None
        said = process.stderr.read().decode().splitlines() if notes else []
    wrapped = [textwrap.fill(line, WIDTH, subsequent_indent="  ", **UNBROKEN) for line in said]
    return "\n".join([payload.rstrip(), *wrapped]).replace(f"{folder}/", "").strip()


def _read(reader: int) -> Iterator[str]:
    whole = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # Linux says so when the other end is closed
            part = b""
        if not part:
            break
        whole += part
    os.close(reader)
    yield whole.decode()


BLOCK = re.compile(r"(<!-- (output|site|json|table|file): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, root: str = "") -> str:
    """A hand-written page with its marked blocks brought up to date; `root` leads from its folder to that of the docs."""

    def block(found: re.Match[str]) -> str:
        kind, what = found[2], found[3]
        if kind == "output":
            content = console(what)
        elif kind == "site":
            content = beside_a_site(what)
        elif kind == "json":
            content = excerpt(what)
        elif kind == "table":
            content = TABLES[what]().replace("](reference/", f"]({root}reference/")
        else:
            content = f"```{LEXERS.get(Path(what).suffix, 'text')}\n{(ROOT / what).read_text(encoding='utf-8').rstrip()}\n```"
        return f"{found[1]}\n{content}\n\n{found[4]}"

    return BLOCK.sub(block, text)


def wanted() -> Iterator[tuple[Path, str]]:
    """Every file that this script keeps, with its content; generated files first, so that blocks may show them."""
    for name, make in PAGES.items():
        yield DOCS / name, make()
    for path in sorted([ROOT / "README.md", *DOCS.rglob("*.md")]):
        if str(path.relative_to(ROOT)) not in {f"docs/{name}" for name in PAGES} and "_build" not in path.parts:
            yield path, fill(path.read_text(encoding="utf-8"), "../" if path.parent.parent == DOCS else "")


def main() -> int:
    """Write or check; the exit code."""
    check = sys.argv[1:] == ["--check"]
    stale = []
    for path, content in wanted():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(content, encoding="utf-8")
    print("\n".join(f"{'stale' if check else 'written'}: {name}" for name in stale) or "everything is up to date")
    failed = 0
    os.chdir(ROOT)  # examples name files of the checkout
    for path in (ROOT / "README.md", DOCS / "howto" / "use-in-python.md"):
        failed += doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS).failed
    return 1 if failed or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())

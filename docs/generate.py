"""Write every generated page and marked block of the documentation; `--check` only lists what is out of date.

A marked block is one of these, up to `<!-- end -->`:

- `<!-- output: ARGUMENTS -->`: the output of `ingest ARGUMENTS`. ` | until WORDS` cuts it before the first line that starts
  with these words (dates and versions of engines change from run to run); ` | from WORDS` drops what precedes that line.
- `<!-- site: ARGUMENTS -->`: the output in a new folder that holds the site file of `ingest plan --new` as `site.yaml`;
  commands before ` && ` run there first.
- `<!-- json: KEYS of ARGUMENTS -->`: selected keys of its JSON, separated by commas; dots lead to inner keys, numbers to
  items of a list.
- `<!-- table: NAME -->` and `<!-- file: PATH -->`.
"""

from __future__ import annotations

import doctest
import io
import json
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import reduce
from pathlib import Path
from typing import Any

import accuracy_history
import completion_index
import decision_table
import default_tables
import evidence_tables
import founding_notes
import man_pages
import pictures
import prepared_catalogs
import rates_by_gpu
import sample_pages
import terminal_picture
import training_tables
from common import DOCS, ROOT, UNBROKEN, WIDTH
from reference_pages import PAGES

from ingest.cli.main import main as main_command

STARTER = ROOT / "ingest" / "site" / "starter.yaml"
LEXERS = {".yaml": "yaml", ".json": "json"}
TABLES = (
    accuracy_history.TABLES
    | decision_table.TABLES
    | default_tables.TABLES
    | evidence_tables.TABLES
    | founding_notes.TABLES
    | training_tables.TABLES
)


def with_site(request: str) -> str:
    """A block with the output of a command in a new folder that holds a site file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "site.yaml").write_bytes(STARTER.read_bytes())
        *before, last = request.split(" && ")
        for arguments in before:
            output(arguments, Path(folder))
        prompts = "".join(f"$ ingest {arguments}\n" for arguments in before)
        return console(last, Path(folder)).replace("```console\n", f"```console\n{prompts}", 1)


def console(request: str, folder: Path = ROOT) -> str:
    """A block with the output of a command, cut where `until` and `from` say so."""
    arguments, _, last = request.partition(" | until ")
    arguments, _, first = arguments.partition(" | from ")
    lines = output(arguments, folder).splitlines()
    if last:
        lines = [*lines[: _line(lines, last, arguments)], "…"]
    if first:
        lines = ["…", *lines[_line(lines, first, arguments) :]]
    return "\n".join(["```console", f"$ ingest {arguments}", *lines, "```"])


def _line(lines: list[str], words: str, arguments: str) -> int:
    """The index of the first line that starts with these words."""
    for index, line in enumerate(lines):
        if line.strip().startswith(words):
            return index
    raise SystemExit(f"ingest {arguments}: no line starts with '{words}'")


def excerpt(request: str) -> str:
    """A block with some keys of a command's JSON."""
    keys, _, arguments = request.partition(" of ")
    payload = json.loads(output(f"{arguments} --format json", ROOT, warnings=False))
    values = {key: reduce(_below, key.split("."), payload) for key in keys.split(", ")}
    return f"```json\n{json.dumps(values, indent=1, ensure_ascii=False)}\n```"


def _below(node: Any, part: str) -> Any:
    return node[int(part)] if isinstance(node, list) else node[part]


class Terminal(io.TextIOWrapper):
    """Standard output in memory that passes for a terminal."""

    def isatty(self) -> bool:
        return True


def output(arguments: str, folder: Path, warnings: bool = True) -> str:
    """Run `ingest ARGUMENTS` in this process; its output on a terminal of 92 columns, standard error last."""
    streams = Terminal(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    caller, sys.argv = sys.argv, ["ingest", *shlex.split(arguments)]
    try:
        with chdir(folder), redirect_stdout(streams[0]), redirect_stderr(streams[1]), suppress(SystemExit):
            main_command()
    finally:
        sys.argv = caller
    printed, errors = (_text(stream) for stream in streams)
    wrapped = [textwrap.fill(line, WIDTH, subsequent_indent="  ", **UNBROKEN) for line in errors.splitlines()]
    return "\n".join([printed.rstrip(), *(wrapped if warnings else [])]).replace(f"{folder}/", "").strip()


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


BLOCK = re.compile(r"(<!-- (output|site|json|table|file): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, root: str = "") -> str:
    """A hand-written page with its marked blocks updated; `root` is the path from its folder to docs/."""

    def block(found: re.Match[str]) -> str:
        kind, what = found[2], found[3]
        if kind == "output":
            content = console(what)
        elif kind == "site":
            content = with_site(what)
        elif kind == "json":
            content = excerpt(what)
        elif kind == "table":
            content = TABLES[what]().replace("](reference/", f"]({root}reference/")
        else:
            content = f"```{LEXERS.get(Path(what).suffix, 'text')}\n{(ROOT / what).read_text(encoding='utf-8').rstrip()}\n```"
        return f"{found[1]}\n{content}\n\n{found[4]}"

    return BLOCK.sub(block, text)


def pages() -> Iterator[tuple[Path, str]]:
    """Every file that this script maintains, with its content; generated files first, because blocks may include them."""
    yield rates_by_gpu.PATH, rates_by_gpu.content()
    yield accuracy_history.TABLE, accuracy_history.content(accuracy_history.kept())
    yield prepared_catalogs.PATH, prepared_catalogs.content()
    yield completion_index.PATH, completion_index.content()
    for name, text in man_pages.pages().items():
        yield man_pages.FOLDER / name, text
    for name, make in PAGES.items():
        yield DOCS / name, make()
    yield terminal_picture.PATH, terminal_picture.content(output(terminal_picture.COMMAND, ROOT, warnings=False))
    for path in sorted([ROOT / "README.md", *DOCS.rglob("*.md")]):
        if str(path.relative_to(ROOT)) not in {f"docs/{name}" for name in PAGES} and "_build" not in path.parts:
            yield path, fill(path.read_text(encoding="utf-8"), "../" if path.parent.parent == DOCS else "")


def main() -> int:
    """Write or check; the exit code."""
    check = sys.argv[1:] == ["--check"]
    stale = []
    for path, content in pages():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(content, encoding="utf-8")
    for path in sorted((DOCS / "reference" / "formulas").glob("*.md")):
        if str(path.relative_to(DOCS)) not in PAGES:  # of a module that is gone
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.unlink()
    if sample := sample_pages.stale():
        stale += [str(path.relative_to(ROOT)) for path in sample]
        if not check:
            sample_pages.write()
    for path in (*accuracy_history.stale(not check), *pictures.stale(write=not check)):
        stale.append(str(path.relative_to(ROOT)))
    print("\n".join(f"{'stale' if check else 'written'}: {name}" for name in stale) or "everything is up to date")
    failed = 0
    os.chdir(ROOT)  # examples name files of the checkout
    for path in (ROOT / "README.md", DOCS / "howto" / "use-in-python.md"):
        failed += doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS).failed
    return 1 if failed or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The shipped catalogs as JSON, for commands that start fast: `catalogs/prepared.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ingest.catalog.records import KINDS
from ingest.catalog.store import ShippedSources
from ingest.catalog.yaml_reader import NAME, key_of, parsed, read_text
from ingest.configuration import shipped_folder

PATH = shipped_folder() / NAME


def contents() -> Iterator[tuple[str, Any]]:
    """Every YAML text that the catalogs look up, and what it contains; the sources one by one."""
    folder = shipped_folder()
    sources = folder / "sources.yaml"
    for block in dict.values(ShippedSources(sources, sources.read_text(encoding="utf-8"))):
        yield block, yaml.load(block, Loader=yaml.CSafeLoader)
    for path in (folder / "aliases.yaml", folder / "names.yaml", *_entries(folder)):
        text = read_text(path)
        yield text, parsed(text, path)


def _entries(folder: Path) -> Iterator[Path]:
    for kind in sorted({*KINDS, "architectures"}):
        yield from sorted((folder / kind).glob("*.yaml"))


def content() -> str:
    """The lines, in the order of the files."""
    lines = {
        key_of(text): json.dumps(found, ensure_ascii=False, separators=(",", ":"), default=str) for text, found in contents()
    }
    return "".join(f"{key}\t{line}\n" for key, line in lines.items())

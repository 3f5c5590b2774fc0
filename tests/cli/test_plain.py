"""Lines that are read without click mean what they mean with it; a prepared catalog is its YAML."""

import json
import re
import subprocess
from pathlib import Path

import click
import pytest
from conftest import COMMAND, clean_environment, table
from hypothesis import given
from hypothesis import strategies as st

from ingest.catalog import yaml_reader
from ingest.catalog.records import Gpu
from ingest.catalog.store import Catalog
from ingest.cli import commands
from ingest.cli.group import command as root
from ingest.cli.output import QUIET, VERBOSE, chosen_option, forget_choices
from ingest.cli.plain import plain_options
from ingest.sizing.bandwidth import bw

command = commands.command("bw")
#: As on the command line: a command that is alone keeps another help option for the tests after it.
GROUP = click.Context(root, **root.context_settings)
OPTIONS = sorted(name for one in command.params for name in one.opts if name.startswith("-"))
FILES = ("job", "save_job")
VALUES = ["h100", "json", "128", "nodes=2", "a b", "é", "--gpu", "-1", "-", ""]


@pytest.fixture(autouse=True)
def usual_choices():
    """Commands forget theirs when they end; these lines are only read."""
    yield
    forget_choices()


def by_click(words):
    """The options as click reads them, and how much is printed; None where it refuses or prints help."""
    forget_choices()
    try:
        found = command.make_context("bw", list(words), parent=GROUP).params
    except Exception:
        return None
    # A line with a job file is for click alone.
    asked = {name: one for name, one in found.items() if name not in FILES or one is not None}
    return asked, chosen_option(VERBOSE), chosen_option(QUIET)


def without_click(words):
    forget_choices()
    found = plain_options(words, bw)
    return found and (found, chosen_option(VERBOSE), chosen_option(QUIET))


@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("--job", "--save-job", "--help-all")])
def test_every_option_is_read_as_click_reads_it(name):
    words = [name] if name in ("-v", "-q", "--verbose", "--quiet") else [name, {"--precision": "bf16"}.get(name, "json")]
    assert without_click(words) == by_click(words) is not None


@given(st.lists(st.sampled_from([*OPTIONS, *VALUES, "--set=nodes=2", "-vq", "--nod", "--help"]), max_size=7))
def test_a_line_that_is_read_without_click_is_read_as_click_reads_it(words):
    alone = without_click(words)
    assert alone is None or alone == by_click(words)


@pytest.mark.parametrize("words", table("cli/cases.yaml")["other_lines_are_left_to_click"])
def test_other_lines_are_left_to_click(words):
    assert plain_options(words, bw) is None


def test_both_ways_print_the_same(run):
    plain, left = ["--gpu", "h100", "--nodes", "128"], ["--gpu=h100", "--nodes", "128"]
    for model in ("cosmoflow", "no-such-model"):
        for form in ("table", "json"):
            outcomes = [run("bw", model, *words, "--format", form) for words in (plain, left)]
            assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("encoding", "written"), [("ascii", "·".encode()), ("latin-1", b"\xb7"), ("koi8-r", b"\x9e"), ("cp1251", b"\xb7")]
)
def test_a_locale_that_lacks_a_letter_gets_the_whole_answer(encoding, written):
    """ASCII is what a locale says that was not set: such a terminal takes UTF-8, as `click` has it."""
    command = [COMMAND, "bw", "cosmoflow", "--gpu", "h100", "--nodes", "2"]
    done = subprocess.run(command, env=clean_environment(PYTHONIOENCODING=encoding), capture_output=True, check=False)
    assert done.returncode == 0
    assert b"Rests on 5 assumptions" in done.stdout
    assert written in done.stdout.splitlines()[0]
    assert (b"?" in done.stdout) == (encoding != "ascii")


def test_the_prepared_catalogs_are_the_yaml(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs"))
    import prepared_catalogs

    is_fresh = prepared_catalogs.PATH.read_text(encoding="utf-8") == prepared_catalogs.content()
    assert is_fresh, "run docs/generate.py"


def test_an_edited_entry_is_read_as_it_is_now(tmp_path, monkeypatch, shipped):
    """The checksum of another text has no prepared content, in the shipped folder itself too."""
    source = shipped.get(Gpu, "h100").path
    text = source.read_text(encoding="utf-8")
    place = tmp_path / "gpus" / source.name
    place.parent.mkdir()
    (tmp_path / yaml_reader.NAME).write_text(
        f"{yaml_reader.key_of(text)}\t{json.dumps({'name': 'prepared'})}\n", encoding="utf-8"
    )
    monkeypatch.setattr(yaml_reader, "shipped_folder", lambda: tmp_path)
    yaml_reader._lines.cache_clear()
    try:
        assert yaml_reader.prepared(text, place) == {"name": "prepared"}
        assert yaml_reader.prepared(re.sub("name:", "name :", text), place) is yaml_reader.ABSENT
        assert yaml_reader.prepared(text, tmp_path.parent / "gpus" / source.name) is yaml_reader.ABSENT
    finally:
        yaml_reader._lines.cache_clear()


def test_entries_are_the_same_without_their_prepared_content(monkeypatch):
    fresh = [repr(one) for one in Catalog().all(Gpu)]
    monkeypatch.setattr(yaml_reader, "prepared", lambda *_: yaml_reader.ABSENT)
    monkeypatch.setattr(yaml_reader, "_kept", yaml_reader._content)
    assert [repr(one) for one in Catalog().all(Gpu)] == fresh

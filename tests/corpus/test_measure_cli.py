"""`ingest measure`: pages and JSON, strictness, interruption, and what `bw` makes of the result."""

import gzip
import io
import json
import signal
import subprocess
import sys
import threading
import time

import pyarrow.parquet
import pytest
from conftest import ROOT, clean_environment, default_signals, table
from corpus.made import python_sources, small_files
from hypothesis import given, settings
from hypothesis import strategies as st

import ingest
from ingest.corpus.types import Progress
from ingest.errors import UsageError

RESULTS = {
    *("bytes_per_token", "tokens", "corpus_bytes", "stored_bytes", "files", "documents", "tokenized_bytes", "bytes_read"),
    "files_skipped",
}
CONFIG = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
          "num_attention_heads": 32, "vocab_size": 32000, "tie_word_embeddings": False}  # fmt: skip


def process(*words, **options):
    command = [sys.executable, str(ROOT / "cli.py"), *map(str, words)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", "env": clean_environment()}
    # No thread runs here that could hold a lock.
    return subprocess.Popen(command, cwd=ROOT, preexec_fn=default_signals, **streams, **options)  # noqa: PLW1509


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return python_sources(tmp_path_factory.mktemp("corpus"), most=60)


@pytest.fixture(scope="module")
def measured(corpus, small, tmp_path_factory):
    path = tmp_path_factory.mktemp("measured") / "corpus.json"
    path.write_text(json.dumps(ingest.measure(corpus, tokenizer=small).to_dict()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def results(measured):
    return json.loads(measured.read_text(encoding="utf-8"))["results"]


def test_the_json_is_that_of_the_contract(corpus, small, tmp_path, run):
    path = tmp_path / "corpus.json"
    done = run("measure", corpus, "--tokenizer", small, "-o", path)
    assert (done.code, done.out) == (0, "")
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["schema"], data["command"]) == ("ingest/1", "measure")
    assert data["results"].keys() >= RESULTS
    assert data["tokenizer"].keys() == {"name", "size", "sha256", "source"}
    assert data["manifest_hash"].startswith("sha256:")
    assert data["design"] == {"design": "exact"}
    assert data["date"].endswith("+00:00")
    assert data["speed"]["bytes"] == data["results"]["corpus_bytes"]["value"]
    assert data["speed"]["seconds"] > 0
    assert data["speed"]["workers"] >= 1
    assert data["results"]["files"]["value"] == sum(path.is_file() for path in corpus.rglob("*"))
    again = run("measure", corpus, "--tokenizer", small, "--format", "json").data
    assert again["results"] == data["results"]
    assert again["manifest_hash"] == data["manifest_hash"]


def test_a_page_fits_eighty_columns(corpus, run):
    page = run("measure", corpus).out
    assert max(len(line) for line in page.splitlines()[2:] if "tokenizer" not in line and "megatron" not in line) <= 80


def test_standard_input_is_measured(small):
    text = "the quick brown fox jumps over the lazy dog\n" * 100
    started = process("measure", "-", "--tokenizer", small, "--format", "json", stdin=subprocess.PIPE)
    out, err = started.communicate(text, timeout=120)
    assert (started.returncode, "Traceback" in err) == (0, False)
    assert json.loads(out)["results"]["corpus_bytes"]["value"] == len(text)


def test_strict_exits_with_one_and_still_shows_the_page(tmp_path, small, run):
    (tmp_path / "a.txt").write_text("fine\n" * 100, encoding="utf-8")
    (tmp_path / "b.bin").write_bytes(bytes(1000))
    done = run("measure", tmp_path, "--tokenizer", small, "--strict", "--format", "json")
    assert done.code == 1
    assert done.data["results"]["files_skipped"]["value"] == 1
    assert "--strict: 1 left out, expected none; the first is b.bin" in done.refusal
    assert run("measure", tmp_path, "--tokenizer", small).code == 0
    assert run("measure", tmp_path / "a.txt", "--tokenizer", small, "--strict").code == 0


def test_ctrl_c_prints_what_is_known_and_keeps_the_ledger(tmp_path, small, run):
    corpus, ledger = small_files(tmp_path / "corpus", 3_000), tmp_path / "ledger"
    started = process("measure", corpus, "--tokenizer", small, "--threads", 1, "--resume", ledger, "--format", "json")
    while not (ledger.exists() and b'{"shard"' in ledger.read_bytes()):
        time.sleep(0.01)
        assert started.poll() is None
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=120)
    data = json.loads(out)
    assert started.returncode == 130
    assert "interrupted" in data["partial"]
    assert 0 < data["results"]["files"]["value"] < 3_000
    assert err.splitlines()[-1] == "ingest: interrupted"
    (tmp_path / "part.json").write_text(out, encoding="utf-8")
    asked = ("--model", "llama-3.1-8b", "--gpu", "h100", "--set", "tokens_per_sample=8192", "--bytes-per-token")
    assert "measured on a part of the corpus only" in run("bw", *asked, tmp_path / "part.json").err
    done = run("measure", corpus, "--tokenizer", small, "--resume", ledger, "--format", "json")
    assert done.code == 0
    assert done.data["results"]["files"]["value"] == 3_000


@pytest.mark.parametrize(("words", "refusal"), table("corpus/refused.yaml")["a_wrong_question_is_one_line"])
def test_a_wrong_question_is_one_line(tmp_path, words, refusal, run):
    folder = tmp_path / "empty"
    folder.mkdir()
    done = run("measure", *(folder if word == "." else word for word in words))
    assert done.code in (1, 2)
    assert done.out == ""
    assert refusal in done.refusal


def test_bw_reads_text_by_the_measured_ratio(measured, results, config_file):
    config, ratio = config_file(CONFIG), results["bytes_per_token"]["value"]
    by_file, by_number, by_hand, ids = (
        ingest.bw(model=config, gpu="h100", nodes=4, **given).results["ingest_bandwidth_per_job"].value
        for given in ({"bytes_per_token": str(measured)}, {"bytes_per_token": ratio}, {"sample_bytes": ratio}, {})
    )
    assert by_file == by_number == by_hand == pytest.approx(ids * ratio / 2)


def test_the_interval_of_the_ratio_reaches_the_bandwidth(measured, tmp_path):
    data = json.loads(measured.read_text(encoding="utf-8"))
    data["results"]["bytes_per_token"] |= {"value": 3.0, "low": 2.7, "high": 3.3}
    data["results"]["corpus_bytes"]["value"] = 3.0 * data["results"]["tokens"]["value"]
    path = tmp_path / "sampled.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    found = ingest.bw(gpu="h100", samples_per_second=1000, bytes_per_token=str(path)).results["ingest_bandwidth_per_gpu"]
    assert (found.low, found.value, found.high) == pytest.approx((2700, 3000, 3300))


def test_a_sequence_needs_its_length():
    with pytest.raises(UsageError, match="expected its number of tokens: --set tokens_per_sample=8192"):
        ingest.bw(model="resnet50", gpu="h100", bytes_per_token=3)
    found = ingest.bw(model="resnet50", gpu="h100", bytes_per_token=3, set={"tokens_per_sample": 8192})
    assert found.given["sample_bytes"].value == 3 * 8192
    known = ingest.bw(model="llama3-8b", gpu="h100", bytes_per_token=3)
    assert known.given["sample_bytes"].value == 3 * 8192
    assert not any("tokens_per_sample" in line for line in found.warnings)


@pytest.mark.parametrize("other", [{"sample_bytes": 3}, {"encoding": "stored"}])
def test_two_sizes_of_a_sample_are_refused(other):
    with pytest.raises(UsageError, match="expected one of them"):
        ingest.bw(model="llama3-8b", gpu="h100", bytes_per_token=3, **other)


class Tape(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def drive(tape, total=10**9, steps=100):
    """Progress of a gigabyte in even steps."""
    progress = Progress(tape, clock=iter(range(10**6)).__next__)
    progress.begin(total, 0)
    for _ in range(steps):
        time.sleep(0.001)
        progress.moved(10**9 // steps)
    progress.say("half-way")
    progress.clear()
    return tape.getvalue() if tape else ""


def test_a_terminal_sees_a_bar_that_is_wiped_off(monkeypatch):
    monkeypatch.setattr("ingest.corpus.types.REDRAW_SECONDS", 0.01)
    written = drive(Tape(True))
    bars = [line for line in written.split("\r") if "B/s" in line]
    assert len(bars) > 2
    assert "%" in bars[-1]
    assert "1.00G" in bars[-1]
    assert written.count("\n") == 1
    assert "ingest: half-way\n" in written
    shown = written.rpartition("\n")[2].split("\r")
    assert shown[-1] == ""
    assert not shown[-2].strip()


def test_a_terminal_sees_bytes_where_the_total_is_unknown_and_elsewhere_only_single_lines_are_written():
    assert "B/s" in drive(Tape(True), total=0)
    assert drive(Tape(False)) == "ingest: half-way\n"
    assert drive(None) == ""


def test_a_bar_starts_no_thread():
    """The process forks while the bar is shown."""
    before = threading.active_count()
    progress = Progress(Tape(True))
    progress.begin(10, 0)
    progress.moved(1)
    assert threading.active_count() == before
    progress.clear()


def test_the_time_left_is_that_of_the_rate_so_far():
    now = [0.0]
    progress = Progress(None, clock=lambda: now[0])
    progress.begin(10**9, 10**8)
    now[0] = 30.0
    progress.moved(3 * 10**8)
    assert progress.seconds == 30
    assert progress.seconds_left == pytest.approx(60)


def test_quiet_says_nothing(corpus, small, run):
    assert run("measure", corpus, "--tokenizer", small, "--quiet").err == ""


@given(st.integers(0, 10**15), st.integers(0, 10**15))
@settings(max_examples=20)
def test_progress_never_fails(total, taken_up):
    progress = Progress(Tape(True))
    progress.begin(total, taken_up)
    progress.moved(1)
    progress.clear()
    assert progress.seconds >= 0


def test_documents_are_counted_as_documents(results):
    units = {name: item["unit"] for name, item in results.items() if "document" in name}
    assert units.pop("documents_skipped") == units.pop("documents") == "document"
    assert units == {"tokens_per_document": "token/document", "bytes_per_document": "B/document"}


@pytest.mark.parametrize("how", [{"exact": True}, {"exact": False}])
def test_text_that_counts_with_its_markup_is_told(tmp_path, how, small):
    (tmp_path / "a.txt").write_text("hello\n")
    assert not ingest.measure(tmp_path, tokenizer=small, **how).warnings
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(b"<page>hello</page>"))
    assert "keys in files of .xml.gz count as text" in " ".join(ingest.measure(tmp_path, tokenizer=small, **how).warnings)
    (tmp_path / "b.xml.gz").unlink()
    (tmp_path / "1700000001.M1P1.host:2,S").write_text("Subject: hello\n\nhello\n")
    assert "headers and keys in files of .host:2,s count" in " ".join(ingest.measure(tmp_path, tokenizer=small, **how).warnings)


@pytest.mark.parametrize("how", ["--exact", "--sample", "--samples"])
def test_the_quiet_answer_counts_the_files_that_are_skipped(run, tmp_path, how, small):
    asked = ("measure", tmp_path, "-q", how, *(() if how == "--samples" else ("--tokenizer", small)))
    (tmp_path / "a.txt").write_text("hello\n")
    assert "skipped" not in run(*asked).out
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    assert " · 1 file skipped" in run(*asked).out


@pytest.mark.parametrize("how", ["--exact", "--sample"])
@pytest.mark.parametrize(("fields", "left", "kept"), [("", "b.parquet", 1), ("content", "a.jsonl", 1), ("text,content", "", 2)])
def test_what_is_left_out_is_told_at_once_and_to_whatever_reads_it(run, tmp_path, how, fields, left, kept, small):
    corpus, result = tmp_path / "corpus", tmp_path / "corpus.json"
    corpus.mkdir()
    (corpus / "a.jsonl").write_text("".join(f'{{"text": "the quick fox {row}"}}\n' for row in range(100)))
    pyarrow.parquet.write_table(pyarrow.table({"content": ["the lazy dog"] * 100, "url": [""] * 100}), corpus / "b.parquet")
    words = [word for field in fields.split(",") if field for word in ("--text-field", field)]
    for chosen in (words, ["--text-field", fields] if fields else []):
        done = run("measure", corpus, "--tokenizer", small, how, *chosen, "-o", result)
        assert done.code == 0
        assert ("% of the stored bytes are left out, 1 file, such as" in done.err) is bool(left)
        assert f"{left}: no " in done.err or not left
        assert ("--text-field takes several names" in done.err) is bool(left)
        assert json.loads(result.read_text())["results"]["files"]["value"] == kept
        for told in (
            run("dataset", "--tokens", "1T", "--bytes-per-token", result),
            run("dataset", "--bytes-per-token", result),
        ):
            assert ("% of the stored bytes, as the rest was left out" in told.err) is bool(left)


def test_a_row_counts_in_the_first_field_that_it_has(run, tmp_path, small):
    (tmp_path / "a.jsonl").write_text(
        '{"text": "one"}\n{"content": "two", "text": null}\n{"content": "no", "text": "three"}\n{}\n'
    )
    (tmp_path / "b.csv").write_text("id,content\n1,four\n")
    (tmp_path / "c.json").write_text('{"rows": [{"content": "five"}]}')
    done = run("measure", tmp_path, "--tokenizer", small, "--text-field", "text,content", "--format", "json")
    found = {name: item["value"] for name, item in done.data["results"].items()}
    assert (found["corpus_bytes"], found["documents"], found["documents_skipped"]) == (3 + 3 + 5 + 4 + 4, 5, 1)
    assert "16.7 % of the documents in files that count are left out, such as a.jsonl: line 4: no field" in done.err

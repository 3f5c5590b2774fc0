"""What `ingest measure` takes on a real corpus, against what people do by hand; whole processes, one run.

Part of `make bench` where `.bench/corpus` is there (`make corpus`).
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / ".bench"
CORPUS = FOLDER / "corpus"
RUNS = 3
#: text for libraries that would take minutes
SUBSET_BYTES = 20_000_000
LARGE_BYTES = 110 * 10**9
MOST_RESIDENT = 600e6
COMMAND = [sys.executable, str(Path(__file__).parent.parent / "cli.py"), "measure", "--quiet", "--format", "json"]
MEASURE = [*COMMAND, "--exact"]
#: one file with the same text, and a Chinese one: how fast it is counted next to `wc -w`, and what stands against more
FORMS = {
    "corpus.jsonl": ("the same text as JSON lines", "≥ 0.83"),
    "corpus.csv": ("the same text as CSV", "≥ 0.5, reading CSV"),
    "corpus.parquet": ("the same text as Parquet", "≥ 0.5, decompression"),
    "corpus.arrow": ("the same text as Arrow", "≥ 0.83"),
    "corpus.jsonl.zst": ("the same text as JSON lines in zstd", "≥ 0.5, decompression"),
    "corpus.tar": ("the same files in a tar", "≥ 0.5, members one by one"),
    "corpus.txt": ("the same text in one file", "≥ 0.83"),
    "zh.txt": ("Chinese text in one file", "≥ 0.5, the engine"),
}
CHINESE, REPEATED = CORPUS / "libreoffice-help-zh-cn", 12
ROWS = 2000
VOCABULARIES = ("deepseek-v3", "cl100k", "o200k")

BY_HAND = """
import sys
from pathlib import Path
from gigatoken import Tokenizer
from ingest.corpus.tokenizers.vocabulary import vocabulary_of

def batches():
    held, size = [], 0
    for path in Path(sys.argv[1]).rglob("*"):
        if path.is_file():
            held.append(path.read_bytes())
            size += len(held[-1])
        if size >= 16 * 2**20:
            yield held
            held, size = [], 0
    yield held

tokenizer = Tokenizer.from_json(vocabulary_of(sys.argv[2]).tokenizer_json)
print(sum(int(tokenizer.encode_batch(held).layout.offsets[-1]) for held in batches()))
"""


class Timed(NamedTuple):
    """A process: wall time, and what it printed."""

    seconds: float
    out: str


def timed(words: list[str]) -> Timed:
    start = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return Timed(time.perf_counter() - start, done.stdout)


def fastest(*commands: list[str]) -> list[Timed]:
    """The fastest of a few runs of each command, taken in turns."""
    rounds = [[timed(words) for words in commands] for _ in range(RUNS)]
    return [min(runs) for runs in zip(*rounds, strict=True)]


def most_memory(words: list[str]) -> int:
    """The most memory that a process and its copies held at a time, what they share counted once; in B."""
    peak = 0
    with tempfile.TemporaryFile() as written:
        process = subprocess.Popen(words, stdout=written)
        while process.poll() is None:
            peak = max(peak, sum(map(share_of, tree(process.pid))))
            time.sleep(0.02)
        if process.returncode:
            raise RuntimeError(f"{words[0]} ended with {process.returncode}")
    return peak


def tree(process: int) -> list[int]:
    """A process and all that it has started."""
    try:
        below = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [process, *(one for child in below for one in tree(int(child)))]


def share_of(process: int) -> int:
    """The memory of a process, its part of what it shares with others (the proportional set size); in B."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def files(folder: Path = CORPUS) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def subset() -> list[str]:
    chosen: list[str] = []
    size, paths = 0, list(files())
    for path in paths[:: len(paths) // 2500]:
        chosen.append(path.read_bytes().decode("utf-8"))
        size += len(chosen[-1].encode())
        if size >= SUBSET_BYTES:
            break
    return chosen


def other_forms() -> list[Path]:
    """The files of `FORMS`."""
    forms = [FOLDER / name for name in FORMS]
    if not all(path.exists() for path in forms):
        import csv

        import pyarrow
        import pyarrow.parquet

        lines, columns, parquet, arrow, compressed, archive, whole, chinese = forms
        texts = [path.read_bytes().decode("utf-8") for path in files()]
        table = pyarrow.table({"text": texts})
        with lines.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        with columns.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([["text"], *([text] for text in texts)])
        pyarrow.parquet.write_table(table, parquet, row_group_size=ROWS)
        with pyarrow.ipc.new_file(arrow, table.schema) as out:
            out.write_table(table, max_chunksize=ROWS)
        with pyarrow.CompressedOutputStream(str(compressed), "zstd") as out:
            out.write(lines.read_bytes())
        with tarfile.open(archive, "w") as out:
            out.add(CORPUS, CORPUS.name)
        for path, held in ((whole, texts), (chinese, [one.read_text("utf-8") for one in files(CHINESE)] * REPEATED)):
            path.write_bytes("".join(held).encode())
    return forms


def large_tree() -> Path:
    """110 GB in 186 files, all of them links to one on disk: a sample reads as little of it as of any other."""
    folder, whole = FOLDER / "large", other_forms()[-2]
    folder.mkdir(exist_ok=True)
    for number in range(LARGE_BYTES // whole.stat().st_size):
        link = folder / f"{number:04}.txt"
        if not link.exists():
            os.link(whole, link)
    return folder


def rates_by_hand(texts: list[str]) -> tuple[float, float]:
    """Bytes per second of the loop over `tokenizers` that everybody writes, and of `tiktoken` on all cores."""
    from corpus.test_engines import tiktoken_encoding
    from tokenizers import Tokenizer

    from ingest.corpus.tokenizers.vocabulary import vocabulary_of

    tokenizer, encoding = Tokenizer.from_str(vocabulary_of(None).tokenizer_json.decode()), tiktoken_encoding("cl100k")
    size, start = sum(len(text.encode()) for text in texts), time.perf_counter()
    for text in texts:
        tokenizer.encode(text)
    middle = time.perf_counter()
    encoding.encode_ordinary_batch(texts, num_threads=os.cpu_count() or 1)
    return size / (middle - start), size / (time.perf_counter() - middle)


def corpus_rows() -> Iterator[tuple[str, str, str, str]]:
    size = sum(path.stat().st_size for path in files())
    what = f"`ingest measure`, {size / 1e6:,.0f} MB in {sum(1 for _ in files()):,} files"
    loop, batch = rates_by_hand(subset())
    counter = ["sh", "-c", f"find -H '{CORPUS}' -type f -print0 | xargs -0 wc -w"]
    for name in VOCABULARIES:
        plain = [*MEASURE, str(CORPUS), "--input-format", "text", "--tokenizer", name]
        by_hand = [sys.executable, "-c", BY_HAND, str(CORPUS), name]
        ours, hand, counted = fastest(plain, by_hand, counter)
        check_equal(int(hand.out), ours)
        rate = size / ours.seconds
        if name == VOCABULARIES[0]:
            yield f"{what}, {name}", "a loop over `tokenizers.encode`, same vocabulary", f"{rate / loop:.0f}", "≥ 60"
            yield from form_rows(name, ours, counted)
        if name == "cl100k":
            yield f"{what}, {name}", "`tiktoken.encode_ordinary_batch`, all cores", f"{rate / batch:.1f}", "≥ 10"
        yield f"{what}, {name}", "the bare engine by hand, whole process", f"{hand.seconds / ours.seconds:.2f}", "≥ 0.8"
        yield f"{what}, {name}", "`wc -w` on the same files", f"{counted.seconds / ours.seconds:.2f}", "≥ 1"
        yield f"peak memory of that, {name}", "600 MB", f"{most_memory(plain) / MOST_RESIDENT:.2f}", "≤ 1"
        print(f"{name}: {ours.seconds:.2f} s, {rate / 1e6:.0f} MB/s; `wc -w` {counted.seconds:.2f} s", file=sys.stderr)
    yield sampling_row()


def form_rows(name: str, plain: Timed, counted: Timed) -> Iterator[tuple[str, str, str, str]]:
    """The rows of one file of each other format."""
    for path in other_forms():
        what, limit = FORMS[path.name]
        words = [*MEASURE, str(path), "--tokenizer", name]
        run, own = fastest(words, ["wc", "-w", str(path)])
        if path.suffix not in (".tar", ".txt"):  # these are read by the names of members, or hold one document
            check_equal(json.loads(plain.out)["results"]["tokens"]["value"], run)
        seconds = own.seconds if path.suffix == ".txt" else counted.seconds
        yield f"{what}, {name}", "`wc -w` on the plain files", f"{seconds / run.seconds:.2f}", limit
        yield f"peak memory of that, {what}", "600 MB", f"{most_memory(words) / MOST_RESIDENT:.2f}", "≤ 1"


def check_equal(tokens: int, *runs: Timed) -> None:
    """Refuse to compare runs that counted differently."""
    for run in runs:
        found = json.loads(run.out)["results"]["tokens"]["value"]
        if found != tokens:
            raise RuntimeError(f"by hand {tokens} tokens, by ingest {found}")


def sampling_row() -> tuple[str, str, str, str]:
    """How long a sample of a corpus takes that nobody would count."""
    [run] = fastest([*COMMAND, "--sample", "--seed", "1", str(large_tree())])
    read = json.loads(run.out)["results"]["bytes_read"]["value"]
    return f"a sample of 110 GB to ±0.5 %, {read / 1e6:.0f} MB read", "one second", f"{run.seconds:.1f}", "≤ 10"


if __name__ == "__main__":
    for row in corpus_rows():
        print("| " + " | ".join(row) + " |", flush=True)

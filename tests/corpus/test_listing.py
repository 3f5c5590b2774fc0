"""Every file once, in path order, with a reason for whatever is none."""

import gc
import io
import json
import os
import shutil
import socket
import subprocess
import sys

import pytest
from conftest import refused, table
from memory import MOST_HELD

from ingest.corpus.files.listing import list_inputs
from ingest.corpus.files.names import content_suffix, fixed_part, gitignore_filter, glob_filter, is_aside, suffix_of
from ingest.corpus.formats import root_above
from ingest.corpus.formats.documents import Unreadable, read
from ingest.corpus.types import CorpusFile, SkippedFile
from ingest.errors import IngestError, UsageError


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    """The library, with a cache of its own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    yield datasets
    gc.collect()


@pytest.fixture
def tree(tmp_path):
    for name in ("b.txt", "a/x.txt", "a/y.md", "a.txt", "a-b/z.jsonl.gz", "a/deep/.git/w.txt", "empty"):
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() if name != "empty" else b"")
    return tmp_path / "corpus"


def names(*paths, **how):
    return [found.path for found in list_inputs([str(path) for path in paths], **how)]


ALL = ["a-b/z.jsonl.gz", "a.txt", "a/deep/.git/w.txt", "a/x.txt", "a/y.md", "b.txt", "empty"]


def test_a_tree_in_the_order_of_its_paths(tree):
    listing = list_inputs([str(tree)])
    assert [found.path for found in listing] == ALL == sorted(ALL)
    first = tree / "a-b/z.jsonl.gz"
    assert listing[0] == CorpusFile("a-b/z.jsonl.gz", str(first), 14, str(first.stat().st_mtime_ns), "jsonl", "gzip")
    assert listing[-1] == listing[6] == listing[5:][1]
    assert (len(listing), sum(listing.sizes), list(listing.sizes)) == (7, 54, [14, 5, 17, 7, 6, 5, 0])
    assert listing.skipped == []
    with pytest.raises(IndexError):
        listing[7]


def test_what_is_named_twice_counts_once_and_places_are_named_below_the_folder_that_holds_all(tree):
    ways = ["a", "", "a/x.txt", "/", "a/*.txt", "../corpus"]
    listing = list_inputs([f"{tree}/{way}" for way in ways])
    assert [found.path for found in listing] == ALL
    assert listing.repeated == 5

    assert names(tree / "b.txt", tree / "a") == ["a/deep/.git/w.txt", "a/x.txt", "a/y.md", "b.txt"]
    assert names(tree / "a/x.txt") == ["x.txt"]


@pytest.mark.parametrize(("glob", "found"), table("corpus/cases.yaml")["globs"])
def test_globs(glob, found, tree):
    assert [os.path.join(tree, name) for name in found] == [file.location for file in list_inputs([f"{tree}/{glob}"])]


@pytest.mark.parametrize(("how", "found"), table("corpus/cases.yaml")["include_and_exclude"])
def test_include_and_exclude(how, found, tree):
    assert names(tree, **how) == found


def test_folders_and_files_with_line_feeds_are_included_and_excluded(tmp_path):
    (tmp_path / "a\nb").mkdir()
    (tmp_path / "a\nb/c\nd.txt").write_text("x")
    assert names(tmp_path, include=["*.txt"]) == ["a\\nb/c\\nd.txt"]
    assert names(tmp_path, exclude=["c?d.txt"]) == []
    (tmp_path / "[ab].txt").write_text("a file whose name is a glob is that file")
    assert names(tmp_path / "[ab].txt") == ["[ab].txt"]


@pytest.mark.parametrize("glob", ["[z-a]", "", "/", "a\\"])
def test_a_glob_that_matches_nothing_is_refused(glob, tree):
    with refused(error=UsageError, match="is not a glob"):
        list_inputs([str(tree)], exclude=[glob])


def test_folders_that_hold_no_match_are_not_entered(tmp_path):
    (tmp_path / "a/x").mkdir(parents=True)
    (tmp_path / "b/x").mkdir(parents=True)
    (tmp_path / "a/x/1.txt").write_text("x")
    (tmp_path / "b/loop").symlink_to("..")
    listing = list_inputs([f"{tmp_path}/a*/**/*.txt"])
    assert ([found.location for found in listing], listing.skipped) == ([str(tmp_path / "a/x/1.txt")], [])


def test_lists_of_paths(tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text(f"corpus/b.txt\n\n{tree}/a\ncorpus/gone.txt\n")
    listing = list_inputs(["@list.txt"])
    assert [found.path for found in listing] == ["a/deep/.git/w.txt", "a/x.txt", "a/y.md", "b.txt"]
    assert listing.skipped == [SkippedFile("corpus/gone.txt", "not there")]
    (tree / "two\nlines").write_text("x")
    (tmp_path / "list0").write_bytes(b"corpus/two\nlines\0corpus/b.txt\0")
    assert names("@list0") == ["b.txt", "two\\nlines"]


def test_what_is_not_there_is_refused_with_the_nearest_name(tree, tmp_path):
    for asked, said in (
        (tmp_path / "corpse", r"corpse': no such file or folder; did you mean 'corpus'\?"),
        (f"{tree}/*.nothing", r"\*\.nothing' matches no file"),
        ("@nowhere", "@nowhere: cannot be read: No such file"),
    ):
        with pytest.raises(IngestError, match=said):
            list_inputs([str(asked)])


def test_one_format_for_all(tree):
    assert {found.format for found in list_inputs([str(tree)], input_format="jsonl")} == {"jsonl"}
    with pytest.raises(UsageError, match=r"--input-format: found 'jsnl', expected one of text, .*; did you mean 'jsonl'\?"):
        list_inputs([str(tree)], input_format="jsnl")


def test_names_that_are_awkward_are_listed_read_and_shown_on_one_line(tmp_path):
    raw = [b"-", b"new\nline.txt", b"\xff\xfe.txt", "emoji🙂.txt".encode(), b"esc\x1b[31m.txt", b" .txt"]
    for name in raw:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(name)
    listing = list_inputs([str(tmp_path)])
    shown = [" .txt", "-", "emoji🙂.txt", "esc\\x1b[31m.txt", "new\\nline.txt", "\\xff\\xfe.txt"]
    assert [found.path for found in listing] == shown
    sizes = [sum(found.stored_bytes for found in listing), sum(os.path.getsize(found.location) for found in listing)]
    assert sizes == [sum(listing.sizes)] * 2
    assert b"".join(piece.text for piece in read(listing[4], "", print)) == b"new\nline.txt"


def test_links_are_followed_and_loops_are_noticed(tree, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/out.txt").write_text("outside")
    (tree / "out").symlink_to(tmp_path / "elsewhere")
    (tree / "outfile.txt").symlink_to(tmp_path / "elsewhere/out.txt")
    (tree / "again.txt").symlink_to("b.txt")
    (tree / "a/up").symlink_to("..")
    (tree / "dead").symlink_to("nothing")
    (tree / "self").symlink_to("self")
    (tree / "sideways").symlink_to("a")
    listing = list_inputs([str(tree)])
    assert [found.path for found in listing] == [*ALL, "out/out.txt"]
    back = "a link back to a folder that it lies in"
    links = {"a/up": back, "dead": "a link to nothing", "self": "a link to itself", "sideways/up": back}
    assert listing.skipped == [SkippedFile(*one) for one in links.items()]
    assert listing.repeated == 5


def test_folders_that_link_to_each_other_end(tmp_path):
    for here in range(12):
        (tmp_path / str(here)).mkdir()
        (tmp_path / str(here) / "file.txt").write_text("x")
        for there in range(12):
            (tmp_path / str(here) / f"to{there}").symlink_to(f"../{there}")
    listing = list_inputs([str(tmp_path)])
    assert len(listing) == 12


def test_what_is_no_file_is_skipped(tree):
    os.mkfifo(tree / "pipe")
    (tree / "null").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tree / "socket"))
        listing = list_inputs([str(tree)])
    assert listing.skipped == [SkippedFile(*one) for one in (("null", "a device"), ("pipe", "a pipe"), ("socket", "a socket"))]
    assert len(listing) == len(ALL)


LIST_AS_NOBODY = """
import os, sys
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats.documents import Unreadable, read
os.setgroups([]); os.setgid(65534); os.setuid(65534)
listing = list_inputs([sys.argv[1]])
print([(skipped.path, skipped.reason) for skipped in listing.skipped])
for found in listing:
    try:
        print(found.path, [piece.text for piece in read(found, "", print)])
    except Unreadable as error:
        print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_may_not_be_read_is_named(tmp_path):
    corpus = tmp_path / "corpus"
    (corpus / "closed").mkdir(parents=True)
    (corpus / "open.txt").write_text("open")
    (corpus / "secret.txt").write_text("secret")
    os.chmod(corpus / "secret.txt", 0)
    os.chmod(corpus / "closed", 0)
    for folder in (corpus, *corpus.parents[:4]):  # of which xdist makes one
        os.chmod(folder, os.stat(folder).st_mode | 0o55)
    done = subprocess.run([sys.executable, "-c", LIST_AS_NOBODY, str(corpus)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "[('closed', 'permission denied')]",
        "open.txt [b'open']",
        "'secret.txt': permission denied",
    ], done.stderr


def test_the_manifest_hash_is_of_paths_sizes_and_times(tree, tmp_path):
    first = list_inputs([str(tree)]).manifest_hash()
    assert first.startswith("sha256:")
    assert list_inputs([str(tree)]).manifest_hash() == first
    (tmp_path / "corpus").rename(tmp_path / "moved")
    moved = tmp_path / "moved"
    assert list_inputs([str(moved)]).manifest_hash() == first
    os.utime(moved / "b.txt", ns=(1, 1))
    second = list_inputs([str(moved)]).manifest_hash()
    (moved / "b.txt").rename(moved / "c.txt")
    third = list_inputs([str(moved)]).manifest_hash()
    assert len({first, second, third}) == 3


def test_a_dataset_saved_to_disk_is_its_rows(tmp_path, datasets):
    data = datasets.Dataset.from_dict({"text": ["one", "zwei", "三"]})
    datasets.DatasetDict({"train": data, "test": data.select([1])}).save_to_disk(str(tmp_path / "saved"))
    (tmp_path / "saved/train/cache-1234.arrow").write_bytes(b"stale")
    listing = list_inputs([str(tmp_path / "saved")])
    assert [found.path for found in listing] == ["test/data-00000-of-00001.arrow", "train/data-00000-of-00001.arrow"]
    texts = [piece.text.decode() for found in listing for piece in read(found, "", print)]
    assert texts == ["zwei", "one", "zwei", "三"]


@pytest.mark.parametrize("newest", ["1b2", ""])
def test_of_a_hub_cache_one_snapshot_counts_and_no_blob(tmp_path, newest):
    repository = tmp_path / "datasets--org--name"
    for folder in ("blobs", "refs", "snapshots/0a1", "snapshots/1b2"):
        (repository / folder).mkdir(parents=True)
    for commit, blob in (("0a1", "f0"), ("1b2", "f1")):
        (repository / "blobs" / blob).write_text('{"text": "a"}\n')
        (repository / "snapshots" / commit / "train.jsonl").symlink_to(f"../../blobs/{blob}")
    (repository / "refs" / "main").write_text(newest)
    (tmp_path / ".locks").mkdir()
    (tmp_path / ".locks" / "f0.lock").touch()
    listing = list_inputs([str(tmp_path)])
    counted = ["1b2"] if newest else ["0a1", "1b2"]
    assert [found.path for found in listing] == [f"datasets--org--name/snapshots/{commit}/train.jsonl" for commit in counted]
    assert ["refs/main" in one.reason for one in listing.skipped] == [True] * (2 - len(counted))


def rows_of(*paths, text_field=""):
    """The shown names of the files, their documents, and what was left out."""
    listing, notes = list_inputs([str(path) for path in paths]), []
    texts = {found.path: [piece.text.decode() for piece in read(found, text_field, notes.append)] for found in listing}
    return texts, [(one.path, one.reason) for one in (*listing.skipped, *notes)]


def test_a_cache_of_a_builder_is_its_rows(tmp_path, datasets):
    (tmp_path / "texts").mkdir()
    for split, texts in (("train", ["one", "zwei"]), ("test", ["三"])):
        (tmp_path / f"texts/{split}.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in texts))
    built = datasets.load_dataset(str(tmp_path / "texts"))
    built["train"].map(lambda row: {"body": row["body"] * 2})
    folder = next((tmp_path / "cache").rglob("dataset_info.json")).parent
    texts, left_out = rows_of(folder, text_field="body")
    assert (texts, left_out) == ({"texts-test.arrow": ["三"], "texts-train.arrow": ["one", "zwei"]}, [])
    del built
    (folder / "texts-test.arrow").unlink()
    assert rows_of(folder)[1] == [("texts-test", "missing: listed in dataset_info.json")]


def test_a_broken_saved_data_set_is_one_line(tmp_path, datasets):
    folder = tmp_path / "saved"
    data = datasets.Dataset.from_dict({"text": ["one", "two"]})
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(str(folder), num_shards={"train": 2, "test": 1})
    (folder / "train/data-00001-of-00002.arrow").unlink()
    (folder / "test/state.json").write_text("{")
    broken = "broken: it does not list the files of the data set that `datasets` saved here"
    missing = ("train/data-00001-of-00002.arrow", "missing: listed in state.json")
    assert rows_of(folder) == ({"train/data-00000-of-00002.arrow": ["one"]}, [("test/state.json", broken), missing])
    shutil.rmtree(folder / "test")
    assert rows_of(folder)[1] == [("test", "missing: listed in dataset_dict.json"), missing]


def test_a_saved_data_set_reads_the_named_column(tmp_path, datasets):
    datasets.Dataset.from_dict({"id": [1], "body": ["one"]}).save_to_disk(str(tmp_path / "saved"))
    assert rows_of(tmp_path / "saved", text_field="body") == ({"data-00000-of-00001.arrow": ["one"]}, [])


#: of `datasets`, whose readers of CSV close nothing
LEAVES_FILES_OPEN = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
BUILDERS = table("corpus/cases.yaml")["builders"]


@LEAVES_FILES_OPEN
@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.usefixtures("datasets")
def test_a_local_builder_is_the_rows_of_its_splits(name, tmp_path):
    for split in ("train", "test"):
        (tmp_path / "set" / split).mkdir(parents=True)
        (tmp_path / "set" / split / name).write_text(BUILDERS[name])
    url = f"datasets://{tmp_path}/set"
    assert rows_of(url) == ({f"{url}#test": ["one", "zwei"], f"{url}#train": ["one", "zwei"]}, [])
    (found,) = list_inputs([f"{url}#test"])
    assert found.stored_bytes == len(BUILDERS[name])
    assert not list((tmp_path / "cache").rglob("*.arrow"))


@LEAVES_FILES_OPEN
@pytest.mark.usefixtures("datasets")
def test_a_folder_of_images_is_the_texts_beside_them(tmp_path):
    """No image is decoded: these are none."""
    (tmp_path / "set/train").mkdir(parents=True)
    (tmp_path / "set/train/metadata.csv").write_text("file_name,caption\na.png,one\nb.png,zwei\n")
    for name in ("a.png", "b.png"):
        (tmp_path / "set/train" / name).write_bytes(b"\x89PNG\0")
    url = f"datasets://{tmp_path}/set"
    assert rows_of(url, text_field="caption") == ({f"{url}#train": ["one", "zwei"]}, [])


@LEAVES_FILES_OPEN
@pytest.mark.usefixtures("datasets")
def test_what_datasets_cannot_load_is_one_line(tmp_path):
    (tmp_path / "set").mkdir()
    url = f"datasets://{tmp_path}/set"
    with refused("cannot be loaded by `datasets`"):
        list_inputs([url])
    (tmp_path / "set/a.jsonl").write_text('{"text": "one"}\n')
    with pytest.raises(UsageError, match="no split 'tran', it has train; did you mean 'train'"):
        list_inputs([f"{url}#tran"])
    with pytest.raises(UsageError, match="no such folder"):
        list_inputs(["datasets://nowhere"])
    with pytest.raises(Unreadable, match="no column 'txt', it has text; did you mean 'text'"):
        rows_of(url, text_field="txt")
    (found,) = list_inputs([url])
    (tmp_path / "set/a.jsonl").write_text('{"text": "other"}\n')
    with pytest.raises(Unreadable, match="changed while it was read"):
        list(read(found, "", print))
    (tmp_path / "set/a.jsonl").write_text("{")
    with refused(error=Unreadable, match="cannot read it"):
        rows_of(url)


def test_standard_input_is_a_file_of_unknown_size(monkeypatch):
    import gzip

    for data in (b"piped text", gzip.compress(b"piped text")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        (found,) = list_inputs(["-"])
        assert (found.path, found.location, found.stored_bytes) == ("-", "-", 0)
        assert [piece.text for piece in read(found, "", print)] == [b"piped text"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "a"}\n{"text": "b"}')))
    (found,) = list_inputs(["-"], input_format="jsonl")
    assert [piece.text for piece in read(found, "", print)] == [b"a", b"b"]


MEMORY_OF_A_LISTING = f"""{MOST_HELD}
import sys
from ingest.corpus.files.listing import list_inputs
before = most_held()
listing = list_inputs([sys.argv[1]])
listing.manifest_hash()
print(len(listing), most_held() - before)
"""


def test_a_million_files_fit_into_little_memory(tmp_path):
    """Twenty thousand files in one folder, the worst case, tell what a million would take."""
    for number in range(20_000):
        os.close(os.open(tmp_path / f"a-name-of-some-ordinary-length-{number:08}.txt", os.O_CREAT | os.O_WRONLY))
    command = [sys.executable, "-c", MEMORY_OF_A_LISTING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    files, size = map(int, done.stdout.split())
    assert files == 20_000
    assert size / files * 1_000_000 < 300e6


ASIDE = ("a/.DS_Store", "._a.tar", ".git/HEAD", "a/README.md", "shard.idx", "a.tsv.meta.gz")
OF_NAMES = [  # what a rule of names makes of each
    (suffix_of, {"data/A.TXT": ".txt", "README": "", ".bashrc": ""}),
    (content_suffix, {"a.h5": ".h5", "a.tar.gz": ".tar", "a.tgz": ".tar", "a.gz": ""}),
    (is_aside, dict.fromkeys(ASIDE, True) | dict.fromkeys(("a.tar", "index.jsonl", "notice.jpg", "../a.jpg"), False)),
    (fixed_part, {"/data/2024-*/x.txt": ("/data", "2024-*/x.txt"), "*.txt": ("", "*.txt")}),
    (glob_filter("2024-*/*.txt"), {"2024-01/a.txt": True, "2024-01/b/a.txt": False, "2024-01/.a.txt": False}),
    (glob_filter("2024-*"), {"2024-01/b/a.txt": True}),
    (glob_filter("**/b/*.txt"), {"2024-01/.git/b/a.txt": True}),
    (
        gitignore_filter(["*.txt", "docs", "/build/*.log"]),
        {"a/b.txt": True, "x/docs/y.c": True, "build/a.log": True, "x/build/a.log": False},
    ),
    (lambda path: root_above(path, {"a.zarr/": 1}), {"a.zarr/x/0.0": "a.zarr/", "a.zarr": None}),
    (lambda path: root_above(path, {"": 1}), {"0.0": ""}),
]


@pytest.mark.parametrize(("rule", "known"), OF_NAMES)
def test_rules_of_names(rule, known):
    assert {name: rule(name) for name in known} == known

"""Parts of a measurement add up to a single one, however they are cut, ordered or made again; any other set is refused."""

import json
import random

import pytest
from click.testing import CliRunner
from conftest import first, refused

from ingest.cli.group import command
from ingest.corpus import sample
from ingest.corpus.counting import ledger
from ingest.corpus.measure import measure
from ingest.corpus.parts import Share
from ingest.errors import IngestError, UsageError

KINDS = {
    "exact": {"exact": True, "text_field": "body"},
    "sample": {"exact": False, "seed": 7, "tolerance": 0.05},
    "samples": {"samples": True},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Files of many sizes and formats, some broken, and a folder that is one data set."""
    root, chance = tmp_path_factory.mktemp("corpus"), random.Random(5)
    for number in range(160):
        folder = root / chance.choice("abcdefgh") / chance.choice("xyz")
        folder.mkdir(parents=True, exist_ok=True)
        text = " ".join(chance.choices(("bytes", "per", "token", "文字", "größe", "\U0001fae8"), k=chance.choice((3, 40, 900))))
        suffix = chance.choice((".txt", ".py", f".e{number}", ".jsonl", ".png"))
        if suffix == ".jsonl":
            text = "".join(json.dumps({chance.choice(("body", "other")): text}) + "\n" for _ in range(chance.randint(1, 5)))
        content = b"\x89PNG\0" + text.encode() if suffix == ".png" else text.encode()
        (folder / f"{number}{suffix}").write_bytes(content)
    for name in ("meta/info.json", "data/episode_000000.bin"):
        path = root / "robot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            '{"codebase_version": "v2.1", "total_episodes": 3, "robot_type": "arm", "features": {}}', encoding="utf-8"
        )
    (root / "lost.txt").symlink_to(root / "nowhere")
    return root


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(ledger, "SHARD_FILES", 7)
    monkeypatch.setattr(ledger, "SHARD_BYTES", 6000)


def made(corpus, small, kind, share):
    return measure(corpus, tokenizer=small, threads=1, part=share, **KINDS[kind])


def shown(answer):
    return {name: value for name, value in answer.to_dict().items() if name not in ("date", "speed")}


@pytest.mark.parametrize("most", first(1, (9, 64)))
@pytest.mark.parametrize("kind", KINDS)
def test_drawn_parts_in_any_order_add_up_to_a_single_run(corpus, small, tmp_path, kind, most, monkeypatch):
    monkeypatch.setattr(sample, "WORTH_SAMPLING", 100)  # that a corpus so small is sampled at all
    single = shown(measure(corpus, tokenizer=small, threads=1, **KINDS[kind]))
    assert single["design"]["design"] == {"sample": "sampled"}.get(kind, kind)
    chance = random.Random(kind)
    for number in (1, most, chance.randint(2, 8)):
        parts = [made(corpus, small, kind, f"{place}/{number}") for place in range(1, number + 1)]
        again = chance.randrange(number)
        assert made(corpus, small, kind, f"{again + 1}/{number}").ledger == parts[again].ledger
        files = []
        for place, part in enumerate(parts):
            files.append(tmp_path / f"{place}.json")
            part.write(files[-1])
        chance.shuffle(files)
        assert shown(measure(*files, merge=True)) == single
        assert shown(measure(*parts, merge=True)) == single


def test_parts_of_equal_listings_are_equal_and_even():
    chance = random.Random(3)
    for _ in range(50):
        sizes = [int(chance.lognormvariate(3, 2)) for _ in range(chance.randint(0, 200))]
        number = chance.randint(1, 64)
        shares = [Share(place, number).shards_of(sizes) for place in range(1, number + 1)]
        assert sorted(shard for share in shares for shard in share) == list(range(len(sizes)))
        loads = [sum(sizes[shard] for shard in share) for share in shares]
        assert max(loads) <= sum(sizes) / number + max(sizes, default=0)


def refusal(*files):
    with refused() as found:
        measure(*files, merge=True)
    return str(found.value)


def test_any_other_set_of_parts_is_refused_by_name(corpus, small, tmp_path):
    files = [tmp_path / f"part{place}.json" for place in range(1, 5)]
    for place, file in enumerate(files, 1):
        made(corpus, small, "exact", f"{place}/4").write(file)
    other = tmp_path / "other.json"
    assert "no part 2/4, 4/4" in refusal(files[0], files[2])
    assert f"part 3/4 is in '{files[2]}' and in '{files[2]}'" in refusal(*files, files[2])
    measure(corpus, tokenizer=small, part="2/4", text_field="text").write(other)
    assert f"'{other}' belongs to other options" in refusal(files[0], other, *files[2:])
    measure(corpus, tokenizer=small, part="2/4", text_field="body", input_format="jsonl").write(other)
    assert f"'{other}' belongs to other options" in refusal(files[0], other, *files[2:])
    measure(corpus, tokenizer="train:300", part="2/4", text_field="body").write(other)
    assert f"'{other}' belongs to another tokenizer" in refusal(files[0], other, *files[2:])
    measure(corpus / "a", tokenizer=small, part="2/4", text_field="body").write(other)
    assert f"'{other}' belongs to another corpus" in refusal(files[0], other, *files[2:])
    measure(corpus, tokenizer=small, part="2/5", text_field="body").write(other)
    assert f"'{other}' is part 2/5, expected one of 4 parts" in refusal(files[0], other, *files[2:])
    made(corpus, small, "samples", "2/4").write(other)
    assert f"'{other}' belongs to" in refusal(files[0], other, *files[2:])
    other.unlink()
    measure(corpus, tokenizer=small, text_field="body", resume=other)
    assert "is the ledger of a run" in refusal(other)
    (tmp_path / "result.json").write_text(json.dumps(measure(corpus / "a", tokenizer=small).to_dict()), encoding="utf-8")
    assert "is not a part" in refusal(tmp_path / "result.json")


def test_a_part_that_was_changed_anywhere_is_refused(corpus, small, tmp_path):
    files = [tmp_path / f"{place}.json" for place in (1, 2)]
    for place, file in enumerate(files, 1):
        made(corpus, small, "exact", f"{place}/2").write(file)
    whole, chance = files[1].read_bytes(), random.Random(8)
    lines = whole.splitlines(keepends=True)
    for _ in range(40):
        place = chance.randrange(len(whole))
        files[1].write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert str(files[1]) in refusal(*files)
    for changed in (whole[:-1], b"".join(lines[:-1]), whole + lines[-1], lines[0], b"", files[0].read_bytes() + lines[-1]):
        files[1].write_bytes(changed)
        assert str(files[1]) in refusal(*files)


def test_a_part_goes_on_from_its_ledger_and_is_written_whole(corpus, small, tmp_path):
    measure(corpus, tokenizer=small, text_field="body", part="1/3", resume=tmp_path / "ledger")
    before = len((tmp_path / "ledger").read_bytes().splitlines())
    again = measure(corpus, tokenizer=small, text_field="body", part="1/3", resume=tmp_path / "ledger")
    assert again.ledger == measure(corpus, tokenizer=small, text_field="body", part="1/3").ledger
    assert len((tmp_path / "ledger").read_bytes().splitlines()) == before


@pytest.mark.parametrize("written", ["0/4", "5/4", "1", "1/0", "a/b", "-1/4", "1/4/2", "1.5/4", "1/200000"])
def test_what_is_no_part_of_a_number_is_refused(written):
    with pytest.raises(UsageError, match="--part: found"):
        Share.of(written)


def test_the_command_writes_parts_and_adds_them_up(corpus, small, tmp_path):
    def run(*words):
        return CliRunner().invoke(command, ["measure", *map(str, words)])

    files = [tmp_path / f"{place}.json" for place in (1, 2)]
    for place, file in enumerate(files, 1):
        done = run(corpus, "--tokenizer", small, "--part", f"{place}/2", "-o", file)
        assert done.exit_code == 0
        assert f"part {place}/2" in done.stderr
    assert json.loads(run("--merge", *files, "--format", "json").stdout)["results"]["tokens"]["value"] > 0
    for words, reason in (
        ((corpus, "--part", "1/2"), "expected the file of the part"),
        ((corpus, "--part", "1/2", "-o", tmp_path / "p", "--format", "json"), "found --format"),
        ((corpus, "--part", "1/2", "--strict", "-o", tmp_path / "p"), "--strict"),
        (("-", "--part", "1/2", "-o", tmp_path / "p"), "standard input"),
        (("--merge", *files, "--seed", "1"), "--seed: found with --merge"),
        (("--merge", *files, "--sample"), "--exact: found with --merge"),
    ):
        done = run(*words)
        assert reason in str(done.exception), words
        assert not (tmp_path / "p").exists()


WORDS = ("bytes", "per", "token", "文字。", "größe", "\U0001fae8", "a\u0301", "x=12;", "\n\n", "don't", "한국어", "١٢", "<end>")


def drawn_file(folder, chance):
    """One file that is cut in pieces, of text or of lines, some of them broken, long or empty; and its size."""
    kind = chance.choice(("txt", "jsonl", "log", "json.txt"))
    texts = [" ".join(chance.choices(WORDS, k=chance.choice((0, 1, 5, 30, 400)))) for _ in range(chance.randint(20, 90))]
    if kind in ("txt", "log"):
        content = chance.choice((" ", "\n", "\r\n", "")).join(texts).encode()
        damage = chance.choice((b"", b"\0", b"\xff", b"\xe6\x96"))
        content = content[: len(content) // 2] + damage + content[len(content) // 2 :]
    else:
        lines = [json.dumps({"body": text}, ensure_ascii=chance.random() < 0.5) for text in texts]
        broken = ("", "{", '{"other": 1}', "[" * 50, "\ufeff")
        lines = [line if place < 2 or chance.random() < 0.9 else chance.choice(broken) for place, line in enumerate(lines)]
        content = ("\n".join(lines) + chance.choice(("", "\n", "\n\n"))).encode()
    path = folder / f"big.{kind}"
    path.write_bytes(content)
    return path, len(content)


@pytest.mark.parametrize("seed", first(4, range(60)))
def test_one_file_in_pieces_counts_as_a_whole_one(small, tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    path, size = drawn_file(tmp_path, chance)
    asked = {"tokenizer": "cl100k" if seed % 3 == 1 else small, "text_field": "body", "exact": True, "threads": 1}
    for share in ("MOST_PLACES", "MOST_DAMAGED"):  # of so small pieces, one damaged place is too much
        monkeypatch.setattr(f"ingest.corpus.formats.rows.{share}", 1)
    monkeypatch.setattr(ledger, "SHARD_BYTES", size)
    whole = shown(measure(path, **asked))
    monkeypatch.setattr(ledger, "SHARD_BYTES", max(size // chance.randint(2, 80), 1))
    in_pieces = shown(measure(path, **asked))
    for name, value in whole["results"].items():
        assert name == "bytes_read" or in_pieces["results"][name] == value  # the places of cuts are read twice
    number = chance.choice((2, 3, 5)) if seed else 64
    parts = [measure(path, part=f"{place}/{number}", **asked) for place in range(1, number + 1)]
    chance.shuffle(parts)
    assert shown(measure(*parts, merge=True)) == in_pieces


def changed(part, path, change):
    """A part with a change of its first piece."""
    entries = [json.loads(line) for line in part.ledger.splitlines()]
    entry = next(entry for entry in entries[1:] if entry["piece"])
    change(entry)
    del entry["crc32"]
    lines = part.ledger.splitlines(keepends=True)
    lines[entries.index(entry)] = ledger.entry_line(entry)
    path.write_bytes(b"".join(lines))
    return path


@pytest.mark.parametrize("edge", [2, 3])
@pytest.mark.parametrize("part", [0, 1])
def test_pieces_that_do_not_meet_are_refused(small, tmp_path, part, edge):
    """Neither a place in the middle nor the first or the last bytes of the file are lost."""
    (tmp_path / "big.txt").write_bytes(b"some words " * 3000)
    parts = [measure(tmp_path / "big.txt", tokenizer=small, part=f"{place}/2") for place in (1, 2)]
    assert measure(*parts, merge=True).results["documents"].value == 1
    parts[part] = changed(
        parts[part], tmp_path / "other.json", lambda entry: entry["piece"].__setitem__(edge, entry["piece"][edge] + 1)
    )
    assert "do not meet" in refusal(*parts)


def test_damage_is_judged_over_all_pieces(small, tmp_path, monkeypatch):
    """A text has damage at one place in a thousand bytes, or less: the first piece has more in both cases."""
    monkeypatch.setattr("ingest.corpus.formats.documents.HEAD_BYTES", 1000)
    for damage in (9, 19):
        (tmp_path / f"{damage}.txt").write_bytes(b"some words " * 500 + b"a\0" * damage + b"some words " * 1000)
    assert measure(tmp_path / "9.txt", tokenizer=small, exact=True, threads=1).results["documents"].value == 1
    with pytest.raises(IngestError, match="19 B that are no text: NUL at byte 5,501"):
        measure(tmp_path / "19.txt", tokenizer=small, exact=True, threads=1)

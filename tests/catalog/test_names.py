"""Devices, nodes and data sets by the names that tools print and people type: the right entry, a list, or the nearest."""

import random
import re
from contextlib import suppress

import pytest
from conftest import refused, table

from ingest.catalog.device_names import meaning, plain, unwrapped, words_of
from ingest.catalog.records import Corpus, Gpu, Node
from ingest.catalog.store import MAX_NAME
from ingest.errors import WIDTH, UsageError

GPUS, NODES, CORPORA, AMBIGUOUS, UNKNOWN, OUTSIDE, PROVIDERS = table("catalog/names.yaml").values()
#: words of parts and chassis that are sold as several: none alone decides
SEVERAL = re.compile("pci|titan|volta|v100.?|nvidia|aldebaran|910b?|gfx.+|cichlid|flounder|cavefish|xe9.+|xd.+|sr.+|8.+g[es]")


@pytest.mark.parametrize(
    ("record", "written", "entry"),
    [(record, *pair) for record, names in ((Gpu, GPUS), (Node, NODES), (Corpus, CORPORA)) for pair in names.items()],
)
def test_a_name_as_tools_print_it_is_its_entry(shipped, record, written, entry):
    assert shipped.get(record, written).id == entry


def test_spellings_change_nothing(shipped):
    # Case, the separator between words, and blanks at the ends, drawn for every name.
    draw = random.Random(42)
    for record, names in ((Gpu, GPUS), (Node, NODES)):
        for written, entry in names.items():
            for _ in range(6):
                kept = re.search(r"[:=/(|]", written)
                name = written if kept else re.sub(r"[ _-]", lambda _: draw.choice(" _-"), written)
                name = "".join(draw.choice((letter.upper(), letter.lower())) for letter in name)
                assert shipped.get(record, draw.choice(("", " ")) + name).id == entry, name


def test_memory_and_form_agree_with_the_entry(shipped):
    # Of every name that tells memory or form, the entry has them.
    for written, entry in GPUS.items():
        card = shipped.get(Gpu, entry)
        words = words_of(unwrapped(written))
        for size in (int(word[:-2]) for word in words if re.fullmatch(r"\d+gb", word)):
            hosts = {"gh200-96": 480}.get(entry)  # memory of the CPU of the superchip
            assert size == hosts or 0.93 * size * 1e9 < card.memory_bytes.value < 1.08 * size * 1e9, (written, entry)
        if "pcie" in words:
            assert card.form == "PCIe", (written, entry)
        if any(word.startswith("sxm") for word in words):
            assert card.form.startswith("SXM"), (written, entry)


def test_a_card_of_another_memory_is_another_card(shipped):
    for written, entry in GPUS.items():
        changed = re.sub(r"(?i)\d+(?=[ _-]?gb)", lambda size: str(int(size[0]) * 3), written)
        assert changed == written or shipped.meaning("gpus", changed).entry != entry, changed


@pytest.mark.parametrize(("written", "possible"), AMBIGUOUS.items())
def test_an_ambiguous_name_is_answered_by_a_list(shipped, written, possible):
    with refused(f"gpu '{written}' could be ", *possible, error=UsageError):
        shipped.get(Gpu, written)


@pytest.mark.parametrize(("written", "near"), UNKNOWN.items())
def test_an_unknown_device_names_three_near_ones(shipped, written, near):
    with pytest.raises(UsageError, match=r"unknown gpu|, not listed; ") as found:
        shipped.get(Gpu, written)
    assert re.search(rf"nearest .*\b{near}\b|did you mean", str(found.value)), found.value
    assert len(str(found.value)) <= WIDTH or str(found.value).count(",") == written.count(",") + 1, found.value
    assert meaning(written, shipped.patterns["gpus"]).entry == ""


@pytest.mark.parametrize(("record", "written", "said"), [
    (Node, "gpu:141gb", "unknown node"),
    *((Gpu, name, "slice of a GPU, .*: a100-") for name in ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "gpu:nvidia_a100_3g.20gb:2")),
    (Gpu, "NVIDIA GRID V100D-16Q", "is a slice of a GPU, expected the whole GPU: v100-pcie$"),
    (Gpu, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB-SHARED", "is a slice of a GPU, expected the whole GPU: a100-80-sxm"),
    (Gpu, "p5.48xlarge", r"'p5.48xlarge' is a node type, expected a gpu: give --node aws-p5$"),
    (Node, "NVIDIA H200", "'NVIDIA H200' is a GPU, expected a node: give --gpu h200-sxm"),
    *((record, name, f" not listed.*; .* {entry}$") for record in (Gpu, Node) for name, entry in OUTSIDE.items()),
    *((Node, name, f"'{name}' is no listed node; give --gpu {entries}$") for name, entries in PROVIDERS.items()),
    *((record, f"Standard_{name}_v{n}", f"unknown {record.kind[:-1]} [^,;]*[,;] (?!nearest tpu)")
      for record in (Gpu, Node) for name in ("D4s", "HB120rs") for n in range(3, 7)),
    *((Gpu, name, "slice of a GPU") for name in ("  MIG 1g.10gb     Device  0: (UUID: MIG-1)", "nvidia.com/mig-7g.141gb: 1")),
    (Corpus, "nobody/knows", "'nobody/knows' is not in the catalogs: give --tokens, or --samples"),
])  # fmt: skip
def test_what_is_of_another_kind_or_not_listed_says_what_to_give(shipped, record, written, said):
    with pytest.raises(UsageError, match=said):
        shipped.get(record, written)


@pytest.mark.parametrize(
    "written",
    ["h100\x1b[31m", "h100\x00", "h100\nrm", "\u202eh100", "", " ", "80gb", "nvidia", "gpu:8", "gpu:", "🙂", "h" * MAX_NAME,
     "x" * 5000, "GPU 0:", "a" * 60 + " " * 100 + "b", ("8x " * 80)[:MAX_NAME], "../../etc/passwd", "((((((((((((("],
)  # fmt: skip
def test_a_hostile_name_is_refused_in_one_line(shipped, written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no path leads to a file
    for record in (Gpu, Node, Corpus):
        with pytest.raises(UsageError) as found:
            shipped.get(record, written)
        assert str(found.value).isprintable()


def test_any_pieces_of_names_are_an_entry_or_a_refusal(shipped):
    pieces = [
        *"08|:()/=.-_x, 🙂é", "80", "mib", "gb", "81559", "9" * 30, "gpu:", "gres/gpu:", "GPU 0: ", "(UUID:", "h100", "rtx",
        "v5", "lite", "pcie", "mig", "1g.5gb", "hf://", "org/name", ".yaml", "nvidia", "amd", "8x ",
    ]  # fmt: skip
    draw = random.Random(7)
    for _ in range(100):
        written = "".join(draw.choices(pieces, k=draw.randint(1, 12)))
        for record in (Gpu, Node, Corpus):
            with suppress(UsageError):
                assert shipped.get(record, written).id


def test_no_two_entries_share_a_pattern(shipped):
    for kind, patterns in shipped.patterns.items():
        for one in patterns if kind != "released" else ():
            twins = {other.entry.rstrip("-0123456789") for other in patterns if other.needed == one.needed}
            # Sizes of one card differ in their last figures; one instruction set, one chassis is that of several products.
            assert len(twins) == 1 or any(map(SEVERAL.fullmatch, one.needed)), (kind, one)
            assert one.entry.split()[-1] in ("file", *shipped.ids("gpus" if kind == "outside" else kind))


def test_every_gpu_is_found_by_its_product_name(shipped):
    # The first words of its name are enough, or several are offered; never another device.
    for card in shipped.all(Gpu):
        name = re.sub(r"\(.*\)", "", card.name)
        found = shipped.meaning("gpus", name)
        assert found.entry in ("", card.id), (card.id, name, found)


def test_numbers_stay_apart():
    assert plain("llama-3-18b") != plain("llama-3.1-8b")
    assert plain("llama 3 70b") == plain("Llama-3-70B")

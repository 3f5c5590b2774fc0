"""Names as tools and people write them, each to the entries that it can mean: `NVIDIA H100 80GB HBM3`, `gres/gpu:a100=4`.

`names.yaml` lists, by kind and vendor, the words of each entry: those that a name must have, and in brackets those that it may
have. A name means an entry if it has all of the first and nothing beyond both, so another memory or another form never does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

#: What surrounds a name: the lines and labels of drivers, Slurm, Kubernetes, and hubs of data sets.
_WRAPPINGS = (
    r"gpu ?\[?\d+\]? ?: ?(.+)",  # nvidia-smi -L, rocm-smi
    r"\d+, ?(.+)",  # nvidia-smi --query-gpu=index,name
    r".*(?:corporation|\[amd/ati\]).*\[([^\]]+)\](?: \(rev \w+\))?",  # lspci
    r"(.+?) ?\(uuid:.*\)?",
    r"(?:.*[ ,;])?(?:-{0,2}gres[=:]|gres/)?gpu[:=]([a-z][^:=,;()]*)(?:[:=]\d+)?(?:\(.*\))?",  # Slurm: gpu:h100:8
    r"--gpus(?:-per-[a-z]+)?[= ]([^:=,]+)(?::\d+)?",
    r"[a-z0-9-]+(?:\.[a-z0-9-]+)+/[a-z0-9._-]+ ?[=:] ?(.+)",  # labels of Kubernetes
    r"(?:hf://|https?://(?:www\.)?huggingface\.co/)(?:datasets/)?(.+?)/?",
    r"(?:\[?\d+\]?[ |]+)?(?:market(?:ing)?|product|device|card|instance|machine)[ _](?:series|model|name|type) ?[:=] ?(.+)",
    r"\d+ ([^|]+?) (?:n/a|on|off) \|.*",  # a line of the table of nvidia-smi or hl-smi
    r"\(?\d{1,3}\)? ?[x×*] ?([a-z].+)",  # 8x H100
    r"(.+?) [x×*] ?\d{1,3}",
    r"((?:tpu[ -]?)?v\d(?:e|p|x|litepod)?)[-_ ]\d{1,5}",  # slices of TPUs: v5p-128
    r"([a-z].*[a-z0-9]):\d{1,3}",  # A100-80GB:8
    r"[\"'](.+)[\"']",
)
_WORD = r"[a-z0-9]+"
_JOINED = (
    r"(rtx|gtx|hgx|dgx|tpu)(\d+[a-z0-9]*)|([a-z]{1,2}\d{2,3}[a-z]?)(sxm\d?|pcie|nvl|oam)|(\d{4})(ti|super|ada)(super)?|(gb[23]00)(nvl\d+)"
    r"|(\d+(?:gb|g))(hbm\d?e?)|([a-z]\d{2,3})(\d{2}gb?)|(v\d)(lite)(?:pod)?|(gaudi|trainium|inferentia)(\d)"
)
_MEMORY = r"(\d+)(g|gb|gib|mb|mib)"
_COUNT = r"\d{1,3}x"
_UNITS = ("g", "gb", "gib", "mb", "mib")
_SLICE = r"(?<![a-z0-9])(?:mig|(?:\d+c[. _-])?\d+g[. _-]\d+gb)(?![a-z0-9])"
#: Words that tell nothing of a device.
_FILLING = ("gpu", "gpus", "graphics", "card", "tensor", "core", "accelerator", "device", "generation", "edition", "shared",
            "r", "tm")  # fmt: skip


class Pattern(NamedTuple):
    """The words of one entry."""

    entry: str
    needed: frozenset[str]
    known: frozenset[str]  # the needed ones, and those that a name may have


class Meaning(NamedTuple):
    """What a name can mean."""

    entry: str = ""  # the one entry that it means
    possible: tuple[str, ...] = ()  # the entries that it can mean, if it is none or several
    near: tuple[str, ...] = ()  # entries that the name contradicts, the nearest first
    slice: bool = False  # it names a part of a GPU


def plain(name: str) -> str:
    """A name without case and separators; those between two figures stay, since they tell numbers apart."""
    joined = re.sub(r"[\s_/-]+", "-", name.strip().lower())
    return re.sub(r"(?<!\d)-|-(?!\d)", "", joined)


def unwrapped(name: str) -> str:
    """A name without the line, label or count around it."""
    found = " ".join(name.lower().split()).strip(" ,;|")
    for wrapping in _WRAPPINGS:
        whole = re.fullmatch(wrapping, found)
        if whole:
            found = whole[1].strip()
    return found


def words_of(name: str) -> list[str]:
    """The words of a name, joined ones apart, a size and its unit together."""
    words: list[str] = []
    for word in re.findall(_WORD, name.lower()):
        joined = re.fullmatch(_JOINED, word)
        for part in [one for one in joined.groups() if one] if joined else [word]:
            size = re.fullmatch(_MEMORY, (words.pop() if part in _UNITS and words and words[-1].isdigit() else "") + part)
            if size:
                words.append(size[1] + ("gb" if size[2] in ("g", "gb", "gib") else "mib"))
            elif part not in _FILLING and not re.fullmatch(_COUNT, part):
                words.append(part)
    return words


def patterns_of(kind: Mapping[str, Mapping[str, str]]) -> list[Pattern]:
    """The patterns of a kind: `{vendor's words: {entry: "needed [possible] | …"}}`."""
    made = []
    for vendor, entries in kind.items():
        for entry, written in entries.items():
            for one in str(written).split("|"):
                needed, _, possible = one.partition("[")
                must = frozenset(words_of(needed))
                made.append(Pattern(entry, must, must | {*words_of(possible), *words_of(vendor)}))
    return made


def meaning(name: str, known: Iterable[Pattern]) -> Meaning:
    """What a name of a device or a node means."""
    inner = unwrapped(name)
    part = re.search(_SLICE, inner) is not None
    words = set(words_of(re.sub(_SLICE, " ", inner)))
    exact: list[Pattern] = []
    possible: list[str] = []
    near: dict[str, int] = {}
    for one in known:
        said = {_label(word, one.known) for word in words}
        shared = said & one.needed
        if not one.needed <= said and all(word.isalpha() for word in shared):
            continue
        if not said <= one.known:
            rank = 4 * len(shared) + len(said & one.known) - len(one.needed - said)
            near[one.entry] = max(near.get(one.entry, rank), rank)
        elif one.needed <= said:
            exact.append(one)
        else:
            possible.append(one.entry)
    # A pattern that asks for more of the name is the better one: `tesla a100` over `a100`.
    best = [one.entry for one in exact if not any(one.needed < other.needed for other in exact)]
    found = tuple(dict.fromkeys(best or possible))
    if not found and not near:
        near = _alike(words, known)
    closest = sorted(near.keys() - set(found), key=lambda entry: (-near[entry], entry))[:3]
    sole = len(found) == 1 and bool(best) and not part
    return Meaning(found[0] if sole else "", () if sole else found, tuple(closest), part)


def _alike(words: Iterable[str], known: Iterable[Pattern]) -> dict[str, int]:
    """The entries of other names that are spelt alike, and how nearly."""
    import difflib

    ranks: dict[str, int] = {}
    makers = {"amd", "aws", "google", "huawei", "intel", "nvidia"} & {*words}
    for word in words:
        for one in (one for one in known if makers <= one.known):
            for other in one.needed if re.search(r"[a-z]\d|\d[a-z]|\d{3}", word) and not re.fullmatch(_MEMORY, word) else ():
                rank = round(100 * difflib.SequenceMatcher(None, word, other).ratio())
                if rank >= 75:
                    ranks[one.entry] = max(ranks.get(one.entry, 0), rank)
    return ranks


def _label(word: str, known: frozenset[str]) -> str:
    """A size that a driver reports as the size that the device is sold as; any other word as it is."""
    if not re.fullmatch(r"\d{1,7}mib", word):
        return word
    reported = int(word[:-3]) / 1024
    sold = [one for one in known if one.endswith("gb") and one[:-2].isdigit() and 0.93 <= reported / int(one[:-2]) <= 1.01]
    return min(sold, key=lambda one: abs(int(one[:-2]) - reported)) if sold else word

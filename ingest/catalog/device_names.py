"""Names of devices, nodes and data sets, as tools print them and people type them, and the entries that they mean."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ingest.files import table_beside

_WRITTEN = table_beside(__file__, "device_names.yaml")
#: Names that the administrator of a cluster chose, in options and lines of Slurm: they need not state memory and form.
_LABELS = tuple(_WRITTEN["labels"])
#: Slices of TPUs, as `v4-32` and `v5litepod-16`: those of an e or lite count chips, the others cores, of which a chip has two.
_TPUS = r"((?:tpu[ _-]?)?v\d(?:p|(e|litepod))?)[ _-](\d{1,5})"
#: What surrounds a name: the lines and labels of drivers, Slurm, Kubernetes, and hubs of data sets.
_WRAPPINGS = (*_WRITTEN["before"], *_LABELS, *_WRITTEN["after"], _TPUS, *_WRITTEN["last"])
_ID, _VIRTUAL, _JOINED, _MARKS, _TELLING, _SLICE, _INSTANCE, _BESIDE = map("|".join, _WRITTEN["forms"].values())
_FILLING = tuple(_WRITTEN["filling"])
_MEMORY = r"(\d+)(g|gb|gib|mb|mib)"
_AROUND = r"[\"'`\\]|\$\{\w+:-|\s(?:#|>>? ).*"  # quotes and comments, and what a shell reads of a line
_PCI = {"10de": "nvidia", "1002": "amd", "1da3": "habana", "8086": "intel", "19e5": "huawei"}
_SIZE, _FORM = r"\d+gb", r"hbm2e|hgx|nvl|pcie|sxm\d?"  # what tells the parts of one name apart
_VERSION = r"v\d|\d+c"  # of TPUs and of instances, and the memory of a virtual GPU: alone they tell no device
_UNITS = ("g", "gb", "gib", "mb", "mib")
#: Counts within names, of GPUs and heights, which are dropped.
_COUNTS = r"(?<![a-z0-9])(?:\d{1,2}[ _-](?=g(?:pu|cd)s?(?![a-z]))|\d{1,2}u\b)"

MOST_PARTS = 24  # of a line that are read
_MAKERS = {"amd", "aws", "google", "huawei", "intel", "nvidia"}


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
    return re.sub(r"(?<!\d)-|-(?!\d)", "", re.sub(r"[\s_/-]+", "-", name.strip().lower()))


def unwrapped(name: str, wrappings: Iterable[str] = _WRAPPINGS) -> str:
    """A name without the line, label or count around it."""
    found = " ".join(re.sub(_AROUND, "", name.lower().strip()).split()).strip(" ,;|}")
    found = re.sub(r".*_cudadeviceproperties\(name=([^,]+),.*?total_memory=(\d+mb).*", r"\1, \2", found)
    if unnamed := re.fullmatch(_ID, found):
        makers = re.findall(r"nvidia|intel|amd|habana|1da3:", found)[:1]
        found = " ".join([*makers, "pci", unnamed[1] or unnamed[2]]).replace("1da3:", "habana")
    for wrapping in wrappings:
        if whole := re.fullmatch(wrapping, found):
            found = next(filter(None, whole.groups()), "").strip()
    return found


@lru_cache(maxsize=256)
def counted(name: str) -> int:
    """The number of devices that a name states, as `64xh100`, `A100-80GB:8`, `H100 x 16` and `v5p-128`; 0 without one."""
    written = " ".join(name.lower().split())
    if part := re.fullmatch(_TPUS, written):
        return int(part[3]) if part[2] else math.ceil(int(part[3]) / 2)
    found = re.fullmatch(r"\(?(\d+)\)? ?[x×*] ?[a-z].*|.*[a-z0-9](?: [x×*] ?|:)(\d+)", written)
    return int(found[1] or found[2]) if found else 0


def _parts(word: str) -> list[str]:
    """The parts of a word that joins several."""
    joined = re.fullmatch(_JOINED, word)
    return [part for one in joined.groups() if one for part in _parts(one)] if joined else [word]


def words_of(name: str) -> list[str]:
    """The words of a name, joined ones apart, a size and its unit together."""
    words: list[str] = []
    for word in re.findall(r"[a-z0-9]+", re.sub(_COUNTS, "", name.lower())):
        for part in _parts(word):
            size = re.fullmatch(_MEMORY, (words.pop() if part in _UNITS and words and words[-1].isdigit() else "") + part)
            if size:
                words.append(size[1] + ("gb" if size[2] in ("g", "gb", "gib") else "mib"))
            elif part not in _FILLING and (words[-1:] == ["tpu"] or not re.fullmatch(r"\d{1,3}x", part)):  # tpu7x, and 8x
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


def labelled(name: str) -> bool:
    """Whether the name is one that an administrator or a provider chose."""
    return unwrapped(name, _LABELS) != unwrapped(name, ())


def meaning(name: str, known: Collection[Pattern], same: Sequence[str] = (), *, whole: bool = True) -> Meaning:
    """What a name of a device or a node means; `same` has the entries with an id or alias of this spelling.

    Of a part of a name, that is not `whole`, neither parts nor names that are spelt alike are sought.
    """
    # What a label of a cluster does not state is open; a driver would state it.
    label = labelled(name)
    inner = unwrapped(name)
    if same and not label:
        own = {*words_of(inner)}
        several = dict.fromkeys((*same, *(one.entry for one in known if one.needed <= own <= one.known)))
        return Meaning(same[0]) if len(several) == 1 else Meaning("", tuple(several))
    listed = name if len(re.findall(r"[gn]pu:\d*[a-z]", name.lower())) > 1 else inner if re.search(r"[/|+&]", inner) else ""
    if whole and listed and ((parts := _in_parts(listed, known, label)).entry or parts.possible):
        return parts  # products of one die, or features of a constraint
    if cut := re.search(r"([a-z0-9]*)\.\.\.", inner):  # names that nvidia-smi cuts off
        label, inner = True, inner[: cut.start()] + (cut[1] if re.fullmatch(r"\d+gb?|sxm\d?|pcie", cut[1]) else "")
    if virtual := re.fullmatch(_VIRTUAL, inner):
        inner = f"{virtual[1]} {virtual[2]}c"
    part = re.search(_SLICE, inner) is not None
    stated = words_of(re.sub(_SLICE, " ", re.sub(r"[-_](\d{2,3})$", r" \1gb", inner) if label else inner))
    sold = {word for one in known for word in one.known}
    # A size that none is sold with is one that a program rounded.
    words = {f"{int(one[:-2]) * 1024}mib" if re.fullmatch(_SIZE, one) and one not in sold else one for one in stated}
    left = _SIZE if any(re.fullmatch(_FORM, word) for word in words) else f"{_SIZE}|{_FORM}"
    sizes: dict[str, None] = {}
    exact: list[Pattern] = []
    possible: list[str] = []
    near: dict[str, int] = {}
    read = [word for word in words if word.endswith("mib")]
    for one in known:
        said = {_label(word, one.known) for word in words} if read else {*words}
        shared, named = said & one.needed, said - _MAKERS
        if label and said <= one.known and all(re.fullmatch(left, word) or word[:-1] in said for word in one.needed - said):
            sizes[one.entry] = None
        if not one.needed <= said and all(word.isalpha() or re.fullmatch(f"{_SIZE}|{_VERSION}", word) for word in shared):
            continue
        if not said <= one.known:
            if all(re.fullmatch(_VERSION, word) for word in said & one.known):
                continue
            rank = 4 * len(named & one.needed) + len(said & one.known) - len(one.needed - named)
            near[one.entry] = max(near.get(one.entry, rank), rank)
        elif one.needed <= said:
            exact.append(one)
        else:
            possible.append(one.entry)
    # A pattern that asks for more of the name is the better one: `tesla a100` over `a100`.
    best = [one.entry for one in exact if not any(one.needed < other.needed for other in exact)]
    if virtual and not best:
        named = {*words_of(virtual[1])} - {"nvidia"}
        boards = [one for one in known if named <= one.needed and re.fullmatch(r"(\d+c)?", "".join(one.needed - named))]
        most = max((len(one.needed) for one in boards), default=0)
        possible, best, part = [one.entry for one in boards if len(one.needed) == most] or possible, [], True
    found = tuple(dict.fromkeys(sizes if len(sizes) > 1 else same or best or possible))
    parts = _in_parts(inner if label else name, known, label) if not found and not part and whole else Meaning()
    if parts.entry or parts.possible:
        return parts
    if not found and not near and whole:
        near = _alike(words, known)
    closest = sorted(near.keys() - set(found), key=lambda entry: (-near[entry], entry[:3] != inner[:3], entry))[:3]
    sole = len(found) == 1 and bool(same or best) and not part and not cut
    return Meaning(found[0] if sole else "", () if sole else found, tuple(closest), part)


def _with_remark(name: str, rest: str) -> str:
    """A name with what a remark tells of the device: its form, and the largest size."""
    held = []
    rest = re.sub(r"\b(?:system|host|cpu|ram|disk|ssd)\b[\w ]*[:=]? ?\d[\d.]* ?gi?b\b", "", rest)  # of the host
    keyed = [(size, "", unit) for unit, size in re.findall(r"_(gb|gib|mb|mib)\W+(\d+)", rest)]
    stated = r"(?<![a-z0-9.])(\d+)(\.\d+)?[ _-]?(g|gb|gib|mb|mib)(?![a-z0-9])(?! (?:system|host|cpu|ram|of ram|disk|ssd))"
    for whole, part, unit in keyed + re.findall(stated, rest):
        scale = 1024 if unit.startswith("g") else 1
        size = math.floor(scale * float(f"{whole}{part}"))
        held.append((size, f"{size}mib" if part else f"{whole}{unit}"))
    return " ".join([name, *re.findall(_TELLING, rest), *(size for _, size in sorted(held)[-1:])])


def _in_parts(name: str, known: Collection[Pattern], label: bool) -> Meaning:
    """What the parts of a line name, between its marks: one device, or all of several."""
    line = name.lower()
    label = (
        label or re.search(r"\dx?large|gpu-\d+g|standard_n|[gn]pu:\d*[a-z]", line) is not None
    )  # an instance or a cluster has its own
    names = ({word for word in one.needed if not re.fullmatch(f"{_SIZE}|{_FORM}", word)} for one in known)
    models = {frozenset(one) for one in names if one}
    parts = [one.strip() for one in re.split(_MARKS, line) if one.strip()]
    naming = [one for one in parts if any(model <= {*words_of(one)} for model in models)][:MOST_PARTS]
    each = [(one, meaning("gpu:" * label + one, known, whole=False)) for one in naming]
    told = [(one, {found.entry, *found.possible} - {""}) for one, found in each]
    if not all(found for _, found in told):  # one of several that is not told: no list of the others
        return Meaning()
    # Two letters alone, as `P4`, name a card in a list of cards; elsewhere they are a state, or a column.
    told = told if len(parts) == len(told) > 1 else [(one, found) for one, found in told if len(one) > 2]
    if not told:
        if any(model <= {*words_of(line)} for model in models if "pci" not in model):
            return Meaning()
        ids = re.findall(rf"\b({'|'.join(_PCI)}):([0-9a-f]{{4}})\b", line)
        return meaning(f"{_PCI[ids[-1][0]]} pci {ids[-1][1]}", known, whole=False) if ids else Meaning()
    common = {one for one in told[0][1] if all(one in found for _, found in told)}
    if not common:
        return Meaning("", tuple(dict.fromkeys(entry for _, found in told for entry in sorted(found))))
    first = max((one for one, _ in told), key=len)
    full = meaning("gpu:" * label + _with_remark(first, line.replace(first, " ")), known, whole=False)
    left = tuple(sorted({full.entry, *full.possible} - {""} if len(told) == 1 else common & {full.entry, *full.possible}))
    return Meaning(left[0]) if len(left) == 1 and not full.slice else Meaning("", left, (), full.slice)


def _alike(words: Iterable[str], known: Iterable[Pattern]) -> dict[str, int]:
    """The entries of other names that are spelt alike, and how nearly."""
    import difflib

    ranks: dict[str, int] = {}
    makers = _MAKERS & {*words}
    among = [one for one in known if makers <= one.known]
    spelt = sorted({word for one in among for word in one.needed})
    told = [one for one in words if re.search(r"[a-z]\d|\d[a-z]|\d{3}", one) and not re.fullmatch(f"{_MEMORY}|{_VERSION}", one)]
    for word in told:
        # A bare number is that of a series, which the other words tell: `2000` of `rtx … ada` is no slip of `b200`.
        others = [other for other in spelt if other.isdecimal() == word.isdecimal()]
        close = difflib.get_close_matches(word, others, len(others) + 1, 0.75)
        alike = {other: round(100 * difflib.SequenceMatcher(None, word, other).ratio()) for other in close}
        for one in among:
            if rates := [alike[other] for other in one.needed if other in alike]:
                ranks[one.entry] = max(ranks.get(one.entry, 0), max(rates) + 100 * len({*words} & one.known))
    return ranks


def _label(word: str, known: frozenset[str]) -> str:
    """A size that a driver reports as the size that the device is sold as; any other word as it is."""
    if not re.fullmatch(r"\d{1,7}mib", word):
        return word
    reported = int(word[:-3]) / 1024
    sold = [one for one in known if one.endswith("gb") and one[:-2].isdigit() and 0.92 <= reported / int(one[:-2]) <= 1.025]
    return min(sold, key=lambda one: abs(int(one[:-2]) - reported)) if sold else word


def told_in(name: str, known: Iterable[Pattern], node: bool) -> str:
    """What the name of a node, or of the form of one, as `gd-8xa100-i128`, tells of its GPUs, as a label; else nothing."""
    inner, form = unwrapped(name), re.compile(rf"{_SIZE}|{_FORM}|hbm\w+|nvlink").fullmatch
    told = {word for one in known for word in one.known if word in one.needed or form(word)}
    formed = re.fullmatch(_INSTANCE, inner) or (node and not re.match("nvidia|amd|tesla", inner))  # those are cards
    sized = re.sub(r"[._-](\d{2,3})(?=x\d{1,2}$)", r" \1gb ", inner)  # hgx-a100-80x4
    if total := re.fullmatch(r"(.+)x(\d{1,2})[._-](\d{2,4})gb", inner):  # gpu-h100x8-640gb
        sized = f"{total[1]}x{total[2]} {int(total[3]) // int(total[2])}gb"
    parts = words_of(re.sub(_BESIDE, " ", sized)) if formed else []
    pairs = zip(["", *parts], parts, strict=False)  # a letter or figure alone is part of the word before it: `gaudi 3`
    kept = [one for last, one in pairs if one in told and (len(one) > 1 or (last in told and last.isalpha()))]
    return f"gpu:{' '.join(kept)}" if any(re.search(r"\d", one) and not form(one) for one in kept) else ""


def released_in(name: str, known: Iterable[Pattern]) -> str:
    """The form of a release whose files are narrower than the 16 bits at which its name counts weights; else nothing.

    >>> released_in("openai/gpt-oss-20b", patterns_of({"openai": {"MXFP4": "gpt oss 20b | gpt oss 120b"}}))
    'MXFP4'
    """
    own = {*words_of(name.rpartition("/")[2])}
    return next((one.entry for one in known if one.needed <= own and own <= one.known), "")

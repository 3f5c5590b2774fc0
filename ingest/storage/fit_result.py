"""The answer of `fit`: verdicts on storage systems, the best first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog
from ingest.engine.interactive import InteractiveResult
from ingest.engine.messages import Message, Option
from ingest.engine.question import Question, shown
from ingest.engine.registry import Step, solve, unit_of
from ingest.engine.result import Answer, DataFrame, envelope, frame_of, inputs_of, values
from ingest.engine.value import Quantity
from ingest.storage import data_path
from ingest.storage.data_path import OF_LARGEST_DRIVES, LayerVerdict, bound_behind, question_of
from ingest.storage.existing import NOTHING, LineStock, Stock
from ingest.storage.need import REQUIRABLE, Need, need_in
from ingest.storage.system_quantities import DEGRADED, FURTHER, MEASURED, System, known_of
from ingest.units import display

#: result by its public name, and the quantity behind it
RESULTS = {
    "headroom_fraction": "headroom_fraction",
    "units_required": "units_required",
    "usable_bytes": "required_usable_bytes",
    "raw_bytes": "required_raw_bytes",
    "read_bandwidth_available": "read_bandwidth_available",
    "write_bandwidth_available": "write_bandwidth_available",
    "units_usable_bytes": "units_usable_bytes",
}
_CEILINGS = [one.ceiling for one in (*data_path.LOCAL, *data_path.REMOTE, *data_path.ASKED_FIRST, data_path.UNITS)]
#: What `fit` answers of one system: the ceiling of each layer, and what follows from them.
QUESTION = Question("fit", shown(*dict.fromkeys([*_CEILINGS, *RESULTS.values(), *FURTHER, *DEGRADED, "units"])))
#: column of the table -> the quantity behind it
SHOWN = {
    "usable": "units_usable_bytes",
    "reads": "read_bandwidth_available",
    "writes": "write_bandwidth_available",
    "per month": "cost_per_month",
}
#: of these, the figures of a system for a buyer -> the need
NEEDED = {"usable": "required_usable_bytes", "reads": "read_bandwidth_needed", "writes": "write_bandwidth_needed"}
#: Verdicts, the best first.
FITS, BARELY, SO_FAR = "fits", "barely fits", "fits as far as known"
UNKNOWN, MISFIT = "not known", "does not fit"
BEYOND = "beyond any published installation"
VERDICTS = (FITS, BARELY, SO_FAR, BEYOND, UNKNOWN, MISFIT)
#: Place after those beyond any installation: what is known so far leaves the number of units open.
OPEN = VERDICTS.index(BEYOND) + 0.5
FEW = 4  # Systems that one warning names
#: Why the rate of a system is not told, before that of the links.
NARROWER = "the links of the nodes are narrower: "


class Figure(NamedTuple):
    """A figure of a system for a buyer."""

    value: float | None  # in base units; None where it is unknown
    unit: str
    needed: bool  # whether the need includes it
    at_most: bool = False  # it is a bound from the raw capacity or the drives
    recalled: bool = False  # it rests on a value of the catalog that was not verified
    links: str = ""  # what the links of the nodes carry, where these are narrower than the system


@dataclass(frozen=True, repr=False, eq=False)
class Fit(InteractiveResult):
    """The verdict on one system."""

    entry: Storage
    fits: bool | None  # None where a ceiling that counts is unknown
    narrow: LayerVerdict | None  # the bottleneck
    layers: tuple[LayerVerdict, ...]
    results: Mapping[str, Quantity]  # quantities by their public names
    answer: Answer  # the results and the ceiling of each layer, with derivations, assumptions and sources
    beyond: tuple[str, ...] = ()  # warnings on layers that hold at the typical need and not at the high end of its range
    #: whether all reads hold with one failure domain down; None where that does not apply or is unknown
    one_down: bool | None = None
    label: str = ""  # the size of drive or the tier that was chosen
    decided: str = ""  # what the number of units is bought for
    spared: bool = False  # whether the units hold a spare, so that little headroom of what they are counted for is no doubt
    cost: float | None = None  # price of a month by the user's prices
    priced: str = ""  # currency and date of that price
    tiers: tuple[Mapping[str, Any], ...] = ()  # the tiers that suffice, each with its capacity
    file_systems: int = 1  # how many of the tier it takes together, where one of them does not meet the need

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if self.fits is False:
            return MISFIT
        if self.fits:
            # Units with a spare, or the capacity of a tier, are counted for a layer: they grow with the need.
            grows = self.spared or bool(self.entry.tiers)
            tight = any(one.tight and not (grows and one.layer.of_unit) for one in self.layers)
            return BARELY if self.beyond or tight else FITS
        if self.capacity_open is not None or not any(one.holds for one in self._of_storage):
            return UNKNOWN
        return BEYOND if self.units_beyond else SO_FAR

    @property
    def capacity_open(self) -> LayerVerdict | None:
        """The capacity needed, where that of a unit is unknown or bound by the largest drives: its units are unknown."""
        needed = (one for one in self.layers if one.layer in (data_path.CAPACITY, data_path.NVME_CAPACITY))
        return next((one for one in needed if one.ceiling is None or one.why == OF_LARGEST_DRIVES), None)

    @property
    def standing(self) -> float:
        """Place of the verdict; what leaves the number of units open stands behind all whose units are known.

        It is open where a rate or capacity is unknown or a bound, so that the need may take more units than are counted.
        """
        sizing = [] if self.entry.tiers else [one for one in self.layers if one.layer in data_path.SIZING]
        is_open = self.verdict == SO_FAR and any(one.ceiling is None or one.at_most for one in sizing)
        return OPEN if is_open else VERDICTS.index(self.verdict)

    @property
    def _of_storage(self) -> list[LayerVerdict]:
        """The layers that tell what the storage and its clients deliver."""
        return [one for one in self.layers if one.layer.part not in (data_path.NODE, data_path.NETWORK, data_path.COUNT)]

    @property
    def not_known(self) -> tuple[str, ...]:
        """The layers whose verdict is unknown."""
        return tuple(one.layer.name for one in self.layers if one.holds is None)

    @property
    def share_known(self) -> float:
        """Share of the ceilings of the storage that is known."""
        own = [one.holds is not None for one in self._of_storage]
        return sum(own) / len(own) if own else 0

    @property
    def ruled_out(self) -> str:
        """Why no rate makes the system fit, where it cannot serve the need."""
        if self.entry.verdict is None:
            return ""
        consistency = self.entry.consistency
        return self.entry.verdict.text + (f" (consistency: {consistency.text})" if consistency is not None else "")

    @property
    def units_beyond(self) -> int:
        """Units required, where that is more than any published installation has; else 0."""
        return next((int(one.need) for one in self.layers if one.layer == data_path.INSTALLED), 0)

    @property
    def beyond_installed(self) -> str:
        """That the need takes more units than any published installation has; empty where it does not."""
        return (
            f"beyond any published installation: {self.units_beyond:,} × {self.entry.scaling_unit}" if self.units_beyond else ""
        )

    @property
    def split(self) -> str:
        """How several file systems share a need that is too large for one; empty where that is no way."""
        if self.file_systems <= 1 or self.ruled_out:
            return ""
        unit = self.entry.scaling_unit
        return f"more than one {unit} of {self.label} holds or delivers: {self.file_systems:,} of them share the need"

    @property
    def question(self) -> str:
        """The one question to ask: the unknown ceiling that matters most; empty where none is unknown."""
        asked = None if self.fits is False else self.asked
        return "" if asked is None else question_of(asked, self.entry, self.answer.known)

    @property
    def asked(self) -> LayerVerdict | None:
        """The unknown ceiling that matters most."""
        if self.capacity_open is not None:
            return self.capacity_open
        unknown = {one.layer: one for one in self.layers if one.holds is None}
        return next((unknown[layer] for layer in data_path.ASKED_FIRST if layer in unknown), None)

    @property
    def figures(self) -> dict[str, Figure]:
        """Capacity of all units for data, up to the fill limit, and the bandwidths of the narrowest known layer.

        A bandwidth is known where that of the storage is.
        """
        known, found = self.answer.known, {}
        for name, need in NEEDED.items():
            item, wanted, held = self.results.get(SHOWN[name]), known.find(need), name == "usable"
            needed = wanted is not None and bool(wanted.value)
            needed |= held and any(one.layer == data_path.DATA for one in self.layers)
            links = self.unknown.get(SHOWN[name], "").partition(NARROWER)[2]
            figure = Figure(None if item is None else item.value, unit_of(need), needed, links=links)
            if item is not None:
                bound = held and bool(bound_behind(known, "unit_usable_bytes"))
                figure = figure._replace(at_most=bound, recalled=_is_recalled(known.step(SHOWN[name])))
            found[name] = figure
        return found

    @property
    def degraded_share(self) -> float | None:
        """Reads with one failure domain down over the reads needed; None where that does not apply or is unknown."""
        degraded, needed = self.results.get("degraded_read_bandwidth"), self.answer.known.find("read_bandwidth_needed")
        if degraded is None or needed is None or not needed.value:
            return None
        return float(solve("shortfall_factor", {"amount_needed": degraded.value, "amount_available": needed.value}))

    @property
    def bottleneck(self) -> str:
        """The name of the layer with the least headroom."""
        return self.narrow.layer.name if self.narrow is not None else ""

    @property
    def unknown(self) -> Mapping[str, str]:
        """Why a result is missing."""
        return self.answer.unknown

    @staticmethod
    def quantity(name: str) -> str:
        """The quantity behind a public name, for explanations."""
        return {**RESULTS, **SHOWN}.get(name, name)

    @property
    def headroom(self) -> float | None:
        """Headroom of the bottleneck."""
        return self.narrow.headroom if self.narrow is not None else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        priced = {} if self.cost is None else {"monthly_cost": self.cost, "priced": self.priced}
        chosen = {
            "tier" if self.entry.tiers else "drives": self.label,
            "decided_by": self.decided,
            **priced,
            "tiers": [*self.tiers],
            "beyond_installed": self.beyond_installed,
            "split": self.split,
            "ruled_out": self.ruled_out,
        }
        return {
            "name": self.entry.name,
            "class": self.entry.family,
            "scaling_unit": self.entry.scaling_unit,
            "fits": self.fits,
            "verdict": self.verdict,
            "not_known": list(self.not_known),
            "share_known": self.share_known,
            "question": self.question,
            "one_unit_down": self.one_down,
            **{name: item for name, item in chosen.items() if item},
            "bottleneck": self.bottleneck,
            **values(self.results),
            "layers": [one.to_dict() for one in self.layers],
            "inputs": self.answer.inputs,
            "unknown": dict(self.unknown),
            "tables": {name: [dict(row) for row in rows] for name, rows in self.answer.tables.items()},
            "assumptions": self.answer.assumptions,
            "warnings": list(self.answer.warnings),
        }

    def to_frame(self) -> DataFrame:
        """One row per result, as of any answer."""
        return self.answer.to_frame()


def _is_recalled(step: Step) -> bool:
    """Whether a value of the catalog that was not verified is among the inputs."""
    if step.source is not None:
        return step.source.origin == "catalog" and step.source.grade == "assumed"
    # How many units are bought is no figure of the catalog.
    return any(_is_recalled(inner) for inner in step.inputs if inner.name != "units")


#: Share of the draws in which a system takes another amount, from which on the shares of its variance are worth stating.
LEAST_MOVED = 0.01
#: Verdicts on one requirement line.
LINE_HOLDS, LINE_FAILS, LINE_OPEN = LINE_VERDICTS = ("holds", "fails", "not known")


class Flip(NamedTuple):
    """A value of an input at which the verdict on a requirement line turns."""

    system: str  # its id
    requirement: str  # its id
    layer: str  # of the data path that turns it
    input: str  # the key of the site file, or the quantity
    unit: str  # of `value`, `flips_at`, `low` and `high`
    value: float  # today
    flips_at: float  # where the verdict turns
    whole: bool  # whether the input is whole
    verdict: str  # on the line, today: one of `LINE_VERDICTS`
    then: str  # behind `flips_at`, likewise
    #: the range of the input; None where it has none
    low: float | None
    high: float | None

    @property
    def inside_range(self) -> bool:
        """Whether the input may well be there: the verdict is undecided today."""
        return self.low is not None and self.high is not None and self.low <= self.flips_at <= self.high

    @property
    def distance(self) -> float:
        """How many times the value, or what part of it, lies at the flip: at least 1."""
        return max(self.flips_at / self.value, self.value / self.flips_at) if self.value and self.flips_at else float("inf")

    @property
    def sign(self) -> str:
        """On which side of the value the verdict is another one."""
        return (">" if self.flips_at > self.value else "<") if not self.whole else "≥" if self.flips_at > self.value else "≤"

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**self._asdict(), "inside_range": self.inside_range}


class Steady(NamedTuple):
    """An input that moves a line of a system without a flip between two values, which were both tried."""

    system: str
    requirement: str
    input: str
    tried_low: float
    tried_high: float


class InputEffect(NamedTuple):
    """What the range of an input does to how much of a system is bought."""

    system: str
    input: str
    share: float  # its total effect: of the variance of the units, or of the capacity of a service
    #: units, or capacity, with the input alone at the ends of its range
    at_low: float
    at_high: float


class Observation(NamedTuple):
    """The one observation to make first."""

    what: str  # it takes
    command: str  # that makes it
    inputs: tuple[str, ...]  # that it determines
    #: how many verdicts of systems on lines it narrows, of how many that are undecided
    narrows: int
    undecided: int


class Offer(NamedTuple):
    """What a vendor offers, as `ingest response` wrote it."""

    name: str
    verdict: str  # on all of it, today
    values: Mapping[str, float]  # of the lines that its value decides, by id
    open: tuple[str, ...]  # the other lines: no value decides the verdict on them


class Withstood(NamedTuple):
    """How an offer does where the uncertain inputs of a site turn out otherwise."""

    offer: str
    share: float  # of the draws in which it meets all lines that its values decide
    misses: Mapping[str, float]  # share of the draws in which it misses a line, by id, the largest first


class Flips(NamedTuple):
    """What would change the verdicts."""

    flips: tuple[Flip, ...]  # the nearest first, those inside the range of their input before all others
    steady: tuple[Steady, ...]  # inputs without a flip
    refused: Mapping[str, str]  # why inputs were not turned, by their name
    effects: tuple[InputEffect, ...] = ()  # of the inputs that have a range, the largest of each system first
    observation: Observation | None = None  # to make first; None where no verdict is undecided, or nothing observes its inputs
    offers: tuple[Offer, ...] = ()  # that were judged instead of systems
    unmoved: tuple[str, ...] = ()  # systems of which fewer than `LEAST_MOVED` of the draws take another amount
    withstood: tuple[Withstood, ...] = ()  # by the offers; none where no input has a range, or no value decides

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "flips": [one.to_dict() for one in self.flips],
            "steady": [one._asdict() for one in self.steady],
            "not_turned": dict(self.refused),
            "effects": [one._asdict() for one in self.effects],
            "observation": None if self.observation is None else self.observation._asdict(),
            "unmoved": list(self.unmoved),
            **({"offers": [one._asdict() for one in self.offers]} if self.offers else {}),
            **({"withstood": [one._asdict() for one in self.withstood]} if self.withstood else {}),
        }


@dataclass(frozen=True, repr=False, eq=False)
class Fits(InteractiveResult):
    """The answer of `fit`: systems by verdict, then by headroom."""

    need: Need  # bandwidth, capacity and metadata rates required
    systems: tuple[Fit, ...]  # in order
    catalog: Catalog
    compared: bool  # all systems of the catalogs were compared, so that one that fits meets `--require`
    stock: tuple[Stock, ...] = ()  # what the storage in place delivers; the need is what it leaves missing
    flips: Flips | None = None  # what would change the verdicts, where that is asked for

    command = QUESTION.command
    RESULTS = tuple(RESULTS)

    @property
    def results(self) -> dict[str, Fit]:
        """The systems by id."""
        return {one.entry.id: one for one in self.systems}

    @cached_property
    def needed(self) -> dict[str, Quantity]:
        """The quantities of the need."""
        known = self.systems[0].answer.known if self.systems else known_of(System(NOTHING), self.need)
        return known.results([*(name for name in REQUIRABLE if self.need.requires(name)), "io_bytes", "nodes", "gpus"])[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the need, and those of a single system."""
        found = [*self.need.notes]
        if self.stock and not self.nothing_missing:
            found.append("the need is what the storage in place leaves missing; its rates and capacities are added up")
        # Parts of the network between that are described in part, so that every verdict stays open.
        between = (one for system in self.systems for one in system.layers if one.layer.part == data_path.NETWORK)
        parts = {one.layer.name: one.why for one in between if one.ceiling is None}
        found += [Message(f"{name}: ", why) if isinstance(why, Message) else why for name, why in parts.items()]
        if measured := ", ".join(one.entry.id for one in self.systems if one.entry.fixed == MEASURED):
            found.append(f"{measured}: measured from one machine, so it answers for one node")
        if waiting := [one.entry.id for one in self.systems if any(layer.waits for layer in one.layers)]:
            which = ", ".join(waiting) if len(waiting) <= FEW else f"{len(waiting)} of the systems"
            text = f"{which}: the latency of small reads is assumed, so that their clients may be too slow"
            found.append(Message(text, supply=(Option("set.request_seconds", "T"),)))
        found += dict.fromkeys(f"costs of a month in {one.priced}" for one in self.systems if one.cost is not None)
        return (*found, *(self.systems[0].answer.warnings if len(self.systems) == 1 else ()))

    @property
    def lines(self) -> tuple[LineStock, ...]:
        """Need, have and missing of every requirement line, where storage is in place."""
        held, found = {one.name: one for one in self.stock}, []
        for line in self.need.lines if self.stock else ():
            one = held.get(need_in(line))
            row = LineStock(line.id, line.priority, line.unit, line.value)
            if one is not None and one.have is not None:
                row = row._replace(have=one.have, missing=one._replace(need=line.value).missing, at_least=one.at_least)
            found.append(row)
        return tuple(found)

    @property
    def nothing_missing(self) -> str:
        """What is said instead of systems where the storage in place leaves nothing missing; empty elsewhere."""
        if not self.stock or any(one.missing for one in self.stock):
            return ""
        unknown = ", ".join(one.name.replace("_", " ") for one in self.stock if one.missing is None)
        if not unknown:
            return "Nothing is missing: the storage in place meets every need."
        return f"Nothing is known to be missing. Not known of the storage in place: {unknown}."

    @property
    def unmet(self) -> str:
        """Why `--require` is not met; empty where every system named fits, or one of all of them."""
        if self.nothing_missing:
            return self.nothing_missing if any(one.missing is None for one in self.stock) else ""
        failed = [one for one in self.systems if one.fits is not True]
        if self.compared:
            return f"none of {len(failed)} systems is known to fit" if len(failed) == len(self.systems) else ""
        reasons = []
        for one in failed:
            reason = f"is not known to fit: {', '.join(one.not_known) or 'what it can provide'} not known"
            if one.ruled_out:
                reason = f"does not fit: {one.ruled_out}"
            elif one.fits is False and one.narrow is not None:
                need = display(one.narrow.need, one.narrow.unit, binary=False)
                reason = f"does not fit: {one.bottleneck} provides {one.narrow.shown}, but {need} is needed"
            reasons.append(f"{one.entry.id} {reason}")
        return "; ".join(reasons)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON: results by id of the system."""
        body: dict[str, Any] = {
            "inputs": {**self.need.words, **inputs_of(self.need.given)},
            "need": values(self.needed),
            "results": {one.entry.id: one.to_dict() for one in self.systems},
            **({"existing": [one._asdict() for one in self.lines]} if self.lines else {}),
        }
        sources = list({source["id"]: source for one in self.systems for source in one.answer.sources}.values())
        body |= {"nothing_missing": self.nothing_missing} if self.nothing_missing else {}
        body |= {} if self.flips is None else self.flips.to_dict()
        return envelope(self.command, body, catalog=self.catalog, sources=sources, warnings=self.warnings)

    def to_frame(self) -> DataFrame:
        """One row per system."""
        rows: list[dict[str, Any]] = [
            {"storage": one.entry.id, "class": one.entry.family, "fits": one.fits, "bottleneck": one.bottleneck}
            | {name: one.results[name].value if name in one.results else None for name in RESULTS}
            for one in self.systems
        ]
        return frame_of(rows, columns=["storage", "class", "fits", "bottleneck", *RESULTS], index="storage")

"""The answer of `fit`: verdicts on storage systems, the best first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.registry import steps_below
from ingest.engine.result import Answer, envelope, inputs_of, values
from ingest.engine.value import Quantity
from ingest.storage.data_path import OF_HARDWARE, LayerVerdict
from ingest.storage.need import REQUIRABLE, Need
from ingest.units import display

if TYPE_CHECKING:
    import pandas

#: result by its public name, and the quantity behind it
RESULTS = {
    "headroom_fraction": "headroom_fraction",
    "units_required": "units_required",
    "usable_bytes": "required_usable_bytes",
    "raw_bytes": "required_raw_bytes",
    "read_bandwidth_available": "read_bandwidth_available",
    "write_bandwidth_available": "write_bandwidth_available",
}


#: Verdicts, the best first.
FITS, BARELY, SO_FAR = "fits", "barely fits", "fits as far as known"
UNKNOWN, MISFIT = "not known", "does not fit"
VERDICTS = (FITS, BARELY, SO_FAR, UNKNOWN, MISFIT)
#: Systems that one warning names.
FEW = 4


@dataclass(frozen=True)
class Fit:
    """The verdict on one system.

    Attributes:
        entry: the system.
        fits: None where a ceiling that counts is unknown.
        narrow: the bottleneck.
        layers: every layer of the data path.
        results: quantities by their public names.
        answer: the results and the ceiling of each layer, with derivations, assumptions and sources.
        beyond: warnings on layers that hold at the typical need and not at the high end of its range.
        one_down: whether reads hold with one unit down; None where that does not apply or is unknown.
    """

    entry: Storage
    fits: bool | None
    narrow: LayerVerdict | None
    layers: tuple[LayerVerdict, ...]
    results: Mapping[str, Quantity]
    answer: Answer
    beyond: tuple[str, ...] = ()
    one_down: bool | None = None

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if self.fits is False:
            return MISFIT
        if self.fits:
            return BARELY if self.beyond or any(one.tight for one in self.layers) else FITS
        of_storage = (one for one in self.layers if one.layer not in OF_HARDWARE)
        return SO_FAR if any(one.holds for one in of_storage) else UNKNOWN

    @property
    def not_known(self) -> tuple[str, ...]:
        """The layers whose verdict is unknown."""
        return tuple(one.layer.name for one in self.layers if one.holds is None)

    @property
    def waits(self) -> bool:
        """Whether an assumed latency of small requests lowers the ceiling of the bottleneck."""
        if self.narrow is None:
            return False
        factor = self.answer.derivation("small_read_factor")
        below = {step.name for step in steps_below([self.answer.derivation(self.narrow.layer.ceiling)])}
        wait = self.answer.given.get("request_seconds")
        assumed = wait is not None and (wait.origin == "default" or (wait.grade == "assumed" and wait.origin != "user"))
        return assumed and "request_seconds" in below and float(factor.value) < 1

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
        return RESULTS.get(name, name)

    @property
    def headroom(self) -> float | None:
        """Headroom of the bottleneck."""
        return self.narrow.headroom if self.narrow is not None else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.entry.name,
            "class": self.entry.family,
            "scaling_unit": self.entry.scaling_unit,
            "fits": self.fits,
            "verdict": self.verdict,
            "not_known": list(self.not_known),
            "one_unit_down": self.one_down,
            "bottleneck": self.bottleneck,
            **values(self.results),
            "layers": [one.to_dict() for one in self.layers],
            "inputs": self.answer.inputs,
            "unknown": dict(self.unknown),
            "tables": {name: [dict(row) for row in rows] for name, rows in self.answer.tables.items()},
            "assumptions": self.answer.assumptions,
            "warnings": list(self.answer.warnings),
        }


@dataclass(frozen=True)
class Fits:
    """The answer of `fit`: systems by verdict, then by headroom.

    Attributes:
        need: bandwidth, capacity and metadata rates required.
        systems: in order.
        compared: all systems of the catalogs were compared, so that one that fits meets `--require`.
    """

    need: Need
    systems: tuple[Fit, ...]
    catalog: Catalog
    compared: bool = False

    command = "fit"
    RESULTS = tuple(RESULTS)

    @property
    def results(self) -> dict[str, Fit]:
        """The systems by id."""
        return {one.entry.id: one for one in self.systems}

    @cached_property
    def needed(self) -> dict[str, Quantity]:
        """The quantities of the need."""
        known = self.systems[0].answer.known
        return known.results([*(name for name in REQUIRABLE if self.need.requires(name)), "io_bytes", "nodes", "gpus"])[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the need, and those of a single system."""
        own = self.systems[0].answer.warnings if len(self.systems) == 1 else ()
        drives = "local drives are left out: the nodes of a site share their data; name drives in --storage to include them"
        left_out = (drives,) if self.compared and self.need.shared else ()
        return (*self.need.notes, *left_out, *self._waiting, *own)

    @property
    def _waiting(self) -> tuple[str, ...]:
        """Systems that do not fit because of an assumed request latency."""
        found = [one.entry.id for one in self.systems if one.fits is False and one.waits]
        if not found:
            return ()
        which = ", ".join(found) if len(found) <= FEW else f"{len(found)} of the systems"
        seconds = display(self.results[found[0]].answer.given["request_seconds"].value, "s")
        text = f"{which}: too narrow for requests of this size at an assumed latency of {seconds} per request"
        return (Message(text, supply=(Option("set.request_seconds", "T"),)),)

    @property
    def unmet(self) -> str:
        """Why `--require` is not met; empty where every system named fits, or one of all of them."""
        failed = [one for one in self.systems if one.fits is not True]
        if self.compared:
            return f"none of {len(failed)} systems is known to fit" if len(failed) == len(self.systems) else ""
        return "; ".join(_reason(one) for one in failed)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON: results by id of the system."""
        body = {
            "inputs": {**self.need.words, **inputs_of(self.need.given)},
            "need": values(self.needed),
            "results": {one.entry.id: one.to_dict() for one in self.systems},
        }
        sources = list({source["id"]: source for one in self.systems for source in one.answer.sources}.values())
        return envelope(self.command, body, catalog=self.catalog, sources=sources, warnings=self.warnings)

    def to_frame(self) -> pandas.DataFrame:
        """One row per system."""
        import pandas

        rows: list[dict[str, Any]] = [
            {"storage": one.entry.id, "class": one.entry.family, "fits": one.fits, "bottleneck": one.bottleneck}
            | {name: one.results[name].value if name in one.results else None for name in RESULTS}
            for one in self.systems
        ]
        return pandas.DataFrame(rows).set_index("storage")


def _reason(one: Fit) -> str:
    if one.fits is False and one.narrow is not None:
        need = display(one.narrow.need, one.narrow.unit, binary=False)
        return f"{one.entry.id} does not fit: {one.bottleneck} provides {one.narrow.shown}, but {need} is needed"
    return f"{one.entry.id} is not known to fit: {', '.join(one.not_known) or 'what it can provide'} not known"

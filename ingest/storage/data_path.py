"""Verdicts on the layers of the data path: whether each carries its need, the bottleneck, and the question where it is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ingest.catalog.records import Storage
from ingest.engine.messages import Message, Option
from ingest.engine.registry import FORMULAS, Step, solve, unit_of
from ingest.engine.solver import Quantities
from ingest.errors import MissingQuantity
from ingest.formulas.acceptance_results import headroom_fraction, shortfall_factor
from ingest.storage import layers
from ingest.storage.layers import Layer
from ingest.storage.system_quantities import BOUNDS, opens_only_shown, reads_small
from ingest.storage.units_required import has_metadata_servers, of_metadata_servers
from ingest.units import display

#: Why less capacity is likely where not even the size of the drives is known.
OF_LARGEST_DRIVES = "a bound: its drives at the largest size of the catalogs"
#: formula that bounds a rate or capacity of the storage -> why less is likely
BOUNDED = {
    **{one: "a bound: nothing is published of the unit itself" for formulas in BOUNDS.values() for one in formulas},
    "unit_usable_of_largest_drives": OF_LARGEST_DRIVES,
    "service_bandwidth_in_steps": "the most throughput on sale is not known",
}
#: `fixed` of a path that was measured from one machine: the system behind it delivers at least that.
MEASURED = "measured"
#: Headroom below which a layer barely holds.
TIGHT = 0.05
#: Difference that arithmetic on floating-point numbers makes.
ROUNDING = 1e-12


class LayerVerdict(NamedTuple):
    """The verdict on one layer.

    Attributes:
        ceiling: None where it is unknown.
        headroom: share of the ceiling that stays free; None where the ceiling is unknown or 0.
        at_least: the ceiling was demonstrated, and more may be possible.
        at_most: the ceiling is a bound, and less is likely.
        unsure: the ceiling rests on an assumed latency, or on a size that may not be on sale, so that the verdict is open.
        why: why the ceiling is unknown, 0 or unsure.
    """

    layer: Layer
    need: float
    ceiling: float | None
    headroom: float | None
    at_least: bool = False
    why: str = ""
    at_most: bool = False
    unsure: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the layer carries the need; None where that is unknown."""
        if self.headroom is None:
            return False if self.ceiling == 0 else None
        if self.unsure:
            return None
        if self.headroom >= -ROUNDING:
            return None if self.at_most else True
        return None if self.at_least else False

    def to_dict(self) -> dict[str, Any]:
        """As JSON: numbers in base units."""
        row: dict[str, Any] = {"layer": self.layer.name, "need": self.need, "ceiling": self.ceiling, "unit": self.unit}
        row |= {"headroom_fraction": self.headroom, "holds": self.holds}
        row |= {name: True for name in ("at_least", "at_most", "unsure") if getattr(self, name)}
        return {**row, "why": self.why} if self.why else row

    @property
    def waits(self) -> bool:
        """Whether the ceiling rests on an assumed latency."""
        return self.unsure and self.layer.small_reads

    @property
    def tight(self) -> bool:
        """Whether headroom is below `TIGHT`; a demonstrated rate is not a ceiling, so never tight."""
        doubted = self.at_least or self.at_most or self.unsure
        return self.headroom is not None and self.headroom < TIGHT and not self.layer.sized and not doubted

    @property
    def times(self) -> float | None:
        """Need divided by ceiling; None where the ceiling is unknown or 0."""
        return float(shortfall_factor(self.need, self.ceiling)) if self.ceiling else None

    @property
    def unit(self) -> str:
        """The base unit of need and ceiling."""
        return unit_of(self.layer.need)

    @property
    def needed(self) -> str:
        """The need with its unit."""
        return display(self.need, self.unit, binary=False)

    @property
    def shown(self) -> str:
        """The ceiling with its unit."""
        if self.ceiling is None:
            return "unknown"
        known = "at least " if self.at_least else "at most " if self.at_most else "about " if self.waits else ""
        return known + display(self.ceiling, unit_of(self.layer.ceiling), binary=False)


# Which layers an entry is part of


def layers_of(entry: Storage, known: Quantities) -> tuple[Layer, ...]:
    """The layers of the data path that an entry is part of."""
    if entry.family == "protection":
        return layers.SYSTEM
    if entry.family == "drive":
        return (*layers.LOCAL, layers.FILES)
    path = (one for one in layers.REMOTE if _is_judged(one, entry, known))
    optional = (one for one in (*layers.FABRIC, layers.UNITS) if any(name in known.given for name in one.named_by))
    proven = (layers.INSTALLED,) if _beyond_proof(entry, known) else ()
    return (*path, *optional, *proven, *_requests(entry, known), *_metadata(entry, known), layers.CAPACITY)


def _beyond_proof(entry: Storage, known: Quantities) -> bool:
    """Whether the need takes more units than any published installation has; of clients any number is plausible."""
    needed = known.find("units_required")
    if entry.family == "client" or "units_max" in known.given or needed is None:
        return False
    return bool(needed.value > known.value("units_proven"))


def _is_judged(layer: Layer, entry: Storage, known: Quantities) -> bool:
    """Requirement lines and plain numbers may leave nodes or GPUs open: their layers are not judged then."""
    if layer == layers.HOST_LINK:
        return "nodes" in known.given and "gpus_per_node" in known.given
    if layer.part == layers.CLIENTS and entry.family == "client":
        return True
    if layer.part == layers.NODE and entry.fixed == MEASURED and known.find(layer.ceiling) is None:
        # The reads that were measured crossed it.
        return False
    return "nodes" in known.given or layer.part not in (layers.NODE, layers.CLIENTS)


def _requests(entry: Storage, known: Quantities) -> tuple[Layer, ...]:
    """Bandwidth implies the IOPS of large requests; small ones count, and those of which a rate is published."""
    counted = known.find("unit_io_per_second") is not None or reads_small(known)
    return (layers.REQUESTS,) if counted and entry.family != "client" else ()


def _metadata(entry: Storage, known: Quantities) -> tuple[Layer, ...]:
    """Opens, creates and files: of separate metadata servers where the entry has them and their rate is known."""
    rates = {opens_of(entry, known): "opens", layers.CREATES: "creates"}
    own = tuple(layer for layer, what in rates.items() if not of_metadata_servers(entry, known, what))
    servers = (layers.METADATA_SERVERS,) if has_metadata_servers(entry) else ()
    # Metadata servers are counted by files only where it is known how many one of them holds.
    files = (layers.FILES,) if entry.files_max is None else ()
    return (*servers, *own, *files)


def opens_of(entry: Storage, known: Quantities) -> Layer:
    """The layer of opens: by the units, or as one unit has shown."""
    return layers.OPENS_SHOWN if opens_only_shown(entry, known) else layers.OPENS


def shown_only(entry: Storage, client: Storage | None, known: Quantities) -> frozenset[Layer]:
    """Layers whose ceiling is a rate from a published run: of one client among many, of opens, or of a measured path."""
    observed = entry.client_read_bandwidth is None and entry.client_read_bandwidth_shown is not None
    by_user = "client_bandwidth_per_node" in known.given and known.given["client_bandwidth_per_node"].origin == "user"
    found = {layers.OPENS_SHOWN, layers.INSTALLED}
    if observed and client is None and not by_user:
        found |= {layers.CLIENT, layers.CLIENT_ONE, layers.CLIENT_WRITES}
    if entry.fixed == MEASURED:
        found |= {layers.READS, layers.WRITES, layers.REQUESTS}
        if known.given["nodes"].origin == "default":
            # Nobody says how many machines will read: one of them was measured.
            found |= {layers.CLIENT, layers.CLIENT_WRITES}
    return frozenset(found)


# The verdict on each


def judge(known: Quantities, path: Iterable[Layer], demonstrated: frozenset[Layer]) -> Iterator[LayerVerdict]:
    """Compare each layer with its need; layers without a need are left out.

    Args:
        known: quantities of need and system.
        path: layers in order from the GPU to the drives.
        demonstrated: layers whose ceiling is a demonstrated rate.
    """
    for layer in path:
        needed = known.find(layer.need)
        if needed is not None and needed.value:
            yield _judged(known, layer, float(needed.value), layer in demonstrated)


def _judged(known: Quantities, layer: Layer, need: float, demonstrated: bool) -> LayerVerdict:
    try:
        ceiling = known.value(layer.ceiling)
    except MissingQuantity as error:
        option = "nodes" if error.name == "nodes" else layer.supply or f"set.{error.name}"
        if layer.part == layers.NETWORK and error.name.startswith("fabric_"):
            why = Message(f"`{error.name.replace('_', '.', 1)}` of the site file is not known", supply=(option,))
        else:
            why = Message(f"{error.name.replace('_', ' ')} is not known", supply=(option,))
        return LayerVerdict(layer, need, None, None, why=why)
    if not ceiling:
        return LayerVerdict(layer, need, 0, None, why="no unit is left")
    judged = LayerVerdict(layer, need, ceiling, float(headroom_of(known, layer).value), demonstrated)
    bound = bound_behind(known, layer.of_unit)
    if bound:
        return judged._replace(at_most=True, why=bound)
    return _with_latency(judged, known) if layer.small_reads and reads_small(known) else judged


def bound_behind(known: Quantities, of_unit: str) -> str:
    """Why a rate or capacity of one unit is only a bound; empty where it is known."""
    step = known.steps.get(of_unit)
    return BOUNDED.get(step.formula.needs[0], "") if step is not None and step.formula is not None else ""


def _with_latency(judged: LayerVerdict, known: Quantities) -> LayerVerdict:
    """The verdict on small reads: open where their latency or their queue depth is assumed."""
    factor = known.given.get("small_read_factor")
    if factor is not None:
        return judged if factor.origin != "default" else judged._replace(unsure=True, why="the queue depth is not known")
    wait = known.given["request_seconds"]
    guessed = wait.origin == "default"
    recalled = wait.origin == "catalog" and wait.grade == "assumed" and not judged.holds
    if not (guessed or recalled):
        return judged
    text = f"rests on an assumed latency of {display(wait.value, 's')} per request"
    return judged._replace(unsure=True, why=Message(text, supply=(Option("set.request_seconds", "T"),)))


def headroom_of(known: Quantities, layer: Layer) -> Step:
    """The headroom of a layer with its derivation.

    Raises:
        MissingQuantity: need or ceiling is unknown.
    """
    made = FORMULAS[headroom_fraction.__name__]
    need, ceiling = known.step(layer.need), known.step(layer.ceiling)
    return Step(
        made.name, made.function(need.value, ceiling.value), made._replace(needs=(need.name, ceiling.name)), (need, ceiling)
    )


def without_largest_size(verdicts: Sequence[LayerVerdict]) -> tuple[LayerVerdict, ...]:
    """The layers of a tier whose largest size nobody has published: its capacity is open, or the rates that it buys."""
    held = [one.layer for one in verdicts if one.layer == layers.CAPACITY] or layers.SYSTEM
    why = "the largest size on sale is not known"
    return tuple(one._replace(unsure=True, why=why) if one.layer in held else one for one in verdicts)


def of_disks(verdicts: Sequence[LayerVerdict]) -> tuple[LayerVerdict, ...]:
    """The layers of a tier of hard disks that is read at random: its rates are those of reads in sequence."""
    why = "a bound: no rate of random reads from its hard disks is published"
    reads = (layers.READS, layers.READS_AND_WRITES)
    return tuple(one._replace(at_most=True, why=why) if one.layer in reads and one.ceiling else one for one in verdicts)


# The verdict on all


def bottleneck(verdicts: Iterable[LayerVerdict]) -> LayerVerdict | None:
    """The layer with the least headroom, which binds first as the need grows.

    A bound counts as well: the headroom is at most that. A demonstrated rate below the need is not a bottleneck: the layer
    may carry more. Nor is a loss that is survived.
    """
    rated = [one for one in verdicts if one.holds is False or ((one.holds or one.at_most) and not one.layer.sized)]
    return min(rated, key=lambda one: float("-inf") if one.headroom is None else one.headroom, default=None)


def verdict(verdicts: Iterable[LayerVerdict]) -> bool | None:
    """Whether all layers hold: False where one does not, None where one is unknown."""
    holds = [one.holds for one in verdicts]
    if False in holds:
        return False
    return True if holds and all(holds) else None


# The question that settles an open verdict


def question_of(judged: LayerVerdict, entry: Storage, known: Quantities) -> str:
    """The question that settles an unknown ceiling, with the number that it must reach."""
    if entry.fixed == MEASURED and judged.ceiling is not None:
        return _question_of_path(judged, known)
    if judged.waits:
        return _question_of_latency(judged, known)
    if judged.unsure:
        return f"Largest {entry.scaling_unit} on sale: {display(known.value('tier_capacity'), 'B', binary=False)} needed."
    size = f" of {display(known.value('io_bytes'), 'B', binary=False)}" if judged.layer == layers.REQUESTS else ""
    return f"{judged.layer.asked}{size}: {judged.needed} needed{_of_each_unit(judged, entry, known)}."


def _question_of_path(judged: LayerVerdict, known: Quantities) -> str:
    """A path that was measured from one machine: more machines are to be measured at the same time."""
    required = known.find("clients_required")
    machines = "several machines" if required is None or required.value <= 1 else f"{required.value:,.0f} machines"
    measured = display(judged.ceiling or 0, judged.unit, binary=False)
    return f"{judged.layer.asked}: {judged.needed} needed, one machine measured {measured}; measure from {machines} at once."


def _question_of_latency(judged: LayerVerdict, known: Quantities) -> str:
    size, depth = known.value("io_bytes"), known.find("requests_in_flight_per_node")
    asked = f"Mean latency of a read of {display(size, 'B', binary=False)}"
    if depth is None:
        return f"{asked} under load, and at which queue depth."
    each = known.find("io_per_second_per_node")
    if judged.layer == layers.CLIENT_ONE or each is None:
        requests = solve("io_per_second_needed", {"read_bandwidth_needed": judged.need, "io_bytes": size})
    else:
        requests = each.value
    given = {"requests_in_flight_per_node": depth.value, "io_per_second_per_node": requests}
    allowed = display(solve("request_seconds_allowed", given), "s")
    return f"{asked} at {depth.value:,.0f} outstanding I/Os per client: at most {allowed} allowed."


def _of_each_unit(judged: LayerVerdict, entry: Storage, known: Quantities) -> str:
    """The share of one unit, and what one has shown."""
    if judged.layer == layers.OPENS_SHOWN:
        return f", one {entry.scaling_unit} has shown {display(judged.ceiling or 0, judged.unit, binary=False)}"
    units = known.find("units")
    if not judged.layer.of_unit or units is None or units.value <= 1:
        return ""
    share = solve("amount_of_each_unit", {"amount_needed": judged.need, "units": units.value})
    return f", {display(share, judged.unit, binary=False)} from each of {units.value:,.0f} ({entry.scaling_unit})"

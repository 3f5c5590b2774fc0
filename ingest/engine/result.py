"""The JSON form of a result, schema `ingest/1`: envelope, inputs, assumptions and sources, the same for every command."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ingest.engine.interactive import InteractiveResult
from ingest.engine.messages import rule_of
from ingest.engine.question import Question, in_words_of
from ingest.engine.registry import Step, steps_below, unit_of
from ingest.engine.solver import Quantities
from ingest.engine.value import EMPTY, Frozen, Input, Quantity, Source
from ingest.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame
else:
    DataFrame = "pandas.DataFrame"  # which takes long to import

SCHEMA = "ingest/1"
DISTRIBUTION = "ingest-sizing"
#: Citations that name no source: a value without one, and a formula that defines its quantity.
NO_SOURCE = ("", "definition")


class Sources(Protocol):
    """The catalogs that a result rests on."""

    def overlays_listed(self) -> list[dict[str, str]]:
        """The user's own folders, the nearest first, and where each comes from."""

    def content_hash(self) -> str:
        """SHA-256 over all catalog files in use."""

    def source(self, name: str) -> Source:
        """A source by its id."""


def frame_of(rows: Any, *, columns: list[str] | None = None, index: str = "") -> DataFrame:
    """A data frame of rows, records or tuples whose columns are named, or of columns by name; `index` names the rows.

    Raises ModuleNotFoundError: pandas is not installed.
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"to_frame needs pandas: pip install '{DISTRIBUTION}[frames]'", name="pandas") from error
    frame = pandas.DataFrame(rows, columns=columns, copy=False)
    return frame.set_index(index) if index else frame


def envelope(
    command: str,
    body: Mapping[str, Any],  # the keys of this command alone, between the results and the assumptions
    *,
    catalog: Sources | None = None,  # the catalogs in use, for `catalog_hash`, and for `catalogs` where the user has some
    inputs: Mapping[str, Any] | None = None,  # what went in, by name
    results: Mapping[str, Quantity] | None = None,  # by name
    assumptions: Sequence[Mapping[str, Any]] | None = None,  # what was not measured
    sources: Sequence[Mapping[str, Any]] | None = None,  # where values and formulas come from
    warnings: Iterable[str] | None = None,  # plain text
    versioned: bool = True,  # whether the result depends on the version of this program; entries of a catalog do not
) -> dict[str, Any]:
    """The JSON object of a result; a part that is None is left out.

    >>> envelope("catalog list", {"entries": []}, versioned=False)
    {'schema': 'ingest/1', 'command': 'catalog list', 'entries': []}
    """
    found: dict[str, Any] = {"schema": SCHEMA, "command": command}
    if versioned:
        found["version"] = __version__
    if catalog is not None:
        found["catalog_hash"] = catalog.content_hash()
        found |= {"catalogs": overlays} if (overlays := catalog.overlays_listed()) else {}
    if inputs is not None:
        found["inputs"] = dict(inputs)
    if results is not None:
        found["results"] = values(results)
    found |= body
    for name, lines in (("assumptions", assumptions), ("sources", sources), ("warnings", warnings)):
        if lines is not None:
            found[name] = list(lines)
    if found.get("warnings"):
        found["warning_rules"] = [*map(rule_of, found["warnings"])]
    return found


def scenarios(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON object of several results of one command."""
    return {"schema": SCHEMA, "scenarios": list(objects)}


def values(results: Mapping[str, Quantity]) -> dict[str, dict[str, Any]]:
    """Quantities in JSON, by name."""
    return {name: quantity.to_dict() for name, quantity in results.items()}


def inputs_of(given: Mapping[str, Input]) -> dict[str, dict[str, Any]]:
    """Inputs that are single numbers: value, unit, and where each comes from."""
    return {
        name: {"value": item.value, "unit": unit_of(name), "from": item.origin}
        for name, item in given.items()
        if isinstance(item.value, (int, float))
    }


def inputs_below(derivations: Iterable[Step], given: Mapping[str, Input]) -> dict[str, Input]:
    """The inputs on which derivations depend, each once, in the order in which they are met."""
    return {step.name: given[step.name] for step in steps_below(derivations) if step.formula is None and step.name in given}


def assumption(name: str, value: float | str, unit: str, why: str) -> dict[str, Any]:
    """One assumption in JSON."""
    return {"name": name, "value": value, "unit": unit, "grade": "assumed", "why": why}


def why_assumed(item: Input, recalled: str = "from memory, not verified") -> str | None:
    """Why a value is an assumption; None where it is published, measured or given by the user.

    `recalled` is the reason for a value that carries none of its own.

    >>> why_assumed(Input(4, origin="default", note="4 B per token")), why_assumed(Input(4, origin="user"))
    ('4 B per token', None)
    """
    if item.origin == "user":
        return None
    if item.origin == "default" or item.grade == "assumed":
        return item.note or item.where or recalled
    return "; ".join(f"{part.what}: {part.where}" for part in item.parts if part.grade == "assumed") or None


def cited_by(item: Input) -> Iterator[tuple[str, str]]:
    """The sources of a value's evidence, with the places; its own source last."""
    yield from ((part.source, part.where) for part in item.parts)
    yield item.source, item.where


def places_of(citations: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The places within each source, each once, in the order in which they are cited.

    >>> places_of([("a", "table 1"), ("definition", ""), ("a", "table 2"), ("a", "table 1")])
    {'a': ['table 1', 'table 2']}
    """
    found: dict[str, dict[str, None]] = {}
    for source, where in citations:
        if source not in NO_SOURCE:
            found.setdefault(source, {})[where] = None
    return {name: list(places) for name, places in found.items()}


def sources_of(places: Mapping[str, Iterable[str]], source: Callable[[str], Source]) -> list[dict[str, str]]:
    """Sources in JSON, with the places cited in each, by its id."""
    named = ((source(name), cited) for name, cited in places.items())
    return [{"id": one.id, "title": one.title, "where": "; ".join(filter(None, cited)), "url": one.url} for one, cited in named]


Table = Sequence[Mapping[str, Any]]
Item = TypeVar("Item")


class Deferred(Mapping[str, Item]):
    """Tables or results that are computed when the first is read: a site asks for thousands of answers and shows no table.

    `compute` gives all of them, `ready` those that are known before.

    >>> tables = Deferred(lambda: {"tiers": [{"tier": "host memory"}], "files": []}, {"files": []})
    >>> tables["files"], tables["tiers"]
    ([], [{'tier': 'host memory'}])
    """

    def __init__(self, compute: Callable[[], Mapping[str, Item]], ready: Mapping[str, Item] = EMPTY) -> None:
        self._compute, self._ready = compute, ready

    @cached_property
    def _all(self) -> Mapping[str, Item]:
        return self._compute()

    def __getitem__(self, name: str) -> Item:
        return self._ready[name] if name in self._ready else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has all of them."""
        return dict, (dict(self._all),)


class Answer(InteractiveResult, Frozen):
    """The results of one command for one job, data set or model, with the inputs that they follow from."""

    question: Question  # what the command answers: the results that it can have, in order
    heading: str | Callable[[], str]  # one line, or what makes it: who asks in a loop for a number reads none
    chosen: Mapping[str, Mapping[str, Any]]  # options that are words, with their origin
    known: Quantities  # the inputs, and what follows from them
    results: Mapping[str, Quantity]  # quantities by name
    unknown: Mapping[str, str]  # the reason why a result is missing, by its name
    tables: Mapping[str, Table]  # further tables: rows of plain values by column name
    #: the warnings, or what gives those of the answer: who asks in a loop for a number reads none
    cautions: tuple[str, ...] | Callable[[Any], Iterable[str]]
    catalog: Sources  # where entries and sources come from
    unmet: str = ""  # the requirement that is not met, or the result that is required and missing; empty otherwise
    cited: tuple[tuple[str, str, str], ...] = ()  # sources of the tables, as (id, where, what is assumed or empty)
    options: Collection[str] = ()  # those of the command, which advice may name; all where none are listed

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Quantity:
            """A result by its name."""

    def __post_init__(self) -> None:
        self.known.freeze()

    @cached_property
    def title(self) -> str:
        """One line."""
        return self.heading if isinstance(self.heading, str) else self.heading()

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """One line each."""
        return self.cautions if isinstance(self.cautions, tuple) else tuple(dict.fromkeys(self.cautions(self)))

    def __getstate__(self) -> dict[str, Any]:
        """A copy has its lines."""
        return {**self.__dict__, "cautions": self.warnings, "heading": self.title}

    @property
    def command(self) -> str:
        """The command."""
        return self.question.command

    @property
    def given(self) -> Mapping[str, Input]:
        """The inputs, for explanations."""
        return self.known.given

    def derivation(self, name: str) -> Step:
        """How a quantity came about.

        Raises UsageError: no such quantity; MissingQuantity: it cannot be computed from what is known.
        """
        unit_of(name)
        return self.known.step(name)

    @cached_property
    def used(self) -> Mapping[str, Input]:
        """The given quantities that the results rest on."""
        return inputs_below(map(self.derivation, self.results), self.given)

    @property
    def assumptions(self) -> list[dict[str, Any]]:
        """Values graded `assumed`, and defaults that a user may contest."""
        reasons = ((name, item, why_assumed(item)) for name, item in self.used.items())
        words = partial(in_words_of, self.options) if self.options else str
        found = [assumption(name, item.value, unit_of(name), words(why)) for name, item, why in reasons if why is not None]
        layout = self.chosen.get("layout", {}).get("value", "")
        return found + [assumption("layout", layout, "", why) for *_, why in self.cited if why]

    @property
    def places(self) -> dict[str, list[str]]:
        """The sources of what the results depend on, each with the places within it."""
        return places_of(self._citations())

    @property
    def sources(self) -> list[dict[str, str]]:
        """The sources as JSON, with titles."""
        return sources_of(self.places, self.catalog.source)

    def _citations(self) -> Iterator[tuple[str, str]]:
        for item in self.used.values():
            yield item.source, item.where
        for step in steps_below(map(self.derivation, self.results)):
            if step.formula is not None:
                yield step.formula.source, step.formula.where
        for source, where, _ in self.cited:
            yield source, where

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs and their origins."""
        return {**self.chosen, **inputs_of(self.used)}

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        return envelope(
            self.command,
            self._body(),
            catalog=self.catalog,
            inputs=self.inputs,
            results=self.results,
            assumptions=self.assumptions,
            sources=self.sources,
            warnings=[*self.warnings, *([self.unmet] if self.unmet else [])],
        )

    def _body(self) -> dict[str, Any]:
        tables = {name: [dict(row) for row in rows] for name, rows in self.tables.items()}
        return {"unknown": dict(self.unknown), "tables": tables}

    def to_frame(self) -> DataFrame:
        """One row per result: name, value, low, high, unit."""
        rows = [(name, item.value, item.low, item.high, item.unit) for name, item in self.results.items()]
        return frame_of(rows, columns=["name", "value", "low", "high", "unit"], index="name")

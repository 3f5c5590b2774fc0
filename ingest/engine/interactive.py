"""Results in a session: a few lines in a shell, tables and charts in a notebook, look-up by label, copies and comparison."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from ingest.engine import shown_by
from ingest.errors import UsageError, listed, nearest

#: Names that the refusal of another one lists.
MOST_NAMES = 8


def _read_only(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


# Results hold read-only views of their inputs, which Python does not copy to other processes by itself.
copyreg.pickle(MappingProxyType, lambda view: (_read_only, (dict(view),)))


def _views() -> Any:
    """The module that shows results; it knows the pages, which no result does."""
    return shown_by[0]()


class UnknownResult(UsageError, KeyError):
    """A result that an answer does not have, with the nearest one."""

    __str__ = Exception.__str__


def _hint(name: str, known: Sequence[str]) -> str:
    """The nearest of the known names; else those that hold the word, or the first ones.

    >>> _hint("job", ["per job", "per node", "GPUs"]), _hint("cost", ["per job", "per node"])
    ("; did you mean 'per job'?", ', expected one of per job, per node')
    """
    folded = name.casefold()
    holding = [one for one in known if folded and folded in one.casefold().replace("_", " ").split()]
    if holding:
        return f"; did you mean '{holding[0]}'?"
    return nearest(name, known) or f", expected one of {listed(known, MOST_NAMES)}"


class InteractiveResult:
    """A result of a public function, as people meet it in a shell or a notebook.

    It is shown by its page: the first lines as text, all of its tables as HTML. `result[...]` takes the name of one of its
    `results` or the label that the page prints, `result.NAME` the name. Results that say the same are equal.

    >>> from ingest.sizing.bandwidth import bw
    >>> answer = bw("cosmoflow", "h100", nodes=128)
    >>> answer["per job"] == answer["ingest_bandwidth_per_job"] == answer.ingest_bandwidth_per_job
    True
    >>> answer["per jb"]
    Traceback (most recent call last):
    ...
    ingest.engine.interactive.UnknownResult: no result 'per jb'; did you mean 'per job'?
    """

    if TYPE_CHECKING:
        # Each class states its own type.
        @property
        def results(self) -> Any:
            """What was found, by name."""

        def to_dict(self) -> dict[str, Any]:
            """As JSON."""

    def other_names(self) -> Mapping[str, str]:
        """Further names of results, beside their own and their labels."""
        return {}

    def __getitem__(self, name: str) -> Any:
        results = self.results
        if isinstance(name, str) and name in results:
            return results[name]
        known = {**self.other_names(), **{_views().plain(one): one for one in results}}
        folded = {words.casefold(): one for words, one in known.items()}
        found = folded.get(str(name).casefold())
        if found not in results:
            raise UnknownResult(f"no result '{name}'{_hint(str(name), [*known, *results])}")
        return results[found]

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except UnknownResult:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    if not TYPE_CHECKING:  # a misspelt attribute stays an error of type checkers

        def __getattr__(self, name):
            if name.startswith("_") or hasattr(type(self), name):
                # A property that failed: its own error says why.
                return object.__getattribute__(self, name)
            if name in self.results:
                return self.results[name]
            hint = nearest(name, [one for one in dir(self) if not one.startswith("_")])
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'{hint}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(str(name) for name in self.results if str(name).isidentifier())]

    def _ipython_key_completions_(self) -> list[str]:
        """What a notebook offers inside the brackets."""
        return list(dict.fromkeys([*self.results, *(_views().plain(one) for one in self.results), *self.other_names()]))

    def __repr__(self) -> str:
        return str(_views().as_lines(self))

    def _repr_html_(self) -> str:
        return str(_views().as_html(self))

    def plot(self, name: str = "") -> Any:
        """A chart of the result, by its name where there are several; a notebook shows it, `svg()` and `png()` render it.

        Raises IngestError: nothing can be drawn, or the extra `charts` is not installed.
        """
        return _views().chart_of(self, name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self.to_dict() == other.to_dict()

    __hash__: ClassVar[None]  # type: ignore[assignment]


class InteractiveResults(InteractiveResult):
    """Several results of one kind: `results[2]` is one of them, `results["per job"]` has one value of each."""

    if TYPE_CHECKING:

        @property
        def each(self) -> Sequence[InteractiveResult]:
            """The results, one by one."""

    def __getitem__(self, name: Any) -> Any:
        return self.each[name] if isinstance(name, (int, slice)) else [one[name] for one in self.each]

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if not name.startswith("_") and not hasattr(type(self), name) and name in self.each[0].results:
                return self[name]
            return super().__getattr__(name)

    def __contains__(self, name: object) -> bool:
        return any(name is one for one in self.each) if isinstance(name, InteractiveResult) else name in self.each[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)

"""The keys of a model's configuration: each is checked, and recorded as read.

What no family reads is judged by `ingest.architecture.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ingest.errors import IngestError

#: No real config comes near these.
MAX_NUMBER = 10**9
MAX_LAYERS = 100_000
MAX_DIGITS = 100
MAX_BLOCKS = 1_000  # of one stage, where each is described for itself


class Required:
    """The type of `REQUIRED`: a key without a default."""


REQUIRED = Required()


class ModelConfig:
    """The keys of one config, or of one table within it."""

    def __init__(self, data: Mapping[str, Any], path: str, prefix: str = "", lenient: bool = False) -> None:
        self.data = data
        self.path = path  # the file, for messages
        self.prefix = prefix  # the place within the file, such as `text_config.`
        self.lenient = lenient  # a nested table, in which even sizes may be left to the class default
        self.read_keys: set[str] = set()
        self.defaults: dict[str, Any] = {}
        self.parts: list[ModelConfig] = []
        self.doubtful: set[str] = set()

    def refuse(self, key: str, found: object, expected: str) -> IngestError:
        """Return an error that names the file and the key."""
        if isinstance(found, int) and found.bit_length() > MAX_DIGITS:
            found = "a number of very many digits"
        shown = repr(found) if not isinstance(found, str) else f"'{found}'"
        shown = shown if len(shown) <= 60 else shown[:57] + "…"
        return IngestError(f"{self.path}: {self.prefix}{key}: found {shown}, expected {expected}")

    def get(self, names: str) -> tuple[str, Any]:
        """Return the first key of `a|b|c` that has a value, and the value; else the first key and None.

        Another of these names with another value stays unread: the library may go by that one.
        """
        keys = names.split("|")
        first = next((key for key in keys if self.data.get(key) is not None), keys[0])
        found = self.data.get(first)
        self.read_keys.update(key for key in keys if self.data.get(key) is None or self.data[key] == found)
        return first, found

    def _value(self, names: str, default: Any, expected: str, fits: Callable[[Any], bool]) -> Any:
        """Return the value of a key, which must fit, or the default."""
        key, found = self.get(names)
        if found is None:
            if isinstance(default, Required):
                raise IngestError(f"{self.path}: {self.prefix}{key}: missing, expected {expected}")
            self.defaults[self.prefix + key] = default
            return default
        if not fits(found):
            raise self.refuse(key, found, expected)
        return found

    def integer(self, names: str, default: int | Required = REQUIRED, low: int = 1, high: int = MAX_NUMBER) -> int:
        """Return a whole number. Raises IngestError: missing, no whole number, or out of range."""

        def fits(found: Any) -> bool:
            exact = type(found) is int or (isinstance(found, float) and found.is_integer() and abs(found) < 2**53)
            return exact and low <= found <= high

        return int(self._value(names, default, f"a whole number from {low} to {high:,}", fits))

    def whole(self, **defaults: int | Required) -> tuple[int, ...]:
        """Return the whole numbers of these keys, each with its default; no real model is as deep as `MAX_LAYERS`."""
        deep = {key: MAX_LAYERS for key in defaults if key.endswith("layers") or key == "depth"}
        return tuple(self.integer(key, default, high=deep.get(key, MAX_NUMBER)) for key, default in defaults.items())

    def stated(self, **defaults: int) -> tuple[int, ...]:
        """Return sizes that the file must state; a nested table may leave them to the class defaults, where these are not 0."""
        return self.whole(**{key: (self.lenient and usual) or REQUIRED for key, usual in defaults.items()})

    def size(self, names: str, default: int, low: int = 1, high: int = MAX_NUMBER) -> int:
        """Return a size that the file must state; a nested table may leave it to the class default, where that is not 0."""
        return self.integer(names, (self.lenient and default) or REQUIRED, low, high)

    def optional_integer(self, names: str, *unset: int, low: int = 1, high: int = MAX_NUMBER) -> int | None:
        """Return a whole number, or None where the key is absent or has a value that means unset."""
        _, found = self.get(names)
        if found is None or (type(found) is int and found in unset):
            return None
        return self.integer(names, low=low, high=high)

    def number(self, names: str, default: float | Required = REQUIRED) -> float:
        """Return a finite number above zero."""
        return float(self._value(names, default, "a number above 0", lambda x: type(x) in (int, float) and 0 < x <= MAX_NUMBER))

    def flag(self, names: str, default: bool | Required = REQUIRED) -> bool:
        """Return true or false."""
        return bool(self._value(names, default, "true or false", lambda x: isinstance(x, bool) or x in (0, 1)))

    def text(self, names: str, default: str | Required = REQUIRED, choices: tuple[str, ...] = ()) -> str:
        """Return a text, one of the choices where they are limited."""
        expected = f"one of {', '.join(choices)}" if choices else "text"
        return str(self._value(names, default, expected, lambda x: isinstance(x, str) and (not choices or x in choices)))

    def texts(self, names: str, length: int | None = None, choices: tuple[str, ...] = ()) -> list[str] | None:
        """Return a list of texts, one per layer and among the choices where given, or None where the key is absent."""
        listed: list[str] | None = self._list(names, str, "words", length)
        if choices and (odd := [item for item in listed or () if item not in choices]):
            raise self.refuse(names.split("|")[0], odd[0], f"one of {', '.join(choices)}")
        return listed

    def names(self, name: str) -> list[str]:
        """Return texts, listed or separated by `|`; an empty list where the key is absent."""
        _, found = self.get(name)
        if isinstance(found, str):
            return [word.strip() for word in found.split("|")]
        return self.texts(name) or []

    def integers(
        self, names: str, length: int | None = None, low: int = -MAX_NUMBER, high: int = MAX_NUMBER
    ) -> list[int] | None:
        """Return a list of whole numbers, or None where the key is absent."""
        listed: list[int] | None = self._list(names, int, "whole numbers", length)
        if odd := [item for item in listed or () if not low <= item <= high]:
            raise self.refuse(self.get(names)[0], odd[0], f"whole numbers from {low:,} to {high:,}")
        return listed

    def listed(
        self, names: str, default: list[int], length: int | None = None, low: int = 1, high: int = MAX_NUMBER
    ) -> list[int]:
        """Return a list of whole numbers, or the default. Raises IngestError: an empty list, or a default of another length."""
        found = self.integers(names, length, low, high)
        if found == [] or (found is None and length not in (None, len(default))):
            count = "whole numbers" if length is None else f"{length:,} whole numbers"
            raise self.refuse(self.get(names)[0], found or self.get(names)[1], f"a list of {count}")
        return default if found is None else found

    def repeated(self, names: str, default: int, expected: str = "the same number twice") -> int:
        """Return a whole number, or the one that a list repeats. Raises IngestError: a list of different numbers."""
        key, found = self.get(names)
        if not isinstance(found, list):
            return self.integer(names, default)
        listed = {*(self.integers(names, low=1) or [default])}
        if len(listed) != 1:
            raise self.refuse(key, found, expected)
        return listed.pop()

    def _list(self, names: str, kind: type, what: str, length: int | None) -> list[Any] | None:
        key, found = self.get(names)
        if found is None:
            return None
        good = isinstance(found, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in found)
        if not good or (length is not None and len(found) != length):
            expected = f"a list of {what}" if length is None else f"a list of {length:,} {what}"
            raise self.refuse(key, f"{len(found):,} items" if good else found, expected)
        return list(found)

    def part(self, names: str) -> ModelConfig | None:
        """Return a nested table, or None where the key is absent."""
        return self.table(names) if self.get(names)[1] is not None else None

    def table(self, names: str, absent: Mapping[str, Any] | None = None) -> ModelConfig:
        """Return a nested table; one that the file leaves out is refused, or has the keys of `absent`."""
        key, found = self.get(names)
        found = absent if found is None else found
        if not isinstance(found, dict):
            raise self.refuse(key, found, "a table of keys and values")
        self.parts.append(ModelConfig(found, self.path, f"{self.prefix}{key}.", lenient=True))
        return self.parts[-1]

    def complete(self, names: str, before: Mapping[str, Any], **after: Any) -> None:
        """Give a nested table, which has yet to be read, the keys of `before` where it has none of its own, and those after."""
        key, found = self.get(names)
        if found is not None and not isinstance(found, dict):
            raise self.refuse(key, found, "a table of keys and values")
        self.data = {**self.data, key: {**before, **(found or {}), **after}}

    def table_or_defaults(self, names: str) -> ModelConfig:
        """Return a nested table; where the file leaves it out, an empty one, whose sizes are the defaults of its class."""
        return self.table(names, {})

    def tables(self, names: str) -> list[ModelConfig]:
        """Return a list of nested tables; an empty list where the key is absent."""
        key, found = self.get(names)
        found = [] if found is None else found
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise self.refuse(key, found, "a list of tables of keys and values")
        inner = [ModelConfig(item, self.path, f"{self.prefix}{key}.{number}.") for number, item in enumerate(found, start=1)]
        self.parts += inner
        return inner

    def only(self, names: str, *allowed: object) -> None:
        """Accept a key only with values that leave the structure as described. Raises IngestError: another value."""
        key, found = self.get(names)
        if found is not None and found not in allowed:
            raise self.refuse(key, found, f"{' or '.join(map(str, allowed)) or 'no value'}; no other value is described")

    def fixed(self, **values: object) -> None:
        """Accept keys only with one value each; see `only`."""
        for key, value in values.items():
            self.only(key, value)

    def ignore(self, *names: str) -> None:
        """Mark keys as read that name a part of the structure, but change no weight of this family."""
        self.read_keys.update(names)

    def all_defaults(self) -> dict[str, Any]:
        """Return the class defaults that this table and its nested tables use."""
        return {**self.defaults, **{key: item for part in self.parts for key, item in part.all_defaults().items()}}

    def unread(self) -> list[tuple[ModelConfig, str]]:
        """Return the keys with a value that no family read, of this table and of its nested tables."""
        found = [(self, key) for key, value in self.data.items() if key not in self.read_keys and value is not None]
        return found + [item for part in self.parts for item in part.unread()]

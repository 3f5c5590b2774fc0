"""In which direction each formula moves with each of its parameters: found by sampling, kept in `directions.txt`, checked.

    PYTHONPATH=tests python -m directions

writes the table again, keeping the reasons that follow `#`. Read its difference before committing it: a sign that changed is
a formula that now answers the other way round.

    +  the result never falls where the parameter rises
    -  the result never rises
    =  the result does not change
    ~  it depends on the other parameters, or rises and falls; such a line has a reason
"""

import math
import random
from pathlib import Path

from ingest.engine.registry import FORMULAS, INPUTS, Formula

TABLE = Path(__file__).with_name("directions.txt")
#: Largest number drawn for a quantity without an upper bound, and the smallest one below a bound of -inf.
MOST, LEAST = 1e7, -1e3
#: Differences below this share are rounding.
ROUNDING = 1e-9


def sampled(formula: Formula, points: int, seed: int = 0) -> dict[str, str]:
    """The direction of each parameter of a formula as seen at random points of the declared ranges."""
    chance = random.Random(f"{formula.name}/{seed}")
    return {need: _direction(formula, place, points, chance) for place, need in enumerate(formula.needs)}


def _direction(formula: Formula, place: int, points: int, chance: random.Random) -> str:
    signs = set()
    for _ in range(points):
        values = [_draw(name, chance) for name in formula.needs]
        if chance.random() < 0.5:  # quantities of one size, where minima and differences change sides
            values = [_within(name, values[0] * chance.uniform(0.5, 2)) for name in formula.needs]
        ends = sorted((values[place], _draw(formula.needs[place], chance)))
        if chance.random() < 0.5:
            ends = sorted((values[place], _within(formula.needs[place], values[place] * chance.uniform(1, 3))))
        found = [_value(formula, [*values[:place], end, *values[place + 1 :]]) for end in ends]
        if None not in found and abs(found[1] - found[0]) > ROUNDING * max(map(abs, found)):
            signs.add("+" if found[1] > found[0] else "-")
    return signs.pop() if len(signs) == 1 else "~" if signs else "="


def _value(formula: Formula, values: list[float]) -> float | None:
    try:
        found = float(formula.function(*values))
    except (OverflowError, ZeroDivisionError, ValueError, TypeError):
        return None
    return found if math.isfinite(found) else None


def _draw(name: str, chance: random.Random) -> float:
    declared = FORMULAS.get(name) or INPUTS[name]
    low, high = max(declared.low, LEAST), declared.high
    if high <= 10:
        return _within(name, chance.choice([chance.uniform(low, high), low + 1e-3 * (high - low), high]))
    return _within(name, low + 10 ** chance.uniform(-2, math.log10(MOST)))


def _within(name: str, value: float) -> float:
    """The nearest value that a quantity may have."""
    declared = FORMULAS.get(name) or INPUTS[name]
    if declared.whole:
        value = max(round(value), math.floor(declared.low) + declared.above)
    elif declared.above and value <= declared.low:
        value = declared.low + 1e-3
    return min(max(value, declared.low), declared.high)


def declared() -> dict[str, dict[str, str]]:
    """The table: formula -> parameter -> direction."""
    lines = [line.partition("#")[0].split() for line in TABLE.read_text(encoding="utf-8").splitlines()]
    return {name: {word[1:]: word[0] for word in words} for name, *words in lines}


def reasons() -> dict[str, str]:
    """Formula -> why a direction of it depends."""
    found = (line.partition(" # ") for line in TABLE.read_text(encoding="utf-8").splitlines())
    return {line.split()[0]: why for line, _, why in found if why}


def main() -> None:
    """Write the table."""
    why, before = (reasons(), declared()) if TABLE.exists() else ({}, {})
    lines = []
    for name in sorted(FORMULAS):
        found = {
            need: "~" if before.get(name, {}).get(need) == "~" else direction
            for need, direction in sampled(FORMULAS[name], 1000).items()
        }
        line = " ".join([name, *(direction + need for need, direction in found.items())])
        lines.append(f"{line} # {why.get(name, 'REASON')}" if "~" in found.values() else line)
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

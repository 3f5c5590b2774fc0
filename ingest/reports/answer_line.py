"""The answer of each command in one line: the first and the last line of its page, and all that `-q` prints.

>>> joined("Needs", ["291 GB/s read", "12 GB/s write"], 2)
'Needs 291 GB/s read · 12 GB/s write · 2 cautions'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ingest.errors import listed
from ingest.reports.labels import counted, is_share, plain
from ingest.units import display

if TYPE_CHECKING:
    from ingest.engine.question import Question
    from ingest.engine.result import Answer
    from ingest.engine.value import Quantity
    from ingest.observation.calibration import Calibration
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan
    from ingest.storage.fit_result import Fits

#: What an answer names of a plan, by the operation of its lines; a load that is not the usual one is named with it.
PLANNED = {"read": "{} read", "write": "{} write", "hold": "{} usable"}
USUAL_LOADS = ("", "training reads", "checkpoint writes")
#: The part of a line below which the answer does not name its load.
SMALLEST_KIND = 0.01
#: What marks a rate that guidance sets, because the workload needs less, and its legend.
STAR, GUIDED = "*", "*guidance"
#: Parts of an answer at most and at least, and the letters beyond which the last part is left out: a terminal's line.
MOST, LEAST, LINE = 3, 2, 80
#: What the line leaves out where it is zero: nobody decodes, memory answers all queries.
UNSAID_AS_ZERO = ("decode_cores_per_node", "read_requests_per_second")
#: Evidence of a rate that depends on the precision of the arithmetic.
OF_ARITHMETIC = ("measured", "transferred", "efficiency", "peak")


def joined(verb: str, parts: Iterable[str], cautions: int = 0, unmet: str = "") -> str:
    """The line from its parts, with the number of cautions, and whether a stated requirement is not met."""
    all_parts = [*parts, *(["NOT MET"] if unmet else []), *([counted(cautions, "caution")] if cautions else [])]
    return f"{verb} {' · '.join(all_parts)}".strip()


def results_line(
    question: Question, results: Mapping[str, Quantity], cautions: int = 0, unmet: str = "", also: Sequence[str] = ()
) -> str:
    """The answer of a command from its results, and what `also` holds; empty where nothing that it names is known."""
    for verb, parts in question.headlines:
        if next(iter(parts)) in results:
            said = [name for name in parts if name in results and (results[name].value or name not in UNSAID_AS_ZERO)]
            known = [(parts[name], _value(name, results[name])) for name in said]
            # Of two quantities with the same words the first one counts; one node or GPU reads what its job reads.
            first = {around if around != "{}" else value: (around, value) for around, value in reversed(known)}
            told = [one for one in known if one in first.values() and not (" per " in one[0] and one[1] == known[0][1])]
            shown = [around.format(value) for around, value in dict.fromkeys([known[0], *told])][:MOST]
            while len(line := joined(verb, [*shown, *also], cautions, unmet)) > LINE and len(shown) > LEAST:
                shown.pop()
            return line
    return joined("", [], cautions, unmet) if unmet else ""


def _value(name: str, quantity: Quantity) -> str:
    if is_share(name, quantity.unit):
        return f"{quantity.value * 100:,.3g} %"
    # Of a plain rate, the wording says what comes in a second.
    unit = "1" if quantity.unit == "1/s" else quantity.unit.removesuffix("/GPU").removesuffix("/node")
    return display(quantity.value, unit, binary=False)


def answer_line(answer: Answer) -> str:
    """The answer for one job, data set or model."""
    chosen, skipped = {name: one["value"] for name, one in answer.chosen.items()}, answer.results.get("files_skipped")
    depends = getattr(answer, "basis", chosen.get("basis")) in OF_ARITHMETIC
    also = [f"in {chosen['precision']}"] if "precision" in chosen and depends else []
    # Files that could not be counted, so that the counts are not taken for those of every file.
    also += [f"{counted(int(skipped.value), 'file')} skipped"] if skipped is not None and skipped.value else []
    return results_line(answer.question, answer.results, len(answer.warnings), answer.unmet, also)


def planned(plans: Sequence[Plan]) -> list[str]:
    """The largest rates and the capacity to buy of a site, from the least to the most of several; a star marks guidance."""
    parts = []
    for operation, around in PLANNED.items():
        found = [(one, one.headline[operation]) for one in plans if operation in one.headline]
        if found:
            kinds = (kind for _, line in found for kind in main_kinds(line))
            loads = dict.fromkeys(kinds)
            star = STAR if any(line.id in one.guided for one, line in found) else ""
            shown = around.format(_between([line.value for _, line in found], found[0][1].unit))
            parts.append(shown + (f" ({listed(loads)})" if not loads.keys() <= {*USUAL_LOADS} else "") + star)
    return [*parts, GUIDED] if any(part.endswith(STAR) for part in parts) else parts


def main_kinds(line: Requirement) -> list[str]:
    """The kinds of load that make up a line, without those of less than a hundredth."""
    return [one.kind for one in line.loads if one.value >= line.value * SMALLEST_KIND] or [line.kind]


def _between(values: Sequence[float], unit: str) -> str:
    """One value, or the least and the most."""
    ends = dict.fromkeys(display(end, unit, binary=False) for end in (min(values), max(values)))
    return " – ".join(ends)


def scenarios_line(number: int, reads: Sequence[float], cautions: int) -> str:
    """The answer for several scenarios: from the least to the most that is mandatory for a job, where that is known."""
    shown = [f"{_between(reads, 'B/s')} read to require"] if reads else []
    return joined(counted(number, "scenario") + (":" if shown else ""), shown, cautions)


def fits_line(found: Fits, decided: str, counts: Mapping[str, int], first: str = "") -> str:
    """The answer of `fit`: the first system and how much of it the need takes, and how many have each verdict, the best first.

    Of a single system, what decides its verdict.
    """
    cautions = len(found.warnings)
    if found.nothing_missing:
        return joined("", [found.nothing_missing.rstrip(".")], cautions)
    if len(found.systems) == 1:
        (one,) = found.systems
        return joined("", [f"{one.entry.id}: {one.verdict}", *([decided] if decided else [])], cautions)
    shown = [of_several(verdict, count) for verdict, count in [*counts.items()][:1]]
    return joined(f"{first} first of {len(found.systems)}:" if counts else "no system", shown, cautions)


def of_several(verdict: str, count: int) -> str:
    """How many systems have a verdict.

    >>> of_several("does not fit", 7), of_several("barely fits", 2), of_several("not known", 9)
    ('7 do not fit', '2 barely fit', '9 not known')
    """
    return f"{count} {verdict.replace('does not', 'do not').replace('fits', 'fit')}"


def calibration_line(answer: Calibration) -> str:
    """The answer of `calibrate`: observed over estimated; of several observations, what they show together."""
    if answer.scaling is not None:
        together = [f"{plain(name)} {_value(name, one)}" for name, one in answer.scaling.results.items()]
        return joined("Together:", together, len(answer.warnings), answer.unmet)
    compared = [f"{plain(one.quantity)} {one.ratio:.3g}" for one in answer.rows if one.ratio is not None]
    outside = sum(one.inside is False for one in answer.rows)
    parts = [*compared[:MOST], *([f"{counted(outside, 'value')} outside the range"] if outside else [])]
    return joined("Observed ÷ estimated:", parts or ["nothing to compare"], len(answer.warnings), answer.unmet)

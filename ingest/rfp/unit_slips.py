"""Answers in the wrong unit: off by thousands, which is a slip, or by the ratio of GiB to GB, which is a remark."""

from __future__ import annotations

from ingest.rfp.response_units import ResponseUnit, response_unit
from ingest.units import display

#: Where an offered value is taken as written, in multiples of the required one. Of 165 bandwidths and capacities of catalog
#: systems sized for the example sites, all are above the lower end and three quarters below the upper one; three of them would
#: be taken for slips (decision 0091). The ends are less than a thousand times apart, so that one power of ten fits at most.
PLAUSIBLE_FROM, PLAUSIBLE_TO = 1 / 3, 10
#: Powers of ten between a value and what is meant.
POWERS = (3, 6, 9, 12, 15)
#: Relative difference from a power of 1.024: what rounding to three digits, as documents print binary numbers, can make.
OF_BINARY = 0.005


def _is_plausible(offered: float, required: float) -> bool:
    return PLAUSIBLE_FROM * required <= offered <= PLAUSIBLE_TO * required


def meant_instead(offered: float, required: float, unit: ResponseUnit) -> float | None:
    """The value that an answer was probably meant to be; None where the answer is plausible, or no power of ten makes it so.

    A value is too high by at most the prefix of its unit: somebody who writes a plain count has no prefix to mistake.

    Args:
        offered, required: in base units.
        unit: in which the answer is written.

    >>> unit = response_unit(491e9, "B/s")
    >>> meant_instead(540e6, 491e9, unit), meant_instead(540e12, 491e9, unit), meant_instead(400e9, 491e9, unit)
    (540000000000.0, 540000000000.0, None)
    >>> meant_instead(3e9, 3e6, response_unit(3e6, "file")) is None
    True
    """
    if not required or _is_plausible(offered, required):
        return None
    for power in POWERS:
        if _is_plausible(offered * 10.0**power, required):
            return offered * 10.0**power
        if _is_plausible(offered / 10.0**power, required) and unit.factor >= 10**power:
            return offered / 10.0**power
    return None


def slip_note(offered: float, required: float, unit: ResponseUnit) -> str:
    """How a slip of the unit is named; empty where there is none.

    >>> slip_note(540e6, 491e9, response_unit(491e9, "B/s"))
    'unit slip? 540 MB/s is offered, 491 GB/s is required: confirm whether 540 GB/s is meant'
    """
    meant = meant_instead(offered, required, unit)
    if meant is None:
        return ""
    shown, asked, near = (display(value, unit.base, binary=False) for value in (offered, required, meant))
    return f"unit slip? {shown} is offered, {asked} is required: confirm whether {near} is meant"


def binary_note(offered: float, required: float, unit: ResponseUnit) -> str:
    """A remark on an answer whose number would be the required one in GiB instead of GB, or the reverse; empty for others.

    An answer in a decimal unit that is above the requirement by that ratio is right in both readings.

    >>> unit = response_unit(491e9, "B/s")
    >>> binary_note(457e9, 491e9, unit)
    'offered / required is 0.931, the ratio of GB/s to GiB/s: confirm the unit'
    >>> binary_note(470e9, 491e9, unit), binary_note(491e9, 491e9, unit)
    ('', '')
    """
    asked = response_unit(required, unit.base)
    power = unit.power or asked.power
    if not power or not required or unit.base.split("/")[0] != "B":
        return ""
    step, ratio = 1.024**power, offered / required
    decimal, binary = _named(unit if unit.power else asked)
    pair, expected = (f"{binary} to {decimal}", step) if unit.binary else (f"{decimal} to {binary}", 1 / step)
    if abs(ratio / expected - 1) > OF_BINARY:
        return ""
    return f"offered / required is {ratio:.3f}, the ratio of {pair}: confirm the unit"


def _named(unit: ResponseUnit) -> tuple[str, str]:
    """The decimal and the binary unit with one prefix.

    >>> _named(response_unit(491e9, "B/s"))
    ('GB/s', 'GiB/s')
    """
    decimal = unit.name.replace("i", "", 1) if unit.binary else unit.name
    return decimal, f"{decimal[0].upper()}i{decimal[1:]}"

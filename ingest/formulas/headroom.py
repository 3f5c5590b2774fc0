"""Head-room: the share of a ceiling that stays free; below 0 the layer is too narrow."""

from ingest.expression import Num
from ingest.formula import formula, input_quantity

input_quantity("amount_needed", "1", "Load on a layer, in the unit of its ceiling.", above=False)
input_quantity("amount_available", "1", "Ceiling of a layer, in the unit of its load.")


@formula(unit="1", source="definition")
def headroom_fraction(amount_needed: Num, amount_available: Num) -> Num:
    """Share of a layer's ceiling that stays free.

    >>> headroom_fraction(3, 4), headroom_fraction(8, 4)
    (0.25, -1.0)
    """
    return 1 - amount_needed / amount_available


@formula(unit="1", source="definition")
def shortfall_factor(amount_needed: Num, amount_available: Num) -> Num:
    """How many times a layer's ceiling would be needed.

    >>> shortfall_factor(8, 4)
    2.0
    """
    return amount_needed / amount_available

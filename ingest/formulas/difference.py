"""What changed between two plans."""

from ingest.expression import Num
from ingest.formula import formula, input_quantity

input_quantity("value_before", "1", "Value of a quantity in the first of two plans.", above=False)
input_quantity("value_after", "1", "Value of a quantity in the second of two plans.", above=False)


@formula(unit="1", source="definition")
def change_ratio(value_before: Num, value_after: Num) -> Num:
    """Value of a quantity in the second of two plans, over its value in the first.

    >>> change_ratio(10, 15)
    1.5
    """
    return value_after / value_before

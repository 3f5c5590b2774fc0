"""What changed between two plans."""

from ingest.expression import Num
from ingest.formula import formula, leaf

leaf("value_before", "1", "A number in one plan.", above=False)
leaf("value_after", "1", "The same in another plan.", above=False)


@formula(unit="1", source="definition")
def change_ratio(value_before: Num, value_after: Num) -> Num:
    """What a number of one plan is in another one, over what it was.

    >>> change_ratio(10, 15)
    1.5
    """
    return value_after / value_before

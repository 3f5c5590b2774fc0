"""The budgets of the house only fall."""

import budgets


def test_the_house_keeps_its_budgets():
    figures = budgets.figures()
    over = {name: (figure, budgets.BUDGETS[name]) for name, figure in figures.items() if figure > budgets.BUDGETS[name]}
    assert over == {}

"""Formulas, quantities and results: the machinery that knows no field."""

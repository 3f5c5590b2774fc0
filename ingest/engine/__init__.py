"""Derivations and what is done with them, whatever the field: ranges of their results."""

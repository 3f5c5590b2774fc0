"""Acceptance tests: job files from requirement lines, verdicts from their results, and a short test of a path at hand."""

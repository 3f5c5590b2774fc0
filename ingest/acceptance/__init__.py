"""Acceptance tests: job files from requirement lines, verdicts from their results, and a short benchmark of a path."""

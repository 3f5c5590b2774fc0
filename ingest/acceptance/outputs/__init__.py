"""Readers of what the tools write, one module per tool, all to the same `Run`."""

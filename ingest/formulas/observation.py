"""Figures of what ran: rates, request sizes and stalls of an observed job; concurrency, starts and bytes of a history."""

from ingest.engine.registry import computed_quantities, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

"""Formulas of the field: pure one-expression functions, one module per topic; the table beside it has what is only given.

The registry (`ingest.engine.registry`) imports the modules when a quantity is first looked up.
"""

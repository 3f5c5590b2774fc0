"""Formulas of the field: pure one-expression functions, one module per topic.

The registry (`ingest.engine.registry`) imports the modules when a quantity is first looked up.
"""

"""Charts as Vega-Lite specifications: each takes rows of results in base units, and says its finding in the title."""

"""The table of rates by GPU, from which transferred rates learn what other models showed: `python docs/rates_by_gpu.py`."""

from __future__ import annotations

from ingest.catalog.store import Catalog, shipped_folder
from ingest.sizing.transfer import TABLE, rate_cells

PATH = shipped_folder() / TABLE


def content() -> str:
    """The CSV: one row per protocol, precision, model and GPU."""
    rows = sorted(rate_cells(Catalog()))
    lines = [f"{protocol},{precision},{model},{gpu},{rate:.6g}" for protocol, precision, model, gpu, rate in rows]
    return "\n".join(["protocol,precision,model,gpu,samples_per_second_per_gpu", *lines, ""])


if __name__ == "__main__":
    PATH.write_text(content(), encoding="utf-8")

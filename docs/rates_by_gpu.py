"""The table of rates by GPU, from which transferred rates learn what other models showed: `python docs/rates_by_gpu.py`."""

from __future__ import annotations

from ingest.catalog.store import TABLE, Catalog, shipped_folder
from ingest.sizing.published_rates import measured_models
from ingest.validation import every_model

PATH = shipped_folder() / TABLE


def content() -> str:
    """The CSV: one row per protocol, precision, model and GPU."""
    lines = sorted(
        f"{rate.protocol},{precision},{rates.model.id},{rate.gpu},{rate.value:.6g}"
        for rates, precision, found in measured_models(every_model(Catalog()))
        for rate in found
    )
    return "\n".join(["protocol,precision,model,gpu,samples_per_second_per_gpu", *lines, ""])


if __name__ == "__main__":
    PATH.write_text(content(), encoding="utf-8")

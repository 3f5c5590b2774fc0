"""Pictures of the pages: errors over time, and what a job reaches by the bandwidth of its drives, with its own point marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import accuracy_history
from common import DOCS

import ingest
from ingest.reports.charts.chart import (
    DARK,
    HEIGHT,
    SIGNAL,
    WIDTH,
    Chart,
    channel,
    lacking,
    layer,
    made,
    plot,
    scaled,
    sideways,
)
from ingest.reports.labels import capitalised
from ingest.units import display

#: Read bandwidths of one node from 1 to 250 GB/s.
BANDWIDTHS = [10 ** (9 + step / 10) for step in range(25)]
TRAINING: dict[str, Any] = {
    "model": "zero-infinity-1t", "node": "dgx-2", "gpus": 64, "batch": 5, "efficiency": 0.56, "parameters": "nvme",
    "gradients": "nvme", "optimizer_states": "nvme", "activations": "cpu",
}  # fmt: skip
SERVING: dict[str, Any] = {
    "model": "llama3-70b", "inference": True, "gpu": "h200", "gpus": 1, "batch": 96, "parameters": "nvme", "kv": "gpu",
    "storage": "deepnvme-4-gen5",
}  # fmt: skip


class Reached(NamedTuple):
    """What a job reaches at a bandwidth: its efficiency, or its rate."""

    bandwidth: float
    value: float


def reached(name: str, points: Sequence[Reached], own: Reached, what: str, note: str, unit: str = "B/s/node") -> Chart:
    """What a job reaches by the bandwidth of its drives, and where it stands; `what` is the title of the axis."""
    bandwidths, shown = scaled([one.bandwidth for one in (*points, own)], unit)
    rows = [{"bandwidth": x, "reached": one.value} for x, one in zip(bandwidths, points, strict=False)]
    mine = {"bandwidth": bandwidths[-1], "reached": own.value, "label": f"{own.value:,.3g} at {bandwidths[-1]:,.3g} {shown}"}
    x = channel("bandwidth", title=f"read bandwidth per node ({shown})", **sideways(bandwidths, WIDTH, exact=True))
    y = channel("reached", title=what, scale={"zero": True})
    layers = [
        layer("line", look={"color": DARK, "strokeWidth": 2}, x=x, y=y),
        layer("point", [mine], {"color": SIGNAL, "filled": True, "size": 90}, x=x, y=y),
        layer(
            "text", [mine], {"color": SIGNAL, "align": "left", "dx": 10, "dy": 12}, x=x, y=y, text=channel("label", "nominal")
        ),
    ]
    best = max(one.value for one in points)
    title = f"{capitalised(what)}: {own.value:,.3g} at {display(own.bandwidth, unit, binary=False)}, at most {best:,.3g}"
    alt = f"Line of {what} by read bandwidth; the point marks the job: {mine['label']}; the line ends at {best:,.3g}."
    return made(name, title, note, alt, plot(rows, HEIGHT, layer=layers))


def _curve(name: str, options: dict[str, Any], own: float, quantity: str, what: str, factor: float, note: str) -> Chart:
    def at(bandwidth: float) -> float:
        given = {**options.get("set", {}), "nvme_read_bandwidth_per_node": bandwidth, "nvme_delivery": 1}
        return float(ingest.offload(**{**options, "set": given}).results[quantity].value) * factor

    points = [Reached(bandwidth, at(bandwidth)) for bandwidth in BANDWIDTHS]
    return reached(name, points, Reached(own, at(own)), what, note)


def charts() -> Iterator[Chart]:
    """The pictures."""
    yield accuracy_history.chart()
    note = "1 trillion parameters, all states on NVMe, 4 DGX-2, 5 sequences on each GPU"
    yield _curve("offload-training", TRAINING, 25.6e9, "offload_efficiency", "step efficiency in percent", 100, note)
    note = "Llama-3-70B, 16-bit weights on NVMe, one H200, batch 96"
    yield _curve("offload-inference", SERVING, 27e9, "tokens_per_second", "tokens per second", 1, note)


def path_of(chart: Chart) -> Path:
    """The file of a picture."""
    return DOCS / "_static" / f"{chart.name}.svg"


def stale(write: bool) -> list[Path]:
    """The pictures that do not say what their charts say, written anew on request; renderers may draw them differently."""
    found = []
    for chart in charts():
        path = path_of(chart)
        drawn = path.read_text(encoding="utf-8") if path.exists() else ""
        if not all(line in drawn for line in chart.spec["title"]["text"]):
            found.append(path)
            if write and not lacking():
                path.write_text(chart.svg(), encoding="utf-8")
    return found

"""What all charts share: sizes, colours that the colour-blind and a grey printer keep apart, axes with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from ingest.errors import IngestError
from ingest.files import write_whole
from ingest.units import scale_of

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
#: Okabe and Ito's colours in an order whose greys differ step by step.
COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#000000")
DARK, LIGHT, SIGNAL = COLOURS[0], COLOURS[2], COLOURS[3]
WIDTH, HEIGHT = 560, 260
CONFIG = {
    "font": "DejaVu Sans, Noto Sans, sans-serif",
    "background": "white",
    "title": {"anchor": "start", "fontSize": 14, "fontWeight": "bold", "subtitleFontSize": 11, "offset": 12},
    "axis": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "gridColor": "#E5E5E5", "labelLimit": 340},
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "orient": "bottom", "labelLimit": 260},
    "view": {"stroke": None},
    "range": {"category": list(COLOURS)},
}


class Chart(NamedTuple):
    """A chart.

    Attributes:
        name: of its file.
        title: what it shows, as a finding.
        alt: the same in words, for who does not see it.
        spec: Vega-Lite.
        note: where something in it comes from, for its caption.
    """

    name: str
    title: str
    alt: str
    spec: Mapping[str, Any]
    note: str = ""

    def svg(self) -> str:
        """Rendered offline."""
        return str(_converter().vegalite_to_svg(dict(self.spec)))

    def png(self, scale: float = 2) -> bytes:
        """Rendered offline; `scale` 2 is sharp on paper."""
        return bytes(_converter().vegalite_to_png(dict(self.spec), scale=scale))

    def write(self, path: str) -> None:
        """Write as `.svg`, `.png` or `.json`, by suffix."""
        import json

        suffix = path.rpartition(".")[2].lower()
        if suffix == "svg":
            write_whole(path, self.svg())
        elif suffix == "png":
            write_whole(path, self.png())
        elif suffix == "json":
            write_whole(path, json.dumps(self.spec, indent=1, ensure_ascii=False))
        else:
            raise IngestError(f"--output: '{path}' ends in '.{suffix}', expected .svg, .png or .json")


def can_render() -> bool:
    """Whether charts can be rendered: the extra `charts` is installed."""
    return find_spec("vl_convert") is not None


def _converter() -> Any:
    import vl_convert

    return vl_convert


def made(name: str, title: str, subtitle: str, alt: str, body: Mapping[str, Any]) -> Chart:
    """A chart with the common frame around its own part."""
    heading = {"text": wrapped_title(title), **({"subtitle": subtitle} if subtitle else {})}
    return Chart(name, title, alt, {"$schema": SCHEMA, "title": heading, "config": CONFIG, "description": alt, **body})


def wrapped_title(title: str, width: int = 64) -> list[str]:
    """A title in lines that fit the chart.

    >>> wrapped_title("one two", 4)
    ['one', 'two']
    """
    import textwrap

    return textwrap.wrap(title, width) or [""]


def scaled(values: Sequence[float], unit: str, binary: bool = False) -> tuple[list[float], str]:
    """Values in the unit in which people read the largest of them, and that unit.

    >>> scaled([1.5e9, 2e8], "B/s")
    ([1.5, 0.2], 'GB/s')
    """
    factor, shown = scale_of(max(map(abs, values), default=0), unit, binary)
    return ([value / factor for value in values], shown) if factor else (list(values), unit)

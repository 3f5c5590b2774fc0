"""Numbers of a site file: what the schema takes the reader takes too, or refuses in one line; nothing else passes."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from conftest import refused, table
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import IngestError
from ingest.site.schema import problems, resolved, schema
from ingest.site.site_file import read_site

VALIDATOR = jsonschema.Draft202012Validator(schema())


def paths(node: dict[str, Any], keys: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every place of a quantity; rows of tables are called `x`."""
    node = dict(resolved(node))
    if "x-quantity" in node:
        yield keys
        return
    for key, inner in node.get("properties", {}).items():
        yield from paths(inner, (*keys, key))
    if isinstance(node.get("additionalProperties"), dict):
        yield from paths(node["additionalProperties"], (*keys, "x"))


PLACES = sorted(paths(schema()))
UNITS = (
    "", " ", "B", "GB", " GiB", " MB/s", "s", " min", " days", " years", "%", "k", "M", " nodes", " tokens", " TFLOP/s",
    "Gb", "x",
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-3, 3), st.floats(allow_nan=False), st.sampled_from([0, 0.5, 1, 1e300, -1e-9]), st.integers(0, 10**18)
)
TEXTS = st.builds(lambda number, unit: f"{number}{unit}", NUMBERS, st.sampled_from(UNITS)) | st.text(max_size=12)
VALUES = NUMBERS | TEXTS | st.builds(lambda low, value: {"low": low, "typical": value}, NUMBERS | TEXTS, NUMBERS | TEXTS)


def site_with(keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A site that holds one value of interest."""
    site: dict[str, Any] = {
        "clusters": {"x": {"node": "dgx-h100", "count": 64}},
        "jobs": {"x": {"cluster": "x", "model": "resnet50", "nodes": 2}},
        "datasets": {"x": {"bytes": "5 TB"}},
    }
    if keys[0] == "indexes":  # which share the names of jobs, and need nodes
        site = {**site, "jobs": {"y": site["jobs"]["x"]}, "indexes": {"x": {"cluster": "x", "nodes": 2}}}
    inner = site
    for key in keys[:-1]:
        inner = inner.setdefault(key, {"mode": "stream"} if key == "placement" else {})
    inner[keys[-1]] = value
    return site


def test_quantities_are_found():
    assert len(PLACES) > 50
    assert ("datasets", "x", "copies") in PLACES


@given(keys=st.sampled_from(PLACES), value=VALUES)
def test_what_the_schema_takes_the_reader_takes_or_refuses_in_one_line(keys, value):
    site = site_with(keys, value)
    valid = VALIDATOR.is_valid(site)
    assert valid == (not problems(site))
    said = refusal(site)
    assert "\n" not in said
    assert valid or said


def refusal(site: dict[str, Any]) -> str:
    """What the reader says against a site; nothing where it takes it."""
    try:
        read_site(site)
    except IngestError as error:
        return str(error) or "a refusal without words\n"
    return ""


@pytest.mark.parametrize(
    ("key", "value", "says"), table("site/refused.yaml")["what_cannot_be_is_refused_in_the_words_of_the_reader"]
)
def test_what_cannot_be_is_refused_in_the_words_of_the_reader(key, value, says):
    site = site_with(("datasets", "x", key), value)
    if value != "0":  # a pattern cannot tell which text is nought in every unit
        assert not VALIDATOR.is_valid(json.loads(json.dumps(site)))
    with refused(says, "datasets.x"):
        read_site(site)


@pytest.mark.parametrize(("key", "value"), table("site/cases.yaml")["what_people_write_is_valid"])
def test_what_people_write_is_valid(key, value):
    assert VALIDATOR.is_valid(site_with(("datasets", "x", key), value))
    read_site(site_with(("datasets", "x", key), value))

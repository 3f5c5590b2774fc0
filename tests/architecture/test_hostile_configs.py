"""Configs of every family with one key that is wrong: an answer or one line, never an error of another kind."""

import copy
import random
from pathlib import Path

import pytest
from conftest import refused, table
from test_counts import COUNTED, PUBLISHED, REMEMBERED

from ingest.architecture.registry import families, from_config
from ingest.errors import IngestError

SHIPPED = Path(__file__).parents[2] / "catalogs" / "architectures"
CONFIGS = [*(case["config"] for case in (*COUNTED, *PUBLISHED, *REMEMBERED)), *map(table, sorted(SHIPPED.glob("*.yaml")))]
DROPPED = object()
VALUES = [
    DROPPED, "x", "", None, [], {}, -1, 0, 1, 2, 3, 1.5, 10**9, 10**30, float("nan"), float("inf"), True, False, [1], ["x"],
    [[1]], [None], [0] * 64, {"a": 1}, {"a": {"b": 1}},
]  # fmt: skip


def places(table, before=()):
    """Where a config has a value, in its nested tables and lists too."""
    for key, value in table.items() if isinstance(table, dict) else enumerate(table[:6]):
        yield (*before, key)
        if isinstance(value, dict | list):
            yield from places(value, (*before, key))


def changed(config, place, value):
    made = inner = copy.deepcopy(config)
    for key in place[:-1]:
        inner = inner[key]
    if value is DROPPED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = copy.deepcopy(value)
    return made


def judge(config):
    """Whether a config is answered; a refusal is one line that names the file."""
    try:
        made = from_config("drawn", "config.json", config)
    except IngestError as refusal:
        said = str(refusal)
    else:
        said = ""
        use(made)
    assert said.startswith("config.json: ") or not said
    assert "\n" not in said
    return not said


def use(made):
    """Use all that follows from the rows of a model."""
    for row in made.weights:
        assert min(row.shape) > 0 <= min(row.count, row.active, row.passes), row
    for row in made.attentions:
        assert min(number for number in row if type(number) is int) >= 0, row
    assert made.layers >= 0 <= len(made.released_row_bytes) + len(made.warnings)
    if "weight_parameters" in made.columns and "cached_elements_per_token" in made.columns:
        assert made.parameters >= 0 <= made.kv_cache_bytes_per_token()
    if "multiply_adds_per_token" in made.columns:
        assert made.flops_per_token(4096) >= 0


def draw(seed, number):
    rng = random.Random(seed)
    known = sorted({place[-1] for config in CONFIGS for place in places(config) if isinstance(place[-1], str)})
    for _ in range(number):
        config = rng.choice(CONFIGS)
        place = rng.choice([*places(config)])
        if rng.random() < 0.3 and isinstance(place[-1], str):
            place = (*place[:-1], rng.choice(known))  # a key of another family
        value = rng.choice(VALUES)
        inner = config
        for key in place[:-1]:
            inner = inner[key]
        if value is DROPPED and isinstance(inner, dict) and place[-1] not in inner:
            continue
        yield changed(config, place, value), (config.get("model_type"), place, value)


def judged(seed, number):
    answered = 0
    for config, drawn in draw(seed, number):
        try:
            answered += judge(config)
        except Exception as error:
            raise AssertionError(f"{drawn}: {error!r}") from error
    return answered


def test_a_wrong_key_of_any_family_is_answered_or_refused_in_one_line():
    assert 400 < judged(43, 2_000) < 1600


def test_every_family_without_sizes_is_answered_or_refused_in_one_line():
    for kind in families():
        judge({"model_type": kind})
        judge({"model_type": "llava", "text_config": {"model_type": kind}})
        judge({"_class_name": kind, "num_nextn_predict_layers": 1})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_wrong_keys_of_any_family(seed):
    judged(seed, 30_000)


def small(kind):
    return copy.deepcopy(next(config for config in CONFIGS if config.get("model_type") == kind))


@pytest.mark.parametrize(("kind", "keys", "words"), table("architecture/refused.yaml")["what_is_wrong_is_named"])
def test_what_is_wrong_is_named(kind, keys, words):
    with refused(words):
        from_config("drawn", "config.json", {**small(kind), **keys})

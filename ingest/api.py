"""Each command as a function: the same names, the same answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.axes import names_of, parse_axis
from ingest.catalog.store import Catalog
from ingest.engine.result import scenarios
from ingest.engine.value import Quantity
from ingest.errors import UsageError
from ingest.estimate import Estimate, estimate
from ingest.formula import unit_of
from ingest.question import number_of, question_of

if TYPE_CHECKING:
    import pandas

    from ingest.explanation import Explanation
    from ingest.sweeping import Sweep
    from ingest.validation import Validation

Written = str | float
#: Each is a whole page with sources; more are the business of `sweep`.
MOST_SCENARIOS = 1000

Many = str | float | Sequence[str] | Sequence[float]


@dataclass(frozen=True)
class Scenarios:
    """Several estimates, where several were asked for."""

    scenarios: tuple[Estimate, ...]

    @property
    def incomplete(self) -> str | None:
        """The first reason why an answer is not complete."""
        return next((one.incomplete for one in self.scenarios if one.incomplete), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all scenarios, each once."""
        return tuple(dict.fromkeys(line for one in self.scenarios for line in one.warnings))

    @property
    def results(self) -> list[Mapping[str, Quantity]]:
        """The results of each scenario."""
        return [one.results for one in self.scenarios]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of several scenarios."""
        return scenarios(one.to_dict() for one in self.scenarios)

    def to_frame(self) -> pandas.DataFrame:
        """One row per scenario and result."""
        import pandas

        keys = ["model", "gpu", "nodes"]
        frames = {
            (
                one.inputs.get("model", {}).get("value"),
                one.inputs.get("gpu", {}).get("value"),
                one.nodes,
            ): one.to_frame()
            for one in self.scenarios
        }
        return pandas.concat(frames, names=keys)


def bw(
    *,
    model: Many | None = None,
    gpu: Many | None = None,
    nodes: Many | None = None,
    gpus_per_node: Written | None = None,
    node: str | None = None,
    basis: str = "auto",
    protocol: str | None = None,
    encoding: str | None = None,
    precision: str | None = None,
    efficiency: Written | None = None,
    achieved: Written | None = None,
    utilization: Written | None = None,
    samples_per_second: Written | None = None,
    sample_bytes: Written | None = None,
    flops_per_sample: Written | None = None,
    bytes_per_token: Written | Path | None = None,
    cache_hit: Written | None = None,
    scaling: str = "linear",
    set: Mapping[str, Written] | str | Sequence[str] | None = None,
    catalogs: str | Path | Sequence[str | Path] = (),
) -> Estimate | Scenarios:
    """Read bandwidth that storage must deliver so that GPUs never wait.

    Args:
        model: id, alias or YAML file; a list, or text with commas, for several scenarios.
        gpu: likewise.
        nodes: number of nodes, one by default; a list, or `1,8,128`, or `1..1024*2`.
        gpus_per_node: GPUs in a node; that of the GPU's usual node by default.
        node: id or YAML file of a node type.
        basis: `auto`, `measured`, `transferred`, `efficiency` or `peak`.
        protocol: measurement protocol whose rate is asked for.
        encoding: encoding of the data set, or `stored`, `decoded`, `touched`, or `ID/SIZE`.
        precision: `bf16` unless the model has only been measured at another one.
        efficiency: model FLOPs utilization, a share of the dense peak.
        achieved: achieved FLOP/s per GPU.
        utilization: accelerator utilization accepted.
        samples_per_second: samples/s per GPU, your own measurement.
        sample_bytes: bytes of one sample.
        flops_per_sample: forward and backward pass.
        bytes_per_token: where text is read instead of ids: a number, or the JSON file of `ingest measure`.
        cache_hit: share of reads that a cache on the node serves.
        scaling: `linear`, `weak` or `strong`.
        set: any quantity by name.
        catalogs: folders with entries of your own.

    Returns:
        An `Estimate`; `Scenarios` where several were asked for.

    >>> bw(model="cosmoflow", gpu="v100-sxm2", achieved="35 TFLOP/s", sample_bytes="16MB").results[
    ...     "ingest_bandwidth_per_gpu"
    ... ].display
    '2.267 GB/s (2.112 GiB/s)'

    Raises:
        UsageError: a question that cannot be asked.
        IngestError: no evidence, and what to supply.
    """
    catalog = Catalog(catalogs)
    axes = [names_of(model), names_of(gpu), _numbers(nodes)]
    count = math.prod(map(len, axes))
    if count == 0:
        raise UsageError("bw: found an empty list, expected at least one model, GPU and node count")
    if count > MOST_SCENARIOS:
        raise UsageError(f"--nodes: {count:,} scenarios, expected at most {MOST_SCENARIOS:,}; `ingest sweep` takes millions")
    asked = question_of(
        gpus_per_node=gpus_per_node,
        node=node,
        basis=basis,
        protocol=protocol,
        encoding=encoding,
        precision=precision,
        efficiency=efficiency,
        achieved=achieved,
        utilization=utilization,
        samples_per_second=samples_per_second,
        sample_bytes=sample_bytes,
        flops_per_sample=flops_per_sample,
        bytes_per_token=bytes_per_token,
        cache_hit=cache_hit,
        scaling=scaling,
        set=set,
    )
    answers = tuple(estimate(replace(asked, model=one, gpu=other, nodes=size), catalog) for one, other, size in product(*axes))
    return answers[0] if len(answers) == 1 else Scenarios(answers)


def _numbers(given: Many | None) -> list[float | None]:
    """The numbers of nodes; None stands for the default."""
    if isinstance(given, str):
        return [*parse_axis(given, unit_of("nodes"), "--nodes")]
    return [number_of("nodes", one) for one in ([given] if given is None or isinstance(given, (int, float)) else given)]


def explain(name: str, **options: Any) -> Explanation:
    """How one quantity of `bw` came about, down to the catalog values.

    Args:
        name: a quantity, for example `ingest_bandwidth_per_job`.
        options: those of `bw`.

    >>> print(explain("gpus", model="cosmoflow", gpu="h100", nodes=2).lines()[1])
      = nodes × gpus_per_node
    """
    from ingest.explanation import Explanation

    answer = bw(**options)
    return Explanation.of(answer.scenarios[0] if isinstance(answer, Scenarios) else answer, name)


def sweep(*, axes: Mapping[str, Any] | Sequence[str], **options: Any) -> Sweep:
    """Many scenarios in one vectorised call.

    Args:
        axes: quantity to list, range text or array: `{"nodes": "1..1024*2"}` or `["nodes=1..1024*2"]`.
        options: those of `bw`; `model` and `gpu` may be lists.

    >>> sweep(model="cosmoflow", gpu="h100", axes={"nodes": [1, 2]}).to_frame()["gpus"].tolist()
    [8.0, 16.0]
    """
    from ingest.sweeping import Sweep

    return Sweep.of(axes, **options)


def validate(name: str | None = None, *, catalogs: Sequence[str | Path] = ()) -> Validation:
    """Published results, reproduced: published, ours, error.

    Args:
        name: a set, for example `ibrahim`; all sets by default.
    """
    from ingest.validation import Validation

    return Validation.of(name, Catalog(catalogs))

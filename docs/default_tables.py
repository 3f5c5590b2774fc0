"""The tables of defaults that decide a requirement: ours beside practice, with source and key, and three runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from common import table

import ingest
from ingest.engine.messages import Message, fact_of
from ingest.engine.registry import INPUTS, is_quantity, unit_of
from ingest.engine.value import Input
from ingest.site import jobs
from ingest.site.datasets import TIMES_OF_DATASET
from ingest.site.guidance import USUAL_LEVELS
from ingest.site.planner import USUAL
from ingest.sizing.checkpoint_schedule import DEFAULTS, USUAL_MODE
from ingest.units import display, physical, request_size

#: what is practised, by quantity; the sources of the practice stand in it
PRACTICE = {
    "waste_allowed": "no published target; useful time of 90 % [llama3-herd] to 97 % [byterobust2025], all losses counted",
    "longest_interval": "1 h for larger jobs",
    "interval_share": "1.5 to 3 h synchronous until 2023, 30 to 60 min asynchronous since, minutes in memory [dlrover]",
    "drain_fraction": "not published as a share",
    "drain_time": "51 s for 405B [bytecheckpoint2024], 67 s for 70B [pytorch-async-2025], 200 s for 175B before tuning",
    "slow_down": "700 tokens/s per GPU fell to 315 to 372 while one checkpoint drained",
    "staging_fixed_seconds": "blocked for 0.2 to 0.8 s with pinned memory, 6 to 14 s without",
    "staging_bandwidth_per_gpu": "6.3 s for 7B, 0.78 s for 70B on 1,856 GPUs, 0.59 s for 405B on 8,960",
    "persistent_every": "every one; 1 of 25 where the others stay in memory [dlrover]",
    "restart_seconds": "129 s for 405B [bytecheckpoint2024]; 4 min on 1,000 GPUs [dlrover]",
    "reschedule_seconds": "5 to 20 min [kokolis2024]; detection and tests within 10 min [megascale2024]",
    "keep_last": "15 to 20 on scratch, 12 full ones archived",
    "client_latency": "60 to 92 µs on local NVMe [micron-9550] [micron-9200], 100 to 200 ms on S3 [aws-s3-performance]",
    "medium_and_network_seconds": "0.1 ms of flash, and the software of client and server",
    "latency_tail": "not published",
    "shortest_test_seconds": "300 s for each write phase",
    "test_seconds": "no published rule",
    "stream_request_bytes": "2 MiB in ior-easy [io500-rules]",
    "write_request_bytes": "2 MiB in ior-easy [io500-rules]",
    "guidance_request_bytes": "not published",
    "fill_limit": "Ceph warns at 85 %",
    "outage_restart_seconds": "no published target",
    "create_seconds": "asynchronous saves block for 0.2 to 14 s in all",
    "warranty_seconds": "no published rule",
    "smallest_bandwidth_asked": "a single drive delivers it",
    "smallest_file_rate_asked": "a single drive delivers it",
    "smallest_drive_writes_asked": "QLC drives: 0.25 for random 4 KiB, 1 for sequential 128 KiB [micron-6550]",
    "significant_digits": "no published rule",
    "request_bytes": "by format; 1 MiB at most for one read of the Linux NFS client",
    "readers_per_gpu": "2 (Megatron-LM) to 8 (MPT-7B, OLMo 3); 4 in MLPerf Storage",
    "cache_memory_share": "the page cache shares memory with the loaders and pinned buffers",
    "warm_up_seconds": "no published target",
    "start_seconds": "no published target",
    "export_seconds": "no published target",
    "evaluation_seconds": "12 min for a whole evaluation of BLOOM [bigscience-bloom]",
    "load_seconds": "no published target",
    "preparation_seconds": "no published target",
}  # fmt: skip
#: choices that are no single number: what, ours, practice, key
CHOICES = (
    ("mode of checkpoints", f"`{USUAL_MODE}`", "asynchronous in runs published since 2024; Megatron-LM saves synchronously "
     "unless told otherwise [megatron-lm]", "`checkpoint.mode`"),
    ("failures", "published interruption rate of the nearest number of GPUs", "21 to 24 per 1,000 node-days on shared fleets "
     "[kokolis2024], 3.8 to 7.2 in dedicated runs [llama3-herd] [byterobust2025]", "`checkpoint.mtti`, `checkpoint.failures`"),
    ("parallel sizes", "as published for the model, else the smallest that fit", "tensor parallelism within the node",
     "`checkpoint.tensor_parallel`, `checkpoint.pipeline_parallel`"),
    ("readers of a restore", "`unique`", "one reader of a group [megascale2024]; `replicated` by default in Megatron-LM "
     "[megatron-lm]", "`checkpoint.readers`"),
    ("checkpoints that coincide", "99th percentile of independent runs", "not published", "`overlap.checkpoints`"),
    ("reads during checkpoints", "go on, except those of a synchronous save", "asynchronous saves do not stop reads",
     "`overlap.reads_and_checkpoints`"),
    ("runs that start together", "all concurrent runs", "after an outage or maintenance", "`starts`"),
    ("guidance, a target", f"level {' or '.join(f'`{level}`' for level in USUAL_LEVELS)}", "29 (good) to 244 (best) MB/s "
     "written per GPU for 1,024 GPUs [superpod-h100]; observed 1 to 160", "`floor`"),
    ("reserve", "none; a warning names usual shares", "10 to 20 % for snapshots, 5 % for rebuilds", "`reserve`"),
)  # fmt: skip


def _linked(text: str) -> str:
    """The text with its sources, each an id in brackets, as links."""
    return re.sub(r"\[([a-z0-9-]+)\](?!\()", r"[\1](reference/sources.md#\1)", text)


def _row(name: str, item: Input, note: Message) -> tuple[str, ...]:
    """One default: what holds, its value, practice, source with its grade, and the key."""
    ways = (way.in_site_file for way in note.supply)
    keys = " or ".join(way if " " in way else f"`{way}`" for way in ways)
    grade = f"{_linked(f'[{item.source}]')}, {item.grade}" if item.source else item.grade or "assumed"
    sized = name.endswith("request_bytes")
    value = request_size(int(item.value)) if sized else display(item.value, physical(unit_of(name)), binary=False)
    return str(fact_of(note)), f"`{name}` = {value}", _linked(PRACTICE[name]), grade, keys


def _table(rows: Iterator[tuple[str, ...]]) -> str:
    return table(("default", "quantity", "practice", "source", "changed by"), rows)


def checkpoints() -> str:
    """The defaults of checkpoints."""
    return _table(_row(name, item, item.note) for name, item in DEFAULTS.items())  # type: ignore[arg-type]


def sites() -> str:
    """The defaults of reads, tests, transfers and capacity."""
    found = {
        "readers_per_gpu": jobs.READERS,
        "request_bytes": jobs.REQUEST,
        "cache_memory_share": jobs.MEMORY_SHARE,
        "warm_up_seconds": jobs.WARM_UP,
        **USUAL,
        **{name: item for times in jobs.TIMES.values() for name, item in times.items()},
        **dict(TIMES_OF_DATASET.values()),
    }
    return _table(_row(name, item, item.note) for name, item in found.items())  # type: ignore[arg-type]


def choices() -> str:
    """The defaults that are no single number."""
    names = ("server_cache_seconds", "server_cache_share", "server_cache_multiple")
    seconds, share, times = (float(INPUTS[name].default or 0) for name in names)
    cache_row = (
        "server cache in read tests",
        f"the larger of {seconds:g} s of the highest mandatory bandwidth and {share * 100:g} % of the capacity; "
        f"tests read {times:g} times as much",
        "APEX and Crossroads tests: more than 1.5 times the memory",
        "`accept --server-cache`",
    )
    rows = (tuple(map(_linked, row)) for row in (*CHOICES, cache_row))
    return table(("choice", "ours", "practice", "changed by"), rows)


#: run -> model, GPUs, and what was observed of a similar run, by the first cell of each row
RUNS = {
    "70B on 512 GPUs": ("llama3-70b", 512, "70B on 1,856 GPUs [pytorch-async-2025]",
                        ("", "0.78 s", "67 s", "12.6 GB/s at 12 B per parameter", "", "")),
    "405B on 16,384 GPUs": ("llama3-405b", 16_384, "405B on 8,960 GPUs [bytecheckpoint2024]",
                            ("", "0.59 s", "51 s", "111 GB/s", "129 s", "44 GB/s")),
    "DeepSeek-V3 on 2,048 GPUs": ("deepseek-v3", 2_048, "[deepseek-v3] publishes its states, no times", ("",) * 6),
}  # fmt: skip
ROWS = {
    "interval": "checkpoint_interval",
    "blocking": "checkpoint_stall_seconds",
    "drain": "checkpoint_dump_seconds",
    "write bandwidth": "checkpoint_write_bandwidth",
    "restore": "restart_seconds",
    "restore bandwidth": "restart_read_bandwidth",
}


def runs() -> str:
    """What the defaults give for three runs, beside what was observed."""
    columns, cells = ["", *RUNS], [[name] for name in ("checkpoint size", "parallel sizes", *ROWS, "checkpoint overhead")]
    for model, gpus, _, seen in RUNS.values():
        known = ingest.checkpoint(model, gpus=gpus).known
        size = display(known.value("checkpoint_bytes"), "B", binary=False)
        degrees = f"TP {known.value('tensor_parallel'):g}, PP {known.value('pipeline_parallel'):g}"
        mine = [_shown(known, name) for name in ROWS.values()]
        both = [f"{one} (observed: {other})" if other else one for one, other in zip(mine, seen, strict=True)]
        overhead = f"{known.value('checkpoint_overhead') * 100:.3g} %"
        for row, cell in zip(cells, (size, degrees, *both, overhead), strict=True):
            row.append(cell)
    cells.append(["observed run", *(_linked(observed) for _, _, observed, _ in RUNS.values())])
    return table(columns, cells)


def _shown(known: Any, name: str) -> str:
    return display(known.value(name), unit_of(name), binary=False)


def _numbers(found: object, place: str, quantity: str = "") -> Iterator[tuple[str, str, Input]]:
    """The inputs within a constant: its place, the quantity where a key names one, and the input."""
    if isinstance(found, Input):
        yield place, quantity, found
    elif isinstance(found, Mapping):
        for key, one in found.items():
            named = str(key) if is_quantity(str(key)) else ""
            yield from _numbers(one, place if named else f"{place}, {key}", named)
    elif isinstance(found, tuple):
        named = next((one for one in found if isinstance(one, str) and is_quantity(one)), quantity)
        for one in found:
            yield from _numbers(one, place, named)


def numbers() -> str:
    """Each number of the code that stands for one that nobody gave, with its range."""
    rows = {}
    for room in ("loader", "site", "sizing", "storage"):
        for file in sorted((Path(ingest.__file__).parent / room).glob("*.py")):
            module = import_module(f"ingest.{room}.{file.stem}")
            own = re.findall(r"^([A-Z_]+)\b.* = ", file.read_text(encoding="utf-8"), re.MULTILINE)
            found = (one for name in own for one in _numbers(getattr(module, name, None), f"{room}/{file.name}: {name}"))
            for place, quantity, item in found:
                unit = unit_of(quantity) if quantity else ""
                value, low, high = ("" if one is None else display(one, unit, binary=False) if unit else f"{one:.6g}"
                                    for one in (item.value, item.low, item.high))  # fmt: skip
                grade = ", ".join(one for one in (item.source and _linked(f"[{item.source}]"), item.grade) if one)
                note = str(fact_of(item.note)) if isinstance(item.note, Message) else item.note
                row = (quantity and f"`{quantity}`", value, low and f"{low} to {high}", grade, note)
                rows.setdefault(row, place)
    return table(("place", "quantity", "value", "range", "source", "what"), ((place, *row) for row, place in rows.items()))


TABLES: dict[str, Callable[[], str]] = {
    "defaults-checkpoints": checkpoints,
    "defaults-sites": sites,
    "defaults-choices": choices,
    "defaults-runs": runs,
    "defaults-numbers": numbers,
}

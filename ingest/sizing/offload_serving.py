"""`ingest offload --inference --users`: the key-value tier of a serving cluster, and its hits from a trace."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

from ingest.engine.question import Question, Shown, option, quantities_in, shown
from ingest.engine.registry import unit_of
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, derived
from ingest.errors import IngestError
from ingest.files import read_text
from ingest.sizing.job import Amount, by_user, quantities_of
from ingest.sizing.offload_tiers import (
    TIER_DEFAULTS,
    USUAL,
    OffloadJob,
    beyond_reach,
    compute,
    drives,
    kept_by_attention,
    machine,
    recurrent_state,
)
from ingest.sizing.rules import ROUNDING, finding, messages, on_settings
from ingest.units import display

DEFAULTS = {
    **{name: TIER_DEFAULTS[name] for name in ("tier_utilization", "nvme_delivery", "nvme_write_share")},
    **USUAL["sessions"],
}
#: Results of turns that read from the tier, the three of most weight first.
READING = ("kv_turn_bandwidth", "kv_last_turn_bandwidth", "kv_peak_read_bandwidth", "kv_peak_turns", "kv_burst_bandwidth",
           "kv_blocks_per_turn", "kv_block_seconds")  # fmt: skip
#: What the drives or the shared system that are named have, and the need of each: none of an average where turns coincide.
OFFERED = {"room_bytes": ("kv_tier_bytes",), "read_bandwidth_of_job": ("kv_peak_read_bandwidth", "kv_read_bandwidth"),
           "write_bandwidth_of_job": ("kv_write_bandwidth",)}  # fmt: skip
LABELS = {"room_bytes": "room for caches", "read_bandwidth_of_job": "reads that the storage gives",
          "write_bandwidth_of_job": "writes that the storage takes"}  # fmt: skip
#: What `_short` calls them.
SHORT = {"room_bytes": "of room", "read_bandwidth_of_job": "of reads", "write_bandwidth_of_job": "of writes"}
#: Results of the GPUs that compute again what no tier holds.
COMPUTING = ("prefill_tokens_per_second", "computed_tokens_per_second", "kv_recompute_seconds", "kv_gpus_spared")
#: The headline where nothing is read.
WRITTEN = {"kv_write_bandwidth": "{} write", "kv_tier_bytes": "{} of cache"}
#: The headline where the writes wear out drives of that capacity: the drives that outlast them are the number to buy.
WORN = {"kv_write_bandwidth": "{} write", "kv_endurance_bytes": "{} of drives"}
#: What `offload` answers of a serving cluster.
QUESTION = Question(
    "offload",
    (
        Shown("kv_tier_bytes"),
        *shown("kv_session_bytes", "kv_new_bytes", "kv_reused_bytes", main=False),
        Shown("kv_hit_share"),
        Shown("turn_rate", main=False),
        *shown("kv_read_bandwidth", "kv_write_bandwidth"),
        *shown("kv_read_bandwidth_per_node", "kv_write_bandwidth_per_node", main=False),
        Shown("kv_recompute_bandwidth"),
        *shown("kv_block_bytes", "kv_bytes_written_per_day", main=False),
        *shown("kv_writes_per_day", "kv_endurance_bytes"),
        *(Shown(name, main=place < 3) for place, name in enumerate(READING)),
        *shown(*COMPUTING),
        *(Shown(f"{tier}_{what}", label=LABELS[what]) for tier in ("nvme", "storage") for what in OFFERED),
    ),
    (("Needs", {"kv_peak_read_bandwidth": "{} read", **WRITTEN}), ("Needs", WRITTEN)),
)  # fmt: skip


class SessionOptions(TypedDict, total=False):
    """The sessions of a serving cluster."""

    users: Annotated[Amount, option(
        "Sessions whose key-value cache a tier keeps between turns; with inference, sizes that tier.",
        quantity="serving_users")]  # fmt: skip
    turns: Annotated[Amount, option("Turns of a session; {default} by default.", quantity="session_turns", usual=DEFAULTS)]
    turn_time: Annotated[
        Amount,
        option("Time between two turns of a user; {default} by default.", "TIME", quantity="turn_seconds", usual=DEFAULTS),
    ]
    hit: Annotated[Amount, option(
        "Share of the reused context that the tier holds, or a trace FILE.jsonl with hash_ids; {default} by default.", "F|FILE",
        quantity="kv_hit_share", usual=DEFAULTS)]  # fmt: skip
    first_token_time: Annotated[Amount, option(
        "Time in which a turn reads its reused context; {default} by default.", "TIME", quantity="first_token_seconds",
        usual=DEFAULTS)]  # fmt: skip
    retention: Annotated[Amount, option(
        "Time that the tier keeps the cache of a session after its last turn; {default} by default.",
        quantity="session_retention_seconds", usual=DEFAULTS)]  # fmt: skip


#: option -> the quantity that it sets here
QUANTITIES = {**quantities_in(SessionOptions), "prompt": "prompt_tokens", "generate": "generated_tokens",
              "efficiency": "model_flops_utilization"}  # fmt: skip
#: Capacities of the table of hits, as shares of the blocks of the trace.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
#: settings on which only the replay of a trace rests
OF_TRACES = ("kv_tier_capacity", "kv_trace_block_tokens")
#: Lines of a trace beyond which it is a mistake.
MOST_BLOCKS = 20_000_000


def serving(job: OffloadJob) -> Answer:
    """What the key-value tier of a serving cluster must hold, read and write; `hit` may be a trace in JSON lines.

    Raises UsageError: an option is out of range; IngestError: a model of unknown structure, or a trace that cannot be read.
    """
    size, given, settings = job.size, job.asked, job.settings
    made, hit = size.architecture, given["hit"]
    if made is None:
        raise IngestError(f"the structure of {size.name} is not known: give its config.json")
    numbers = {name: given[name] for name in ("gpus", "prompt", "generate", "users", "turns", "turn_time", "first_token_time",
                                              "retention", "efficiency")}  # fmt: skip
    options = quantities_of(QUANTITIES, numbers)
    trace = _trace(Path(str(hit))) if hit is not None and str(hit).endswith(".jsonl") else None
    if trace is None:
        options |= quantities_of(QUANTITIES, {"hit": hit})
    tier = "" if job.storage is None else "nvme" if job.storage.family == "drive" else "storage"
    offered, tiers = drives(job.storage, given["units"]), machine(job.card, job.node, named=job.named)
    inputs = {
        **DEFAULTS,
        # Drives that are named take the place of those of the node, whose capacity says nothing about them.
        **{name: item for name, item in tiers.items() if not tier or not name.startswith("nvme_")},
        **offered,
        **compute(job.card, job.utilization),
        "parameters_active": derived(made.parameters_active, f"rows of {made.id}"),
        **by_user({**options, **settings}),
    }
    turns = int(inputs["session_turns"].value)
    # What each kind of attention keeps of a session, and what a mean turn reuses of it.
    earlier = [kept_by_attention(made, inputs, before) for before in range(turns)]
    reused = [sum(column) / turns for column in zip(*earlier, strict=True)]
    for name, column in {"session_elements": kept_by_attention(made, inputs, turns), "reused_elements": reused}.items():
        inputs[name] = derived(column, f"attention of {made.id}")
    known = Quantities({**recurrent_state(made), **inputs})
    known.state("one_node", "tiers_of_nodes")
    tables = {}
    if trace is not None:
        tables["hits"] = _replay(trace, known)
        settings = {name: value for name, value in settings.items() if name not in OF_TRACES}
    known.give(_variation(earlier, known))
    reads, room = bool(known.value("kv_hit_bytes")), known.find(f"{tier}_room_bytes") if tier else None
    rate = known.find(f"{tier}_read_bandwidth_of_job" if tier else READING[0])
    if reads and rate is not None:
        known.link("kv_offered_bandwidth", rate)
    known.link("kv_offered_bytes", known.step("kv_tier_bytes") if room is None else room)
    left_out = {*(() if reads else (*READING, *COMPUTING[2:])),
                *(f"{other}_{what}" for other in ("nvme", "storage") if other != tier for what in OFFERED)}  # fmt: skip
    results, unknown = known.results([name for name in QUESTION.names if name not in left_out], ranged=bool(tier))
    # A session may keep more than one state of its recurrent layers.
    kept = "recurrent" if any(row.state for row in made.attentions) else "attention"
    found = [
        finding("W99", words={"layers": kept}),
        *beyond_reach(made, known.value("session_tokens")),
        finding("W89", known.find),
        worn := finding("W125", known.find, drives=display(known.value("kv_endurance_bytes"), "B", binary=False)),
        overloaded := finding("W126", known.find, gpus=display(known.value("prefill_gpus"), "GPU")),
    ]
    written, read = WORN if worn is not None and worn.true else WRITTEN, "{} read"
    if overloaded is not None and overloaded.true:
        read = f"{{}} read on {overloaded.facts['gpus']}"
    # The line has room for one of both: capacity comes before writes.
    parts = written if read == "{} read" else dict(reversed(written.items()))
    question = QUESTION._replace(headlines=(("Needs", {"kv_peak_read_bandwidth": read, **parts}), ("Needs", written)))
    turns_named, verdict = f"{turns:,} turn{'s' if turns > 1 else ''}", ""
    if reads and rate is not None and (even := known.value("kv_recompute_bandwidth")):
        verdict = f" faster than computing again on {known.value('gpus'):,.0f} × {job.card.name}"
        if tier:
            found.append(slow := finding("W127", known.find, spared=display(known.value("kv_gpus_spared"), "GPU")))
            verdict = f"; reading is{' not' if slow is not None and slow.true else ''}{verdict}"
        else:
            verdict = f"; reading is{verdict} from {display(even, 'B/s', binary=False)} on"
    return Answer(
        question,
        f"Key-value tier of {size.name}: {known.value('serving_users'):,.0f} users, {turns_named}{verdict}",
        {
            "model": {"value": given["model"], "from": "user"},
            "inference": {"value": "yes", "from": "user"},
            **({"storage": {"value": given["storage"], "from": "user"}} if tier else {}),
        },
        known,
        results,
        unknown,
        tables,
        lambda answer: (*size.warnings, *messages(found), *on_settings(answer, settings)),
        job.sources,
        unmet=_short(known, tier, job.storage.name if job.storage is not None else ""),
        options=("gpu", *given),
    )


def _short(known: Quantities, tier: str, name: str) -> str:
    """What the storage of the tier is short of, and the drives or units that suffice; empty where nothing is named or short."""
    short, most = [], 0.0
    for what, needs in OFFERED.items():
        have = known.find(f"{tier}_{what}") if tier else None
        need = next((step for one in needs if (step := known.find(one)) is not None), None)
        if have is None or need is None or need.value <= have.value * (1 + ROUNDING):
            continue
        want, got = (display(step.value, unit_of(step.name), binary=False) for step in (need, have))
        short.append(f"{got} of {want} {SHORT[what]}")
        most = max(most, need.value / have.value)
    if not short:
        return ""
    units = math.ceil(most * known.given["offload_storage_units"].value)
    more = f"; at least {units:,} drives in each node do" if tier == "nvme" else ""
    return f"{name} does not hold the key-value tier: it gives {', '.join(short)}{more}"


def _variation(earlier: Sequence[Sequence[float]], known: Quantities) -> dict[str, Input]:
    """How unequal the turns of a session are: the first reuses nothing, each later one more, up to the windows."""
    width = known.value("bytes_per_cached_element")
    state, prompt = known.value("recurrent_state_bytes"), known.value("kv_prompt_looked_for_bytes")
    sizes = [sum(kept) * width + (state if before else 0) + prompt for before, kept in enumerate(earlier)]
    mean = sum(sizes) / len(sizes) or 1.0
    ratios = [size / mean for size in sizes] if any(sizes) else [1.0]
    found = {
        "turn_second_moment": sum(one**2 for one in ratios) / len(ratios),
        "turn_third_moment": sum(one**3 for one in ratios) / len(ratios),
        "largest_turn": max(ratios),
    }
    return {name: derived(max(one, 1.0), f"turns 1 to {len(sizes):,} of a session") for name, one in found.items()}


@dataclass(frozen=True)
class Trace:
    """The block reads of requests, in order."""

    name: str
    blocks: tuple[Any, ...]
    #: tokens of a block that agree with the lengths of all requests; none without lengths
    tokens: int | None


def _trace(path: Path) -> Trace:
    """A trace in JSON lines.

    A line is an object whose `hash_ids` lists the blocks of one request, and whose `input_length` its tokens, as in the
    traces of Mooncake.

    Raises IngestError: a file that cannot be read, that lists no blocks or too many, or whose lengths contradict each other.
    """
    lines = read_text(path, "a trace in JSON lines").splitlines()
    blocks: list[Any] = []
    sizes: list[tuple[int, int]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            listed, length = request["hash_ids"], request.get("input_length")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            listed = length = None
        if not isinstance(listed, list) or not all(isinstance(block, (int, str)) for block in listed):
            raise IngestError(f'{path}: line {number}: expected an object with "hash_ids", a list of blocks')
        if length is not None and (not isinstance(length, int) or length < 0):
            raise IngestError(f"{path}: line {number}: input_length: found {str(length)[:40]!r}, expected a number of tokens")
        if listed and length:
            sizes.append((length, len(listed)))
        blocks += dict.fromkeys(listed)  # a request reads a block once, however often it lists it
    if not blocks:
        raise IngestError(f"{path}: found no blocks, expected a trace in JSON lines")
    if len(blocks) > MOST_BLOCKS:
        raise IngestError(f"{path}: found {len(blocks):,} block reads, expected at most {MOST_BLOCKS:,}")
    tokens = block_tokens(sizes) if sizes else None
    if tokens == 0:
        raise IngestError(f"{path}: no number of tokens per block agrees with input_length and hash_ids of all requests; "
                          "leave input_length out, and use --set kv_trace_block_tokens=N")  # fmt: skip
    return Trace(path.name, tuple(blocks), tokens)


def block_tokens(sizes: Sequence[tuple[int, int]]) -> int:
    """Tokens of a block, from the tokens and blocks of requests: a power of two where one agrees; 0 where nothing does.

    The last block of a request is filled in part; or the trace leaves such blocks out.
    """
    ends = [-(-length // (count - 1)) - 1 for length, count in sizes if count > 1]
    filled = max(-(-length // count) for length, count in sizes), min(ends, default=math.inf)
    whole = max(length // (count + 1) + 1 for length, count in sizes), min(length // count for length, count in sizes)
    agreeing = [(least, most) for least, most in (filled, whole) if least <= most]
    powers = [1 << (least - 1).bit_length() for least, most in agreeing if 1 << (least - 1).bit_length() <= most]
    return next(iter([*powers, *(least for least, _ in agreeing), 0]))


def _replay(trace: Trace, known: Quantities) -> list[dict[str, Any]]:
    """Give the hits of a trace in the tier, which its requests look for with their whole prompts; the table by capacity."""
    if "kv_trace_block_tokens" not in known.given:
        tokens, where = known.value("kv_block_tokens"), f"{trace.name} states no lengths: blocks of the tier"
        if trace.tokens is not None:
            tokens, where = trace.tokens, f"{trace.name}: input_length by blocks"
        known.give({"kv_trace_block_tokens": derived(tokens, where)})
    distances, block = stack_distances(trace.blocks), known.value("kv_trace_block_bytes")
    capacity = known.value("kv_tier_capacity" if "kv_tier_capacity" in known.given else "kv_tier_bytes")
    where = f"{trace.name}: LRU stack distances of {len(distances):,} block reads"
    share = hits(distances, int(capacity // block))
    known.give({"kv_hit_share": derived(share, where), "kv_prompt_looked_for": derived(1, where)})
    held = [max(int(len({*trace.blocks}) * share), 1) for share in SHARES]
    return [{"kv_tier_capacity": count * block, "kv_hit_share": hits(distances, count)} for count in held]


def stack_distances(blocks: Sequence[Any]) -> list[int]:
    """How many different blocks were read since the last read of the same block, itself included; 0 for a first read.

    A cache that evicts the least recently used block hits where it holds at least so many (Mattson et al. 1970).

    >>> stack_distances(["a", "b", "a", "a", "b", "c"])
    [0, 0, 2, 1, 2, 0]
    """
    tree = [0] * (len(blocks) + 1)

    def add(place: int, amount: int) -> None:
        while place < len(tree):
            tree[place] += amount
            place += place & -place

    def before(place: int) -> int:
        found = 0
        while place:
            found += tree[place]
            place -= place & -place
        return found

    last: dict[Any, int] = {}
    distances = []
    for place, block in enumerate(blocks, start=1):
        earlier = last.get(block)
        distances.append(0 if earlier is None else len(last) - before(earlier - 1))
        if earlier is not None:
            add(earlier, -1)
        add(place, 1)
        last[block] = place
    return distances


def hits(distances: Sequence[int], held: int) -> float:
    """The share of block reads that hit in an LRU cache of so many blocks."""
    return sum(0 < distance <= held for distance in distances) / len(distances)

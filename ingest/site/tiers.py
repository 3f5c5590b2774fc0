"""What a site keeps below GPU memory: offloaded states of training jobs, and the key-value caches of serving workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ingest.catalog.device_names import released_in
from ingest.catalog.records import Node
from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow, columns_of, replaced
from ingest.engine.messages import in_site_words
from ingest.engine.registry import Step, read_value, solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed, derived
from ingest.errors import RequirementNotMet
from ingest.site.schema import quantities_at
from ingest.site.site_file import SELF, Keys, Site
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.offload import BOUNDS, offload
from ingest.sizing.offload_serving import DEFAULTS as SESSIONS
from ingest.sizing.offload_tiers import released_bits, stored_width
from ingest.sizing.resolve import size_of
from ingest.sizing.rules import Finding, finding
from ingest.units import display

#: keys of `offload` that `ingest offload` takes as words
WORDS = ("parameters", "gradients", "optimizer_states", "activations", "recipe", "optimizer_on_gpu")
#: keys of `offload` and of its job that are quantities of `ingest offload`
NUMBERS = quantities_at("jobs.*.offload")
#: what the row of a job takes from the answer about its states on a tier
STATES = {
    "storage": (
        "storage_tier_bytes", "storage_tier_read_bandwidth_per_node", "storage_tier_write_bandwidth_per_node",
        "storage_step_read_bytes", "storage_step_write_bytes", "step_seconds_at_target", "update_seconds_allowed",
    ),
    "nvme": (
        "nvme_tier_bytes", "nvme_tier_read_bandwidth_per_node", "nvme_tier_write_bandwidth_per_node", "nvme_step_write_bytes",
        "step_seconds_at_target", "update_seconds_allowed", "nvme_bytes_per_node",
    ),
}  # fmt: skip
#: what the states of a job on shared storage move, for all its runs
STATES_MOVED = ("job_offload_read_bandwidth", "job_offload_write_bandwidth")
#: keys of a serving workload and the quantity that each is
OF_SESSIONS = quantities_at("serving.*", "users turns turn_time prompt generate first_token_time retention")
#: keys of a serving workload about its start, and the quantity that each is
OF_START = {"load_time": "weights_load_seconds", "replicas": "stated_replicas"}
#: keys of a serving workload about its weights on storage
OF_WEIGHTS = {"weight_bits": "weight_bits", "versions": "weight_versions"}
#: who reads all weights of a replica that starts: each of its nodes, whose ranks share the page cache; each rank; or none twice
READS = {"node": "weights_read_by_nodes", "rank": "weights_read_by_ranks", "once": "weights_read_once"}
USUAL_READS = "node"
TWO_VERSIONS = assumed(2, "the weights in use and the version before lie on storage", "versions")
#: Sequences that a server computes at a time.
MOST_SEQUENCES = Input(128, source="vllm-scheduler", where="DEFAULT_MAX_NUM_SEQS", grade="published")
#: what is counted over the kinds of attention
COUNTED = ("kv_token_bytes", "kv_reused_token_bytes", "recurrent_state_bytes")
#: what the row of a serving workload takes from the answer about its caches
CACHES = (
    "kv_session_bytes", "kv_looked_for_bytes", "kv_hit_share", "kv_block_bytes", "kv_block_seconds", "kv_peak_turns",
    "kv_peak_read_bandwidth", "kv_read_bandwidth", "kv_write_bandwidth", "kv_bytes_written_per_day", "first_token_seconds",
    "kv_recompute_bandwidth",
)  # fmt: skip
#: what of it the NVMe of the nodes serves, and the name that it has there
LOCAL = {
    "kv_peak_read_bandwidth": "local_kv_read_bandwidth",
    "kv_read_bandwidth": "local_kv_mean_bandwidth",
    "kv_write_bandwidth": "local_kv_write_bandwidth",
    "kv_bytes_written_per_day": "local_kv_written_per_day",
}


def settings_in(site: Site, keys: Keys, described: Mapping[str, Any]) -> dict[str, float]:
    """The quantities that the key `set` of a workload gives, in base units.

    Raises IngestError: a quantity that does not exist or has another value; with its line.
    """
    found = {}
    for name, written in described.get("set", {}).items():
        with site.blaming((*keys, "set", name)):
            found[name] = float(read_value(name, written, SELF))
    return found


def place_states(site: Site, name: str, node: Node, known: Quantities, catalog: Catalog, *, stops: bool) -> None:
    """Give a job what its key `offload` says: the states that lie on shared storage and on the NVMe of its nodes.

    `stops` tells whether its runs wait while they save.

    Raises IngestError: a job that cannot be placed; with its line.
    """
    job = site.section("jobs")[name]
    described, keys = job["offload"], ("jobs", name, "offload")
    numbers = {key: item for key in NUMBERS if (item := described.get(key, job.get(key))) is not None}
    cluster = site.section("clusters")[job["cluster"]]
    settings = settings_in(site, keys, described)
    if "nvme" in cluster:
        settings.setdefault("nvme_bytes_per_node", cluster["nvme"].value)
    with site.blaming(keys):
        answer = offload(
            described.get("model") or job.get("model"),
            node=node.id,
            gpu=job.get("gpu"),
            gpus=known.value("gpus"),
            no_overlap=described.get("overlap") is False,
            no_recompute=described.get("recompute") is False,
            set=settings,
            catalogs=catalog,
            **{key: described[key] for key in WORDS if key in described},
            **{key: item.value for key, item in numbers.items()},
        )
    steps = _owned(site, keys, answer, {NUMBERS[key]: item for key, item in numbers.items()}, settings, known)
    for tier, names in STATES.items():
        if answer.known.value(f"{tier}_tier_bytes"):
            missing = [one for one in names if answer.known.find(one) is None]
            if missing:
                site.refuse(keys, in_site_words(answer.unknown.get("step_seconds") or f"the {missing[0]} is not known"))
            known.adopt({one: steps(one) for one in names if one not in known.steps})
    reached = (*BOUNDS, "step_seconds", "offload_read_bandwidth_per_node")
    known.adopt({one: steps(one) for one in reached if one not in known.steps and answer.known.find(one) is not None})
    if answer.known.value("nvme_tier_bytes") and "nvme_bytes_written_per_day" not in known.given:
        known.link("nvme_bytes_written_per_day", known.step("nvme_target_bytes_per_day"))
    known.give({"offload_stops": Input(float(stops), note="runs wait while they save" if stops else "saves stop no run")})


def serving_rows(site: Site, catalog: Catalog) -> list[QuantityRow]:
    """One row for each serving workload. Raises IngestError: a workload that cannot be answered; with its line."""
    return [_serving(site, name, described, catalog) for name, described in site.section("serving").items()]


def _serving(site: Site, name: str, described: Mapping[str, Any], catalog: Catalog) -> QuantityRow:
    keys = ("serving", name)
    cluster = site.section("clusters")[described["cluster"]]
    with site.blaming(("clusters", described["cluster"], "node")):
        node = catalog.get(Node, cluster["node"])
    known = Quantities({"nodes": described["nodes"], "gpus_per_node": from_catalog(node.gpus_per_node)}, name)
    numbers = {key: described[key] for key in OF_SESSIONS if key in described}
    settings, hit = settings_in(site, keys, described), described.get("hit")
    if isinstance(hit, str) and hit.endswith(".jsonl"):
        hit = str(site.folder / hit)
    elif hit is not None:
        with site.blaming((*keys, "hit")):
            hit = float(read_value("kv_hit_share", described["hit"], SELF))
    for key in (key for key in OF_START if key in described and "load_time" not in described):
        site.refuse((*keys, key), "found without 'load_time', expected with it")
    if "weight_bits" in described:
        with site.blaming((*keys, "weight_bits")):
            released_bits(described["weight_bits"].value, SELF)
    _replicas(described, node, known, keys, site, catalog)
    known.link("serving_users", known.step("served_users"))
    with site.blaming(keys):
        answer = offload(
            described["model"],
            inference=True,
            node=node.id,
            gpus=known.value("gpus"),
            hit=hit,
            set=settings,
            catalogs=catalog,
            **{**{key: item.value for key, item in numbers.items()}, "users": known.value("serving_users")},
        )
    stated = {OF_SESSIONS[key]: item for key, item in numbers.items()}
    steps = _owned(site, keys, answer, stated, settings, known, known.steps_of("serving_users"))
    known.link("serving_nodes", known.step("nodes"))
    names = [one for one in CACHES if answer.known.find(one) is not None]
    held = "kv_tier_capacity" if "kv_tier_capacity" in answer.known.given else "kv_tier_bytes"
    if described.get("tier", "storage") == "storage":
        known.adopt({one: steps(one) for one in names})
        known.link("kv_held_bytes", steps(held))
    else:
        known.adopt({one: steps(one) for one in names if one not in (*LOCAL, "kv_looked_for_bytes", "kv_recompute_bandwidth")})
        for one, local in LOCAL.items():
            if one in names:
                known.link(local, steps(one))
        known.link("local_kv_bytes", steps(held))
    _weights(site, name, described, known, catalog)
    words = {"cluster": described["cluster"], "model": described["model"], "tier": described.get("tier", "storage")}
    return QuantityRow(name, words, known)


def _replicas(described: Mapping[str, Any], node: Node, known: Quantities, keys: Keys, site: Site, catalog: Catalog) -> None:
    """Give a serving workload the users whose turns its GPUs compute: by prefill and decoding of its replicas.

    A replica takes as few nodes as hold its weights on their GPUs, and computes as many sequences at a time as they hold
    besides, at most those of a server's default. A turn prefills its prompt alone, and its decode steps read the context of
    all earlier turns too: on average of half a session.

    Raises IngestError: a model that cannot be served; with its line.
    """
    nodes, each = known.value("nodes"), known.value("gpus_per_node")
    session = {key: described.get(key, SESSIONS[OF_SESSIONS[key]]).value for key in ("prompt", "generate", "turns")}
    bits = {"weight_bits": described["weight_bits"].value} if "weight_bits" in described else {}
    earlier = float(solve("earlier_tokens", {OF_SESSIONS[key]: value for key, value in session.items()}))

    def generation(replica: float, batch: float, reused: float = 0) -> Answer:
        with site.blaming(keys):
            return offload(
                described["model"],
                inference=True,
                node=node.id,
                gpus=round(replica * each),
                batch=batch,
                prompt=session["prompt"] + reused,
                generate=session["generate"],
                catalogs=catalog,
                **bits,
            )

    replica, stated = 1.0, described.get("replicas")
    if stated is not None:
        replica = max(nodes * each // stated.value, 1) / each
    else:
        while replica * 2 <= nodes and generation(replica, 1).known.value("levels_used") > 1:
            replica *= 2
    one = generation(replica, 1, earlier).known
    # The caches of sequences in the middle of their sessions share what the weights leave.
    context = float(one.value("kv_cache_bytes"))
    room = max(float(one.value("gpu_room_bytes")) - float(one.value("held_weights_bytes")), 0)
    batch = max(min(MOST_SEQUENCES.value, room // context if context else MOST_SEQUENCES.value), 1)
    turn = {
        "prefill_seconds": generation(replica, batch).known.find("prefill_seconds"),
        "decode_step_seconds": (decoding := generation(replica, batch, earlier).known).find("decode_step_seconds"),
        "tokens_per_decode_step": decoding.find("tokens_per_decode_step"),
        "generated_tokens": decoding.find("generated_tokens"),
    }
    parts = {one: float(step.value) for one, step in turn.items() if step is not None}
    seconds = solve("generation_seconds", parts) if len(parts) == len(turn) else None
    said = (
        f"{replica:g} nodes per replica, {batch:,.0f} sequences at a time, {session['prompt']:,.0f} tokens prefilled, "
        f"decoded after {earlier:,.0f} more"
    )
    known.give(
        {
            "stated_users": described["users"],
            "turn_seconds": described.get("turn_time", SESSIONS["turn_seconds"]),
            "replica_nodes": derived(replica, "the fewest nodes whose GPUs hold the weights, or as stated"),
            "sequences_of_replica": MOST_SEQUENCES._replace(value=batch),
            "replica_room_bytes": derived(one.value("gpu_room_bytes"), f"{replica:g} nodes per replica"),
            **({"generation_seconds": derived(float(seconds), said)} if seconds is not None else {}),
        }
    )
    known.state(*(["replicas_stated"] if stated is not None else []), *(["generation_unknown"] if seconds is None else []))


def _weights(site: Site, name: str, described: Mapping[str, Any], known: Quantities, catalog: Catalog) -> None:
    """Give a serving workload the weights that lie on storage, and what its replicas read of them when they start.

    Raises IngestError: a model whose parameters are not known; with its line.
    """
    keys = ("serving", name)
    settings = settings_in(site, keys, described)
    with site.blaming(keys):
        size = size_of(described["model"], catalog, settings)
    bits = stored_width(released_in(str(described["model"]), catalog.patterns["released"]), size)
    how = described.get("weight_reads", USUAL_READS)
    known.give(
        {
            "parameters": size.given["parameters"],
            "weight_bits": bits,
            "weight_versions": TWO_VERSIONS,
            "single_reader": Input(1, note="each shard is read once"),
            **{quantity: described[key] for key, quantity in {**OF_WEIGHTS, **OF_START}.items() if key in described},
        }
    )
    known.state(READS[how])


def states_on_storage(row: QuantityRow) -> Finding | None:
    """What the optimizers of a job move to and from shared storage, which is usually left to drives in the nodes."""
    steps = [row.step(name) for name in STATES_MOVED]
    read, write = (display(float(one.value), "B/s", binary=False) if one is not None else "" for one in steps)
    return finding("W98", words={"storage": "states"}, owner=row.name, read=read, write=write) if read and write else None


def _owned(
    site: Site,
    keys: Keys,
    answer: Answer,
    stated: Mapping[str, Input],
    settings: Mapping[str, float],
    known: Quantities,
    instead: Mapping[str, Step] = MappingProxyType({}),
) -> Callable[[str], Step]:
    """The steps of an answer, by name, as quantities of a job or workload whose inputs are those of the site file.

    Raises RequirementNotMet: states or caches without room; with the line.
    """
    if answer.unmet:
        site.refuse(keys, in_site_words(answer.unmet), kind=RequirementNotMet)
    given = {name: Input(value, origin="user", where=".".join((*keys, "set", name))) for name, value in settings.items()}
    by = {name: Step(name, item.value, None, (), item, known.owner) for name, item in {**given, **stated}.items()}
    by |= known.steps_of("gpus", "gpus_per_node") | dict(instead)
    # What is counted over the kinds of attention is one number.
    where = "over the kinds of attention, the turns and their tokens"
    done: dict[Step, Step] = {}
    for found in filter(None, map(answer.known.find, COUNTED)):
        item = Input(float(found.value), source="arithmetic", where=where, grade="derived")
        done[found] = Step(found.name, item.value, None, (), item, known.owner)
    own = {name for names in (*STATES.values(), CACHES) for name in names}
    return lambda name: replaced(answer.known.step(name), by, done, known.owner, own)


def tier_columns(jobs: Sequence[QuantityRow], serving: Sequence[QuantityRow]) -> dict[str, Step]:
    """The columns of the serving workloads; empty where no job offloads states, indexes anything and nothing is served."""
    stored = any(row.step(name) is not None for row in jobs for name in ("storage_tier_bytes", "job_rebuild_bandwidth"))
    return columns_of("serving", serving) if stored or serving else {}

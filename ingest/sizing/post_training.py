"""`ingest rl`: weights that a trainer publishes and rollout hosts pull, rollout traces, sandboxes and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, Shown, chosen_words, filled, option, quantities_in
from ingest.engine.registry import needs_below, solve, steps_below
from ingest.engine.result import Answer, Deferred
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, derived
from ingest.errors import UsageError, one_of
from ingest.formulas.post_training import MEASURED
from ingest.sizing import USUAL
from ingest.sizing.checkpoint import SavedCheckpoints, saved_checkpoints
from ingest.sizing.checkpoint_schedule import as_usual
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import SIZED_MODEL, Amount, CommonOptions, by_option, by_user, quantities_of, settings_of
from ingest.sizing.optimizer_states import ALGORITHMS, OFFLINE, WIDTHS
from ingest.sizing.resolve import ModelSize, size_of
from ingest.sizing.rules import contradictions, finding, messages, unused
from ingest.units import parse_whole

#: How versions travel.
PUBLISHED = {"full": "each version is whole", "delta": "each version holds what changed, with an anchor now and then"}
USUAL_PUBLISHED = "full"
#: How a delta is written: its case, and the remark of help.
ENCODINGS = {
    "xor-zstd": "exclusive or of two versions under zstd: SkyRL, Miles, SGLang",
    "index-value": "4 B of position and the value: verl, TRL, slime",
    "gap-value": "16-bit gaps and values: slime",
    "gap-zstd": "gaps under zstd and values: slime",
    "sparse-zstd": "gaps and values under zstd: PULSE",
    "bitmask": "a bit for each parameter and the values: slime",
}
#: The one whose measurement holds for 16-bit weights alone, and the one that holds for any.
USUAL_ENCODING, PLAIN_ENCODING, MEASURED_WIDTH = "xor-zstd", "index-value", 2.0
#: Bytes of zstd at other levels and in other layouts, over those of the measured one.
CODECS = Input(1, 0.8, 1.1, source=MEASURED, where="byte planes, levels 1 to 3", grade="measured").by_default(
    "other levels and layouts of zstd take 0.8 to 1.1 of these bytes", "set.codec_factor"
)
EXACT = Input(1, note="no codec: the bytes follow from the count")
USUAL_ALGORITHM = "grpo"
#: What the models are that are only read, by their number; a frozen model is the reference of its adapters.
FROZEN = {1: "a reference, or the model under adapters; none without a KL penalty", 2: "a reference and a reward model",
          3: "the models under the adapters of policy and critic, and a reward model"}  # fmt: skip
#: Bytes of a token in a trace, by what is kept of it and how it is written; a top log-probability has its token id too.
TRACES = {"json": {"ids": 7.5, "logprobs": 21.0, "text": 4.5}, "binary": {"ids": 4.0, "logprobs": 4.0, "text": 4.5}}
KEPT_OF_TOKENS = {part: f"traced_{part.removesuffix('s')}_bytes" for part in ("ids", "logprobs", "text", "routing")}
USUAL_TRACE, USUAL_KEPT = "json", "ids,logprobs,text"
#: Experts that one byte tells apart.
EXPERTS_IN_A_BYTE = 256
DEFAULTS = {
    **USUAL["rl"],
    "position_bytes": Input(4, source="slime-delta", where="indices: int32 positions", grade="published"),
    "page_bytes": Input(4096, note="page of x86 and most Arm servers"),
}
#: Spacings of anchors in the table.
SPACINGS = (1, 2, 5, 10, 25, 50, 100, 200)
#: Storage of the table of paths, a file system and two object stores, with the bytes of one request: a read of a client, and
#: a part of a multipart read.
PATHS = {"lustre": 1_048_576, "s3-express": 8_388_608, "s3-prefix": 8_388_608}
#: Requests that a host keeps open.
OPEN_REQUESTS = 32
#: Results about traces, sandboxes and a pause: those of a question that states them.
OF_TRACES = ("trace_token_bytes", "trace_bytes_per_step", "trace_bytes_per_day", "trace_write_bandwidth",
             "traces_retained_bytes")  # fmt: skip
OF_SANDBOXES = ("sandbox_read_bytes", "sandbox_read_bandwidth", "sandbox_stored_bytes")
OF_SYNCS = ("sync_seconds", "sync_share")
#: The inputs of which one tells how long a version takes to write, and to read.
ALLOWED_TO_WRITE = ("storage_write_bandwidth", "publish_seconds")
ALLOWED_TO_READ = ("storage_read_bandwidth", "pull_seconds", "pause_seconds")
OF_PAUSES = ("read_ahead_bandwidth", "reload_bandwidth_per_host")
OF_DELTAS = ("change_bytes", "anchor_bytes", "anchor_write_bandwidth", "anchor_read_bandwidth", "least_anchor_spacing",
             "local_rewrite_bytes")  # fmt: skip
OF_CHECKPOINTS = (
    "checkpoint_bytes", "checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_files", "checkpoint_retained_bytes",
    "restart_read_bandwidth", "algorithm_checkpoint_bytes", "algorithm_state_bytes",
)  # fmt: skip
#: Those that a short page leaves out.
BESIDE = (*OF_DELTAS[:2], OF_DELTAS[-1], OF_SYNCS[0], *OF_TRACES[:2], OF_SANDBOXES[-1], OF_CHECKPOINTS[1], *OF_CHECKPOINTS[3:6])
#: All in order, but for what the job keeps in total.
RESULTS = (
    "version_write_bandwidth", "version_read_bandwidth", "host_version_read_bandwidth", "published_weights_bytes",
    "publish_bytes", "publish_write_bandwidth", "pull_read_bandwidth", *OF_DELTAS, "join_read_bytes", "join_read_bandwidth",
    "weights_retained_bytes", "weight_files", "weights_written_per_day", "weights_read_per_day", *OF_SYNCS,
    "network_sync_share", *OF_PAUSES, *OF_TRACES, *OF_SANDBOXES, *OF_CHECKPOINTS,
)  # fmt: skip
#: What a job takes from its checkpoints.
SAVED = (*OF_CHECKPOINTS[:6], "checkpoint_weights_bytes", "checkpoint_optimizer_bytes")


class PublishOptions(TypedDict, total=False):
    """The versions of the weights."""

    publish: Annotated[
        str, option("Versions that are published: {choices}.", "HOW", default=USUAL_PUBLISHED, choices=PUBLISHED)
    ]
    every: Annotated[Amount, option(
        "Optimizer steps from one version to the next, {default} by default; 0 publishes none.",
        quantity="publish_every", usual=DEFAULTS)]  # fmt: skip
    changed_share: Annotated[str | float | None, option(
        "Share of the parameters that change from one version to the next, such as 2%, or two ends; with delta, "
        "{default} by default.", "F|F..F", usual="1%..3%", sets="changed_share")]  # fmt: skip
    encoding: Annotated[str | None, option(
        f"How a delta is written: {{choices}}; {USUAL_ENCODING} for 16-bit weights, {PLAIN_ENCODING} for others.",
        "NAME", choices=ENCODINGS)]  # fmt: skip
    precision: Annotated[
        str, option("Precision of the published weights: bf16, fp16, fp8, …", "P", default="bf16", choices=WIDTHS.keys())
    ]
    anchor_every: Annotated[Amount, option(
        "Versions from one anchor, a full version, to the next; {default} by default.", quantity="anchor_every",
        usual=DEFAULTS)]  # fmt: skip
    keep: Annotated[Amount, option(
        "Newest versions that a host must be able to build; {default} by default.", quantity="weight_versions_kept",
        usual=DEFAULTS)]  # fmt: skip


class PullOptions(TypedDict, total=False):
    """The hosts that pull, and their time."""

    rollout_hosts: Annotated[Amount, option(
        "Hosts that generate rollouts, {default} by default; 0 where training and rollouts share GPUs.",
        quantity="rollout_hosts", usual=DEFAULTS)]  # fmt: skip
    rollout_replicas: Annotated[
        Amount, option("Engines that generate rollouts, instead of their hosts.", quantity="rollout_replicas")
    ]
    step_time: Annotated[Amount, option(
        "Time of one optimizer step; else from --rollouts, --tokens and --tokens-per-second.", "TIME",
        quantity="rl_step_seconds")]  # fmt: skip
    tokens_per_second: Annotated[Amount, option("Tokens/s that one rollout host generates.", quantity="rollout_token_rate")]
    publish_within: Annotated[
        Amount, option("Time to write a version; half of that between versions by default.", "TIME", quantity="publish_seconds")
    ]
    pull_within: Annotated[Amount, option(
        "Time in which all hosts read a version; the pause, else half of the time between versions.", "TIME",
        quantity="pull_seconds")]  # fmt: skip
    pause: Annotated[
        Amount, option("Time in which rollouts pause to take a version into use.", "TIME", quantity="pause_seconds")
    ]
    anchor_within: Annotated[Amount, option(
        "Time to write an anchor, and as much to read it; that between versions by default.", "TIME",
        quantity="anchor_seconds")]  # fmt: skip
    join_within: Annotated[Amount, option(
        "Time in which all hosts that join at once read anchor and chain; {default} by default.", "TIME",
        quantity="join_seconds", usual=DEFAULTS)]  # fmt: skip
    write_bandwidth: Annotated[Amount, option("Write bandwidth of the storage.", "RATE", quantity="storage_write_bandwidth")]
    read_bandwidth: Annotated[Amount, option("Read bandwidth of the storage.", "RATE", quantity="storage_read_bandwidth")]
    network_bandwidth: Annotated[Amount, option(
        "Rate of a broadcast of full weights over the network, to compare with; {default} by default.", "RATE",
        quantity="broadcast_bandwidth", usual=DEFAULTS)]  # fmt: skip


class TraceOptions(TypedDict, total=False):
    """Rollouts, and what is kept of them."""

    rollouts: Annotated[Amount, option("Rollouts of one step.", quantity="step_rollouts")]
    tokens: Annotated[Amount, option("Mean tokens of a rollout, prompt included.", quantity="rollout_tokens")]
    trace: Annotated[str | None, option(
        f"What traces keep of a token: ids, logprobs, text, routing (the experts of each layer), top=K; {USUAL_KEPT} by "
        "default, none for no traces.", "PARTS")]  # fmt: skip
    trace_format: Annotated[
        str, option("How traces are written: {choices}.", "FORMAT", default=USUAL_TRACE, choices=TRACES.keys())
    ]
    trace_retention: Annotated[Amount, option(
        "Time for which traces are kept; {default} by default.", "TIME", quantity="trace_retention_seconds",
        usual=DEFAULTS)]  # fmt: skip
    sandbox_image: Annotated[Amount, option("Image of a sandbox for code or tools.", "SIZE", quantity="sandbox_image_bytes")]
    sandbox_hosts: Annotated[
        Amount, option("Hosts that start sandboxes without a cached image; the rollout hosts.", quantity="sandbox_hosts")
    ]
    sandbox_images: Annotated[
        Amount, option("Different images on storage; {default} by default.", quantity="sandbox_images", usual=DEFAULTS)
    ]
    sandbox_within: Annotated[Amount, option(
        "Time in which cold hosts read an image; {default} by default.", "TIME", quantity="sandbox_seconds",
        usual=DEFAULTS)]  # fmt: skip


class TrainerOptions(TypedDict, total=False):
    """The trainer and its checkpoints."""

    algorithm: Annotated[str, option(
        "grpo (policy and reference), ppo (and critic and reward model) or dpo (policy and reference, no rollouts); "
        "--set frozen_models=0 where no reference is held.",
        "NAME", default=USUAL_ALGORITHM, choices=ALGORITHMS.keys())]  # fmt: skip
    trainer_gpus: Annotated[
        Amount, option("GPUs that train, for checkpoints.", quantity="trainer_gpus", sets="trainer_gpus gpus")
    ]
    optimizer: Annotated[str | None, option("Optimizer of the trainer, as of `checkpoint`.", "ID")]
    interval: Annotated[Amount, option("Time between checkpoints, as of `checkpoint`.", "TIME", sets="checkpoint_interval")]


class RlOptions(PublishOptions, PullOptions, TraceOptions, TrainerOptions, CommonOptions, total=False):
    """The options of `rl`."""


#: option -> the quantity that it sets
QUANTITIES = quantities_in(RlOptions)
#: What `rl` answers.
QUESTION = Question(
    "rl",
    (*(Shown(name, main=name not in BESIDE) for name in RESULTS), Shown("rl_retained_bytes")),
    (
        (
            "Needs",
            {
                "version_read_bandwidth": "{} version reads",
                "checkpoint_write_bandwidth": "{} checkpoint writes",
                "rl_retained_bytes": "{} held",
            },
        ),
        ("Publishes", {"publish_bytes": "{} per version"}),
    ),
)


class PostTraining(NamedTuple):
    """The weights, traces and checkpoints of a job of reinforcement learning."""

    known: Quantities
    size: ModelSize
    saved: SavedCheckpoints
    words: Mapping[str, str]  # the words of the question, by option
    usual: Mapping[str, str]  # those that hold unless others are given
    left_out: frozenset[str]  # results that the question does not have
    warnings: tuple[str, ...]


def rl(model: Annotated[str | None, SIZED_MODEL] = None, **options: Unpack[RlOptions]) -> Answer:
    """Weights that travel between trainer and rollout hosts, traces and checkpoints of reinforcement learning.

    >>> found = rl("qwen3-8b", rollout_hosts=48, step_time="60 s", publish="delta", changed_share=0.02, encoding="index-value")
    >>> found["publish_bytes"].display, found["pull_read_bandwidth"].display
    ('982.9 MB (937.4 MiB)', '1.573 GB/s (1.465 GiB/s)')

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    asked: dict[str, Any] = {**filled(RlOptions, options, "rl"), "model": model}
    catalog, settings = opened(asked["catalogs"]), settings_of(asked["set"])
    found = post_training(asked, settings, catalog)
    known, left_out = found.known, found.left_out
    results, unknown = known.results([name for name in QUESTION.names if name not in left_out], ranged=True)
    first: dict[object, str] = {}  # one reason for all that the same inputs would supply
    unknown = {name: first.setdefault(getattr(one, "supply", one), one) for name, why in unknown.items()
               if (one := by_option(QUANTITIES, why))}  # fmt: skip
    if known.find("version_seconds") is None:
        why = Message("the time of a step is not known", supply=("step_time", "tokens_per_second"))
        # Where nothing is published, nothing travels however long a step takes.
        unknown = {
            name: why for name in unknown if known.value("versions_published") or name not in RESULTS or name in OF_TRACES
        }
    elif not {*ALLOWED_TO_WRITE} & {*known.given} or not {*ALLOWED_TO_READ} & {*known.given}:
        # Half of the time between versions is what they may take, not what they take.
        why = Message("the bandwidth of the storage is not known", supply=("write_bandwidth", "read_bandwidth"))
        results = {name: one for name, one in results.items() if name not in OF_SYNCS or not one.value}
        unknown |= {name: why for name in OF_SYNCS if name not in results}
    words = {name: (word, found.usual.get(name) != word) for name, word in found.words.items()}
    chosen = chosen_words({**({"model": (model, True)} if model is not None else {}), **words})
    # What changes the choice: full or delta, the spacing of anchors, a file system or an object store.
    tables = {"publishing": partial(_publishing, known), "anchors": partial(_anchors, known),
              "paths": partial(_paths, known, catalog)}  # fmt: skip
    hosts = int(known.value("rollout_hosts"))
    shared = "no rollouts" if found.words["algorithm"] in OFFLINE else "training and rollouts on the same GPUs"
    where = f"{hosts:,} rollout host{'s' if hosts != 1 else ''}" if hosts else shared
    title = f"Reinforcement learning of {found.size.name}: {', '.join(found.words.values())}, {where}"

    def cautions(_: Answer) -> Iterator[str]:
        yield from found.warnings
        used = {step.name for step in steps_below(map(known.step, results))} | needs_below(unknown)
        named = {**QUANTITIES, "trainer_gpus": "gpus", "changed_share": "changed_share", "encoding": "change_bytes",
                 "optimizer": "checkpoint_bytes", "interval": "checkpoint_interval"}  # fmt: skip
        # Traces are of rollouts, and a time of a step that is given rests on no rate; anchors are between deltas.
        traces = {"tokens", "trace_retention", *(["trace"] if asked.get("trace") not in (None, "none") else []),
                  *(["trace_format"] if asked.get("trace_format") not in (None, USUAL_TRACE) else [])}  # fmt: skip
        of_none = traces if found.left_out.issuperset(OF_TRACES) else set()
        of_none |= {"tokens_per_second"} if asked.get("step_time") is not None else set()
        of_none |= {"anchor_within"} if found.words["publish"] == USUAL_PUBLISHED else set()
        idle = {one for one, name in named.items() if name not in used} | of_none
        yield from (
            unused(Option(one)) for one in (*named, "trace", "trace_format") if one in idle and asked.get(one) is not None
        )
        yield from (unused(Option(f"set.{name}")) for name in settings if name not in used)
        yield from contradictions(known, settings)

    (verb, parts), *others = QUESTION.headlines
    writes = [name for name in ("checkpoint_write_bandwidth", "version_write_bandwidth") if name in results]
    if len(writes) > 1 and results[writes[0]].value < results[writes[1]].value:
        named = ("version_read_bandwidth", writes[1], "rl_retained_bytes")
        parts = dict(zip(named, ("{} version reads", "{} version writes", "{} held"), strict=True))
    return Answer(
        QUESTION._replace(headlines=((verb, parts), *others)),
        title,
        chosen,
        known,
        results,
        unknown,
        Deferred(lambda: {name: rows for name, rows in ((name, [*table()]) for name, table in tables.items()) if rows}),
        cautions,
        catalog,
        options=("gpus", *asked),
    )


def post_training(
    # the model, and options of `rl` as they were written; what is missing or None follows from the rest
    asked: Mapping[str, Any],
    settings: Mapping[str, float],  # values of quantities, by name
    catalog: Catalog,  # where entries come from
    # inputs that say more of a number of the question, such as its key in a file
    stated: Mapping[str, Input] = MappingProxyType({}),
    owner: str = "",  # the job that they belong to
) -> PostTraining:
    """The quantities of a job of reinforcement learning.

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    publish, algorithm = asked.get("publish") or USUAL_PUBLISHED, asked.get("algorithm") or USUAL_ALGORITHM
    one_of("--publish", publish, PUBLISHED)
    one_of("--algorithm", algorithm, ALGORITHMS)
    precision = asked.get("precision") or "bf16"
    one_of("--precision", precision, WIDTHS)
    size = size_of(asked["model"], catalog, settings)
    numbers = quantities_of(QUANTITIES, {name: asked.get(name) for name in QUANTITIES})
    width = settings.get("published_bytes_per_parameter", WIDTHS[precision])
    if (encoding := asked.get("encoding")) is not None:
        one_of("--encoding", encoding, ENCODINGS)
    usual_encoding = USUAL_ENCODING if width == MEASURED_WIDTH else PLAIN_ENCODING
    encoding = encoding or usual_encoding
    if encoding == USUAL_ENCODING and width != MEASURED_WIDTH and "change_bytes" not in settings:
        why = f": {encoding} was measured for 16-bit weights, not for those of {width:g} B; expected {PLAIN_ENCODING}"
        raise UsageError(Message(Option("encoding"), why, supply=(Option("set.change_bytes", "SIZE"),)))
    trained, frozen = ALGORITHMS[algorithm]
    usual = {"publish": USUAL_PUBLISHED, "algorithm": USUAL_ALGORITHM, "encoding": usual_encoding}
    given: dict[str, Input] = {
        **DEFAULTS,
        **size.given,
        "published_bytes_per_parameter": Input(width, note=f"width of {precision}"),
        "codec_factor": CODECS if encoding.endswith("zstd") else EXACT,
        "trained_models": Input(trained, note=f"models that {algorithm} trains"),
        **_traced(asked, size),
        **_share(asked.get("changed_share")),
        **{name: as_usual(name, item, DEFAULTS) for name, item in by_user({**numbers, **settings}).items()},
        **stated,
    }
    if "rollout_replicas" in given and given["rollout_hosts"].origin == "default":
        del given["rollout_hosts"]
    if algorithm in OFFLINE:
        given["rollout_hosts"] = Input(0, note=f"{algorithm} generates no rollouts")
    for name in ("rollout_hosts", "rollout_replicas"):
        if algorithm in OFFLINE and numbers.get(name):
            raise option_error(name, f": found {numbers[name]:g} with --algorithm {algorithm}, which generates no rollouts")
    if not given.get("rollout_hosts", EXACT).value and "rl_step_seconds" not in given and "rollout_token_rate" in given:
        why = ": found tokens per second of a rollout host and no such host, expected the time of a step"
        raise UsageError(Message(Option("tokens_per_second"), why, supply=("step_time",)))
    # The checkpoints of the trainer, of one model that it trains.
    saving = {"model": asked["model"], "optimizer": asked.get("optimizer"), "interval": asked.get("interval")}
    saving["gpus"] = int(given["trainer_gpus"].value) if "trainer_gpus" in given else None
    sizes = {name: value for name, value in settings.items() if name in ("parameters", "trainable_parameters")}
    stated = {name: one for name, one in saving.items() if one is not None or name == "model"}
    saved = saved_checkpoints(stated, sizes, catalog, owner=owner, relaxed=True)
    adapters = saved.known.value("trainable_parameters") < saved.known.value("parameters")
    if given["changed_share"].origin == "default" and (adapters or (precision, width) != ("bf16", MEASURED_WIDTH)):
        if publish == "delta":
            why = f"not of {'adapters' if adapters else precision}"
            raise option_error("changed_share", f": expected a share, the usual one is that of full bf16 weights, {why}")
        del given["changed_share"]
    # Each trained model has a frozen one under its adapters; that of the policy is the reference.
    frozen += trained - 1 if adapters else 0
    given.setdefault("frozen_models", Input(frozen).by_default(FROZEN[frozen], "set.frozen_models"))
    # FSDP shards what it trains in 32 bits; what is only read stays as it was published.
    given.setdefault("weight_bytes_per_parameter", Input(WIDTHS[saved.words["precision"]], note="a frozen weight"))
    known = Quantities(given, owner)
    known.adopt(saved.known.find_all(SAVED))
    if adapters:
        known.adopt({"trainable_parameters": saved.known.step("trainable_parameters")})
        known.state("adapters_published")
    known.state(f"{publish}_published" if publish == "full" else "deltas_published", encoding.replace("-", "_"))
    if "rollout_replicas" in given and "rollout_hosts" not in given:
        known.state("rollout_replicas_stated")
    if "pause_seconds" in given and "pull_seconds" not in given:
        known.state("pulled_in_pause")
    known.state(*(f"{way}_bandwidth_known" for way in ("write", "read") if f"storage_{way}_bandwidth" in given))
    if "sandbox_image_bytes" in given:
        if "sandbox_hosts" not in given:
            known.link("sandbox_hosts", known.step("rollout_hosts"))
    else:
        known.give_default("sandbox_stored_bytes", Input(0, note="no sandboxes"))
    traced = algorithm not in OFFLINE and "step_rollouts" in given and asked.get("trace") != "none"
    if not traced:
        known.give_default("traces_retained_bytes", Input(0, note="no traces"))
    left_out = {
        *(() if traced else OF_TRACES),
        *(() if given.get("sandbox_image_bytes") else OF_SANDBOXES),
        *(() if "pause_seconds" in given else OF_PAUSES),
        *(() if publish == "delta" else OF_DELTAS),
        *(name for name in OF_CHECKPOINTS if known.find(name) is None),
    }
    words = {"publish": publish, **({"encoding": encoding} if publish == "delta" else {}), "algorithm": algorithm}
    cautions = [finding("W108", known.find), finding("W119", known.find)]
    for way in ("write", "read"):
        sides = {"needed": f"version_{way}_bandwidth", "delivered": f"storage_{way}_bandwidth"}
        cautions.append(finding("W122", {side: known.find(name) for side, name in sides.items()}, way=f"{way}s"))
    if publish == "delta":
        cautions += [finding("W107", words={"share": known.given["changed_share"].origin})]
        cautions += [finding("W110", known.find), finding("W111", known.find)]
    return PostTraining(known, size, saved, words, usual, frozenset(left_out), (*size.warnings, *messages(cautions)))


def _share(written: str | float | None) -> dict[str, Input]:
    """The share of parameters that change, a number or its ends. Raises UsageError: not shares, or ends in the wrong order."""
    if written is None:
        return {}
    ends = str(written).split("..")
    shares = [quantities_of({"changed_share": "changed_share"}, {"changed_share": end})["changed_share"] for end in ends]
    if len(shares) > 2 or shares != sorted(shares):
        raise option_error("changed_share", f": found {written}, expected a share such as 2%, or two such as 1%..3%")
    low, high, usual = shares[0], shares[-1], DEFAULTS["changed_share"]
    if (low, high) == (usual.low, usual.high):
        return {}  # as it holds anyway: it stays the default
    return {"changed_share": Input((low + high) / 2, low, high, origin="user") if low < high else Input(low, origin="user")}


def _traced(asked: Mapping[str, Any], size: ModelSize) -> dict[str, Input]:
    """The bytes that traces keep of a token.

    Raises UsageError: an unknown part, or routing of a model whose experts are not known.
    """
    form, kept = asked.get("trace_format") or USUAL_TRACE, asked.get("trace") or USUAL_KEPT
    one_of("--trace-format", form, TRACES)
    given = {name: Input(0, note="not kept") for name in (*KEPT_OF_TOKENS.values(), "traced_top_bytes")}
    table, where = TRACES[form], f"a token in {form}: {kept}"
    for part in (one.strip() for one in kept.split(",") if kept != "none"):
        word, equals, count = part.partition("=")
        if word == "top" and equals:
            found = parse_whole(count, "--trace top", 0) * (table["ids"] + table["logprobs"])
            given["traced_top_bytes"] = Input(found, note=where)
            continue
        one_of("--trace", part, [*KEPT_OF_TOKENS, "top=K", "none"])
        each = Input(table[part], source="prime-rl-traces", where=where, grade="derived") if part in table else None
        given[KEPT_OF_TOKENS[part]] = each if each is not None else routing_bytes(size)
    return given


def routing_bytes(size: ModelSize) -> Input:
    """Bytes of the experts that a token visits: one for each layer and expert, two where a byte does not tell them apart.

    Raises UsageError: a model without experts, or of unknown structure.
    """
    made = size.architecture
    rows = [row for row in made.weights if row.kind == "expert" and len(row.shape) == 2] if made is not None else []
    routers = [row for row in made.weights if row.kind == "router" and len(row.shape) == 2] if made is not None else []
    if not rows or not routers:
        raise option_error("trace", f": found routing, but experts of {size.name} are not known, expected another part")
    number = routers[0].shape[0]
    layers = sum(row.count for row in routers)
    chosen = max(round(number * row.active / row.count) for row in rows)
    width = 1 if number <= EXPERTS_IN_A_BYTE else 2
    return derived(float(layers * chosen * width), f"{layers} layers, {chosen} of {number} experts, {width} B each")


def _with(known: Quantities, publish: str, encoding: str, **inputs: float) -> Quantities:
    """The job, published in another way."""
    given = {name: item for name, item in known.given.items() if name not in inputs}
    if encoding.replace("-", "_") not in known.cases:  # what is set holds for the encoding that was chosen
        given.pop("change_bytes", None)
        given["codec_factor"] = CODECS if encoding.endswith("zstd") else EXACT
    other = Quantities(given | {name: Input(value) for name, value in inputs.items()})
    other.adopt({name: known.steps[name] for name in (*SAVED, "trainable_parameters") if name in known.steps})
    cases = {"deltas_published", "full_published", *(name.replace("-", "_") for name in ENCODINGS)}
    other.state(*(case for case in known.cases if case not in cases), encoding.replace("-", "_"))
    other.state("deltas_published" if publish == "delta" else "full_published")
    return other


def _row(known: Quantities, names: Iterable[str]) -> dict[str, float]:
    return {name: float(step.value) for name in names if (step := known.find(name)) is not None}


def _publishing(known: Quantities) -> Iterator[dict[str, Any]]:
    """Each way to publish: bytes of a version, in a day, for a host that joins, and on storage."""
    if not known.value("versions_published"):
        return
    of_versions = ("publish_bytes", "pull_read_bandwidth", "weights_written_per_day", "join_read_bytes",
                   "weights_retained_bytes")  # fmt: skip
    width = known.value("published_bytes_per_parameter")
    ways = [
        ("full", PLAIN_ENCODING),
        *(("delta", one) for one in ENCODINGS if one != USUAL_ENCODING or width == MEASURED_WIDTH),
    ]
    for publish, encoding in ways:
        if row := _row(_with(known, publish, encoding), of_versions):
            yield {"publish": publish if publish == "full" else encoding, **row}


def _anchors(known: Quantities) -> Iterator[dict[str, Any]]:
    """Spacings of anchors: bytes written in a day, a join, and where all hosts join at once."""
    encoding = next((name for name in ENCODINGS if name.replace("-", "_") in known.cases), PLAIN_ENCODING)
    if "deltas_published" not in known.cases or not known.value("versions_published"):
        return
    best = known.find("least_anchor_spacing")
    spacings = {*SPACINGS, known.value("anchor_every"), *([round(float(best.value))] if best is not None else [])}
    for spacing in sorted(spacings):
        other = _with(known, "delta", encoding, anchor_every=spacing)
        yield {"anchor_every": spacing, **_row(other, ("weights_written_per_day", "join_read_bytes", "join_read_bandwidth",
                                                       "weights_retained_bytes"))}  # fmt: skip


def _paths(known: Quantities, catalog: Catalog) -> Iterator[dict[str, Any]]:
    """A file system and object stores: requests for a version on all hosts, and the time that their latency alone takes."""
    version, hosts = known.value("publish_bytes"), known.value("rollout_hosts")
    for name, size in PATHS.items() if version and hosts else ():
        one = catalog.get(Storage, name)
        assert one.request_latency is not None
        given = {"publish_bytes": version, "part_bytes": size, "open_requests": OPEN_REQUESTS,
                 "part_latency": from_catalog(one.request_latency).value, "rollout_hosts": hosts}  # fmt: skip
        row = {"storage": one.id, "part_bytes": size, "part_latency": given["part_latency"],
               "version_latency_seconds": float(solve("version_latency_seconds", given)),
               "version_requests": float(solve("version_requests", given))}  # fmt: skip
        for needed, found in (("pull_seconds", "version_latency_share"), ("versions_per_day", "version_requests_per_day")):
            if (item := known.find(needed)) is not None:
                row[found] = float(solve(found, given | {needed: item.value}))
        yield row

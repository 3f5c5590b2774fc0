"""What must hold between answers, whatever their values are: units, proportions, ranges, and the same number by every way."""

import csv
import io
import json
from contextlib import suppress
from functools import partial

import openpyxl
import pytest
from fuzz.judge import impossible_numbers

import ingest
from ingest.errors import IngestError
from ingest.reports.workbook.model_workbook import model_workbook

RATE = {"model": "cosmoflow", "gpu": "a100", "nodes": 8, "samples_per_second": 300, "sample_bytes": "2.83 MB"}
SITE = {
    "name": "One job",
    "clusters": {"main": {"node": "dgx-a100", "count": 64}},
    "jobs": {
        "universe": {"cluster": "main", "model": "cosmoflow", "samples_per_second": 300, "nodes": 8, "data": "volumes"},
        "text": {
            "cluster": "main",
            "model": "llama3-8b",
            "nodes": 8,
            "data": "volumes",
            "samples_per_second": 3,
            "checkpoint": {"interval": "30 min", "keep": 2, "drain_time": "60 s"},
        },
    },
    "datasets": {"volumes": {"samples": "1e9", "sample_bytes": "2.83 MB", "format": "webdataset"}},
}


def values(answer):
    return {name: item.value for name, item in answer.results.items()}


def site(**changes):
    """The requirements of the site before rounding, with some values of its jobs changed."""
    jobs = {name: {**job, **changes.get(name, {})} for name, job in SITE["jobs"].items()}
    data = {"volumes": {**SITE["datasets"]["volumes"], **changes.get("volumes", {})}}
    found = ingest.plan({**SITE, "jobs": jobs, "datasets": data}, samples=0).to_dict()["requirements"]
    return {line["id"]: line["computed"] for line in found}


def each(factor, *names):
    return dict.fromkeys(names, factor)


BYTES = ("mandatory_read_bandwidth", "ingest_bandwidth_per_gpu", "ingest_bandwidth_per_node", "ingest_bandwidth_per_job",
         "storage_nic_share", "nfs_tcp_client_share", "nfs_nconnect_client_share")  # fmt: skip
RUN = {"model": "llama3-8b", "gpu": "h100", "gpus": 64, "efficiency": 0.4}
TIMES = {"mtti": 3600, "interval": 600, "restart_time": 60, "reschedule_time": 300, "drain_time": 60, "duration": 432_000}
SERVED = {"model": "llama3-8b", "gpu": "h100", "inference": True, "users": 100, "prompt": 512, "generate": 64}
WIDTHS = ("bytes_per_parameter", "bytes_per_cached_element")
#: a question, a change of one input, and by which factor each result changes; those that are not named stay as they are
PROPORTIONS = [
    ("nodes", lambda n: values(ingest.bw(**{**RATE, "nodes": 4 * n})), {
        **each(2, "ingest_bandwidth_per_job", "mandatory_read_bandwidth", "file_opens_per_second_per_job", "gpus"),
        "epoch_seconds": 0.5}),
    ("rate", lambda n: values(ingest.bw(**{**RATE, "samples_per_second": 30 * n})), {
        **each(2, *BYTES, "samples_per_second_per_gpu", "file_opens_per_second_per_job", "implied_flops_utilization"),
        "epoch_seconds": 0.5}),
    ("bytes", lambda n: values(ingest.bw(**{**RATE, "sample_bytes": n * 1e6}, cache_hit=0)), each(
        2, *BYTES, "bytes_per_file_open")),
    ("misses", lambda n: values(ingest.bw(**RATE, cache_hit=1 - n / 4)), each(2, *BYTES, "file_opens_per_second_per_job")),
    ("text", lambda n: values(ingest.dataset(tokens=n * 1e12, bytes_per_token=4, set=["dataset_overhead_share=0"])), each(
        2, "tokens", "documents", "clean_bytes", "tokenized_bytes", "dataset_bytes", "usable_bytes", "index_bytes",
        "payload_bytes")),
    ("kept", lambda n: values(ingest.checkpoint("llama3-8b", gpus=64, interval="30 min", keep=n)), each(
        2, "checkpoints_retained", "checkpoint_retained_bytes")),
    ("partitions", lambda n: values(ingest.memory("llama3-8b", gpus=64 * n, zero_stage=3)), each(
        0.5, "model_state_bytes_per_gpu")),
    ("run", lambda n: values(ingest.train(**RUN, tokens=n * 1e12, price_gpu_hour=2, carbon="385 g/kWh")), each(
        2, "training_seconds", "gpu_hours", "training_energy", "training_carbon", "gpu_cost", "training_cost")),
    ("prices", lambda n: values(ingest.train(**RUN, tokens=1e12, price_gpu_hour=n, carbon=f"{n * 100} g/kWh")), each(
        2, "training_carbon", "gpu_cost", "training_cost")),
    ("times", lambda n: values(ingest.goodput("llama3-8b", gpus=64, runs=20, **{name: n * time for name, time in TIMES.items()},
                                              set={"checkpoint_staging_seconds": n * 5})), {
        **each(2, "job_mean_time_to_interrupt", "checkpoint_interval", "checkpoint_dump_seconds", "checkpoint_staging_seconds",
               "restart_seconds", "reschedule_seconds"), "checkpoint_write_bandwidth": 0.5}),
    ("readers", lambda n: values(ingest.feed("cosmoflow", "h100", nodes=4 * n, read_bandwidth=n * 10e9, samples_per_second=100,
                                             steps=200)), each(
        2, "readers", "amplified_read_bandwidth", "epochs_read_bandwidth", "gpus_of_bandwidth")),
    ("compute", lambda n: values(ingest.offload("llama3-8b", gpu="h100", gpus=8, efficiency=n / 4)), {
        **each(0.5, "step_compute_seconds", "step_seconds", "step_seconds_serial"), "offload_flops_per_gpu": 2}),
    ("widths", lambda n: values(ingest.model("llama3-8b", set=dict.fromkeys(WIDTHS, n))), each(
        2, "weights_bytes", "kv_cache_bytes_per_token", "kv_cache_growth_per_token", "kv_cache_bytes_per_sequence")),
]  # fmt: skip
#: whole numbers, and results that follow from them or from draws
ROUNDED = {"documents", "index_bytes", "dataset_files", "inodes", "file_creates", "file_opens_per_epoch", "file_opens",
           "mdt_bytes", "mdts", "gpus_to_hold", "nodes_to_hold", "sufficient_latency", "sufficient_latency_p99"}  # fmt: skip


@pytest.mark.parametrize(("ask", "factors"), [case[1:] for case in PROPORTIONS], ids=[case[0] for case in PROPORTIONS])
def test_twice_the_input_changes_what_it_must_and_nothing_else(ask, factors):
    before, after = ask(1), ask(2)
    assert before.keys() == after.keys()
    found = {name: after[name] / before[name] for name in before.keys() - ROUNDED if before[name]}
    assert found == pytest.approx({name: factors.get(name, 1) for name in found}, rel=1e-6)


def test_twice_the_nodes_of_all_jobs_read_twice_as_much():
    before, after = site(), site(universe={"nodes": 16}, text={"nodes": 16})
    for line in ("R-READ-05", "R-META-01"):
        assert after[line] == pytest.approx(2 * before[line]), line
    assert all(after[line] >= before[line] * (1 - 1e-9) for line in before.keys() - {"R-READ-04"})
    assert after["R-CAP-01"] == pytest.approx(before["R-CAP-01"])  # neither data nor checkpoints grow with the nodes


def test_twice_the_samples_are_twice_the_data():
    before, after = site(), site(volumes={"samples": "2e9"})
    assert after["R-META-03"] == pytest.approx(2 * before["R-META-03"], rel=1e-4)
    kept = values(ingest.checkpoint("llama3-8b", gpus=64, keep=2, interval="30 min"))["checkpoint_retained_bytes"]
    assert after["R-CAP-01"] - kept == pytest.approx(2 * (before["R-CAP-01"] - kept), rel=1e-6)


def test_twice_the_corpus_is_twice_the_counts_and_the_same_means(tmp_path, small):
    for name in ("one/a.txt", "two/a.txt", "two/b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a line of text that is counted\n" * 50)
    one, two = (values(ingest.measure(tmp_path / name, tokenizer=small, threads=1)) for name in ("one", "two"))
    means = {name for name in one if "_per_" in name or name.endswith("_share")}
    for name in one.keys() - {"files_skipped"}:
        assert two[name] == pytest.approx(one[name] * (1 if name in means else 2)), name


def test_a_larger_need_never_takes_fewer_units():
    needs = ({"read_bandwidth": 2**n * 1e11, "capacity": 2**n * 1e15} for n in range(4))
    found = [ingest.fit(storage="all", **need).to_dict()["results"] for need in needs]
    systems = [name for name, one in found[0].items() if "units_required" in one]
    assert len(systems) > 3
    for name in systems:
        units = [one[name]["units_required"]["value"] for one in found if "units_required" in one[name]]
        assert units == sorted(units), name


@pytest.mark.parametrize("written", ["2830 kB", "2830000", 2_830_000, "2.83e6 B", "0.00283 GB", "2830000 bytes"])
def test_a_size_is_one_size_in_every_unit(written):
    assert values(ingest.bw(**{**RATE, "sample_bytes": written})) == values(ingest.bw(**RATE))


#: A question, an option of it with units, and one amount in three ways.
AMOUNTS = [
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "interval", ("1 h", "60 min", 3600)),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "write_bandwidth", ("1 TB/s", "8000 Gb/s", 1e12)),
    (ingest.dataset, {"samples": 1e6}, "sample_bytes", ("1 GB", "1000 MB", 1e9)),
    (ingest.memory, {"model": "llama3-8b"}, "residual", ("1 GB", "1000 MB", 1e9)),
    (ingest.train, {**RUN, "tokens": "1T"}, "power", ("0.5 kW", "500 W", 500)),
    (ingest.goodput, {"model": "llama3-8b", "gpus": 64, "runs": 5}, "duration", ("5 day", "120 h", 432_000)),
    (ingest.feed, {"model": "cosmoflow", "gpu": "h100", "steps": 50}, "read_bandwidth", ("1 GB/s", "1000 MB/s", 1e9)),
    (ingest.offload, SERVED, "turn_time", ("1 min", "60 s", 60)),
]


@pytest.mark.parametrize(("command", "options", "option", "amounts"), AMOUNTS)
def test_an_amount_is_one_amount_in_every_unit(command, options, option, amounts):
    first, *others = (values(command(**options, **{option: amount})) for amount in amounts)
    assert all(other == first for other in others)


#: A command, an option of it, rising values, and a result that rises (1) or falls (-1) with them.
RISING = [
    ("train llama3-8b --tokens 1T --gpu h100 --gpus 64", "--power", (1, 400, 700, 5000), "training_energy", 1),
    ("train llama3-8b --tokens 1T --gpu h100 --gpus 64", "--efficiency", (0.2, 0.4, 0.6), "training_seconds", -1),
    ("goodput llama3-8b --gpus 64 --runs 20", "--mtti", ("1 h", "4 h", "1 day"), "goodput", 1),
    ("offload llama3-8b --gpu h100 --gpus 8", "--batch", (8, 16, 64), "step_seconds", 1),
    ("feed cosmoflow h100 --steps 200 --decode-time 20ms", "--workers", (1, 2, 4), "accelerator_utilization", 1),
]


@pytest.mark.parametrize(("command", "option", "given", "name", "sign"), RISING)
def test_a_result_rises_or_falls_with_an_option(command, option, given, name, sign, run):
    answers = [run(*command.split(), option, amount, "--format", "json") for amount in given]
    found = [sign * answer.data["results"][name]["value"] for answer in answers]
    assert found == sorted(set(found))


def test_one_job_has_one_rate_by_every_way(tmp_path):
    alone = values(ingest.bw(**RATE))
    swept = ingest.sweep(axes=["nodes=8..16*2"], **{**RATE, "nodes": None}).to_frame().iloc[0]
    assert {name: swept[name] for name in alone if name in swept} == pytest.approx(
        {name: value for name, value in alone.items() if name in swept}
    )
    plan = ingest.plan({**SITE, "jobs": {"universe": SITE["jobs"]["universe"]}}, samples=0)
    lines = {line["id"]: line for line in plan.to_dict()["requirements"]}
    assert lines["R-READ-05"]["computed"] == pytest.approx(alone["ingest_bandwidth_per_job"], rel=1e-12)
    assert lines["R-META-01"]["computed"] == pytest.approx(alone["file_opens_per_second_per_job"], rel=1e-12)
    need = ingest.fit(storage="nfs-tcp", **RATE).to_dict()["need"]
    assert need["read_bandwidth_needed"]["value"] == pytest.approx(alone["mandatory_read_bandwidth"])
    (tmp_path / "site.json").write_text(json.dumps({**SITE, "jobs": {"universe": SITE["jobs"]["universe"]}}))
    written = [tmp_path / f"rfp.{suffix}" for suffix in ("csv", "json")]
    ingest.report(tmp_path / "site.json", output=written)
    table = {row["id"]: row for row in csv.DictReader(io.StringIO(written[0].read_text(encoding="utf-8")))}
    data = {line["id"]: line for line in json.loads(written[1].read_text(encoding="utf-8"))["requirements"]}
    sheet = openpyxl.load_workbook(io.BytesIO(model_workbook(plan)), data_only=True)["Requirements"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    head = next(row for row in rows if "Id" in row)
    book = {row[head.index("Id")]: row[head.index("Value")] for row in rows[rows.index(head) + 1 :]}
    for ident, line in lines.items():
        assert float(table[ident]["value"]) == data[ident]["value"] == line["value"]
        assert data[ident]["computed"] == pytest.approx(line["computed"], rel=1e-12)
        assert book[ident] == pytest.approx(line["computed"], rel=1e-12)


RANGES = {
    "bw": lambda catalog: [
        partial(ingest.bw, model=model, gpu=gpu, nodes=16) for model in catalog.ids("models")[::6] for gpu in ("h100", "b200")
    ],
    "checkpoint": lambda catalog: [partial(ingest.checkpoint, model, gpus=512) for model in catalog.ids("architectures")[::4]],
    "memory": lambda catalog: [partial(ingest.memory, model) for model in catalog.ids("architectures")[::4]],
    "offload": lambda catalog: [
        partial(ingest.offload, model, node=node, inference=inference)
        for model in catalog.ids("architectures")[::3]
        for node in ("dgx-2", "dgx-h100")
        for inference in (False, True)
    ],
    "train": lambda catalog: [
        partial(ingest.train, model, "h100", gpus=1024, tokens="1T") for model in catalog.ids("architectures")[::8]
    ],
    "goodput": lambda catalog: [partial(ingest.goodput, model, gpus=64, runs=5) for model in catalog.ids("architectures")[::8]],
    "feed": lambda catalog: [
        partial(ingest.feed, model, "h100", steps=50, read_bandwidth="20 GB/s") for model in catalog.ids("models")[::24]
    ],
    "model": lambda catalog: [partial(ingest.model, model) for model in catalog.ids("architectures")[::4]],
    "dataset": lambda catalog: [partial(ingest.dataset, corpus=corpus) for corpus in catalog.ids("corpora")],
    "fit": lambda _: [partial(ingest.fit, storage="all", read_bandwidth=rate, capacity="1PB") for rate in ("1GB/s", "1TB/s")],
    "sweep": lambda _: [partial(ingest.sweep, axes=["nodes=1..64*2"], model="resnet50", gpu="h100")],
    "plan": lambda _: [partial(ingest.plan, SITE, samples=100)],
}


@pytest.mark.parametrize("command", RANGES)
def test_every_value_lies_in_its_range(command, shipped):
    answers, wrong = 0, []
    for ask in RANGES[command](shipped):
        with suppress(IngestError):  # not every model runs on every GPU
            wrong += [found.detail for found in impossible_numbers(command, ask().to_dict(), refused=False)]
            answers += 1
    assert wrong == []
    assert answers >= len(RANGES[command](shipped)) / 3


def test_the_difference_of_two_plans_is_that_of_the_two_the_other_way_round():
    plans = [ingest.plan({**SITE, "jobs": {"universe": {**SITE["jobs"]["universe"], "nodes": n}}}, samples=0) for n in (8, 16)]
    first, second = (plan.to_dict() for plan in plans)
    assert not ingest.diff(first, first).to_dict()["requirements"]
    there, back = (ingest.diff(*pair).to_dict()["requirements"] for pair in ((first, second), (second, first)))
    assert there
    assert len(there) == len(back)
    for one, other in zip(there, back, strict=True):
        assert (one["name"], one["before"], one["after"]) == (other["name"], other["after"], other["before"])
        assert one["ratio"] * other["ratio"] == pytest.approx(1)

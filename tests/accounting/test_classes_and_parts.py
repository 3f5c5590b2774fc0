"""Classes by a user's map, parts that are put together, reports, and the same history a year later."""

import gzip
import hashlib
import json
import random

import pytest
import yaml
from histories import TABLES, drawn, written

import ingest
from ingest.accounting.usage import part
from ingest.errors import IngestError, UsageError

HEAD = "JobIDRaw|Cluster|Partition|Account|State|Start|End|ElapsedRaw|AllocTRES"
MAP = TABLES["map_of_classes"]


def row(ident, partition="train", account="chemistry", gpus=8, hours=2, kind="h100", cluster="c"):
    end = f"2025-05-01T{hours:02}:00:00"
    allocated = f"gres/gpu={gpus},gres/gpu:{kind}={gpus},node={-(-gpus // 8)}"
    return f"{ident}|{cluster}|{partition}|{account}|COMPLETED|2025-05-01T00:00:00|{end}|{hours * 3600}|{allocated}"


ROWS = [row(1, gpus=32), row(2, account="physics"), row(3, account="physics", hours=0), row(4, "debug", gpus=1)]


def test_a_map_gives_classes_their_models(tmp_path, run):
    history, classes = written(tmp_path, "\n".join([HEAD, *ROWS])), written(tmp_path, MAP, "classes.yaml")
    answer = ingest.usage(history, classes=classes)
    assert {one.name: one.jobs for one in answer.classes} == {"llm": 1, "vision": 1, "1-node": 1, "1-gpu": 1}
    assert answer.coverage["model"] == pytest.approx((64 + 16) / (64 + 16 + 2))
    hashed = hashlib.sha256(b"physics").hexdigest()[:12]
    by_hash = written(tmp_path, MAP.replace("physics", hashed), "hashed.yaml")
    assert ingest.usage(history, classes=by_hash).to_dict() == answer.to_dict()
    ran = run("site", "--from", str(history), "--classes", str(classes), "-o", "site.yaml")
    planned = run("plan", "site.yaml", "--format", "json").data
    assert {"R-WRITE-01", "R-READ-01"} <= {one["id"] for one in planned["requirements"]}
    site = (tmp_path / "site.yaml").read_text()
    assert yaml.safe_load(site)["jobs"]["llm"]["model"] == "llama3-8b"
    assert "physics" not in site + ran.err
    assert hashed not in site + ran.err


def test_partitions_are_classes_where_their_names_may_be_shown(tmp_path):
    rows = [row(1, "gpu-long"), row(2, "/home/alice"), row(3, "a b"), row(4, "gpu-long")]
    answer = ingest.usage(written(tmp_path, "\n".join([HEAD, *rows])), classes="partition")
    assert {one.name: one.jobs for one in answer.classes} == {"gpu-long": 2, "partition-1": 1, "partition-2": 1}


def test_names_that_become_alike_stay_apart(tmp_path, run):
    rows = [row(n, name, gpus=n, kind="3090x") for n, name in enumerate(("a.b", "a+b", "1-gpu", "on", "123", "p" * 32), 1)]
    history = written(tmp_path, "\n".join([HEAD, *rows, row(8, kind="5"), row(9, cluster="7" * 32)]))
    for classes in ("partition", written(tmp_path, "1-gpu: {gpus: 2..}", "classes.yaml")):
        answer = ingest.usage(history, classes=classes)
        assert len({one.name for one in answer.classes}) == len(answer.classes) > 3
        assert run("plan", str(written(tmp_path, answer.site, "site.yaml"))).code == 0


FAULTS = TABLES["faults"]


@pytest.mark.parametrize("text", FAULTS)
def test_a_map_that_says_nothing_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match=FAULTS[text]):
        ingest.usage(written(tmp_path, "\n".join([HEAD, *ROWS])), classes=written(tmp_path, text, "classes.yaml"))


def days_of(folder, chance, jobs):
    """Files of days, each with rows of others; steps stand apart from their jobs."""
    head, *lines = drawn(chance.randrange(10**6), jobs).text.splitlines()
    count = chance.randrange(3, 9)
    folder.mkdir()
    for number in range(count):
        own = "\n".join([head, *lines[number::count], *chance.sample(lines, len(lines) // 20)])
        packed = chance.random() < 0.3
        written(folder, gzip.compress(own.encode()) if packed else own, f"{chance.randrange(10**6)}.txt{'.gz' * packed}")
    return count


@pytest.mark.parametrize("seed", range(20))
def test_drawn_parts_give_the_site_of_the_whole(tmp_path, seed):
    chance = random.Random(seed)
    count = chance.randrange(2, days_of(tmp_path / "days", chance, 100) + 1)
    options = {"classes": chance.choice(["size", "partition"])}
    paths = []
    for number in range(1, count + 1):
        paths.append(written(tmp_path, part(tmp_path / "days", part=f"{number}/{count}", **options), f"{number}.npz"))
    whole = ingest.usage(tmp_path / "days", **options)
    merged = ingest.usage(*chance.sample(paths, count), merge=True, **options)
    assert (merged.site, merged.to_dict()) == (whole.site, whole.to_dict())
    lost = chance.randrange(count)
    days_of(tmp_path / "other", chance, 50)
    while len([*(tmp_path / "other").iterdir()]) < count:
        written(tmp_path / "other", f"{HEAD}\n{row(1)}", f"more{chance.random()}")
    foreign = written(tmp_path, part(tmp_path / "other", part=f"{lost + 1}/{count}"), "foreign.npz")
    doubled = written(tmp_path, paths[lost].read_bytes(), "doubled.npz")
    rest = paths[:lost] + paths[lost + 1 :]
    for given, said in (
        (rest, f"part {lost + 1}/{count} is missing"),
        ([*paths, doubled], f"part {lost + 1}/{count} is there twice"),
        ([*rest, foreign], r"foreign.npz is a part of another history"),
    ):
        with pytest.raises((IngestError, UsageError), match=said):
            ingest.usage(*given, merge=True, **options)


def test_parts_are_made_and_merged_by_the_command(tmp_path, run):
    days = tmp_path / "days"
    days_of(days, random.Random(1), 200)
    whole = run("site", "--from", str(days), "--format", "json").data
    for number in (1, 2, 3):
        assert run("site", "--from", str(days), "--part", f"{number}/3", "-o", f"{number}.npz").code == 0
    merged = run("site", "--merge", "--from", "3.npz", "1.npz", "2.npz", "--format", "json").data
    assert merged == whole
    for words, said in [[["--merge", "--from", str(next(days.iterdir()))], "no part of a history"], *TABLES["parts"]]:
        ran = run("site", *words)
        assert (said in ran.err, ran.err.count("\n")) == (True, 1), ran.err


def test_a_part_holds_no_name(tmp_path):
    history = written(tmp_path, "\n".join([HEAD, *ROWS]))
    assert b"physics" not in part(history, part="1/1", classes=written(tmp_path, MAP, "classes.yaml"))
    plain = written(tmp_path, part(history, part="1/1"), "1.npz")
    for classes, names in (("partition", "partitions"), (tmp_path / "classes.yaml", "accounts")):
        with pytest.raises(UsageError, match=f"was read without {names}"):
            ingest.usage(plain, merge=True, classes=classes)


def test_a_week_has_the_mean_of_the_whole(tmp_path):
    answer = ingest.usage(written(tmp_path, drawn(13, 500).text))
    assert answer.week().mean() == pytest.approx(answer.results["concurrent_gpus_mean"].value, rel=0.05)
    assert answer.total.total == pytest.approx(answer.results["gpu_hours"].value * 7000 * 3600)


def test_clusters_are_parted_by_machine_and_kind_of_gpu(tmp_path):
    rows = [row(1, kind="nvidia_h100_80gb_hbm3"), row(2, kind="a100", cluster="d"), row(3, kind="G7", cluster="d")]
    answer = ingest.usage(written(tmp_path, "\n".join([HEAD, *rows])))
    assert [(one.name, one.machine.node, one.machine.known) for one in answer.clusters] == [
        ("c-h100-sxm", "dgx-h100", True), ("d-G7", "dgx-h100", False), ("d-a100-80-sxm", "dgx-a100", True)]  # fmt: skip
    assert "clusters.d-G7.node" in answer.questions
    assert ingest.usage(written(tmp_path, "\n".join([HEAD, rows[2]])), node="dgx-b200").clusters[0].machine.node == "dgx-b200"


def test_the_same_cluster_a_year_later_shows_what_changed(tmp_path, run):
    for year, gpus in ((1, 16), (2, 64)):
        rows = [row(ident, gpus=gpus) for ident in range(5)]
        history = written(tmp_path, "\n".join([HEAD, *rows]), f"{year}.txt")
        classes = written(tmp_path, MAP, "classes.yaml")
        run("site", "--from", str(history), "--classes", str(classes), "-o", f"{year}.yaml")
        (tmp_path / f"{year}.json").write_text(json.dumps(run("plan", f"{year}.yaml", "--format", "json").data))
    changed = run("diff", "1.json", "2.json", "--format", "json").data
    assert {"clusters.c-h100-sxm.count", "clusters.h100-sxm.count"} & {one["name"] for one in changed["written"]}
    assert changed["requirements"]


def test_an_interrupt_needs_five_to_give_a_mean_time(tmp_path):
    for count, known in ((4, False), (5, True)):
        rows = [row(ident).replace("COMPLETED", "NODE_FAIL") for ident in range(count)] + [row(99)]
        (use,) = ingest.usage(written(tmp_path, "\n".join([HEAD, *rows]))).classes
        assert (use.mtti[0] is not None) is known
        assert not known or use.mtti[0] == pytest.approx((count + 1) * 7200 / count)


def test_growth_is_fitted_to_whole_quarters(tmp_path):
    rows = []
    for quarter, gpus in enumerate((8, 16, 32, 64, 8)):
        begin = f"202{4 + quarter // 4}-{1 + quarter % 4 * 3:02}-01T00:00:00"
        end = (
            f"202{4 + (quarter + 1) // 4}-{1 + (quarter + 1) % 4 * 3:02}-01T00:00:00" if quarter < 4 else "2025-01-20T00:00:00"
        )
        rows.append(f"{quarter}|c|gpu|a|COMPLETED|{begin}|{end}||gres/gpu={gpus},node={gpus // 8}")
    answer = ingest.usage(written(tmp_path, "\n".join([HEAD, *rows])))
    assert answer.results["quarterly_growth"].value == pytest.approx(1)


def test_the_function_of_the_command_has_its_name(tmp_path):
    history = written(tmp_path, "\n".join([HEAD, *ROWS]))
    assert ingest.site(history).to_dict() == ingest.usage(history).to_dict()


def test_a_folder_without_histories_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for source, said in (("empty", "an empty folder"), ("gone", "cannot be read")):
        with pytest.raises(IngestError, match=said):
            ingest.usage(tmp_path / source)
    with pytest.raises(UsageError, match="no history"):
        ingest.usage()


def test_a_machine_that_counts_nodes_alone_needs_its_node_type(tmp_path):
    """Frontier's records, for example, have no GPUs among their resources."""
    text = "JobID|State|Elapsed|NNodes|AllocTRES|Submit|Start|End\n"
    text += "7|FAILED|02:00:00|32|cpu=3584,mem=16000G,node=32|2026-06-26T06:46:24|2026-06-26T06:59:05|2026-06-26T08:59:05\n"
    history = written(tmp_path, text)
    with pytest.raises(IngestError, match="no run has GPUs"):
        ingest.usage(history)
    answer = ingest.usage(history, node="frontier")
    assert answer.results["gpu_hours"].value == 64 * answer.clusters[0].machine.gpus_per_node
    assert answer.coverage["gpu"] == 1


def test_without_ids_steps_are_no_jobs(tmp_path):
    head, times = "Partition|Start|End|ElapsedRaw|AllocTRES|TRESUsageInTot", "1672531200|1672534800|3600|gres/gpu=4,node=1"
    text = f"{head}\ngpu|{times}|\n|{times}|fs/disk=5M\n|{times}|\ngpu|{times}|\n"
    answer = ingest.usage(written(tmp_path, text))
    assert (answer.results["gpu_hours"].value, answer.results["jobs"].value) == (8, 2)
    untold = "\n".join(line.partition("|")[2] for line in text.splitlines())
    with pytest.raises(IngestError, match="which tells steps from jobs"):
        ingest.usage(written(tmp_path, untold))

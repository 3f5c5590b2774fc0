"""Accounting histories of Slurm: exact hours and concurrency, each poison counted, and no name in any output."""

import csv
import html
import io
import json
import random
import re
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from histories import HEADER, TABLES, drawn, levels, quantile, written

import ingest

WHY = TABLES["why_left_out"]


def values(answer):
    return {name: one.value for name, one in answer.results.items()}


def judge(history, answer):
    """Hours, concurrency and removals are those of the truth; bytes of the concurrent runs within 3 %."""
    found, truth = values(answer), levels(history.runs)
    assert found["gpu_hours"] == pytest.approx(history.gpu_seconds / 3600, rel=1e-12)
    assert found["jobs"] == len(history.runs)
    assert (found["concurrent_gpus_max"], found["concurrent_gpus_p99"]) == (max(truth)[0], quantile(truth, 0.99))
    nodes = levels(history.runs, lambda run: run.nodes)
    assert (found["concurrent_nodes_max"], found["concurrent_nodes_p99"]) == (max(nodes)[0], quantile(nodes, 0.99))
    for way in ("read", "written"):
        truth = quantile(levels(history.runs, lambda run, way=way: getattr(run, way) / (run.end - run.start)), 0.99)
        assert found[f"concurrent_{way}_bandwidth_p99"] == pytest.approx(truth, rel=0.003), way
    assert answer.removed == {why: history.poisons[kind] for kind, why in WHY.items() if history.poisons[kind]}
    assert found["jobs_skipped"] == sum(history.poisons.values()) - history.poisons["no parent"]


LONG = [pytest.param(seed, 100_000, marks=pytest.mark.slow) for seed in range(100, 120)]


@pytest.mark.parametrize(("seed", "jobs"), [*((seed, 2_000) for seed in (0, 1, 6)), *LONG])
def test_a_poisoned_history_gives_the_exact_hours_and_concurrency(tmp_path, seed, jobs):
    history = drawn(seed, jobs)
    judge(history, ingest.usage(written(tmp_path, history.text)))


def lustre(folder, known):
    """Snapshots of three targets: an early one with a part of the bytes, and one of all."""
    text = []
    for target, share in (("a", 0.5), ("b", 0.5), ("a", 1.0), ("b", 1.0), ("c", 1.0)):
        text.append(f"obdfilter.fs-OST{target}.job_stats=\njob_stats:\n")
        for run in known:
            on = {"a": run.read // 2, "b": run.read // 3, "c": run.read - run.read // 2 - run.read // 3}[target]
            counts = {"read": on, "write": run.written * (target == "c")}
            lines = [
                f"  {way}_bytes: {{ samples: 1, unit: bytes, sum: {int(count * share)} }}" for way, count in counts.items()
            ]
            text.append("\n".join([f"- job_id:  {run.ident}", *lines, ""]))
    (folder / "stats").write_text("".join(text))
    return known


def darshan_logs(folder, known):
    """Logs of two processes for each of 150 jobs, with the bytes that the library itself reports of them."""
    darshan = pytest.importorskip("darshan")
    (folder / "logs" / "again").mkdir(parents=True)
    with ZipFile(Path(__file__).parents[1] / "observation" / "generated_jobs-darshan.zip") as packed:
        names = sorted(name for name in packed.namelist() if name.endswith(".darshan"))
        for number, name in enumerate(names):
            (folder / str(number)).write_bytes(packed.read(name))
    moved = []
    for number in range(len(names)):
        records = darshan.DarshanReport(str(folder / str(number)), read_all=True).records
        tables = [(name, records[name].to_df()["counters"]) for name in ("POSIX", "STDIO") if name in records]
        moved.append([sum(int(table[f"{name}_BYTES_{way}"].sum()) for name, table in tables) for way in ("READ", "WRITTEN")])
    found = []
    for place, run in enumerate(known[:: max(len(known) // 150, 3)]):
        pair = (place % len(names), (place * 7 + 3) % len(names))
        for process, number in enumerate(pair):
            for place_of in ("logs", "logs/again"):  # a log in two folders counts once
                name = f"u_python3_id{run.ident}-{process}_11-22-8_{place}.darshan"
                (folder / place_of / name).hardlink_to(folder / str(number))
        read, written = (sum(counts) for counts in zip(*(moved[one] for one in pair), strict=True))
        found.append(run._replace(read=read, written=written))
    return found


@pytest.mark.parametrize(("write", "jobs"), [(lustre, 1_000), (darshan_logs, 150), *(
    pytest.param(write, 100_000, marks=pytest.mark.slow) for write in (lustre, darshan_logs))])  # fmt: skip
def test_bytes_from_elsewhere_give_the_p99_of_the_truth(tmp_path, write, jobs):
    history = drawn(31, jobs)
    several = {ident for ident, count in Counter(run.ident for run in history.runs).items() if count > 1}
    known = [run for run in history.runs if run.ident and run.ident not in several]
    told = {run.ident: run for run in write(tmp_path, known)}
    runs = [told.get(run.ident, run._replace(read=0, written=0)) for run in history.runs]
    slurm = written(tmp_path, re.sub(r"fs/disk=[\w.]+", "", history.text))
    source = tmp_path / ("stats" if write is lustre else "logs")
    judge(history._replace(runs=runs), ingest.usage(slurm, source))


def test_columns_may_stand_in_any_order(tmp_path):
    history = drawn(4, 300)
    order = random.Random(1).sample(range(len(HEADER.split("|"))), len(HEADER.split("|")))
    lines = ["|".join([*(line.split("|")[place] for place in order), ""]) for line in history.text.splitlines()]
    judge(history, ingest.usage(written(tmp_path, "\n".join(lines))))
    for mark in ",;":
        text = io.StringIO()
        csv.writer(text, delimiter=mark).writerows(line.split("|") for line in lines)
        judge(history, ingest.usage(written(tmp_path, text.getvalue())))


def test_files_that_name_jobs_otherwise_tell_of_no_run_twice(tmp_path):
    history = drawn(4, 300)
    day = written(tmp_path, f"Cluster|{HEADER}\n" + "\n".join(f"c|{row}" for row in history.rows[200:]), "day.txt")
    for until, twice in ((200, False), (260, True)):
        other = written(tmp_path, "\n".join([HEADER, *history.rows[:until]]))
        with pytest.raises(ingest.errors.IngestError, match="expected the same columns") if twice else nullcontext():
            ingest.usage(day, other)


def test_a_week_without_a_run_is_named(tmp_path):
    rows = [f"{n}|FAILED|2025-05-{n:02}T00:00:00|2025-05-{n:02}T12:00:00|43200|gres/gpu=1" for n in (1, 8, 17)]
    answer = ingest.usage(written(tmp_path, "\n".join(["JobIDRaw|State|Start|End|ElapsedRaw|AllocTRES", *rows])))
    assert [*answer.runs.notes.values()] == [8]


def test_a_delimiter_in_a_job_name_shifts_no_column(tmp_path):
    header = "JobIDRaw|JobName|State|Start|End|ElapsedRaw|AllocTRES"
    row = "7|a|b||c|COMPLETED|2025-05-01T00:00:00|2025-05-01T01:00:00|3600|gres/gpu=4,node=1"
    answer = ingest.usage(written(tmp_path, f"{header}\n{row}\n"))
    assert values(answer)["gpu_hours"] == 4
    refused = written(tmp_path, f"{header.replace('State', 'Comment|State')}\n{row}\n")
    with pytest.raises(ingest.errors.IngestError, match="1 row that cannot be read"):
        ingest.usage(refused)


ROWS = TABLES["forms"]


@pytest.mark.parametrize("row", ROWS)
def test_each_form_of_a_row_gives_its_hours(tmp_path, row):
    found = ingest.usage(written(tmp_path, f"JobIDRaw|State|Start|End|ElapsedRaw|AllocTRES\n{row}\n"))
    assert values(found)["gpu_hours"] == pytest.approx(ROWS[row], rel=1e-9)


def test_a_run_longer_than_its_own_times_is_left_out(tmp_path):
    row = "8|COMPLETED|2025-05-01T00:00:00|2025-05-01T01:00:00|{}|gres/gpu=1,node=1"
    lines = [row.format(3602), row.format(3603).replace("8|", "9|", 1)]
    answer = ingest.usage(written(tmp_path, "\n".join(["JobIDRaw|State|Start|End|ElapsedRaw|AllocTRES", *lines])))
    assert answer.removed == {"longer elapsed time than from start to end": 1}
    assert answer.coverage["allocations"] == 0.5


def test_an_hour_that_no_change_of_the_clock_explains_moves_no_other_run(tmp_path):
    rows = [
        f"{day}|COMPLETED|2025-05-{day:02}T00:00:00|2025-05-{day:02}T01:00:00|7200|gres/gpu=1,node=1" for day in range(1, 21)
    ]
    rows += ["99|COMPLETED|2025-05-30T00:00:00|2025-05-30T01:00:00|3600|gres/gpu=1,node=1"]
    answer = ingest.usage(written(tmp_path, "\n".join(["JobIDRaw|State|Start|End|ElapsedRaw|AllocTRES", *rows])))
    assert values(answer)["gpu_hours"] == 41
    assert values(answer)["history_seconds"] == 29 * 86_400 + 3600


def test_daily_files_tell_of_a_run_once(tmp_path):
    head = "JobIDRaw|State|Start|End|ElapsedRaw|AllocTRES\n"
    days = tmp_path / "days"
    days.mkdir()
    written(
        days, head + "1|PENDING|Unknown|Unknown|0|\n2|RUNNING|2025-05-01T20:00:00|Unknown|14400|gres/gpu=8,node=1\n", "1.txt"
    )
    written(days, head + "2|COMPLETED|2025-05-01T20:00:00|2025-05-02T06:00:00|36000|gres/gpu=8,node=1\n", "2.txt")
    written(days, head + "1|COMPLETED|2025-05-03T00:00:00|2025-05-03T01:00:00|3600|gres/gpu=1,node=1\n", "3.txt")
    answer = ingest.usage(days)
    assert (values(answer)["gpu_hours"], values(answer)["jobs"]) == (81, 2)
    assert answer.removed == {"recorded more than once": 2}


def test_the_site_file_is_planned_as_it_is(tmp_path, run):
    history = written(tmp_path, drawn(5, 1_000).text)
    ran = run("site", "--from", str(history), "-o", "site.yaml", "--format", "json")
    assert ran.data["results"]["concurrent_gpus_max"]["value"] > 0
    site = (tmp_path / "site.yaml").read_text(encoding="utf-8")
    planned = run("plan", "site.yaml", "--format", "json").data
    assert {"R-READ-02", "R-READ-03"} <= {one["id"] for one in planned["requirements"]}
    assert {one["id"] for one in planned["decisions"]} >= {"W115"}
    # Each number of a cluster or job has a comment that says where it is from.
    numbers = site[site.index("clusters:") : site.index("storage:")].splitlines()
    assert all("#" in line for line in numbers if line.startswith("    ") and ":" in line.partition("#")[0])
    assert run("report", "site.yaml", "--for-vendor", "-o", "rfp.md").code == 3


def test_nodes_runs_and_share_give_back_the_hours(tmp_path):
    answer = ingest.usage(written(tmp_path, drawn(6, 2_000).text))
    site = yaml.safe_load(answer.site)
    seconds = answer.results["history_seconds"].value
    hours = sum(
        one["nodes"] * (one["runs"]["typical"] if isinstance(one["runs"], dict) else one["runs"]) * 8
        * float(one["share"].rstrip("%")) / 100 * seconds / 3600
        for one in site["jobs"].values()
    )  # fmt: skip
    assert hours == pytest.approx(answer.results["gpu_hours"].value, rel=0.02)


def secret(chance):
    """A name, path or token as nobody else has it."""
    word = "".join(chance.choices("abcdefghijklmnopqrstuvwxyzäß0123456789-_.", k=chance.randrange(8, 24)))
    return chance.choice(["{}", "/home/{}/x", "hf_{}", "AKIA{}", "{}@example.org", "ünï {}", "{}: [x]"]).format(word)


def test_no_name_reaches_an_output(tmp_path, run):
    chance, told = random.Random(9), []

    def names(count=4):
        told.extend(secret(chance) for _ in range(count))
        return told[-count:]

    when = {"phase": "Succeeded", "startTime": "2025-05-01T00:00:00Z"} | {
        "containerStatuses": [{"state": {"terminated": {"finishedAt": "2025-05-01T01:00:00Z"}}}]}  # fmt: skip
    pods, records, cells = [], [], ["t,e,n,who,what"]
    for number in range(500):
        name, space, user, path = names()
        spec = {"containers": [{"name": user, "command": [path], "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
        meta = {"name": name, "namespace": space, "labels": {"user": user}, "annotations": {"path": path}}
        pods.append({"kind": "Pod", "metadata": meta, "spec": spec, "status": when})
        name, group, account, path = names()
        fields = f'user="{name}" group="{group}" account="{account}" jobname="{path}"'
        records.append(f"05/01/2025 00:00:00;E;{number}.s;{fields} start=1000 Resource_List.ngpus=1 end=4600")
        cells.append(",".join(f'"{one}"' for one in (1000, 4600, 1, *names(2))))
    folder = tmp_path / secret(chance).replace("/", "")
    folder.mkdir()
    slurm = written(folder, drawn(7, 1_200, names).text, f"{secret(chance).replace('/', '')}.txt")
    sources = {slurm: [], written(folder, json.dumps(pods), "pods"): [], written(folder, "\n".join(records), "pbs"): [],
               written(folder, "\n".join(cells), "table"): ["--columns", "start=t,end=e,gpus=n"]}  # fmt: skip
    assert len(told) > 10_000
    kinds = ("yaml", "html", "docx", "xlsx", "md", "csv", "json", "npz")
    texts = []
    for number, (source, more) in enumerate(sources.items()):
        for kind in kinds if not number else ("yaml", "npz"):
            file = tmp_path / f"{number}.{kind}"
            part = ["--part", "1/1"] if kind == "npz" else []
            ran = run("site", "--from", str(source), *more, *part, "-v", "-o", str(file))
            assert ran.code == 0
            packed = ZipFile(file) if kind in ("docx", "xlsx", "npz") else None
            contents = [packed.read(name) for name in packed.namelist()] if packed else [file.read_bytes()]
            texts += [ran.out, ran.err, *(html.unescape(one.decode("utf-8", "replace")) for one in contents)]
        # A refusal quotes nothing either.
        cut = written(folder, source.read_text()[:-30] + "\n{", "cut")
        for words in ([], ["--columns", "start=a,end=b,gpus=c"]):
            ran = run("site", "--from", str(cut), *words)
            texts += [ran.out, ran.err.replace(str(folder), "")]
    whole = "\n".join(texts)
    word = re.compile(r"[a-z\u00e4\u00df0-9_.@-]{8,}", re.IGNORECASE)
    pieces = {token[at : at + 8] for token in {*word.findall(whole)} for at in range(len(token) - 7)}
    assert [name for name in told if max(word.findall(name), key=len)[:8] in pieces and name in whole] == []


BAD = TABLES["bad"]


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_history_is_refused_in_one_line_and_nothing_is_written(tmp_path, run, kind):
    text, said = BAD[kind]
    ran = run("site", "--from", str(written(tmp_path, text)), "-o", "site.yaml")
    assert (ran.code, said in ran.err, ran.err.count("\n"), ran.out) == (1, True, 1, "")
    assert not (tmp_path / "site.yaml").exists()

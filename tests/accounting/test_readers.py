"""Each kind of history that is read gives the runs that it tells of; bytes come from steps, Darshan names and Lustre."""

import bz2
import copy
import functools
import gzip
import io
import json
import lzma
import time as clock
from collections import Counter
from contextlib import suppress

import pytest
import zstandard
from histories import TABLES, drawn, written

import ingest
from ingest.accounting.ledger import seconds_of
from ingest.errors import IngestError, UsageError

HEAD = "JobIDRaw|State|Start|End|ElapsedRaw|AllocTRES"
FIGURES = ("gpu_hours", "jobs", "jobs_skipped", "concurrent_gpus_max", "concurrent_nodes_max")


def figures(*sources, **options):
    found = ingest.usage(*sources, **options).results
    return {name: found[name].value for name in FIGURES}


def slurm_object(ident, start, end, gpus, state="COMPLETED", **more):
    allocated = [{"type": "cpu", "name": "", "count": 8}, {"type": "node", "name": "", "count": 1}]
    allocated += [{"type": "gres", "name": "gpu", "count": gpus}, {"type": "gres", "name": "gpu:h100", "count": gpus}]
    return {
        "job_id": ident, "cluster": "c", "partition": "gpu", "account": "physics", "user": "alice", "name": "train",
        "state": {"current": [state], "reason": "None"}, "tres": {"allocated": allocated}, "allocation_nodes": 1,
        "time": {"start": start, "end": end, "elapsed": end - start if end else 3600}, **more,
    }  # fmt: skip


TIMES = "2025-05-01T00:00:00|2025-05-01T01:00:00|3600"
ONE = f"9|COMPLETED|{TIMES}|gres/gpu=8,node=1"
NO_SHARE, NO_GPUS = {"share of a GPU not recorded": 1}, {"allocated GPUs not recorded": 1}
OTHERS, LOST_ROW = {"accelerators under another name than gpu": 1}, {"row that cannot be read": 1}
#: What stands in a history beside the run of `ONE`, the GPU-hours of all of it, and what is left out.
ODD = {
    text.replace("CTIMES", TIMES[:-5].replace("|", ",")).replace("TIMES", TIMES): tuple(found) for text, *found in TABLES["odd"]
}


@pytest.mark.parametrize("text", ODD)
def test_rows_beside_a_run_count_or_are_left_out_by_name(tmp_path, text):
    answer = ingest.usage(written(tmp_path, f"\ufeff{HEAD.lower()}\n{ONE}\n{text}\n".replace("\n", "\r\n")))
    assert (answer.results["gpu_hours"].value, answer.removed) == ODD[text]


def test_the_number_of_slurms_module_is_that_of_gpus(tmp_path):
    rows = [f"{n}|{TIMES}|FAILED|1|{kind}" for n, kind in enumerate(("7696487:8", "gpu:a100:4(IDX:0-3)", "gpu:1g.10gb"))]
    answer = ingest.usage(written(tmp_path, "\n".join(["JobID|Start|End|Elapsed|State|NNodes|AllocGRES", *rows])))
    assert (answer.results["gpu_hours"].value, answer.removed) == (12, NO_GPUS)


def test_documents_that_follow_each_other_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("ingest.accounting.sources.LONGEST_CHUNK", 40)
    documents = [{"meta": {"jobs": [1]}, "jobs": [slurm_object(n, 1_000_000, 1_003_600, 8)], "errors": []} for n in (1, 2)]
    text = "".join(json.dumps(one, indent=n) for n, one in enumerate(documents))
    assert figures(written(tmp_path, text))["gpu_hours"] == 16
    shared = slurm_object(3, 1_000_000, 1_003_600, 8, tres={"allocated": [{"type": "gres", "name": "shard", "count": 2}]})
    answer = ingest.usage(written(tmp_path, text + json.dumps([shared]), "more"))
    assert (answer.results["gpu_hours"].value, answer.removed) == (16, NO_SHARE)
    with pytest.raises(IngestError, match="found sacct, sacct JSON, which tell of the same runs"):
        ingest.usage(tmp_path / "more", written(tmp_path, f"{HEAD}\n{ONE}\n", "rows"))


DISK = {"type": "fs", "name": "disk"}
NUMBER = {"set": True, "infinite": False, "number": 36}
STEP = {"tres": {"requested": {"total": [DISK | {"count": 7200}]}, "consumed": {"total": [DISK | {"count": NUMBER}]}}}


def test_the_objects_of_sacct_give_what_its_rows_do(tmp_path):
    jobs = [slurm_object(1, 1_000_000, 1_003_600, 8, steps=[STEP]), slurm_object(2, 1_000_000, 0, 4, "RUNNING"),
            slurm_object(3, 0, 0, 4, "PENDING"), slurm_object(1, 1_000_000, 1_003_600, 8)]  # fmt: skip
    text = json.dumps({"meta": {"slurm": {}}, "jobs": jobs, "warnings": []}, indent=1)
    assert figures(written(tmp_path, text)) == dict(zip(FIGURES, (12, 2, 2, 12, 2), strict=True))
    moved = ingest.usage(written(tmp_path, json.dumps({"jobs": jobs[:1]}), "one")).results
    assert (moved["bytes_read"].value, moved["bytes_written"].value) == (7200, 36)


RECORD = "04/16/2025 10:00:00;{};{}.server;user=alice queue=gpu "


def test_accounting_records_of_pbs_tell_of_ends_and_requeues(tmp_path):
    answer = ingest.usage(
        written(tmp_path, "\n".join(RECORD.format(kind, ident) + text for kind, ident, text in TABLES["pbs"]))
    )
    assert [answer.results[name].value for name in ("gpu_hours", "jobs", "jobs_skipped")] == [8 + 1 + 4, 3, 1]
    ends = {word: sum(one.ends.get(word, 0) for one in answer.classes) for word in ("completed", "interrupted", "cancelled")}
    assert ends == {"completed": 1, "interrupted": 1, "cancelled": 1}


#: Exit status as PBS Pro writes it, and the end that it means.
STATUS = TABLES["exit_status"]


def test_records_of_pbs_say_the_end_the_gpus_and_their_kind(tmp_path):
    rows = [f"{RECORD.format('E', n)}start=1000 Resource_List.ngpus=1 end=4600 Exit_status={n}" for n in STATUS]
    ends = {word: count for use in ingest.usage(written(tmp_path, "\n".join(rows))).classes for word, count in use.ends.items()}
    assert ends == Counter(STATUS.values())
    # Jobs of two servers have numbers of their own, and the nodes of one cluster.
    one = RECORD.format("E", 1).replace("server", "other") + "start=1000 Resource_List.ngpus=1 end=4600\n"
    for text, gpus in [*TABLES["chunks"].items(), *((text, None) for text in TABLES["untold"])]:
        answer = ingest.usage(written(tmp_path, f"{one}{RECORD.format('E', 1)}start=1000 {text} end=4600 Exit_status=0"))
        assert answer.results["gpu_hours"].value == 1 + (gpus or 0), text
        assert answer.removed == (NO_GPUS if gpus is None else {}), text
        assert len(answer.clusters) == 1
    text = "\n".join(RECORD.format("E", n).replace(";E", ".5;E") + "start=1000 Resource_List.ngpus=1 end=4600 exec_host=a/0+b/0"
                     for n in ("5[]", "5[1]", "5[2]"))  # fmt: skip
    answer = ingest.usage(written(tmp_path, text))
    assert (answer.results["gpu_hours"].value, answer.results["concurrent_nodes_max"].value) == (2, 4)
    assert answer.removed == {"array, of which each task is recorded": 1}


def pod(name, start, end, gpus, phase="Succeeded", resource="nvidia.com/gpu", **more):
    status = {"phase": phase, **({"startTime": start} if start else {})}
    if end:
        status["containerStatuses"] = [{"state": {"terminated": {"finishedAt": end, "exitCode": 0}}}]
    containers = [{"name": "main", "resources": {"limits": {resource: str(gpus)}, "requests": {"cpu": "8"}}}]
    spec = {"containers": containers, "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}
    meta = {"name": name, "namespace": "team-alice", "uid": name}
    return {"kind": "Pod", "metadata": meta, "status": status | more, "spec": spec}


JOB = TABLES["a_job_of_kubernetes"]
EIGHT = [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]
WORKLOAD = TABLES["a_workload"]
DAY = "2025-05-01T"


def odd_pod(resources=None, spec=None, status=None, **meta):
    """A pod of an hour with other resources, and keys of its spec, status and metadata."""
    one = pod("odd", DAY + "00:00:00Z", None if status else DAY + "01:00:00Z", 8)
    if resources is not None:
        one["spec"]["containers"] = [{"resources": {"limits": resources}}]
    return one | {"spec": one["spec"] | (spec or {}), "status": one["status"] | (status or {}),
                  "metadata": one["metadata"] | meta}  # fmt: skip


def first(gpus, **more):
    return {"initContainers": [{"resources": {"limits": {"nvidia.com/gpu": gpus}}, **more}]}


def odd_workload(conditions, **status):
    """A workload whose conditions turned at minutes of an hour."""
    turned = [{"type": name, "status": value, "lastTransitionTime": f"{DAY}00:{minute:02}:00Z"}
              for name, value, minute in conditions]  # fmt: skip
    return WORKLOAD | {"status": {"conditions": turned, **status}, "metadata": {"uid": "odd"}}


#: What ended, or was never ready.
GONE = {"phase": "Failed", "reason": "Evicted"}
NEVER_READY = {"type": "Ready", "status": "False", "lastTransitionTime": DAY + "00:00:00Z"}
DISRUPTED = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": DAY + "00:30:00Z"}
ADMITTED, FINISHED = ("Admitted", "True", 0), ("Finished", "True", 30)
WORKED = pod("a", DAY + "00:00:00Z", DAY + "01:00:00Z", 8)
OBJECTS = {
    "of two containers": ([odd_pod(spec={"containers": EIGHT * 2})], 16, 0),
    "first container": ([odd_pod(spec=first(9))], 9, 0),
    "first container that stays": ([odd_pod(spec=first(2, restartPolicy="Always"))], 10, 0),
    "percent": ([odd_pod({"koordinator.sh/gpu": "50"})], 0.5, 0),
    "fraction": ([odd_pod({}, annotations={"gpu-fraction": "0.25"})], 0.25, 0),
    "memory": ([WORKED, odd_pod({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000})], 8, 1),
    "shared": ([WORKED, odd_pod({"nvidia.com/gpu.shared": 1})], 8, 1),
    "memory of Run:ai": ([WORKED, odd_pod({"cpu": 1}, annotations={"gpu-memory": "8000"})], 8, 1),
    **{
        f"other: {name}": ([WORKED, odd_pod({name: 8})], 8, lost)
        for lost, names in (
            (1, ("google.com/tpu", "huawei.com/Ascend910", "cambricon.com/mlu370", "hygon.com/dcunum", "nvidia.com/A100")),
            (0, ("rdma/hca", "openshift.io/output", "cpu")),
        )
        for name in names
    },
    "beside a NIC": ([odd_pod({"nvidia.com/gpu": 4, "nvidia.com/hostdev": 1})], 4, 0),
    "evicted, never ready": ([odd_pod(status=GONE | {"conditions": [NEVER_READY, DISRUPTED]})], 4, 0),
    "evicted, no end": ([WORKED, odd_pod(status=GONE | {"conditions": [NEVER_READY]})], 8, 1),
    "a job of fewer pods": ([JOB | {"spec": JOB["spec"] | {"completions": 2}}], 4, 0),
    "admitted in part": ([odd_workload([ADMITTED, FINISHED], admission={"podSetAssignments": [{"count": 1}]})], 4, 0),
    "evicted, admission lost": ([WORKLOAD, odd_workload([("Admitted", "False", 30), ("Evicted", "True", 30)])], 8, 1),
    "finished before admission": ([WORKLOAD, odd_workload([("QuotaReserved", "False", 0), FINISHED])], 8, 1),
    "pods": ([pod("a", DAY + "00:00:00Z", DAY + "02:00:00Z", 8), pod("b", "", "", 8, "Pending")], 16, 1),
    "a slice": ([pod("a", DAY + "00:00:00Z", DAY + "07:00:00Z", 1, resource="nvidia.com/mig-1g.10gb")], 1, 0),
    "an evicted pod": ([pod("a", DAY + "00:00:00Z", DAY + "01:00:00Z", 2, "Failed", reason="Evicted")], 2, 0),
    "a job": ([JOB], 8, 0),
    "still running": ([WORKED, odd_pod(status={"phase": "Running"})], 16, 0),
    "a workload": ([WORKLOAD], 8, 0),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_kubernetes_hold_gpus_from_start_to_end(tmp_path, kind):
    objects, hours, skipped = OBJECTS[kind]
    mounted = {"volumes": [{"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}  # as each pod has them
    objects = [one | {"spec": one["spec"] | mounted} for one in objects]
    listed = {"apiVersion": "v1", "items": objects, "kind": "List"}
    found = figures(written(tmp_path, json.dumps(listed)))
    assert (found["gpu_hours"], found["jobs_skipped"]) == (pytest.approx(hours), skipped)
    each = "\n".join(map(json.dumps, objects))
    assert figures(written(tmp_path, each, "lines"))["gpu_hours"] == pytest.approx(hours)


def test_what_still_runs_counts_until_the_last_time_of_its_file(tmp_path):
    day = json.dumps([WORKED, odd_pod(status={"phase": "Running"})])
    files = [written(tmp_path, day, "day"), written(tmp_path, json.dumps(WORKED).replace(DAY, "2025-05-07T"), "later")]
    answer = ingest.usage(*files[::-1])
    assert (answer.results["gpu_hours"].value, [*answer.runs.notes.values()]) == (24, [1])
    with pytest.raises(IngestError, match=r"found Kubernetes Pod.*Kubernetes Job, which tell of the same runs"):
        ingest.usage(*files, written(tmp_path, json.dumps(OBJECTS["a job"][0]), "job"))


def test_a_table_is_read_by_the_columns_that_the_user_names(tmp_path):
    rows = ['alice,2025-05-01 00:00:00,2025-05-01 02:00:00,4,"a,b"', "bob,,,2,x", "carol,2025-05-01T00:00:00,x,2,y"]
    text = "\n".join(['who,began,ended,devices,"note"', *rows])
    found = figures(written(tmp_path, text), columns="start=began,end=ended,gpus=devices")
    assert (found["gpu_hours"], found["jobs"], found["jobs_skipped"]) == (8, 1, 2)
    for shown, hours, skipped in TABLES["read"]:
        path = written(tmp_path, f"t,e,n,s\n{shown}\n", "odd")
        found = figures(path, columns="start=t,end=e,gpus=n,state=s")
        assert (found["gpu_hours"], found["jobs_skipped"]) == (hours, skipped), shown
    assert figures(written(tmp_path, 't|e|n|s\n1|3601|1|"a\n2|3602|2|b\n', "q"), columns="start=t,end=e,gpus=n")["jobs"] == 2
    for shown, said in TABLES["unread"]:
        with pytest.raises(IngestError, match=said):
            ingest.usage(written(tmp_path, f"t,e,n,s\n{shown}\n", "bad"), columns="start=t,end=e,gpus=n")
    numbered = written(tmp_path, "1\t100\t3700\t0.5\n", "numbers")
    assert figures(numbered, columns="id=1,start=2,end=3,gpus=4")["gpu_hours"] == 0.5
    lasting = written(tmp_path, "t;d;n\n100;1-00:00:00;2\n", "durations")
    assert figures(lasting, columns={"start": "t", "duration": "d", "nodes": "n"}, node="dgx-h100")["concurrent_nodes_max"] == 2
    for columns, said in (("start=a", "no end or duration"), ("begin=a", "expected one of"), ("start=a,start=b", "twice")):
        with pytest.raises(UsageError, match=said):
            ingest.usage(numbered, columns=columns)
    with pytest.raises(IngestError, match="no column 'gone'"):
        ingest.usage(numbered, columns="start=gone,end=3,gpus=4")


@pytest.mark.parametrize(("role", "name"), TABLES["other_units"])
def test_a_column_whose_name_says_another_unit_is_refused(tmp_path, role, name):
    columns = {"start": "t", "duration": "d", "gpus": "n", "read": "r"} | ({role: name} if name else {})
    table = written(tmp_path, f"{','.join(columns.values())}\n1746057600,3600,8,9\n")
    if name in ("", "gpus_of_job", "bytes_read"):
        assert figures(table, columns=columns)["gpu_hours"] == 8
        return
    with pytest.raises(IngestError, match="in its name, expected"):
        ingest.usage(table, columns=columns)


def test_a_time_of_zero_among_dates_is_none(tmp_path):
    answer = ingest.usage(written(tmp_path, "t,d,n\n0,3600,8\n1746057600,3600,8\n"), columns="start=t,duration=d,gpus=n")
    assert (answer.results["history_seconds"].value, answer.removed) == (3600, {"start not recorded": 1})


def test_rows_of_sacct_without_a_header_are_read_by_the_numbers_of_their_columns(tmp_path):
    history = drawn(8, 200)
    path = written(tmp_path, "\n".join(history.rows), "rows")
    roles = "id=1,partition=2,state=3,start=5,end=6,duration=7,nodes=8,gpus=9,read=10,written=15"
    found, whole = ingest.usage(path, columns=roles), ingest.usage(written(tmp_path, history.text))
    assert (found.results, found.removed) == (whole.results, whole.removed)
    with pytest.raises(IngestError, match="a table without a header"):
        ingest.usage(path)


def test_a_pod_list_counts_thousandths_of_a_gpu(tmp_path):
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    rows = ["p0,1,1,1,460,,LS,Running,0,7200,0", "p1,1,1,8,1000,T4,BE,Succeeded,0,3600,10", "p2,1,1,1,1000,,LS,Pending,5,9,"]
    answer = ingest.usage(written(tmp_path, "\n".join([head, *rows])))
    assert answer.results["gpu_hours"].value == pytest.approx(0.92 + 8 * 3590 / 3600, rel=1e-12)
    assert answer.removed == {"cancelled or pending before start": 1}


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_files_are_read_and_cut_ones_refused(tmp_path, kind):
    text = drawn(1, 300).text
    plain, packed = written(tmp_path, text), PACKED[kind](text.encode())
    assert figures(written(tmp_path, packed, f"a.{kind}")) == figures(plain)
    with pytest.raises(IngestError, match="damaged or cut short"):
        ingest.usage(written(tmp_path, packed[: len(packed) // 2], f"b.{kind}"))


def test_standard_input_is_read(monkeypatch):
    text = drawn(2, 100).text

    class Input:
        buffer = io.BufferedReader(io.BytesIO(text.encode()))

    monkeypatch.setattr("sys.stdin", Input)
    assert ingest.usage("-").results["jobs"].value > 50


ROW = "{0}|COMPLETED|2025-05-01T00:00:00|2025-05-01T01:00:00|3600|gres/gpu=8,node=1"
STATS = TABLES["stats"]


def test_bytes_of_lustre_go_to_their_jobs(tmp_path):
    slurm = written(tmp_path, f"{HEAD}\n{ROW.format(7)}\n{ROW.format(8)}\n")
    # Two targets, of which one shows a later snapshot too: counts grow.
    shown = [STATS.replace("{0}", str(count)).replace("{1}", str(target)) for target, count in ((1, 100), (2, 100), (2, 300))]
    stats = written(tmp_path, "".join(shown), "stats")
    answer = ingest.usage(slurm, stats)
    assert (answer.results["bytes_read"].value, answer.results["bytes_written"].value) == (400, 100)
    assert answer.coverage["bytes"] == 0.5
    for ident, known in {"7": True, "7.server": True, "cp.7": False, "node1:7": False, "70": False}.items():
        stats = written(tmp_path, STATS.replace("7:node1", ident).replace("{0}", "1").replace("{1}", "1"), "stats")
        for text in (f"{HEAD}\n{ONE}\n{ROW.format(7)}", f"Cluster|{HEAD}\nc|{ROW.format(7)}\nd|{ONE}",
                     RECORD.format("E", 7) + "start=1000 Resource_List.ngpus=1 end=4600"):  # fmt: skip
            answer = ingest.usage(written(tmp_path, text, "jobs"), stats)
            assert (answer.coverage["bytes"] > 0) is known, (ident, text)
            assert sum("bytes" in note for note in answer.runs.notes) == 2 - known - (not known and ident != "70")
    several = written(tmp_path, f"Cluster|{HEAD}\nc|{ROW.format(70)}\nd|{ROW.format(70)}", "several")
    assert ingest.usage(several, stats).coverage["bytes"] == 0


def test_a_damaged_log_of_darshan_is_refused_without_the_name_of_its_user(tmp_path, run):
    (tmp_path / "logs").mkdir()
    written(tmp_path, b"none", "logs/alice_x_id8-1_2.darshan")
    ran = run("site", "--from", str(written(tmp_path, f"{HEAD}\n{ROW.format(8)}\n")), str(tmp_path / "logs"), "-o", "site.yaml")
    assert (ran.code, ran.err.count("\n"), "alice" in ran.err, (tmp_path / "site.yaml").exists()) == (1, 1, False, False)


CUT = TABLES["cut_or_of_another_kind"]


@pytest.mark.parametrize("kind", CUT)
def test_json_that_is_cut_or_of_another_kind_is_refused_without_its_content(tmp_path, run, kind):
    ran = run("site", "--from", str(written(tmp_path, CUT[kind])), "-o", "site.yaml")
    assert (ran.code, ran.err.count("\n"), "hunter2" in ran.err, (tmp_path / "site.yaml").exists()) == (1, 1, False, False)


def places(found, path=()):
    """The places in an object, those of its parts among them."""
    for key, inner in found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ():
        yield (*path, key)
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("whole", [TABLES["a_job_of_sacct"], TABLES["a_pod"]], ids=["sacct", "pod"])
def test_an_object_with_a_field_of_another_type_is_refused_or_left_out(tmp_path, whole):
    for path in places(whole):
        for wrong in (None, 5, -5, 10**30, "x", [], [5], ["x"], {}, True, 1.5):
            one = copy.deepcopy(whole)
            *above, last = path
            functools.reduce(lambda part, key: part[key], above, one)[last] = wrong
            history = written(tmp_path, json.dumps([whole, one]))
            with suppress(IngestError):
                answer = ingest.usage(history)
                assert len({len(getattr(answer.runs, name)) for name in ("key", "start", "gpus", "written")}) == 1


@pytest.mark.parametrize("amount", ["-8", "inf", "1e30", "nan", "x"])
def test_amounts_that_are_none_are_left_out_of_a_table(tmp_path, amount):
    text = f"t,e,n\n100,3700,2\n200,3800,{amount}\n"
    assert (figures(written(tmp_path, text), columns="start=t,end=e,gpus=n"))["jobs_skipped"] == 1


def test_times_without_a_zone_are_of_the_clock_of_the_history(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    clock.tzset()
    try:
        assert len({seconds_of(f"2025-07-01T00:00{seconds}", {}) for seconds in ("", ":00.5", ":00")}) == 1
    finally:
        monkeypatch.undo()
        clock.tzset()

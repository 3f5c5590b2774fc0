"""What a test issues and reads: queue depths, ramps, bursts, and data that no cache serves, each limit from both sides."""

import json
import math
import re
import shutil
import subprocess

import pytest
from conftest import finished, in_place, table
from plans import line, plan

import ingest
from ingest.acceptance.loads import Setting, loads_of
from ingest.acceptance.test_spec import TOOLS
from ingest.acceptance.tools import runs_in
from ingest.errors import IngestError
from ingest.requirement import Conditions, Requirement

TB = 10**12


def requirement(value=1e9, unit="B/s", ident="R-READ-01", priority="mandatory", metric="rate", **conditions):
    conditions = {"operation": "read", "clients": 4, "io_size": 2**20} | conditions
    return Requirement(ident, priority, "s", metric, value, unit, Conditions(**conditions))


def depths(**conditions):
    (load,) = loads_of(requirement(**conditions), "T", Setting())
    return load.threads, load.depth


@pytest.mark.parametrize(
    ("threads", "depth", "expected"),
    table("acceptance/cases.yaml")["threads_and_queues_reach_the_depth_of_a_line_and_stay_below_it"],
)
def test_threads_and_queues_reach_the_depth_of_a_line_and_stay_below_it(threads, depth, expected):
    assert [*depths(threads=threads, queue_depth=depth)] == expected


def made_of(folder, lines, **options):
    rows = [json.loads(json.dumps(one.to_dict())) for one in lines]
    path = folder / "p.json"
    path.write_text(json.dumps({"schema": "ingest/1", "requirements": rows}))
    return ingest.accept(path, folder / "tests", force=True, **options)


def job(test, name=None):
    text = test.files[name or f"fio/{test.id}.fio"]
    return dict(pair.split("=", 1) for pair in text.splitlines() if "=" in pair)


def test_a_queue_takes_the_asynchronous_engine(tmp_path):
    made = made_of(tmp_path, [requirement(threads=8, queue_depth=64)], tool=["fio", "ior", "elbencho"])
    found = job(made.results["T-READ-01-fio"])
    assert (found["ioengine"], found["iodepth"], found["numjobs"]) == ("libaio", "2", "8")
    script = made.results["T-READ-01-elbencho"].files["elbencho/T-READ-01-elbencho.sh"]
    assert re.search("-t 8 -s .* --iodepth 2 -r -b 1048576 --rand --infloop ", script)
    # IOR has processes alone: sixteen on each of four clients.
    assert "mpirun -np 64 -N 16 " in made.results["T-READ-01-ior"].files["ior/T-READ-01-ior.sh"]
    assert made.results["T-READ-01-fio"].implied["requests_in_flight.read"] == 64


# At most a fifth of the duration, and at most a minute.
@pytest.mark.parametrize(("duration", "ramp"), [(1800, "60000ms"), (300, "60000ms"), (299, "59800ms"), (10, "2000ms")])
def test_the_ramp_of_a_short_test_is_a_fifth(tmp_path, duration, ramp):
    found = job(made_of(tmp_path, [requirement(duration=duration)]).results["T-READ-01-fio"])
    assert (found["ramp_time"], found["runtime"]) == (ramp, f"{duration}")


@pytest.mark.parametrize(("duration", "seconds"), [(300, "300"), (300.0001, "301"), (681.38, "682"), (2_000_000, "2000000")])
def test_tools_get_whole_seconds_and_never_fewer(tmp_path, duration, seconds):
    made = made_of(tmp_path, [requirement(duration=duration)], tool=["fio", "ior"])
    assert job(made.results["T-READ-01-fio"])["runtime"] == seconds
    assert f"-D {seconds} -O minTimeDuration={seconds} " in made.results["T-READ-01-ior"].files["ior/T-READ-01-ior.sh"]


# 4,000 files within 10 s by four clients: 1,000 of each in eight threads.
@pytest.mark.parametrize(("rate", "duration", "each"), [(400, 10, 125), (4, 10, 2), (4, 60, 8), (4, 61, 125), (400, 61, 763)])
def test_creates_within_a_minute_are_a_burst_of_just_the_files_of_the_line(tmp_path, rate, duration, each):
    made = made_of(tmp_path, [requirement(rate, "file/s", "R-META-02", operation="create", duration=duration, io_size=None)])
    test = made.results["T-META-02-fio"]
    assert job(test)["nrfiles"] == f"{each}"
    assert test.loads[0].handled == each * 8 * 4 >= rate * duration


def capacity(value, metric, fill=None):
    ident = "R-CAP-03" if "buy" in metric else "R-CAP-01"
    return requirement(value, "B", ident, metric=metric, operation="hold", fill=fill, clients=None, io_size=None)


# 1.5 times 100 TB of cache are 150 TB of data: of 187.5 TB to buy, at 80 % in use, or of 150 TB of data held.
@pytest.mark.parametrize(
    ("metric", "value", "short"),
    [
        ("site_capacity_to_buy", 187.5 * TB, False),
        ("site_capacity_to_buy", 187.0 * TB, True),
        ("site_usable_bytes", 150 * TB, False),
        ("site_usable_bytes", 149 * TB, True),
    ],
)
def test_data_never_exceed_what_the_planned_system_holds(tmp_path, metric, value, short):
    lines = [requirement(fill=0.8), requirement(10e9, ident="R-WRITE-01", operation="write"), capacity(value, metric)]
    made = made_of(tmp_path, lines, server_cache=f"{100 * TB} B")
    data = made.setting.data
    room = value * (0.8 if "buy" in metric else 1)
    assert data.all_bytes == pytest.approx(min(150 * TB, room))
    assert data.all_bytes <= room * (1 + 1e-9)
    assert any("tests that no cache serves need 150 TB" in text for text in made.warnings) == short


@pytest.mark.parametrize(
    ("rates", "rate"), table("acceptance/cases.yaml")["a_fill_is_timed_at_a_rate_that_every_accepted_system_has"]
)
def test_a_fill_is_timed_at_a_rate_that_every_accepted_system_has(tmp_path, rates, rate):
    writes = [requirement(value, ident=f"R-WRITE-{name}", priority=name, operation="write") for name, value in rates.items()]
    data = made_of(tmp_path, [requirement(), *writes]).setting.data
    assert data.fill_seconds == (rate and pytest.approx(data.all_bytes / rate))


@pytest.mark.parametrize(("fill", "room"), [(0.5, 150 * TB), (None, 240 * TB)])
def test_capacity_to_buy_comes_before_data_held(tmp_path, fill, room):
    """A plan without a fill level is tested at 80 %."""
    stated = {} if fill is None else {"fill": fill}
    lines = [requirement(**stated), capacity(100 * TB, "site_usable_bytes"), capacity(300 * TB, "site_capacity_to_buy")]
    assert made_of(tmp_path, lines).setting.data.room == pytest.approx(room)


# 25 s of 1 GB/s, or a thousandth of the capacity where that is more.
@pytest.mark.parametrize(("held", "cache"), [(24 * TB, 25e9), (26 * TB, 26e9)])
def test_an_unknown_server_cache_is_assumed_and_listed(tmp_path, held, cache):
    growth = requirement(1e12, ident="R-GROW-01", priority="target")
    made = made_of(tmp_path, [requirement(), growth, capacity(held, "site_usable_bytes")])
    assert made.setting.server_cache == pytest.approx(cache)
    assert made.setting.data.all_bytes == pytest.approx(1.5 * cache)
    (row,) = [one for one in made.to_dict()["assumptions"] if one["name"] == "server_cache_bytes"]
    assert (row["value"], row["grade"]) == (pytest.approx(cache), "assumed")
    assert "set --server-cache" in row["why"]


def test_a_test_on_fewer_clients_reads_as_much_as_one_on_all(tmp_path):
    lines = [requirement(clients=64), requirement(clients=20, ident="R-READ-02"), requirement(clients=1, ident="R-READ-04")]
    made = made_of(tmp_path, lines, server_cache=f"{40 * TB} B")
    sizes = {test.requirement: test.loads[0].dataset_bytes for test in made.tests}
    # 20 clients read three folders each, 60 of 64; one client reads 63, without its own.
    each = made.setting.data.bytes_per_client
    assert each == pytest.approx(60 * TB / 60)
    assert sizes["R-READ-01"] == pytest.approx(64 * each)
    assert sizes["R-READ-02"] == pytest.approx(60 * each)
    assert sizes["R-READ-04"] == pytest.approx(63 * each)
    assert "`sh fio/servers.sh read 20`" in (tmp_path / "tests/README.md").read_text()


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("pattern", ["random", "sequential"])
def test_one_client_reads_all_files_that_it_is_given(tmp_path, pattern):
    """fio's own log of its requests: a limit of open files had left all but four files of a thread unread at random."""
    lines = [requirement(clients=9, threads=2), requirement(clients=1, threads=2, pattern=pattern, ident="R-READ-02")]
    made = made_of(tmp_path, lines, server_cache="1 GB")
    test = made.results["T-READ-02-fio"]
    options = job(test)
    assert int(options["nrfiles"]) == 32
    text = test.files["fio/T-READ-02-fio.fio"]
    sizes = {"filesize": 65536, "size": 32 * 65536, "bs": 4096}
    for name, short in {**sizes, "runtime": 1, "ramp_time": 0, "allow_file_create": 1}.items():
        text = text.replace(f"\n{name}={options[name]}\n", f"\n{name}={short}\n")
    (tmp_path / "short.fio").write_text(text.replace("numjobs=2", "numjobs=1\nwrite_iolog=reads"))
    subprocess.run(["fio", "--output=out.txt", "short.fio"], cwd=tmp_path, check=True, timeout=60)
    fields = [row.split() for row in (tmp_path / "reads").read_text().splitlines()]
    assert len({name for _, name, what, *_ in (one for one in fields if len(one) > 2) if what == "read"}) == 32


# 300 s after a ramp of 60 s, by 60 s late; 20 s after one of 4 s, by 10 s late.
@pytest.mark.parametrize(("duration", "took", "counts"), [(300, 420, True), (300, 421, False), (20, 34, True), (20, 35, False)])
def test_clients_that_read_one_after_another_have_no_result(tmp_path, duration, took, counts):
    made_of(tmp_path, [requirement(duration=duration)], repeats=1)
    (tmp_path / "tests/hosts.txt").write_text("n1\nn2\nn3\nn4")
    path = in_place(
        tmp_path,
        fio='for word; do case $word in --output=*) echo "{}" > "${word#--output=}" ;; esac; done',
        # The number of the run, and the start of fio, come before the end.
        date=f'echo >> "$0.again"; if [ $(wc -l < "$0.again") -gt 2 ]; then echo {1000 + took}; else echo 1000; fi',
    )
    own = {"PATH": path, "TARGET": str(tmp_path), "DROP_CACHES": "true"}
    done = finished("sh", "fio/T-READ-01-fio.sh", cwd=tmp_path / "tests", check=False, **own)
    assert (done.returncode == 0) == counts, done.stderr
    assert (tmp_path / "tests/results/T-READ-01-fio.run1.json").exists() == counts
    assert ("they did not run at the same time" in done.stderr) != counts


def test_opens_may_begin_after_all_files_were_looked_up(tmp_path):
    line = requirement(2000, "file/s", ident="R-META-01", operation="open", metric="file_opens_per_second", duration=300)
    test = made_of(tmp_path, [line]).results["T-META-01-fio"]
    options = job(test)
    files = int(options["nrfiles"]) * int(options["numjobs"])
    assert files >= 30_000
    # 2 ms for each file, and 10 s.
    assert f" -gt {310 + math.ceil(files * 0.002)} ]" in test.files["fio/T-META-01-fio.sh"]


# 4 clients with 8 files each: one of them reads those of the three others, 24 files, in one load at random or in sequence.
@pytest.mark.parametrize(("pattern", "most", "code"), [("random", 280, 0), ("random", 279, 1), ("sequential", 279, 0)])
def test_servers_need_a_limit_of_open_files_that_holds_all_of_a_client(tmp_path, pattern, most, code):
    how = {"threads": 2, "pattern": pattern}
    made = made_of(tmp_path, [requirement(clients=4, **how), requirement(clients=1, ident="R-READ-02", **how)])
    assert made.setting.data.files == 8
    (tmp_path / "tests/hosts.txt").write_text("n1\nn2\nn3\nn4")
    for number in range(1, 5):
        folder = tmp_path / f"storage/fio/{number}"
        folder.mkdir(parents=True)
        for place in range(8):
            (folder / f"data.{place // 4}.{place % 4}").touch()
    own = {"PATH": in_place(tmp_path, fio="ulimit -S -n > limit"), "TARGET": str(tmp_path / "storage"), "CLIENT": "n1"}
    (tmp_path / "storage/fio/2").rename(tmp_path / "storage/fio/0")
    done = finished("sh", "fio/servers.sh", "read", 1, cwd=tmp_path / "tests", check=False, **own)
    assert done.returncode == 1
    assert "found no ../2/data.*, expected data: run fill-data.sh first" in done.stderr
    (tmp_path / "storage/fio/0").rename(tmp_path / "storage/fio/2")
    limited = f"ulimit -S -n 200 && ulimit -H -n {most} && exec sh fio/servers.sh read 1"
    done = finished("sh", "-c", limited, cwd=tmp_path / "tests", check=False, **own)
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr == ("servers.sh: found a limit of 279 open files, expected at least 280; raise it (ulimit -H -n)\n")
    else:
        assert (tmp_path / "storage/fio/read-1-1/limit").read_text() == ("280\n" if pattern == "random" else "256\n")


# 1 GB/s of four clients for 1,800 s are 450 GB each; half of a tenth of 40 TB is 0.5 TB each, of 5 % is 0.25 TB.
@pytest.mark.parametrize(("fill", "written"), [(0.9, 450e9), (0.95, 250e9)])
def test_written_files_leave_room(tmp_path, fill, written):
    lines = [requirement(operation="write", ident="R-WRITE-01", fill=fill), capacity(40 * TB, "site_capacity_to_buy", fill)]
    found = job(made_of(tmp_path, lines).results["T-WRITE-01-fio"])
    assert int(found["size"]) * int(found["numjobs"]) == pytest.approx(written, rel=1e-3)


def test_nothing_that_is_written_can_be_reduced(tmp_path):
    made = ingest.accept(plan(tmp_path), tmp_path / "tests", tool=["fio", "ior", "elbencho"])
    jobs = [text for test in made.tests for name, text in test.files.items() if name.endswith(".fio")]
    assert len(jobs) >= 8
    for text in jobs:
        # Seeds of its own for each client: with those of fio, all clients would write the same.
        for option in ("refill_buffers=1", "buffer_compress_percentage=0", "dedupe_percentage=0", "randrepeat=0"):
            assert f"\n{option}\n" in text
    # Writes end on the media and leave no files; nothing else is removed.
    for text in jobs:
        writes = "\nrw=write\n" in text and "[fill]" not in text
        assert ("\nend_fsync=1\n" in text, "\nrw=write\n" in text and "\nunlink=1\n" in text) == (writes, writes)
    scripts = [text for test in made.tests for name, text in test.files.items() if re.search("(ior|elbencho)/.*sh$", name)]
    writes = [row for text in scripts for row in text.splitlines() if re.search(r"(ior|elbencho) .* -w ", row)]
    assert len(writes) >= 4
    assert all("-l random " in row or "--blockvarpct 100" in row for row in writes)


def test_the_first_line_states_the_whole_effort(run, tmp_path):
    lines = [requirement(duration=300), requirement(ident="R-WRITE-01", operation="write", duration=600)]
    made = made_of(tmp_path, lines, server_cache="24 GB")
    # 3 x (300 + 60) + 3 x (600 + 60) s = 3,060 s; 36 GB at 1 GB/s; ten runs of each are 10,200 s.
    assert made.effort == (3096, 36e9, 36, ("fio",), 6, 3060, 10_200, 0, 0)
    assert made.effort.words == "51.6 min: fill at most 36 s once, 6 runs 51 min"
    assert (tmp_path / "tests/README.md").read_text().splitlines()[2] == f"{made.effort.words}."
    written = json.loads((tmp_path / "tests/tests.json").read_text())
    assert written["effort"]["total_seconds"] == 3096
    ran = run(
        "accept", tmp_path / "p.json", "-o", "two", "--server-cache", "24 GB", "--tool", "fio", "--tool", "elbencho", "-v"
    )
    assert ran.out.startswith("Takes 1.72 h · ")
    assert ran.out.splitlines()[1].startswith("1.72 h: fill at most 72 s once for each of fio, elbencho, 12 runs 1.7 h; p")
    assert "tests of other tools: --tool ior, mdtest, dlio" in ran.out


def test_the_effort_has_the_ballast_up_to_the_fill_level_once(tmp_path):
    lines = [requirement(fill=0.8), requirement(ident="R-WRITE-01", operation="write"), capacity(TB, "site_capacity_to_buy")]
    made = made_of(tmp_path, lines, tool=("fio", "elbencho"), server_cache="24 GB")
    # 0.8 TB in all, 36 GB of them data of fio, and 36 GB of data of elbencho in place of them.
    assert made.effort.fill_bytes == pytest.approx(0.8 * TB + 36e9)
    assert made.effort.fill_seconds == pytest.approx(836)


def test_without_a_required_write_rate_the_time_of_the_fill_is_open(tmp_path):
    made = made_of(tmp_path, [requirement(duration=300)], server_cache="24 GB")
    assert made.effort.words == "18 min and the fill of 36 GB once: 3 runs 18 min"


def test_fio_alone_is_the_default_and_times_every_line_but_lookups(tmp_path):
    made = ingest.accept(plan(tmp_path), tmp_path / "tests")
    assert {test.tool for test in made.tests} == {"fio"}
    every = ingest.accept(plan(tmp_path), tmp_path / "every", tool=TOOLS)
    assert {test.requirement for test in every.tests} - {test.requirement for test in made.tests} == {"R-META-03"}
    assert made.untested["R-META-03"] == "fio cannot time it, but another tool can"


@pytest.mark.parametrize("how", [{"operation": "read", "pattern": "sequential"}, {"operation": "write"}])
def test_fio_times_no_shared_files_that_all_threads_would_read_in_step_or_write_alone(tmp_path, how):
    made = made_of(tmp_path, [requirement(files="shared", **how), requirement(ident="R-READ-02")])
    assert made.untested == {"R-READ-01": "fio cannot time it, but another tool can"}


def test_dlio_keeps_the_rule_of_its_benchmark(tmp_path):
    # Five times 1 GiB of four clients: 21.5 GB of data held, or no test.
    options = {"tool": ["fio", "dlio"], "client_memory": "1 GiB", "server_cache": "1 GB"}
    lines = [requirement(1e9, metric="site_read_bandwidth"), capacity(20 * 2**30, "site_usable_bytes")]
    made = made_of(tmp_path, lines, **options)
    sizes = {test.id: test.loads[0].dataset_bytes for test in made.tests}
    assert sizes == {"T-READ-01-fio": pytest.approx(1.5e9), "T-READ-01-dlio": 20 * 2**30, "T-READ-01-mlperf": 20 * 2**30}
    lines[1] = capacity(20 * 2**30 - 1, "site_usable_bytes")
    # With less, DLIO reads with direct I/O, and MLPerf Storage cannot.
    made = made_of(tmp_path, lines, **options)
    assert {test.id for test in made.tests} == {"T-READ-01-fio", "T-READ-01-dlio"}
    workload = made.results["T-READ-01-dlio"].files["dlio/workload/T-READ-01-dlio.yaml"]
    assert "odirect: true" in workload
    assert made.results["T-READ-01-dlio"].loads[0].dataset_bytes == pytest.approx(1.5e9)


def test_conditions_of_a_mix_come_back_as_planned(tmp_path):
    made = ingest.accept(plan(tmp_path), tmp_path / "tests")
    listed = json.loads((tmp_path / "tests/tests.json").read_text())
    loads = next(test["loads"] for test in listed["tests"] if test["id"] == "T-MIX-01-fio")
    assert [load["latency_99"] for load in loads] == [0.01] * 3
    assert line(listed, "R-MIX-01")["conditions"]["mix"][1]["share"] == 0.25
    assert made.results["T-MIX-01-fio"].notes


@pytest.mark.parametrize(("clients", "readers", "folders"), [(5, 5, 1), (5, 2, 2), (6, 2, 3), (6, 4, 1), (5, 1, 4), (1, 1, 1)])
def test_no_two_clients_link_a_folder_and_none_its_own(tmp_path, clients, readers, folders):
    """`servers.sh`, with a fio that does nothing: each link is one of the files that the job file names."""
    lines = [requirement(clients=clients, threads=2), requirement(clients=readers, threads=3, ident="R-READ-02")]
    made = made_of(tmp_path, lines, server_cache="1 GB")
    names = [f"n{number}" for number in range(1, clients + 1)]
    (tmp_path / "tests/hosts.txt").write_text("\n".join(names))
    # Three threads with four files each are filled in three jobs.
    for number in range(1, clients + 1):
        folder = tmp_path / f"storage/fio/{number}"
        folder.mkdir(parents=True)
        for place in range(made.setting.data.files):
            (folder / f"data.{place // 4}.{place % 4}").touch()
    found = {}
    for name in names[:readers]:
        own = {"PATH": in_place(tmp_path, fio=""), "TARGET": str(tmp_path / "storage"), "CLIENT": name}
        # A second start replaces the links of the first.
        for _ in range(2):
            finished("sh", "fio/servers.sh", "read", readers, cwd=tmp_path / "tests", **own)
        number = name.removeprefix("n")
        found[number] = tmp_path / f"storage/fio/read-{readers}-{number}"
    read = {number: {link.resolve().parent.name for link in view.iterdir()} for number, view in found.items()}
    every = [folder for parts in read.values() for folder in parts]
    assert len(every) == len(set(every)) == readers * folders
    assert clients == 1 or all(number not in parts for number, parts in read.items())
    options = job(made.results.get("T-READ-02-fio") or made.results["T-READ-01-fio"])
    for view in found.values():
        for thread in range(int(options["numjobs"])):
            for place in range(int(options["nrfiles"])):
                assert (view / f"data-{options['numjobs']}.{thread}.{place}").exists()


#: Options of each job, by scale, file and section.
OPENS = "numjobs=2 filename_format=T-META-01-fio.$jobnum.$filenum nrfiles=3000 filesize=4096"
OPTIONS = [
    ("full", "T-META-01-fio", 0, f"ioengine=psync {OPENS} rw=read bs=4096 openfiles=1 size=12288000 time_based=1 runtime=1800"
     " allow_file_create=0"),
    ("full", "T-MIX-01-fio", -2, "rw=read bs=262144 ioengine=psync numjobs=2 filename_format=data-2.$jobnum.$filenum nrfiles=16"
     " filesize=3663052800 size=58608844800 file_service_type=sequential openfiles=4 allow_file_create=0"),
    ("full", "T-MIX-01-fio", -1, "rw=write bs=262144 ioengine=psync numjobs=2 nrfiles=1 filesize=113246208 size=113246208"
     " filename_format=T-MIX-01-fio.write.$jobnum.$filenum file_service_type=sequential end_fsync=1 unlink=1"),
    ("full", "data.fill", 0, "filename_format=data.$jobnum.$filenum nrfiles=4 filesize=3663052800 size=14652211200"
     " file_service_type=sequential ioengine=psync rw=write bs=1126400 numjobs=8"),
    ("1node", "T-META-02-fio", 0, "ioengine=filecreate numjobs=2 filename_format=T-META-02-fio.$jobnum.$filenum nrfiles=1000"
     " filesize=4096 unlink=1"),
    ("1node", "T-MIX-01-fio.fill", -1, "filename_format=T-MIX-01-fio.read2.$jobnum.$filenum nrfiles=4 filesize=8388608"
     " size=33554432 file_service_type=sequential ioengine=psync rw=write bs=1048576 numjobs=2"),
]  # fmt: skip
COMMON = "direct=1 thread=1 fallocate=none unique_filename=0 refill_buffers=1 buffer_compress_percentage=0 dedupe_percentage=0"


def test_jobs_have_these_options_and_no_others(tmp_path):
    written = {scale: tmp_path / scale for scale in ("full", "1node")}
    for scale, folder in written.items():
        ingest.accept(plan(tmp_path), folder, scale=scale)
    for scale, name, place, expected in OPTIONS:
        shared, *sections = re.split(r"^\[.*\]$", (written[scale] / f"fio/{name}.fio").read_text(), flags=re.MULTILINE)[1:]
        assert sorted(sections[place].split()) == sorted(expected.split()), (scale, name)
        timed = {"full": "time_based=1 ramp_time=60000ms runtime=600 norandommap=1 lat_percentiles=1"}
        own = timed[scale] if name == "T-MIX-01-fio" else ""
        assert shared.split() == f"{COMMON} randrepeat=0 {own}".split(), (scale, name)


def test_mdtest_passes_over_its_files_until_the_duration_is_over_and_once_in_a_rehearsal(tmp_path):
    found = {scale: ingest.accept(plan(tmp_path), tmp_path / scale, tool="mdtest", scale=scale) for scale in ("full", "1node")}
    handled = {scale: made.results["T-META-01-mdtest"].loads[0].handled for scale, made in found.items()}
    # 12,800 files/s for 1,800 s: each of 256 threads opens 3,000 files 30 times. A rehearsal has 2,000 files in all.
    assert handled == {"full": 12_800 * 1800, "1node": 2000}


def test_a_result_has_at_most_a_gibibyte(tmp_path):
    path = tmp_path / "T-READ-01-fio.run1.json"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(IngestError, match=r"larger than 1,073,741,824 bytes, expected a result of fio"):
        runs_in(path)

"""A job that really runs, watched through /proc: its rate, requests and edges; what the counters cannot show is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import table

import ingest
from ingest.errors import IngestError
from ingest.observation import live, processes
from ingest.observation.live import CACHE_SHARE, LEAST_BYTES, Mount, _Seen, nfs_counters, steady_samples
from ingest.observation.processes import Counters, ProcessTree, Sample

JOB = Path(__file__).with_name("job.py")
NFS = table("observation/cases.yaml")["nfs"]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in "ab":
        (folder / name).write_bytes(os.urandom(8 * 2**20))
    os.sync()
    try:
        os.close(os.open(folder / "a", os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("this file system refuses direct I/O: nothing past the page cache can be read here")
    return folder


@pytest.mark.slow  # it watches a job for seconds, which other tests on the machine disturb
def test_the_rate_and_the_request_of_a_running_job(data, capfd):
    """Against the job's own count: 2 % and 5 %. Reads begin and end within an interval, so both are cut: up to 0.4 of 3 s."""
    answer = ingest.observe(command=[sys.executable, str(JOB), str(data), "3"], path=data)
    moved, reads, seconds = json.loads(capfd.readouterr().err.splitlines()[-1])
    found = {name: one.value for name, one in answer.results.items()}
    assert found["read_bandwidth"] == pytest.approx(moved / (seconds / 2), rel=0.02)
    assert found["read_bytes_mean"] == pytest.approx(moved / reads, rel=0.05)
    assert found["coverage"] == pytest.approx(found["bytes_read"] / moved, rel=0.01)
    assert 1 - 2.5 * processes.FIRST_INTERVAL / 3 < found["coverage"] < 1
    assert found["window_seconds"] == pytest.approx(3, abs=0.5)
    window = answer.figures["read_bandwidth"].window
    assert (window.cut_before > 0.4, window.cut_after > 0.2) == (True, True)
    assert answer.figures["demanded_read_bandwidth"].lower_bound
    assert answer.to_dict()["schema"] == "ingest/observation/1"


@pytest.mark.slow  # it watches a job for seconds, which other tests on the machine disturb
def test_files_in_the_page_cache_are_refused(data):
    program = "import sys,time\nfor _ in range(40):\n open(sys.argv[1],'rb').read(); time.sleep(.03)"
    (data / "a").read_bytes()
    with pytest.raises(IngestError, match=r"the page cache served them.*cold first epoch"):
        ingest.observe(command=[sys.executable, "-c", program, str(data / "a")], path=data)


def test_what_cannot_be_watched_is_refused(data, tmp_path):
    """A log beside a job would count its reads too."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "t.pfw").write_text("")
    for sources, options, said in (
        ((), {"pid": ended.pid, "window": "1s"}, "there is no process"),
        ((), {"command": ["no-such-program"]}, "cannot be started"),
        ((), {"pid": 1, "path": data / "nothing"}, "--path: there is no"),
        ((tmp_path / "t.pfw",), {"command": ["true"]}, "two kinds of sources"),
    ):
        with pytest.raises(IngestError, match=said):
            ingest.observe(*sources, **options)


def test_children_that_end_keep_their_counts_once(data):
    """A child that is waited for adds its counts to its parent's; one that nobody waits for is not lost, nor counted twice."""
    program = (
        "import os,signal,sys,time\n"
        "if sys.argv[2]=='ignored': signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "if os.fork()==0:\n open(sys.argv[1],'rb').read(); time.sleep(.3); os._exit(0)\n"
        "time.sleep(.5)\n"
        "if sys.argv[2]=='waited': os.wait()\n"
        "print(flush=True); sys.stdin.read()"
    )
    for manner in ("waited", "ignored"):
        job = subprocess.Popen(
            [sys.executable, "-c", program, str(data / "a"), manner], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        tree, totals = ProcessTree(job.pid, str(data)), []
        os.set_blocking(job.stdout.fileno(), False)
        while not job.stdout.read(1):
            totals.append(tree.sample().total.rchar)
        totals.append(tree.sample().total.rchar)
        job.communicate()
        assert 8 * 2**20 <= totals[-1] < 1.2 * 8 * 2**20, manner
        assert totals == sorted(totals), manner
        assert tree.sample() is None


def series(asked, moved, steps=20):
    """Samples of a job that asks for and moves so many bytes in all, at one rate."""
    share = [place / steps for place in range(steps + 1)]
    counts = [Counters(rchar=int(asked * place), syscr=int(100 * place), read_bytes=int(moved * place)) for place in share]
    return [Sample(place * 20, one, Counters(), 1) for place, one in zip(share, counts, strict=True)]


def test_the_limits_below_which_a_job_has_not_read_from_storage():
    with pytest.raises(IngestError, match="expected reads of data"):
        steady_samples(series(LEAST_BYTES - 1, 0))
    with pytest.raises(IngestError, match="page cache"):
        steady_samples(series(1e8, LEAST_BYTES - 1))
    assert steady_samples(series(1e8, LEAST_BYTES + 20)).window.seconds == 20
    assert LEAST_BYTES < CACHE_SHARE * 1e8
    # A program that starts from a cold disk, then reads from memory alone.
    started = [one._replace(total=one.total._replace(read_bytes=min(place, 1) * 3 * LEAST_BYTES))
               for place, one in enumerate(series(1e8, 0))]  # fmt: skip
    with pytest.raises(IngestError, match="page cache"):
        steady_samples(started)


@pytest.mark.parametrize(("modules", "cut"), [(4, 4), (6, 0)])
def test_calls_of_a_start_are_cut_where_they_are_a_small_part(modules, cut):
    """Beside its first data a program reads its modules from memory, in small calls; a quarter of the time is no start."""
    samples, extra = [], 0
    for place, one in enumerate(series(1e8, 1e8)):
        samples.append(one._replace(total=one.total._replace(syscr=one.total.syscr + extra)))
        extra += 50 if place < modules else 0
    found = steady_samples(samples)
    assert (found.first, found.window.cut_before) == (cut, cut)
    assert found.window.seconds == 20 - cut


def test_file_systems_that_process_counters_do_not_see():
    known = [Mount("/", "ext4", "/dev/vda"), Mount("/data", "fuse.sshfs", "host:/"), Mount("/scratch", "beegfs", "x")]
    for path, expected in (("/data/x", "user-space file system"), ("/scratch", "does not count its reads")):
        with pytest.raises(IngestError, match=expected):
            live.refuse_unseen(live.mount_of(path, known), path)


def test_counters_of_network_mounts():
    nfs = nfs_counters(NFS, "/mnt/my data")
    assert nfs == (209_715_200, 5096, 200, 10, 0.61, True)
    assert nfs_counters(NFS, "/mnt") is None
    above = NFS + NFS.partition("\n")[2].replace("209715200", "1")
    assert nfs_counters(above, "/mnt/my data").bytes_read == 1
    for poison in ("-209715200", "lots", ""):
        assert nfs_counters(NFS.replace("209715200", poison), "/mnt/my data") is None
    text = "snapshot_time 1.0 secs\nread_bytes 500 samples [bytes] 4096 1048576 209715200\nopen 17 samples [usec]\n"
    assert live.lustre_counters(text) == (209_715_200, 209_715_200, 500, 17, None, False)
    assert live.lustre_counters("open 17 samples [regs]") is None


def mounted(text, requested=5096, moved=209_715_200, reads=200, exe=610):
    """The counters of the mount with other counts: bytes asked for and sent, reads and their milliseconds."""
    text = text.replace("1000 20 4096 0 209715200", f"{requested} 20 0 0 {moved}")
    text = text.replace("READ: 200 201 0 32000 209720000 5 600 610", f"READ: {reads} 201 0 0 0 5 600 {exe}")
    return nfs_counters(text, "/mnt/my data")


def test_two_snapshots_of_an_nfs_mount():
    """Bytes that the server sent, requests and their mean time; and the share that the client's cache served."""
    before, after = mounted(NFS), mounted(NFS, 5096 + 400_000_000, 209_715_200 + 300_000_000, 500, 610 + 1500)
    found = live._of_mount(_Seen(series(1, 1), [before, after], None, None), "/mnt", Mount("/mnt", "nfs4", "server:/x"), ())
    values = {name: one.value for name, one in found.figures.items()}
    assert values["read_bandwidth"] == pytest.approx(300e6 / 20)
    assert values["read_bytes_mean"] == 1e6
    assert values["read_seconds_mean"] == pytest.approx(0.005)
    assert values["observed_cache_fraction"] == pytest.approx(0.25)
    assert "memory served 25%" in found.warnings[0]


def test_a_mount_that_goes_within_the_window_is_refused():
    """Its processes' own counters show no reads from a network."""
    mount = Mount("/mnt", "nfs4", "server:/x")
    with pytest.raises(IngestError, match="the nfs4 mount was unmounted within the window"):
        live._reading(_Seen(series(1e8, 1e8), [mounted(NFS)], None, None), "/mnt", mount, ())
    assert live._reading(_Seen(series(1e8, 1e8), [], None, None), "/", Mount("/", "ext4", "/dev/vda"), ()).figures["bytes_read"]


@pytest.mark.parametrize("change", [{"moved": 209_715_199}, {"reads": 199}, {"requested": 5095}, {"exe": 609}])
def test_counters_of_a_mount_that_run_backwards(change):
    before = mounted(NFS)
    assert before.precedes(mounted(NFS))
    after = mounted(NFS, **{"moved": 10**9} | change)
    with pytest.raises(IngestError, match=r"run backwards: it was mounted anew.*again"):
        live._of_mount(_Seen(series(1, 1), [before, after], None, None), "/mnt", Mount("/mnt", "nfs", "server:/x"), ())


def test_a_lustre_mount_by_its_targets(tmp_path):
    """llite counts what programs ask for; the targets of that client count what the servers sent."""
    lustre = tmp_path / "fs" / "lustre"
    line = "snapshot_time 17.5 secs.nsecs\nread_bytes {} samples [bytes] 4096 1048576 {} 4398046511104\nopen 7 samples [regs]\n"
    kept = {
        "llite/fs1-ffff8801/stats": line.format(400, 400_000_000),
        "osc/fs1-OST0000-osc-ffff8801/stats": line.format(100, 100_000_000),
        "osc/fs1-OST0001-osc-ffff8801/stats": line.format(150, 150_000_000),
        "osc/fs1-OST0000-osc-ffff9902/stats": line.format(9, 9_000_000),
    }
    for name, text in kept.items():
        (lustre / name).parent.mkdir(parents=True)
        (lustre / name).write_text(text)
    mount = Mount("/lustre", "lustre", "10.0.0.1@tcp:/fs1")
    assert live.mount_counters(mount, tmp_path) == (250_000_000, 400_000_000, 250, 7, None, True)
    for place in lustre.glob("osc/*/stats"):
        place.unlink()
    alone = live.mount_counters(mount, tmp_path)
    assert alone == (400_000_000, 400_000_000, 400, 7, None, False)
    seen = _Seen(series(1, 1), [alone._replace(bytes_read=0, bytes_requested=0, reads=0), alone], None, None)
    found = live._of_mount(seen, "/lustre", mount, ())
    assert "caches included" in found.warnings[0]
    assert found.figures["reads"].note == "read calls"


def test_bytes_of_control_groups_of_both_versions(tmp_path):
    (tmp_path / "proc" / "7").mkdir(parents=True)
    group = tmp_path / "proc" / "7" / "cgroup"
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "io.stat").write_text("254:0 rbytes=1000 wbytes=5 rios=1\n8:0 rbytes=24 wbytes=0 rios=1\n")
    (tmp_path / "blkio" / "old").mkdir(parents=True)
    counted = tmp_path / "blkio" / "old" / "blkio.throttle.io_service_bytes_recursive"
    counted.write_text("254:0 Read 77\n254:0 Write 5\n254:0 Total 82\nTotal 82\n")
    found = {}
    for name, text in (("2", "0::/job\n"), ("1", "5:cpu:/old\n4:blkio:/old\n"), ("root", "0::/\n"), ("out", "0::/../etc\n")):
        group.write_text(text)
        found[name] = live.group_bytes_read(7, tmp_path / "proc", tmp_path)
    assert found == {"2": 1024, "1": 77, "root": None, "out": None}


@pytest.mark.parametrize(("beyond", "said"), [(-0.001, False), (0.001, True)])
def test_limits_from_which_the_counters_of_processes_mean_something_else(beyond, said):
    """A control group that read more than the job; the share that memory served; blocks that nobody asked for: mapped files."""
    group = live._of_processes(_Seen(series(1e8, 1e8), [], None, round(1e8 * (live.GROUP_BEYOND + beyond))), None, ())
    assert any("others run in it" in line for line in group.warnings) is said
    cached = live._of_processes(_Seen(series(1e8, 1e8 * (1 - CACHE_SHARE - beyond)), [], None, None), None, ())
    assert ("observed_cache_fraction" in cached.figures) is said
    mapped = live._of_processes(_Seen(series(1e8, 1e8 * (live.MAPPED_BEYOND + beyond)), [], None, None), None, ())
    assert ("reads" in mapped.unknown) is said


@pytest.mark.slow  # it watches a job for seconds, which other tests on the machine disturb
def test_a_job_that_writes_its_log_while_it_is_watched(data, tmp_path, run):
    """The log is read after the job: one command gives the rate, the bytes and what follows from both."""
    line = (
        "now=time.time(); spent=1000*(now-then); then=now; "
        "print(f' iteration {n}/ 99 | elapsed time per iteration (ms): {spent} | global batch size: 8 |', file=log, flush=True)"
    )
    program = (
        "import mmap,os,sys,time\nlog=open(sys.argv[2],'w')\nfile=os.open(sys.argv[1],os.O_RDONLY|os.O_DIRECT)\n"
        "room=mmap.mmap(-1,262144); then=time.time()\nfor n in range(1,40):\n"
        f" os.preadv(file,[room],n%32*262144); time.sleep(.1); {line}\n"
    )
    log = tmp_path / "train.log"
    words = ("--gpus", 1, "--path", data, "--format", "json", "--command", sys.executable, "-c", program, data / "a", log)
    ran = run("observe", log, *words)
    assert ran.code == 0, ran.err
    found = {name: one["value"] for name, one in ran.data["results"].items()}
    assert found["samples_per_second_per_gpu"] <= 80
    assert found["bytes_read_per_sample"] == pytest.approx(262_144 / 8, rel=0.1)


def test_a_process_that_appears_after_its_number(tmp_path):
    """The machine states a number before the process can be seen: its reads are not missed."""

    def place(pid, parent, count):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "io").write_text(
            f"rchar: {count}\nwchar: 0\nsyscr: 1\nsyscw: 0\nread_bytes: {count}\nwrite_bytes: 0\n"
        )
        (tmp_path / str(pid) / "status").write_text(f"Name:\tx\nTgid:\t{pid}\nPPid:\t{parent}\n")

    place(7, 1, 100)
    (tmp_path / "loadavg").write_text("0 0 0 1/9 7\n")
    tree = ProcessTree(7, proc=tmp_path)
    assert tree.sample().total.rchar == 100
    (tmp_path / "loadavg").write_text("0 0 0 1/9 8\n")
    assert tree.sample().processes == 1
    place(8, 7, 50)
    assert (tree.sample().total.rchar, tree.sample().processes) == (150, 2)
    tree.close()


def test_a_child_that_ends_while_a_busy_machine_is_sampled_counts_once(data, monkeypatch):
    """No try is at once, and the child ends in the last, after its parent was read: another try has it in its parent alone."""
    program = (
        "import os,sys\n"
        "child = os.fork()\n"
        "if child==0:\n open(sys.argv[1],'rb').read(); print('read', flush=True); sys.stdin.read(1); os._exit(0)\n"
        "os.waitpid(child, 0); print('ended', flush=True); sys.stdin.read()"
    )
    job = subprocess.Popen([sys.executable, "-c", program, str(data / "a")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert job.stdout.readline() == b"read\n"
    tree = ProcessTree(job.pid, str(data))
    before = tree.sample().total.rchar
    assert before >= 8 * 2**20
    pread, reads = os.pread, []

    def interrupted(file, *words):
        _, *below = (one for _, one in tree._members.values())
        if file in below:
            reads.append(file)
            if len(reads) == processes.MOST_TRIES:
                job.stdin.write(b"x")
                job.stdin.flush()
                assert job.stdout.readline() == b"ended\n"
        return pread(file, *words)

    monkeypatch.setattr(processes, "LONGEST_SAMPLE", -1)
    monkeypatch.setattr(os, "pread", interrupted)
    totals = [tree.sample().total.rchar for _ in range(3)]
    job.communicate()
    assert len(reads) == processes.MOST_TRIES
    assert all(before <= total < 1.2 * before for total in totals), (before, totals)

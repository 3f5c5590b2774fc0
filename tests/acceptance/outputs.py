"""Results in the forms of IOR, mdtest, elbencho and DLIO; the numbers are our own."""

import hashlib
import json
import math
import re
import shlex
from datetime import datetime, timedelta

import ingest
from ingest.acceptance.tools.fio import sections


def words_on(folder, test):
    """What the verdict says of a test: its result, and every refusal and caution that names it."""
    answer = ingest.verdict(folder, folder / "results")
    one = next(one for one in answer.tests if one.id == test)
    return one.result, [text for text in answer.warnings if test in text], one.why


def command_of(test):
    """The words with which the script of a test starts its tool, each of its variables set."""
    script = test.files.get(f"{test.tool}/{test.id}.sh", "")
    found = re.search(rf"(?<!\S)({test.tool} .*run\$run.*)$", script, re.MULTILINE)
    words = shlex.split(found[1]) if found else []
    words = words[: next((at for at, word in enumerate(words) if word.startswith(">")), len(words))]
    return [re.sub(r"\$[A-Za-z]+", "/mnt/x", word) for word in words]


#: What a run has of its own when its figures are those of another.
OWN = (
    r'"timestamp(?:_ms)?" : \d+|"time" : ".*"|^(?:Began|StartTime|Finished) .*$|^-- .* --$|"iso_start_date":"[^"]*"|run\d\.json'
)


def edited(text, own, change):
    """A result with the changes of an edit: figures of another run, bins of latencies one lower, factors, other words."""
    if "copy" in change:
        kept = iter(re.findall(OWN, own, re.MULTILINE))
        text = re.sub(OWN, lambda _: next(kept), text, flags=re.MULTILINE)
    for bins in re.findall(r'"latency_[num]s" : (\{.*?\})', text, re.DOTALL) if "bins" in change else ():
        found = json.loads(bins)
        text = text.replace(bins, json.dumps(dict(zip(found, [*list(found.values())[1:], 0], strict=True))), 1)
    for pattern, factor in change.get("times", {}).items():

        def scaled(at, factor=factor):
            digits = len(at[1].partition(".")[2])
            return f"{at.string[at.start() : at.start(1)]}{float(at[1]) * factor:.{digits}f}{at.string[at.end(1) : at.end()]}"

        text = re.sub(pattern, scaled, text, flags=re.MULTILINE)
    for pattern, new in change.get("swap", {}).items():
        text = re.sub(pattern, new, text, flags=re.MULTILINE)
    return text


def as_scripted(text, tests):
    """A result with the command line of the script of its test."""
    for test in tests:
        if re.search(rf"{test.id}\b(?!\.fill)", text) and (words := command_of(test)):
            line, quoted = shlex.join(words), " ".join(f'"{word}"' for word in words)
            text = f"# {test.id}\n{text}" if test.tool == "ior" else text
            passes = words[words.index("-i") + 1] if test.tool == "mdtest" else 1
            for old, new in (
                (r"^(Command line +: ).*$", rf"\g<1>{line}"),
                (r"^(Command line used: ).*$", rf"\g<1>{line}"),
                (r"(of )\d+( iterations)", rf"\g<1>{passes}\2"),
                (r'("file_size": )"140737488355328"', rf'\g<1>"{words[words.index("-s") + 1] if "-s" in words else 0}"'),
                (r'("command": )"(?:[^"\\]|\\.)*"', lambda at, quoted=quoted: at[1] + json.dumps(quoted)),
            ):
                text = re.sub(old, new, text, flags=re.MULTILINE)
            text = settled(text)
    return text


def settled(text):
    """A result of IOR or mdtest whose paths, files and end are those of its command line and rates."""
    if place := re.search(r"^Command line.* '?-[od]'? '?(/[^\s']+)", text, re.MULTILINE):
        text = re.sub(r"^(test filename +: |Path +: ).*$", rf"\g<1>{place[1]}", text, flags=re.MULTILINE)
    if counted := re.search(r"^(\d+) tasks, ", text, re.MULTILINE):
        each, passes = (int(re.search(rf"^Command line.* '?-{name}'? '?(\d+)", text, re.MULTILINE)[1]) for name in "ni")
        files = int(counted[1]) * each
        rates = [float(row.split()[-2]) for row in re.findall(r"^   File .*$", text, re.MULTILINE)]
        ended = datetime(2026, 1, 5, 10) + timedelta(seconds=files * passes * sum(1 / rate for rate in rates if rate))
        text = re.sub(r"^(\d+ tasks, )\d+", rf"\g<1>{files}", text, flags=re.MULTILINE)
        text = re.sub(r"(?<=finished at )\S+ \S+", f"{ended:%m/%d/%Y %H:%M:%S}", text)
    return text


def ior_text(test, nodes, tasks, block, mib, seconds=1800, took=None, xfer=131072, noise=""):
    """As IOR 4.0 prints it: MiB/s, KiB, and errors among the results."""
    took, sizes = seconds if took is None else took, f"{block / 1024:.2f}  {xfer / 1024:.2f}"
    rates = f"{mib:.2f}    " * 3
    return f"""IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Began               : Mon Jan  5 10:00:00 2026
Command line        : ior -a POSIX -F -g -k -b {block} -s 1 --posix.odirect -o /mnt/x/{test} -r -C -z -t {xfer} -D {seconds}
Machine             : Linux node1
TestID              : 0
StartTime           : Mon Jan  5 10:00:00 2026
Path                : /mnt/x/{test}.00000000
FS                  : 9.1 PiB   Used FS: 12.1%   Inodes: 16.0 Mi   Used Inodes: 3.3%

Options:
api                 : POSIX
apiVersion          :
test filename       : /mnt/x/{test}
access              : file-per-process
type                : independent
segments            : 1
ordering in a file  : random
ordering inter file : constant task offset
task offset         : 1
nodes               : {nodes}
tasks               : {tasks}
clients per node    : {tasks // nodes}
memoryBuffer        : CPU
dataAccess          : CPU
GPUDirect           : 0
repetitions         : 1
xfersize            : 131072 bytes
blocksize           : 8 MiB
aggregate filesize  : 16 MiB
stonewallingTime    : {seconds}
stoneWallingWearOut : 0

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
{noise}WARNING: Expected aggregate file size       = 16777216
WARNING: Stat() of aggregate file size      = 16777216
WARNING: Using actual aggregate bytes moved = {round(mib * took * 2**20 / xfer) * xfer}
read      {mib:.2f}  {mib * 2**20 / xfer:.2f}  0.000227  {sizes}  0.000041   {took:.2f}  0.016000  {took:.2f}  0

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs) \
  Min(OPs)  Mean(OPs)     StdDev    Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand \
seed segcnt   blksiz    xsize aggs(MiB)   API RefNum
read         {rates}   0.00    {f"{mib * 2**20 / xfer:.2f}   " * 3} 0.00{"     0" * 15}  {mib * took:.1f} POSIX      0
Finished            : Mon Jan  5 11:00:03 2026
"""


def mdtest(test, nodes, tasks, phases, create=1500.5, stat=2500.5, open=15000.5, per_rank=False, noise="", files=3000):
    """A text of mdtest; `per_rank` has three more columns in front, as `-P` and newer versions print them."""
    quoted = "".join(f"'{phase}' " for phase in phases.split())
    wide = "per Rank: Max            Min           Mean      per Iteration:" if per_rank else ""
    extra = "       99.000         98.000         98.500        " if per_rank else ""
    return settled(f"""-- started at 01/05/2026 10:00:00 --

mdtest-4.0.0 was launched with {tasks} total task(s) on {nodes} node(s)
Command line used: mdtest '-F' {quoted}'-n' '{files}' '-i' '30' '-u' '-d' '/mnt/x/{test}'
Path                : /mnt/x/{test}
FS                  : 252.0 GiB   Used FS: 12.1%   Inodes: 16.0 Mi   Used Inodes: 3.3%
{tasks} tasks, 768000 files
{noise}
SUMMARY rate (in ops/sec): (of 1 iterations)
   Operation     {wide}                Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation       {extra}        {create:.3f}      {create:.3f}      {create:.3f}          0.000
   File stat           {extra}        {stat:.3f}      {stat:.3f}      {stat:.3f}          0.000
   File read           {extra}        {open:.3f}      {open:.3f}      {open:.3f}          0.000
   File removal        {extra}       41616.352      41616.352      41616.352          0.000
   Tree creation               13530.013      13530.013      13530.013          0.000
-- finished at 01/06/2026 10:00:01 --
""")


def elbencho_json(label, hosts, threads, rate, phase="READ", seconds=1800, block=131072, size=2**47, direct="true"):
    """A phase of elbencho's JSON: its property tree writes every value as text."""
    return json.dumps(
        {
            "phase_type": phase,
            "phase_id": "9b2f",
            "label": label,
            "iso_start_date": "2026-01-05T10:00:00.000+0000",
            "config": {
                "path_type": "file", "paths": "16", "hosts": str(hosts), "threads": str(threads), "file_size": str(size),
                "block_size": str(block), "direct_io": direct, "random_offsets": "true", "random_aligned": "true",
                "io_depth": "1", "version": "3.0.37", "command": '"elbencho" "-r" ',
            },
            "first_done": {"elapsed_time_ms": str(seconds * 1000 - 5), "bytes/s": str(rate + 1000), "cpu%": "7"},
            "last_done": {
                "elapsed_time_ms": str(seconds * 1000),
                "iops": str(rate // block),
                "bytes/s": str(rate),
                "bytes": str(round(rate * seconds / block) * block),
                "cpu%": "7",
                "latency": {"IO": {"min_us": "80", "avg_us": str(hosts * threads * block * 1e6 / rate), "max_us": "9000000"}},
            },
        }
    )  # fmt: skip


def paced(part, rate, size, queue=1):
    """The part of a thread that moves data at a rate, so that all of its figures agree."""
    seconds, requests = part["runtime"] / 1000, rate * part["runtime"] / 1000 / size
    mean = seconds * queue / requests * 1e9
    part.update(bw_bytes=rate, bw=rate / 1024, io_bytes=requests * size, total_ios=requests, iops=requests / seconds)
    part.update(lat_ns={"mean": mean, "min": mean / 2, "max": 2 * mean, "N": requests}, clat_ns={})
    part.pop("bw_samples", None)
    return part


def listed_anew(path):
    """Put the hash of a result into the list of its script, as if the run had left it so."""
    log = path.parent / f"{path.name.partition('.run')[0]}.sha256"
    lines = log.read_text().splitlines() if log.exists() else []
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    words = [(line, *line.split()) for line in lines]
    log.write_text(
        "".join(f"{line if line[0] == '#' else f'{sums.get(name, found)}  {name}'}\n" for line, found, name, *_ in words)
    )
    summed(log)
    return path


def summed(log, change=str):
    """Change the record of a script, and put the hash of all lines below them, as the script does."""
    text = re.sub(r"# sum .*\n", "", change(log.read_text()))
    log.write_text(f"{text}# sum {hashlib.sha256(text.encode()).hexdigest()}\n")


def fio_results(tests, folder, factor, requirements=(), runs=3, parts=None):
    """Results of fio at a factor of each threshold, 0.1 % apart; `parts` gives factors of single loads."""
    folder.mkdir(exist_ok=True)
    for test in tests:
        for run in range(runs if not requirements or test.requirement in requirements else 0):
            jobs, options = [], sections(test.files[f"fio/{test.id}.fio"])
            for load in test.loads:
                rate = load.threshold * (parts or {}).get(load.name, factor) * (1 + 0.001 * (run - 1))
                each = fio_job(load, rate, options[load.name])
                jobs += [{**each, "hostname": f"n{client}"} for client in range(load.clients) for _ in range(load.threads)]
            began = 1767607200 + round(1e3 * factor) + 3600 * run
            found = {"fio version": "fio-3.33", "timestamp": began, "global options": {}}
            text = json.dumps({**found, "client_stats": jobs})
            (folder / f"{test.id}.run{run + 1}.json").write_text("{\n" + text[1:])
    return folder


def fio_job(load, rate, options):
    """One thread of a load; fio counts a file that it opens or creates as a read of its bytes."""
    none = {"bw_bytes": 0, "io_bytes": 0, "total_ios": 0, "runtime": 0}
    size, each = load.io_bytes or int(options["filesize"]), rate / load.clients / load.threads
    ended = math.ceil(1000 * (load.seconds or load.handled / rate))
    done = paced({"runtime": ended}, each * (1 if load.unit == "B/s" else size), size, load.depth)
    # The middle of a bin of fio, 64 for each power of two.
    slow, width = 1.2 * done["lat_ns"]["mean"], 1 << int(1.2 * done["lat_ns"]["mean"]).bit_length() - 7
    done["clat_ns"] = {"mean": slow / 1.2, "percentile": {"99.000000": slow // width * width + width // 2}}
    ways = {way: done if way == ("write" if load.operation == "write" else "read") else none for way in ("read", "write")}
    return {"jobname": load.name, "port": 1, "job options": options, **ways}


def summary(accelerators, hosts, files, samples_per_second, record, au=93.2, expected=90.0, epochs=5, memory=1481.663):
    """A `summary.json` of DLIO; what it calls MB/s is computed, in MiB/s."""
    end = datetime(2026, 1, 5, 10) + timedelta(seconds=files * epochs / samples_per_second + 60)
    return json.dumps(
        {
            "start": "2026-01-05T10:00:00.000000",
            "num_accelerators": accelerators,
            "num_hosts": hosts,
            "hostname": "node1",
            "metric": {
                "train_au_percentage": [au] * epochs,
                "train_au_mean_percentage": au,
                "train_au_meet_expectation": "success" if au >= expected else "fail",
                "train_au_stdev_percentage": 0.0,
                "train_throughput_samples_per_second": [samples_per_second] * epochs,
                "train_throughput_mean_samples_per_second": samples_per_second,
                "train_throughput_stdev_samples_per_second": 0.0,
                "train_io_mean_MB_per_second": samples_per_second * record / 2**20,
                "train_io_stdev_MB_per_second": 0.0,
            },
            "num_files_train": files,
            "num_files_eval": 0,
            "num_samples_per_file": 1,
            "host_cpu_count": [112] * hosts,
            "host_processor_name": "x86_64",
            "potential_caching": [0] * hosts,
            "host_memory_GB": [memory / hosts] * hosts,
            "data_size_per_host_GB": 900.0,
            "epochs": epochs,
            "end": end.isoformat(),
        }
    )

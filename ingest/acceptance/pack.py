"""A folder of tests: its README for the operator, helper scripts, and the frame of test scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from ingest.acceptance.datasets import data_warnings
from ingest.acceptance.loads import Setting
from ingest.acceptance.test_spec import AcceptanceTest, Load
from ingest.requirement import Requirement
from ingest.text import markdown
from ingest.units import display

REHEARSAL = """These scripts rehearse the acceptance tests on one machine, with seconds of run time and megabytes of data. They
show that tools, job files and result files work, and whether this machine reaches its share of each requirement. They
prove no requirement of the whole system."""

FULL = """Each test proves one requirement line. Run the scripts on the driver, a machine that reaches every client."""

STEPS = """1. Check the files: `sha256sum -c SHA256SUMS`.
2. Set the paths: `export TARGET=/path/on/the/storage RESULTS=$PWD/results`.
3. Run the scripts below. Do not change the job files: `ingest verdict` compares their hashes and the settings of each
   run. Earlier results stay; each run takes the next number.
4. `ingest verdict . results`
5. Remove the test files: the folders below TARGET with the names of tests and tools."""

CLIENTS = """On every client, for fio, with the same TARGET:

```
sh fio/servers.sh fill      # before filling files, and for tests of writes and metadata
sh fio/servers.sh read      # before tests of reads: each client reads the files of the next one
sh fio/servers.sh shared    # for tests with shared files
```

Write the clients into `hosts.txt`, one per line; a test on fewer clients takes the first of them. For IOR, mdtest and
DLIO, MPI uses this file as its host file; `LAUNCH='srun -N16 --ntasks-per-node=8'` replaces `mpirun`. For
elbencho start `elbencho --service` on every client.

Scripts of read tests execute the command in DROP_CACHES before every run. For Linux clients and pdsh:

```
export DROP_CACHES="pdsh -w ^$PWD/hosts.txt 'sync; echo 3 > /proc/sys/vm/drop_caches'"
```

Have the vendor add the command that drops the caches of the servers; `DROP_CACHES=true` drops none. IOR shifts ranks to
the next client, elbencho rotates its hosts."""

LEVEL = """The tests require {percent:g} % of the capacity in use. Fill the data sets first, then the rest:

```
sh ballast.sh
```"""

ONCE = "Once, before the tests of each tool; remove its data before the next tool fills its own:"
IMPLIED = {
    "required_requests_per_second": "implied: {:,.0f} requests per second",
    "requests_in_flight": "implied: a queue depth of {:,.0f} requests",
    "mean_latency_allowed": "implied: a mean latency of at most {:.3g} s",
}


def readme(
    site: str,
    setting: Setting,
    tests: Sequence[AcceptanceTest],
    untested: Mapping[str, str],
    requirements: Sequence[Requirement],
) -> str:
    """The README as Markdown; user-supplied texts are escaped."""
    return "\n".join(_readme(site, setting, tests, untested, {line.id: line for line in requirements})) + "\n"


def _readme(
    site: str,
    setting: Setting,
    tests: Sequence[AcceptanceTest],
    untested: Mapping[str, str],
    requirements: Mapping[str, Requirement],
) -> Iterator[str]:
    title = "Rehearsal of the acceptance tests" if setting.rehearsal else "Acceptance tests"
    yield from (f"# {title}: {markdown(site)}", "", REHEARSAL if setting.rehearsal else FULL, "", STEPS)
    if not setting.rehearsal:
        yield from ("", "## Clients and caches", "", CLIENTS)
        yield from _data(setting, tests, tuple(requirements.values()))
    yield from ("", "## Tests", "", "| test | requirement | priority | tool | must reach | runs |", "|---|---|---|---|---|---|")
    for test in tests:
        must = ", ".join(_must(load, test) for load in test.loads)
        tool = f"{test.tool} ≥ {test.version}"
        lines = ", ".join((test.requirement, *test.also))
        yield f"| {test.id} | {lines} | {test.priority} | {tool} | {must} | {test.repeats} |"
    for test in tests:
        yield from ("", f"### {test.id}", "", markdown(test.statement), "")
        yield from (f"- {line}" for line in _conditions(test, requirements[test.requirement]))
        yield from ("", "```", f"sh {_script(test)}", "```")
    if untested:
        yield from ("", "## Requirements without a performance test", "")
        yield from (f"- {ident}: {markdown(requirements[ident].statement)} {markdown(why)}." for ident, why in untested.items())


def _data(setting: Setting, tests: Sequence[AcceptanceTest], requirements: Sequence[Requirement]) -> Iterator[str]:
    scripts = sorted({name for test in tests for name in test.files if PurePath(name).name.startswith("fill-")})
    if scripts:
        yield from ("", "## Data", "", *(f"- **{markdown(line)}**" for line in data_warnings(setting, requirements)), "")
        yield from (ONCE, "", "```", *(f"sh {name}" for name in scripts), "```")
    fills = [line.conditions.fill for line in requirements if line.conditions.fill]
    if fills:
        yield from ("", LEVEL.format(percent=max(fills) * 100))


def _script(test: AcceptanceTest) -> str:
    return next(name for name in test.files if PurePath(name).name == f"{test.id}.sh")


def _must(load: Load, test: AcceptanceTest) -> str:
    return (f"{load.operation} " if len(test.loads) > 1 else "") + display(load.threshold, load.unit)


def _conditions(test: AcceptanceTest, requirement: Requirement) -> Iterator[str]:
    for load in test.loads:
        size = f" of {display(load.io_bytes, 'B')}" if load.io_bytes else ""
        yield f"{load.pattern} {load.operation}{size}, {load.clients:,} × {load.threads} threads, {load.files}".strip()
        if load.seconds:
            yield f"measured over {display(load.seconds, 's')}, after the ramp"
        if load.handled:
            yield f"ends after {load.handled:,} files, which take the duration of the line at the required rate"
        if load.dataset_bytes:
            yield f"from at least {display(load.dataset_bytes, 'B')} of data"
    least = f"{test.allowed_deviation * 100:g} %"
    yield f"the median of {test.repeats} run(s) reaches the rate, none stays more than {least} below it"
    for name, value in test.assumed.items():
        yield f"{name.replace('_', ' ')}: {value:,}, not set by the requirement"
    if test.parameters:
        yield "with " + ", ".join(f"{name} = {value:,}" for name, value in test.parameters.items())
    if requirement.conditions.fill:
        yield f"with {requirement.conditions.fill * 100:g} % of the capacity in use"
    if requirement.conditions.cache:
        yield f"caches: {markdown(requirement.conditions.cache)}"
    for ident, threshold in test.also.items():
        yield f"covers {ident}, which requires {display(threshold, test.loads[0].unit)} under the same conditions"
    for note in test.notes:
        yield f"**{markdown(note)}**"
    for name, value in test.implied.items():
        yield IMPLIED[name.rpartition(".")[0]].format(value)


#: Runs on every client; a reading client works in the folder that the next one filled.
SERVERS = """#!/bin/sh
# On every client: `sh servers.sh fill` before filling or writing files, `sh servers.sh read` before reading them.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
here=$(cd "$(dirname "$0")" && pwd)
HOSTS=${HOSTS:-$here/../hosts.txt}
own=$(grep . "$HOSTS" | sed 's/,.*//' | grep -n -x -F -- "${CLIENT:-$(hostname -s)}" | head -n 1 | cut -d : -f 1)
: "${own:?this client is not in the hosts file; set CLIENT to its name there}"
all=$(grep -c . "$HOSTS")
case "${1:-}" in
  fill) folder=$own ;;
  read) folder=$((own % all + 1)) ;;
  shared) folder=shared ;;
  *) echo "servers.sh: found '${1:-}', expected fill, read or shared" >&2; exit 2 ;;
esac
mkdir -p "$TARGET/fio/$folder"
cd "$TARGET/fio/$folder"
exec fio --server
"""

BALLAST = """#!/bin/sh
# Writes files until {percent} % of the capacity is in use; several clients may run it concurrently.
set -eu
: "${{TARGET:?set TARGET to a folder on the storage under test}}"
folder=$TARGET/ballast/$(hostname -s).$$
mkdir -p "$folder"
cd "$folder"
number=0
while [ "$(df -P . | tail -n 1 | awk '{{print int($5)}}')" -lt {percent} ]; do
  number=$((number + 1))
  fio --name=ballast --filename="$number" --rw=write --bs=1m --size="${{SIZE:-64g}}" --direct=1 --output=/dev/null
done
"""


def helpers(lines: Sequence[Requirement]) -> dict[str, str]:
    """Helper scripts: path -> content."""
    fills = [line.conditions.fill for line in lines if line.conditions.fill]
    found = {"fio/servers.sh": SERVERS}
    return found | ({"ballast.sh": BALLAST.format(percent=round(max(fills) * 100))} if fills else {})


HEAD = """#!/bin/sh
# {ident}: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${{TARGET:?set TARGET to a folder on the storage under test}}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${{RESULTS:=$here/../results}}"
RESULTS=$(cd "$RESULTS" && pwd)
# Results of earlier runs stay: a run takes the next number.
free() {{ run=1; while [ -e "$RESULTS/{ident}.run$run$1" ]; do run=$((run + 1)); done; }}
"""

#: A new folder, so that no existing file is touched.
OWN_FOLDER = """TARGET=$(cd "$TARGET" && pwd)/{ident}
mkdir "$TARGET"
"""

#: The folder that a fill script of the tool made.
DATA_FOLDER = """TARGET=$(cd "$TARGET" && pwd)/{folder}
"""

CLEANED = """trap 'cd / && rm -rf -- "$TARGET"' EXIT
trap 'exit 130' INT TERM HUP
cd "$TARGET"
"""

#: Tests have different numbers of clients: each takes the first ones of the list.
HOSTS = """HOSTS=${{HOSTS:-$here/../hosts.txt}}
if ! [ -s "$HOSTS" ]; then
  echo "{ident}: hosts file '$HOSTS' is missing or empty, expected {clients} clients, one per line" >&2
  exit 2
fi
if [ "$(grep -c . "$HOSTS")" -lt {clients} ]; then
  echo "{ident}: hosts file '$HOSTS' has $(grep -c . "$HOSTS") clients, expected {clients}" >&2
  exit 2
fi
grep . "$HOSTS" | head -n {clients} > "$RESULTS/{ident}.hosts"
HOSTS=$RESULTS/{ident}.hosts
"""

#: The operator sets how to drop caches, which depends on servers and privileges.
DROPS = """: "${{DROP_CACHES:?set DROP_CACHES to a command that drops the caches of clients and servers, or to true for none}}"
"""

#: Options of Open MPI; LAUNCH replaces them for srun or another MPI.
LAUNCH_ONE = "LAUNCH=${{LAUNCH:-mpirun -np {ranks}}}\n"
LAUNCH_ALL = "LAUNCH=${{LAUNCH:-mpirun -np {ranks} -N {threads} --hostfile $HOSTS}}\n"


def script(ident: str, clients: int, rehearsal: bool, body: Iterable[str], *, folder: str = "", drops: bool = False) -> str:
    """A script that runs a test or fills a data set.

    Args:
        ident: of the test, or of the data set.
        clients: least number in the hosts file.
        rehearsal: on this machine alone, in a folder that is removed at the end.
        body: its lines.
        folder: below TARGET; a new one where it has the name of the test. Empty for fio, whose servers have their own.
        drops: whether to drop caches between runs.
    """
    parts = [HEAD] if rehearsal else [HEAD, HOSTS]
    if drops and not rehearsal:
        parts.append(DROPS)
    if rehearsal:
        parts += [OWN_FOLDER, CLEANED]
    elif folder:
        parts.append(OWN_FOLDER if folder == ident else DATA_FOLDER)
    return "".join(parts).format(ident=ident, clients=clients, folder=folder) + "\n".join(body) + "\n"


def repeated(repeats: int, ending: str, commands: Iterable[str], *, drops: bool) -> Iterator[str]:
    """Lines that repeat commands, with free file names for their results and cold caches."""
    yield f"for turn in $(seq {repeats}); do"
    yield f'  free "{ending}"'
    if drops:
        yield '  sh -c "$DROP_CACHES"'
    yield from (f"  {command}" for command in commands)
    yield "done"


def launch(clients: int, threads: int, rehearsal: bool) -> str:
    """The line that sets how MPI starts one rank for each thread."""
    line = LAUNCH_ONE if rehearsal else LAUNCH_ALL
    return line.format(ranks=clients * threads, threads=threads).rstrip("\n")

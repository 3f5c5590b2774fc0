"""Histories as Slurm records them, whose truth is known: drawn runs, and rows that say something else than a run."""

import datetime
import random
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from ingest.files import table_beside

TABLES = table_beside(__file__, "rows.yaml")

HEADER = (
    "JobIDRaw|Partition|State|Submit|Start|End|ElapsedRaw|AllocNodes|AllocTRES|TRESUsageInTot|JobName|User|Account|WorkDir|"
    "TRESUsageOutTot"
)
#: Where the clock of the site is set back in 2025 (Central Europe), by its own time.
SET_BACK = datetime.datetime(2025, 10, 26, 3)
HOUR = 3600
GPUS_PER_NODE = 8


class Run(NamedTuple):
    """A run as it was, in seconds of even time since 1970: an hour behind the summer clock is the winter one."""

    start: int
    end: int
    gpus: int
    nodes: int
    #: read, written: bytes, where its steps count them
    read: int = 0
    written: int = 0
    ident: int = 0  # of its job, likewise


class History(NamedTuple):
    """The rows of a history, the runs that they tell of, and how many rows of each poison are in it."""

    rows: list
    runs: list
    poisons: Counter

    @property
    def text(self):
        return "\n".join([HEADER, *self.rows]) + "\n"

    @property
    def gpu_seconds(self):
        return sum((one.end - one.start) * one.gpus for one in self.runs)


def written(tmp_path, content, name="history.txt"):
    """The file of a history, or of what belongs to it."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def even(shown):
    return int((shown - datetime.datetime(1970, 1, 1)).total_seconds())


#: Even time runs on in summer time: what the clock shows after it is set back is an hour behind.
CHANGE = even(SET_BACK)


def local(time):
    """The time that the clock shows at an even time."""
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=time - (HOUR if time >= CHANGE else 0))).isoformat()


def unclear(run):
    """Whether nothing tells in which of both passes a run was, as it began and ended within one pass of the repeated hour."""
    return any(first <= run.start and run.end < first + HOUR for first in (CHANGE - HOUR, CHANGE))


def tres(chance, run):
    """The resources of a run in one of their forms."""
    parts = [f"billing={chance.randrange(999)}", f"cpu={run.gpus * 8}", f"mem={chance.randrange(1, 999)}G", f"node={run.nodes}"]
    typed = [f"gres/gpu:h100={run.gpus}"]
    parts += {0: [f"gres/gpu={run.gpus}"], 1: [f"gres/gpu={run.gpus}", *typed], 2: typed}[chance.randrange(3)]
    chance.shuffle(parts)
    return ",".join(parts)


def disk(moved):
    """Bytes as `sacct` writes them: odd numbers with a unit and two digits."""
    power = sum(moved >= 1024**power for power in range(1, 5)) if moved % 2 else 0
    return f"cpu=00:00:01,fs/disk={f'{moved / 1024**power:.2f}' + 'KMGT'[power - 1] if power else moved},mem=1M"


def drawn(seed, jobs, names=lambda: ("train", "alice", "physics", "/home/alice/run")):
    """A history of so many jobs with the eight poisons among them."""
    chance = random.Random(seed)
    rows, runs, poisons = [], [], Counter()
    begin, length = even(datetime.datetime(2025, 3, 31)), 300 * 86_400

    def row(ident, state, run, *, allocated=None, start=None, end=None, elapsed=None, read="", wrote=""):
        start = local(run.start) if start is None else start
        end = local(run.end) if end is None else end
        elapsed = run.end - run.start if elapsed is None else elapsed
        allocated = tres(chance, run) if allocated is None else allocated
        cells = [ident, "gpu", state, local(run.start - 60), start, end, elapsed, run.nodes, allocated, read, *names(), wrote]
        rows.append("|".join(map(str, cells)))

    def one():
        start = begin + chance.randrange(length)
        nodes = chance.choice([1, 1, 1, 2, 4, 8])
        gpus = nodes * GPUS_PER_NODE if nodes > 1 else chance.choice([1, 2, 4, 8])
        run = Run(start, start + int(chance.expovariate(1 / 5000)) + 1, gpus, nodes)
        return one() if unclear(run) else run

    def steps(ident, run):
        """A run whose steps count bytes."""
        run = run._replace(read=chance.randrange(10**12), written=int(chance.expovariate(1e-9)), ident=ident)
        for step in ("batch", "extern", "0"):
            moved = {"read": disk(run.read), "wrote": disk(run.written)} if step == "0" else {}
            row(f"{ident}.{step}", "COMPLETED", run, allocated="cpu=8", **moved)
        runs.append(run)

    for ident in range(1, jobs + 1):
        run, kind = one(), chance.random()
        if kind < 0.01:
            poisons["never started"] += 1
            unknown = chance.choice(["None", "Unknown"])
            row(ident, "CANCELLED by 1001", run, allocated="", start=unknown, end=local(run.end), elapsed=0)
        elif kind < 0.02:
            # Requeued twice: each try is an allocation of its own.
            for state in ("REQUEUED", "NODE_FAIL", "COMPLETED"):
                if unclear(run):
                    break
                row(ident, state, run)
                steps(ident, run)
                run = run._replace(start=run.end + 300, end=run.end + 300 + run.end - run.start)
        elif kind < 0.03:
            tasks = f"{ident}_[{chance.randrange(9)}-{chance.randrange(10, 99)}%4]"
            row(tasks, "PENDING", run, allocated="", start="Unknown", end="Unknown", elapsed=0)
            poisons["never started"] += 1
            for task in range(3):
                row(f"{ident}_{task}", "COMPLETED", run)
                runs.append(run)
        elif kind < 0.04:
            poisons["no parent"] += 1
            row(f"{10**9 + ident}.batch", "COMPLETED", run, read="cpu=00:00:01,fs/disk=5")
        elif kind < 0.05:
            poisons["backwards"] += 1
            row(ident, "COMPLETED", run, end=local(run.start - 20_000), elapsed=0)
        elif kind < 0.06:
            # Across the change of the clock: an hour seems to be missing.
            run = one()._replace(start=CHANGE - chance.randrange(1, 3 * HOUR), end=CHANGE + chance.randrange(5 * HOUR))
            row(ident, "COMPLETED", run)
            runs.append(run)
        elif kind < 0.07:
            poisons["no GPUs"] += 1
            row(ident, "COMPLETED", run, allocated="")
        elif kind < 0.08:
            poisons["twice"] += 1
            row(ident, "FAILED", run)
            rows.append(rows[-1])
            runs.append(run)
        else:
            row(ident, chance.choice(["COMPLETED", "TIMEOUT", "FAILED", "CANCELLED by 7"]), run)
            steps(ident, run)
    return History(rows, runs, poisons)


def levels(runs, amount=lambda run: run.gpus):
    """The level after each time, by adding up events in pure Python; with the time for which each holds."""
    changes = Counter()
    for run in runs:
        changes[run.start] += amount(run)
        changes[run.end] -= amount(run)
    times, level, found = sorted(changes), 0, []
    for time, after in pairwise(times):
        level += changes[time]
        found.append((level, after - time))
    return found


def quantile(found, share):
    """The smallest level that is not exceeded for that share of the time."""
    left = share * sum(length for _, length in found)
    for level, length in sorted(found):
        left -= length
        if left <= 1e-6:
            return level
    return max(level for level, _ in found)

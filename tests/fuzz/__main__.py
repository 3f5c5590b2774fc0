"""`make fuzz`: run mutated inputs, print what breaks the contract, and keep it as fixtures.

    PYTHONPATH=tests python -m fuzz --seed 7 --count 20000
    PYTHONPATH=tests python -m fuzz tests/fuzz/found/NAME.json

The exit code is 1 if something was found.
"""

import argparse
import os
import pickle
import re
import sys
from pathlib import Path

from fuzz import runner, seeds
from fuzz.cases import from_json, to_json
from fuzz.kinds import KINDS

FOUND = Path(__file__).parent / "found"


def main() -> int:
    """Run what the options ask for."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Mutated inputs of every kind, held against the contract.")
    parser.add_argument("fixture", nargs="*", type=Path, help="replay these fixtures instead")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kind", action="append", default=[], choices=list(KINDS))
    parser.add_argument("--found", type=Path, default=FOUND, help="folder for the fixtures of new findings")
    parser.add_argument("--trials", type=int, default=150, help="trials to make a found input smaller")
    parser.add_argument("--seeds", type=Path, help="keep the seeds in this file, or take them from it")
    chosen = parser.parse_args()
    if chosen.fixture:
        return _replay(chosen.fixture)
    held, only = _seeds(chosen.seeds), tuple(chosen.kind)
    report = runner.run(held, chosen.seed, chosen.count, chosen.seconds, chosen.workers, only, runner.to_standard_error)
    _print(report)
    one = runner.Worker(held, chosen.seed, only)
    try:
        for name, (index, case, finding) in report.found.items():
            trials = chosen.trials if finding.what not in ("hang", "memory") else 12
            small = runner.smaller(one, case, finding, trials)
            path = chosen.found / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')[:70]}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(to_json(small, finding), encoding="utf-8")
            words = " ".join(small.words)[:400]
            print(f"\n{name} (index {index})\n  {path}\n  ingest {words}\n  {finding.detail[-700:]}", flush=True)
    finally:
        one.close()
    return 1 if report.found else 0


def _seeds(kept: Path | None) -> seeds.Seeds:
    """The seeds, from a file if they are there; the tests make them once."""
    if kept is not None and kept.exists():
        runner.load_commands()
        held: seeds.Seeds = pickle.loads(kept.read_bytes())  # noqa: S301  our own process wrote it
        return held
    held = runner.make_seeds()
    if kept is not None:
        kept.write_bytes(pickle.dumps(held))
    return held


def _print(report: runner.Report) -> None:
    total = sum(report.inputs.values())
    print(f"seed {report.seed}: {total:,} inputs in {report.seconds:.0f} s, {total / max(report.seconds, 1e-9):.0f} per second")
    print("  kinds: " + ", ".join(f"{kind} {number:,}" for kind, number in sorted(report.inputs.items())))
    print("  exit codes: " + ", ".join(f"{code}: {number:,}" for code, number in sorted(report.codes.items())))
    print("  slowest: " + ", ".join(f"{seconds:.1f} s (index {index})" for seconds, index in report.slowest))
    for name, number in sorted(report.times.items()):
        print(f"  {number:5} {name}")
    for index, finding in report.unconfirmed:
        print(f"  not again when run alone: {finding.name} (index {index})")
    print(f"  findings: {len(report.found)}", flush=True)


def _replay(paths: list[Path]) -> int:
    bad = 0
    runner.load_commands()  # once, for all the processes that are forked
    one = runner.Worker(runner.seeds.Seeds(), 0, ())
    try:
        for path in paths:
            case = from_json(path.read_text(encoding="utf-8"))
            # What is found is run again in a worker that has run nothing else, as when it was found first.
            finding = runner.again_warm(one, case) and runner.again_alone(one, case)
            bad += finding is not None
            print(f"{path}: {finding.name + ': ' + finding.detail[-1500:] if finding else 'fine'}")
    finally:
        one.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

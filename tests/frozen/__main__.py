"""Record today's answers, or compare today's answers with the recorded ones.

`make frozen` compares all; `PYTHONPATH=tests .venv/bin/python -m frozen compare --only bw --sample 10` each tenth of a command.
A change that moves an answer on purpose ends with `make frozen-record` (or `accept --only bw`), which asks the same questions
anew; its commit says which kinds moved and why. `draw --only bw --seed 7` adds questions, as a new command or option needs.
"""

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from frozen.answers import condensed, differences, read, write
from frozen.ask import Asking, asking

HERE = Path(__file__).parent
ANSWERS = {"drawn": HERE / "answers.xz", "plans": HERE / "plans.xz"}


def name_of(words: list[str]) -> str:
    """The command of a question."""
    return " ".join(words[:2]) if words[0] == "catalog" else words[0]


def moved(recorded: list[tuple[list[str], dict[str, Any]]], answers: Asking) -> tuple[dict[str, list[str]], int]:
    """Kind -> what moved, an example each; and the number of questions of which something moved."""
    found: dict[str, list[str]] = defaultdict(list)
    questions = 0
    for (words, kept), now in zip(recorded, answers([words for words, _ in recorded]), strict=True):
        seen = set()
        for path, kind, before, after in differences(kept, now):
            key = f"{name_of(words)}: {path}: {kind}"
            if key not in seen:
                seen.add(key)
                found[key].append(
                    f"ingest {' '.join(words)}\n      was {_short(before, after)}\n      is  {_short(after, before)}"
                )
        questions += bool(seen)
    return found, questions


def _short(value: Any, other: Any) -> str:
    """A value, a long text from where it differs."""
    text, beside = (one if isinstance(one, str) else repr(one) for one in (value, other))
    start = next((place for place, (a, b) in enumerate(zip(text, beside, strict=False)) if a != b), min(len(text), len(beside)))
    return repr(("…" if start > 40 else "") + text[max(0, start - 40) : start + 100])


def report(found: dict[str, list[str]], most: int) -> None:
    """Print the kinds, the most frequent first, with their first examples."""
    for key, examples in sorted(found.items(), key=lambda one: -len(one[1]))[:most]:
        print(f"{len(examples):6} {key}", *(f"    {one}" for one in examples[:3]), sep="\n")
    if len(found) > most:
        print(f"       {len(found) - most} more kinds: --most {len(found)}")


def draw(only: str, seed: int, answers: Asking) -> int:
    """Draw questions of a command, or of all, and keep them with their answers beside those that are recorded."""
    from frozen.draw import ASKED, Draws

    kept, draws = read(ANSWERS["drawn"]), Draws(seed)
    for name, wanted, bases in ASKED:
        seen = {" ".join(words) for words, _ in kept}
        drawn = [draws.question(name, bases) for _ in range(2 * wanted)] if name.startswith(only) else []
        asked = [*{" ".join(words): words for words in drawn if " ".join(words) not in seen}.values()]
        pairs = draws.chosen([*zip(asked, answers(asked), strict=True)], wanted)
        # What follows from the hour or from the speed of the machine is no answer to hold.
        again = [words for words, _ in pairs] if name in ("measure", "observe") else []
        dropped = [one for (one, answer), now in zip(pairs, answers(again), strict=False) if [*differences(answer, now)]]
        kept += [(words, condensed(answer)) for words, answer in pairs if words not in dropped]
        print(f"{name}: {len(pairs)} of {wanted}, {len(asked)} asked", flush=True)
    kept.sort(key=lambda pair: (pair[0][0], isinstance(pair[1]["out"], str), pair[0]))
    write(ANSWERS["drawn"], kept)
    print(f"{len(kept)} questions, {sum(path.stat().st_size for path in HERE.rglob('*.xz')):,} bytes")
    return 0


def compare(only: str, sample: int, most: int, answers: Asking) -> int:
    """Ask the recorded questions again; returns 1 if an answer differs."""
    start = time.monotonic()
    recorded = [pair for path in ANSWERS.values() for pair in read(path)]
    recorded = [pair for pair in recorded if name_of(pair[0]).startswith(only)][::sample]
    found, questions = moved(recorded, answers)
    report(found, most)
    print(f"{questions} of {len(recorded)} answers differ, in {len(found)} kinds; {time.monotonic() - start:.0f} s")
    return int(bool(found))


def accept(only: str, answers: Asking) -> int:
    """Keep today's answers to the recorded questions of a command, or of all."""
    for path in ANSWERS.values():
        recorded = read(path)
        asked = [words for words, _ in recorded if name_of(words).startswith(only)]
        today = map(condensed, answers(asked)) if path == ANSWERS["drawn"] else answers(asked)
        now = dict(zip(map(tuple, asked), today, strict=True))
        write(path, [(words, now.get(tuple(words), kept)) for words, kept in recorded])
        print(f"{len(asked)} of {len(recorded)} answers of {path.name} recorded anew")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="frozen", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["draw", "compare", "accept"])
    parser.add_argument("--only", default="", help="the questions of one command")
    parser.add_argument("--sample", type=int, default=1, help="compare: every k-th question")
    parser.add_argument("--most", type=int, default=25, help="compare: kinds to print")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=40, help="draw: seed of the questions")
    given = parser.parse_args()
    with asking(given.jobs) as answers:
        if given.what == "draw":
            return draw(given.only, given.seed, answers)
        if given.what == "accept":
            return accept(given.only, answers)
        return compare(given.only, given.sample, given.most, answers)


if __name__ == "__main__":
    sys.exit(main())

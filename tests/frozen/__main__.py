"""Record today's answers, or compare today's answers with the recorded ones.

`make frozen` compares all; `PYTHONPATH=tests .venv/bin/python -m frozen compare --only bw --sample 10` each tenth of a command.
A change that moves an answer on purpose ends with `make frozen-record` (or `accept --only bw`), which asks the same questions
anew; its commit says which kinds moved and why. `record` draws other questions.
"""

import argparse
import math
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from frozen.answers import condensed, differences, read, write
from frozen.ask import Asking, asking

HERE = Path(__file__).parent
ANSWERS = {"drawn": HERE / "answers.xz", "plans": HERE / "plans.xz"}
#: exit codes of answers that are no refusal: a stated requirement may be missed
SENSIBLE = (0, 3)
#: share of refusals among the answers of a command
REFUSED = 0.2


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


def record(count: int, seed: int, answers: Asking) -> int:
    """Draw questions, ask them, and keep them with their answers."""
    from frozen import draw

    seeds = draw.files()
    draws = draw.Draws(seeds, seed)
    first = [
        draws.base(name) + (["--format", "json"] if "--format" in draw.declared(name) else [])
        for name in draw.SHARES
        for _ in range(8)
    ]
    for words, answer in zip(first, answers(first), strict=True):
        draws.learn(name_of(words), answer["out"])
    models = draws.lists["MODEL"]
    bare = answers([["bw", model, "h100", "--format", "json"] for model in models])
    draws.sized = [model for model, answer in zip(models, bare, strict=True) if answer["code"] == 0]
    whole = sum(draw.SHARES.values())
    kept: list[tuple[list[str], dict[str, Any]]] = []
    for name, share in draw.SHARES.items():
        # A command with few different questions leaves its share to the last one.
        wanted = count - len(kept) if name == [*draw.SHARES][-1] else max(2, round(share * count / whole))
        start = time.monotonic()
        pairs: list[tuple[list[str], dict[str, Any]]] = []
        seen: set[str] = set()
        for _ in range(3):
            sensible = sum(answer["code"] in SENSIBLE for _, answer in pairs)
            share_sensible = (sensible + 3) / (len(pairs) + 4)
            missing = math.ceil(((1 - REFUSED) * wanted - sensible) * 1.03 / share_sensible)
            drawn = [draws.question(name) for _ in range(missing if pairs else max(missing // 2, 8))]
            asked = sorted({" ".join(words): words for words in drawn if " ".join(words) not in seen}.values())
            seen |= {" ".join(words) for words in asked}
            pairs += zip(asked, answers(asked), strict=True)
        chosen = draws.chosen(pairs, wanted, REFUSED, SENSIBLE)
        kept += [(words, condensed(answer)) for words, answer in chosen]
        refused = sum(answer["code"] not in SENSIBLE for _, answer in chosen)
        print(
            f"{name}: {len(chosen)} of {wanted}, {refused} refused, {len(pairs)} asked, {time.monotonic() - start:.0f} s",
            flush=True,
        )
    # What follows from the hour or from the speed of the machine is no answer to hold.
    unsteady = [pair for pair in kept if pair[0][0] in ("measure", "observe")]
    again = answers([words for words, _ in unsteady])
    dropped = [words for (words, answer), now in zip(unsteady, again, strict=True) if [*differences(answer, now)]]
    kept = [pair for pair in kept if pair[0] not in dropped]
    helps = [*draw.helps()]
    kept += zip(helps, answers(helps), strict=True)
    kept.sort(key=lambda pair: (pair[0][0], isinstance(pair[1]["out"], str), pair[0]))
    for line in draw.rare([words for words, _ in kept]):
        print(f"  rare: {line}")
    write(ANSWERS["drawn"], kept)
    plans = draw.plans()
    write(ANSWERS["plans"], [*zip(plans, answers(plans), strict=True)])
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
    parser.add_argument("what", choices=["record", "compare", "accept"])
    parser.add_argument("--only", default="", help="compare, accept: the questions of one command")
    parser.add_argument("--sample", type=int, default=1, help="compare: every k-th question")
    parser.add_argument("--most", type=int, default=25, help="compare: kinds to print")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--count", type=int, default=20_400, help="record: questions to draw")
    parser.add_argument("--seed", type=int, default=40, help="record: seed of the questions")
    given = parser.parse_args()
    with asking(given.jobs) as answers:
        if given.what == "record":
            return record(given.count, given.seed, answers)
        if given.what == "accept":
            return accept(given.only, answers)
        return compare(given.only, given.sample, given.most, answers)


if __name__ == "__main__":
    sys.exit(main())

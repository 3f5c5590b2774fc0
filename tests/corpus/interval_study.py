"""How often an interval holds the true value: real text counted once, samples drawn from it thousands of times.

    python tests/corpus/interval_study.py CORPUS [DRAWS [TOKENIZER]]

prints the tables of docs/method-sampling.md.
"""

import random
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy
from counted import as_row_group, blocks_group, gzipped, joined, redraw, shards_group, texts_of

from ingest.corpus.tokenizers.engines import select_engine
from ingest.corpus.tokenizers.vocabulary import vocabulary_of

MEBI = 2**20


def kinds_of(texts, engine):
    """The kinds of corpora that are drawn from, each made of the same text: name, maker of groups, true tokens."""
    tenth = -(-sum(map(len, texts)) // 10)
    big = [b"".join(shard) for shard in joined(texts, tenth)]
    yield "plain files", *blocks_group(texts, engine)
    yield f"{len(big)} big shards", *blocks_group(big, engine)
    yield "gzip shards of 256 KiB", *shards_group(texts, engine, MEBI // 4, gzipped, "gzip")
    mixed = random.Random(1).sample(texts, len(texts))
    yield "gzip shards of 1 MiB, shuffled", *shards_group(mixed, engine, MEBI, gzipped, "gzip")
    yield "Parquet row groups of 256 KiB", *shards_group(texts, engine, MEBI // 4, as_row_group, "parquet")


class Draw(NamedTuple):
    """One sample: whether its intervals hold the truth, how far off it is, how wide they are, what it took."""

    tokens_held: bool
    tokens_off: float
    tokens_width: float
    ratio_held: bool
    ratio_off: float
    ratio_width: float
    draws: int
    met: bool


def redrawn(make, tokens, tolerance, draws, confidence=0.95):
    """Many samples; those that would have read everything are exact and left out."""
    ratio = int(make().texts.sum()) / tokens
    for seed in range(draws):
        survey = redraw([make()], seed, tolerance, confidence)
        if not survey.drawn:
            continue
        state = survey.estimand()
        found = judged(state.estimate("tokens"), tokens) + judged(state.estimate("text_bytes", "tokens"), ratio)
        yield Draw(*found, len(survey.drawn[0].drawn), survey.met)


def judged(estimated, truth):
    """Whether the interval holds the truth, the error, and half the width, both over the truth."""
    return estimated.low <= truth <= estimated.high, estimated.value / truth - 1, (estimated.high - estimated.value) / truth


DESIGNS = ("independent", "systematic", "one in each stratum", "two in each stratum")


def designs(densities, sizes, draws, repeats, generator):
    """For each design: coverage, bias and half width, of the mean density; blocks as large as `sizes`."""
    ends = numpy.cumsum(sizes)
    whole, truth = int(ends[-1]), float((densities * sizes).sum() / sizes.sum())
    for design in DESIGNS:
        chance = generator.random((repeats, draws))
        strata = numpy.arange(draws) / draws
        if design == "independent":
            places = chance
        elif design == "systematic":
            places = strata + chance[:, :1] / draws
        elif design == "one in each stratum":
            places = strata + chance / draws
        else:
            places = numpy.repeat(strata[: draws // 2] * 2, 2) + chance * 2 / draws
        found = densities[numpy.searchsorted(ends, (places * whole).astype(int), side="right")]
        if design == "independent":
            error = found.std(axis=1, ddof=1) / draws**0.5
        elif design == "two in each stratum":
            error = ((found[:, ::2] - found[:, 1::2]) ** 2).sum(axis=1) ** 0.5 / draws
        else:
            error = ((numpy.diff(found, axis=1) ** 2).sum(axis=1) / (2 * draws * (draws - 1))) ** 0.5
        off = found.mean(axis=1) - truth
        yield design, (abs(off) <= 1.96 * error).mean(), off.mean() / truth, off.std() / truth, 1.96 * error.mean() / truth


def main(corpus, draws, tokenizer):
    engine, _ = select_engine(vocabulary_of(tokenizer), [b"def f(): pass"], 2)
    started = time.monotonic()
    paths = sorted(path for path in Path(corpus).rglob("*") if path.is_file() and not path.is_symlink())
    texts = list(texts_of(paths))
    print(f"{len(texts):,} files, {sum(map(len, texts)):,} B\n")
    made = list(kinds_of(texts, engine))
    print(f"counted in {time.monotonic() - started:.0f} s\n")
    print("| kind | tolerance | samples | draws in each | tokens: coverage | bias | half width "
          "| bytes per token: coverage | bias | half width | tolerance met |\n" + "|---" * 11 + "|")  # fmt: skip
    for kind, make, tokens in made:
        for tolerance in (0.01, 0.005) if make().blocks else (0.03,) if "shuffled" in kind else (0.1, 0.05):
            found = list(redrawn(make, tokens, tolerance, draws))
            if not found:
                print(f"| {kind} | {tolerance:.1%} | none: it would read everything |")
                continue
            held, bias, width, ratio_held, ratio_bias, ratio_width, drawn, met = numpy.array(found, dtype=float).mean(axis=0)
            print(
                f"| {kind} | {tolerance:.1%} | {len(found):,} | {drawn:,.0f} | {held:.1%} | {bias:+.3%} | {width:.2%} "
                f"| {ratio_held:.1%} | {ratio_bias:+.3%} | {ratio_width:.2%} | {met:.1%} |",
                flush=True,
            )
    print("\n| design, 95 % | draws | coverage | bias | spread of the estimate | half width |\n|---|---|---|---|---|---|")
    generator = numpy.random.default_rng(1)
    for kind, make, _ in (made[0], made[2]):
        group = make()
        sizes = group.texts if group.blocks else numpy.array(group.frame.sizes)
        for count in (1000, 4000) if group.blocks else (60, 200):
            for design, *figures in designs(group.tokens / sizes, sizes, count, draws, generator):
                shown = " | ".join(f"{figure:.3%}" for figure in figures)
                print(f"| {kind}: {design} | {count:,} | {shown} |")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000, sys.argv[3] if len(sys.argv) > 3 else None)

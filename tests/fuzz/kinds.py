"""The kinds of input and their weights. The same generator and seeds make the same case."""

import random
from collections.abc import Callable, Sequence

from fuzz.archives import book, template
from fuzz.cases import Case
from fuzz.command_lines import options, pairs
from fuzz.corpora import corpus, ledger, tokenizer
from fuzz.job_logs import observed
from fuzz.seeds import Seeds
from fuzz.site_inputs import catalog, config, measured, plan, site, text_value, verdict

Generator = Callable[[random.Random, Seeds], tuple[list[str], dict[str, bytes]]]

#: share of the cases that run as processes of their own
APART = 0.02
#: kind -> its weight, its generator
KINDS: dict[str, tuple[float, Generator]] = {
    "site": (20, site), "options": (26, options), "pairs": (6, pairs), "config": (8, config), "plan": (9, plan),
    "verdict": (6, verdict), "measured": (4, measured), "observed": (6, observed), "catalog": (8, catalog),
    "ledger": (2, ledger), "tokenizer": (3, tokenizer), "corpus": (9, corpus), "book": (6, book), "template": (2.5, template),
    "text": (2, text_value),
}  # fmt: skip


def case_of(seeds: Seeds, seed: int, index: int, only: Sequence[str] = ()) -> Case:
    """The case of a seed and an index.

    Args:
        only: kinds to choose from; all by default.
    """
    chance = random.Random(f"{seed}/{index}")
    kinds = [kind for kind in KINDS if not only or kind in only]
    kind = chance.choices(kinds, [KINDS[kind][0] for kind in kinds])[0]
    words, files = KINDS[kind][1](chance, seeds)
    # No operating system passes a NUL character to a process; words are what the shell hands on.
    words = [word.replace("\0", "").encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") for word in words]
    return Case(kind, tuple(words), files, chance.random() < APART)

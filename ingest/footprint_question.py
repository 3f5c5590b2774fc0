"""What the user asks of `dataset`: options in base units, checked, and what is assumed where nothing was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.catalog.data_records import HOLDINGS, Corpus, Format
from ingest.engine.value import Input
from ingest.errors import CatalogError, IngestError, UsageError, nearest, one_of
from ingest.footprint import CONTENTS, STAGES
from ingest.formula import check_value, unit_of
from ingest.messages import Message, Option
from ingest.units import parse

Written = str | float
#: options that are quantities, and which
QUANTITIES = {
    "tokens": "tokens",
    "documents": "documents",
    "samples": "dataset_samples",
    "sample_bytes": "sample_bytes",
    "raw_bytes": "raw_bytes",
    "vocabulary": "vocabulary",
    "sequence_length": "sequence_length",
    "shard_size": "shard_bytes",
    "epochs": "epochs",
}
#: units of which there are no parts
WHOLE = ("sample", "token", "document", "file")
#: quantities that tell how much text there is
SIZES_OF_TEXT = ("tokens", "clean_bytes", "raw_bytes")

USUAL_BYTES_PER_TOKEN = Input(
    4,
    3.41,
    4.69,
    "default",
    "limelead-quartz",
    "LLM training.md, capacity",
    "assumed",
    Message("4 B of English per token; measured corpora lie between 3.4 and 4.7 B", supply=("bytes_per_token",)),
)
USUAL_VOCABULARY = Input(
    128_256,
    origin="default",
    source="meta-llama3",
    where="vocabulary size",
    grade="published",
    note=Message("ids take 4 B, as in a vocabulary of 128,256", supply=("vocabulary",)),
)
USUAL_TOKENS_PER_DOCUMENT = Input(
    600,
    400,
    1000,
    "default",
    "ingest-corpora",
    "tokens ÷ documents of C4, RefinedWeb, FineWeb, Dolma and DCLM",
    "derived",
    Message("tokens of a web document", supply=("documents",)),
)
USUAL_SEQUENCE = Input(4096, origin="default", note=Message("packed sequences of 4,096 tokens", supply=("sequence_length",)))


def quantities_of(settings: Mapping[str, float], copies: Written | None, **options: Written | None) -> dict[str, float]:
    """Options that are quantities, the copies, and `--set`, by name; the last one wins.

    Raises:
        UsageError: no number, another unit, or out of range.
    """
    found = {}
    for option, written in options.items():
        if written is not None:
            name, shown = QUANTITIES[option], shown_as(option)
            found[name] = float(check_value(name, above_zero(written, name, shown), shown))
    found |= _copies(copies)
    return found | {name: float(check_value(name, item, f"--set {name}")) for name, item in settings.items()}


def above_zero(written: Any, name: str, shown: str) -> float:
    """A quantity that cannot be nothing where a data set exists.

    Raises:
        UsageError: no number, another unit, or not above 0.
    """
    value = parse(written, unit_of(name), shown)
    if unit_of(name) in WHOLE and value != round(value):
        raise UsageError(f"{shown}: found {written}, expected a whole number ({unit_of(name)})")
    if not value > 0:
        raise UsageError(f"{shown}: found {written}, expected a number above 0 ({unit_of(name)})")
    return value


def _copies(written: Written | None) -> dict[str, float]:
    """`3`, or `raw=1,clean=1,dataset=3`."""
    found: dict[str, float] = {}
    for part in str(written).split(",") if written is not None else ():
        stage, equals, number = part.partition("=")
        stage = stage.strip() if equals else "dataset"
        if stage not in STAGES:
            raise UsageError(
                Message(
                    Option("copies"), f": found '{part}', expected N, or by stage {', '.join(STAGES)}{nearest(stage, STAGES)}"
                )
            )
        name = STAGES[stage][2]
        found[name] = float(check_value(name, parse(number if equals else part, "1", "--copies"), "--copies"))
    return found


def shown_as(option: str) -> str:
    """An option as people write it."""
    return f"--{option.replace('_', '-')}"


def content_of(of_text: Mapping[str, object], of_samples: Mapping[str, object], corpus: Corpus | None) -> str:
    """Whether there are `samples` or text (`tokens`).

    Args:
        of_text: the options that describe text, None where not given.
        of_samples: likewise, those that describe samples.
        corpus: the known corpus.

    Raises:
        UsageError: options of both.
        CatalogError: a corpus that holds nothing that is known.
    """
    text, samples = (
        [shown_as(option) for option, value in options.items() if value is not None] for options in (of_text, of_samples)
    )
    if corpus is not None:
        if corpus.holds not in CONTENTS:
            hint = nearest(corpus.holds, CONTENTS)
            raise CatalogError(f"{corpus.path}: holds: found '{corpus.holds}', expected one of {', '.join(CONTENTS)}{hint}")
        (samples if corpus.holds == "samples" else text).append(f"--corpus {corpus.id}")
    if text and samples:
        raise UsageError(f"{text[0]} and {samples[0]}: found a data set of text and of samples, expected one of them")
    return "samples" if samples else "tokens"


def held_by(form: Format | None, holds: str | None, content: str) -> str:
    """What the data set holds: as said, else what the format can hold of what there is.

    Raises:
        UsageError: an unknown word, or one that contradicts what there is.
    """
    if holds is None:
        possible = form.holds if form is not None else HOLDINGS
        return next((item for item in ("tokens", "text") if item in possible), content) if content == "tokens" else content
    one_of("--holds", holds, HOLDINGS)
    if (holds == "samples") != (content == "samples"):
        raise UsageError(
            Message(Option("holds"), f": found '{holds}' of a data set of {'samples' if content == 'samples' else 'text'}")
        )
    return holds


def complete(given: dict[str, Input], held: str, form: Format) -> None:
    """Add what is usual where nobody said anything."""
    if held == "samples":
        return
    given.setdefault("bytes_per_token", USUAL_BYTES_PER_TOKEN)
    given.setdefault("vocabulary", USUAL_VOCABULARY)
    if held == "tokens" and form.record == "sequence":
        given.setdefault("sequence_length", USUAL_SEQUENCE)
    if "documents" not in given:
        given.setdefault("tokens_per_document", USUAL_TOKENS_PER_DOCUMENT)


def check_size(given: Mapping[str, Input], held: str, corpus: Corpus | None) -> None:
    """Refuse where nobody knows how much there is.

    Raises:
        UsageError: the options do not tell.
        IngestError: the corpus does not tell, in the words of its entry.
    """
    share = "bytes_kept" in given or {"pipeline_input_bytes", "pipeline_output_bytes"} <= given.keys()
    there = [name for name in SIZES_OF_TEXT if name in given and (name != "raw_bytes" or share)]
    if there or (held == "samples" and (corpus is None or "dataset_samples" in given)):
        return
    if corpus is not None:
        amount = "samples" if held == "samples" else "tokens"
        why = corpus.missing.get(amount, "not published")
        told = Message(Option("corpus", corpus.id), f": {amount} are not known ({why})", supply=(amount,))
        raise IngestError(told)
    if "raw_bytes" in given:
        raise UsageError(
            Message(
                Option("raw_bytes"),
                ": found raw input alone, expected a --pipeline that publishes its share of bytes, or --set bytes_kept=…",
            )
        )
    raise UsageError("found no size of the data set, expected --tokens, --samples, --raw-bytes or --corpus")

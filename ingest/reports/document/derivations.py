"""Derivations of the requirements in words and symbols, for readers who do not know the site file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.configuration import decimal_units
from ingest.engine.derivation_graph import is_column
from ingest.reports.document.markup import DerivationListing, Document, DocumentSection, Paragraph
from ingest.reports.labels import label, plain, texts
from ingest.sizing.explain import DerivationWriter
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.engine.registry import Step
    from ingest.site.plan import Plan


@decimal_units()
def derivation_document(plan: Plan) -> Document:
    """The derivation of each requirement as a document of its own."""
    opening = Paragraph(texts("document")["buyer_clauses"]["derivation_rule"])
    section = DocumentSection("derivations", "Derivation of each value", (opening, *derivation_listings(plan)))
    title = f"Derivations of the storage requirements of {plan.site.name}"
    return Document(title, f"Made by ingest {__version__} from {plan.input_hash}", (section,))


def derivation_listings(plan: Plan) -> Iterator[DerivationListing]:
    """The derivation of each requirement; a part that an earlier one has is not repeated."""
    printed: dict[str, str] = {}
    writer = TenderDerivation(plan.catalog)
    for one in plan.requirements:
        yield DerivationListing(f"{one.id}: {label(one.metric)}", shortened(one.id, writer.lines(plan.steps[one.id]), printed))


#: A part of a derivation with more lines than this is printed once.
LONGEST_TWICE = 2


def shortened(name: str, lines: Sequence[str], printed: dict[str, str]) -> tuple[str, ...]:
    """A derivation; a part that an earlier requirement has printed is one line that names that requirement.

    Each line has what it rests on indented below. `printed` holds the requirement that printed each part: this one is added.
    """
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    kept: list[str] = []
    place = 0
    while place < len(lines):
        # Up to the first line that does not belong below this one.
        end = next((at for at in range(place + 1, len(lines)) if indents[at] <= indents[place]), len(lines))
        part = "\n".join(line[indents[place] :] for line in lines[place:end])
        first = printed.get(part) if end - place > LONGEST_TWICE else None
        if first is not None and first != name:
            kept.append(f"{lines[place]}  (see {first})")
            place = end
            continue
        printed.setdefault(part, name)
        kept.append(lines[place])
        place += 1
    return tuple(kept)


_EACH = re.compile(r" of (jobs|years|clusters|datasets|holdings)$")
_POWER = re.compile(r"(?<=\d)e([+-]?)0*(\d+)\b")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_GIVEN = "given by the site file"
#: What a place in a publication does not hold, and a formula does; not a count of things, as in 8 × H100.
_FORMULA = re.compile(r"[=÷·√^τληδ]|× [\d(a-z]|\b\d*[A-Z]/\(")
#: What a publication has set, by a word: no formula.
_SETTING = re.compile(r"\b[A-Za-z_]\w+ ?= ?\d[\w.]*[,:]?$")
#: Where a part of a place ends, with the sign that ends it.
_PART = re.compile(r"(?<=[,:]) (?![^()]*\))")


class TenderDerivation(DerivationWriter):
    """Derivations in words and symbols, for readers who do not know the site file."""

    def name(self, quantity: str) -> str:
        """The label of a quantity; of a column, that it holds all rows.

        >>> writer = TenderDerivation(None)
        >>> writer.name("dataset_bytes_held_of_datasets"), writer.name("gpus")
        ('data set bytes held of all datasets', 'gpus')
        """
        return _EACH.sub(r" of all \1", plain(quantity)) if "_" in quantity else quantity

    def formula(self, step: Step) -> str:
        """The formula of a computed quantity, without the terms of its sums that no row of the site has."""
        written = super().formula(step)
        for part in filter(_is_empty, step.inputs):
            name = re.escape(self.name(part.name))
            term = rf"(?:[a-z ]+ of\()?{name}\)?" if is_column(part) else name
            written = re.sub(rf"(?:(?<=[(,+] )|(?<=\()|^){term} \+ | \+ {term}(?=[ ,)]|$)", "", written)
        return written

    def inputs(self, step: Step) -> Sequence[Step]:
        """The inputs behind which the site has something."""
        return [part for part in step.inputs if not _is_empty(part)]

    def text(self, numbers: str) -> str:
        """Numbers with powers of ten as people write them.

        >>> TenderDerivation(None).text("2 × 7.5e-08")
        '2 × 7.5×10⁻⁸'
        """
        return _POWER.sub(lambda found: "×10" + (found[1].strip("+") + found[2]).translate(_RAISED), numbers)

    def value(self, step: Step) -> str:
        """A value, with all of its digits only where those are more than the ones shown."""
        short, _, exactly = super().value(step).partition("  [")
        alike = not exactly or short.split()[0].replace(",", "") == exactly.split()[0]
        return short if alike else f"{short}  [{exactly}"

    def origin(self, step: Step) -> Iterator[str]:
        """Where a value is from; the buyer in place of the site file."""
        for line in super().origin(step):
            key = line.removeprefix(_GIVEN)
            yield line if key == line else "given by the buyer" + key.replace(".", ", ").replace("_", " ")


def _is_empty(step: Step) -> bool:
    """Whether nothing of the site is behind an input: a column without rows, or what follows from such columns alone."""
    if is_column(step):
        return not step.inputs
    columns = [part for part in step.inputs if is_column(part)] if step.formula is not None else []
    return bool(columns) and all(map(_is_empty, columns)) and not step.value


def place_of(where: str) -> str:
    """The places within a source, without the formulas taken from there; all else stays."""
    pieces = []
    for piece in where.split("; "):
        parts = _PART.split(piece)
        kept = [part for part in parts if not _FORMULA.search(_SETTING.sub("", part))]
        pieces.append(piece if len(kept) == len(parts) else " ".join(kept).rstrip(",: "))
    return "; ".join(dict.fromkeys(filter(None, pieces)))

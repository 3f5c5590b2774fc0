"""Cases of archives of XML: workbooks as vendors return them, and documents of a buyer's own."""

import io
import random
import re
import zipfile
from collections.abc import Mapping

from fuzz.mutations import mutated_bytes, scalar
from fuzz.seeds import Seeds
from fuzz.site_inputs import form

#: cells, ranges and types of cells, as attributes have them
ATTRIBUTES = (
    *("A1", "A1048577", "XFE1", "A0", "ZZZZ9", "s", "str", "inlineStr", "b", "e", "d", "n"),
    *("-1", "99999", "1:1048576", "A1:XFD1048576"),
)


def zipped(parts: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 1)
    return held.getvalue()


def mutated_archive(chance: random.Random, content: bytes, favoured: str) -> bytes:
    """A workbook or document with changes to its parts, or to the bytes of the archive."""
    if chance.random() < 0.15:
        return mutated_bytes(chance, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        names = [name for name in parts if favoured in name] if chance.random() < 0.85 else list(parts)
        name = chance.choice(names or [*parts])
        sort = chance.random()
        if sort < 0.75:
            parts[name] = _mutated_xml(chance, parts[name])
        elif sort < 0.85:
            parts[name] = mutated_bytes(chance, parts[name])
        elif sort < 0.90:
            del parts[name]
        elif sort < 0.95:
            parts[name] = parts[chance.choice(list(parts))]
        else:
            parts[f"{name}{chance.choice(['x', '/../../y', '/'])}"] = parts.pop(name)
        if not parts:
            return b""
    return zipped(parts)


def _mutated_xml(chance: random.Random, content: bytes) -> bytes:
    """XML with another text between two tags, another attribute, or a tag more or less."""
    text = content.decode("utf-8", "replace")
    pattern = chance.choice([r"(?<=<v>)[^<]*", r">[^<]+(?=<)", r'="[^"]*"', r"</?[a-z:A-Z]+[^>]*>", r"(?<=<f>)[^<]*"])
    found = list(re.finditer(pattern, text))
    if not found:
        return mutated_bytes(chance, content)
    place = chance.choice(found)
    new = str(scalar(chance)) if chance.random() < 0.7 else chance.choice(found)[0]
    if chance.random() < 0.9:
        new = "".join(letter for letter in new if letter >= " " or letter in "\t\n").replace("<", "&lt;")
    if place[0].startswith('="') and not new.startswith('="'):
        new = f'="{chance.choice([*ATTRIBUTES, new])}"'
    elif place[0].startswith(">") and not new.startswith(">"):
        new = f">{new}"
    return (text[: place.start()] + new + text[place.end() :]).encode("utf-8", "replace")


def book(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Workbooks as vendors return them."""
    files = {"filled.xlsx": mutated_archive(chance, seeds.books[1], "sheet")}
    words = ["response", "filled.xlsx", *form(chance), *(["--optimized"] if chance.random() < 0.2 else [])]
    if chance.random() < 0.1:
        files["sent.xlsx"] = seeds.books[0] if chance.random() < 0.5 else mutated_archive(chance, seeds.books[0], "sheet")
        words += ["--sent", "sent.xlsx"]
    if chance.random() < 0.1:
        files["other.xlsx"] = seeds.books[1]
        words.insert(chance.choice([1, 2]), "other.xlsx")
    return words, files


def template(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Documents of a buyer's own in which `report` writes."""
    files = {"site.yaml": seeds.sites[0].encode(), "t.docx": mutated_archive(chance, seeds.templates[0], "word/")}
    return ["report", "site.yaml", "-o", "rfp.docx", "--template", "t.docx"], files

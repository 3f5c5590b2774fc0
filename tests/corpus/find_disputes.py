"""Prints the code points that the fast engine and the reference class differently, as ranges for `DISPUTED`.

Run `python tests/corpus/find_disputes.py` after an update of `gigatoken` or `tokenizers`. It counts every assigned code point
next to letters, digits, marks and spaces with both engines, which takes some minutes.
"""

from itertools import groupby

from ingest.corpus.tokenizers.engines import DISPUTED, Gigatoken, Tokenizers
from ingest.corpus.tokenizers.vocabulary import vocabulary_of

#: planes 0 to 3, up to the end of the last block, and the tags; the rest is unassigned or for private use
POINTS = [point for point in [*range(0x34000), *range(0xE0000, 0xE0200)] if not 0xD800 <= point < 0xE000]
VOCABULARIES = ("r50k", "cl100k", "deepseek-v3")
#: contexts in which the class of a character decides where words end
CONTEXTS = ("{}'s", "a{}a", "1{}1", "!{}!", "  {}x")


def ranges(points):
    """First and last of each run of consecutive numbers."""
    for _, run in groupby(enumerate(sorted(points)), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1]


def disputed():
    """Code points in texts that the engines count differently."""
    for name in VOCABULARIES:
        vocabulary = vocabulary_of(name)
        fast, reference = Gigatoken(vocabulary, 2), Tokenizers(vocabulary, 2)
        for context in CONTEXTS:
            texts = [context.format(chr(point)).encode() for point in POINTS]
            counts = zip(POINTS, fast.count(texts), reference.count(texts), strict=True)
            yield from (point for point, one, other in counts if one != other)


if __name__ == "__main__":
    found = set(disputed())
    listed = {point for first, last in DISPUTED for point in range(first, last + 1)}
    for title, points in (("disputed", found), ("not yet listed", found - listed), ("listed, but equal", listed - found)):
        print(f"{title}: {', '.join(f'(0x{first:04X}, 0x{last:04X})' for first, last in ranges(points)) or 'none'}")

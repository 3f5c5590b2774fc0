"""Files by how they can be drawn, in one pass over the listing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.corpus.drawing import Group
from ingest.corpus.groups import extension_of, folder_of, root_of
from ingest.corpus.reading import Unreadable, can_seek, parts_of
from ingest.corpus.shards import OTHER, SHARD_FILES, Shard
from ingest.corpus.terms import Found

#: folders and extensions that are told apart
MOST_NAMES = 1000
PLAIN = "plain text"
#: formats of which parts can be read without the others, and how many files are opened to see theirs
PARTED = ("parquet", "arrow")
MOST_OPENED = 1000
KINDS = ("folders", "extensions")


class Names:
    """Names of folders or extensions, of a bounded number; what comes later is `(other)`."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def learn(self, name: str) -> str:
        """The name under which a file is summed."""
        if name not in self.known and len(self.known) < MOST_NAMES:
            self.known[name] = name
        return self.of(name)

    def of(self, name: str) -> str:
        """The name under which it was summed."""
        return self.known.get(name, OTHER)


class Grouping:
    """The groups of a listing, and the names of their breakdown.

    Attributes:
        root: the folder that all files share.
        groups: by name.
        names: the folders and the extensions.
    """

    def __init__(self, listing: Sequence[Found]) -> None:
        self.root = root_of(listing[0].path, listing[-1].path)
        self.names = {kind: Names() for kind in KINDS}
        self.groups: dict[str, Group] = {}
        for member, found in enumerate(listing):
            self._add(member, found)
        for group in self.groups.values():
            if group.name in PARTED and len(group.files) <= MOST_OPENED:
                self._divide(group, listing)

    def _add(self, member: int, found: Found) -> None:
        blocks = can_seek(found)
        name = PLAIN if blocks else " ".join(filter(None, (found.format, found.compression)))
        if not (found.stored_bytes or blocks):
            name = f"{name}, empty"
        group = self.groups.setdefault(name, Group(name, blocks))
        group.add(member, found.stored_bytes)
        self._sum(group, found, 1, found.stored_bytes, found.stored_bytes)

    def _divide(self, group: Group, listing: Sequence[Found]) -> None:
        group.divide(lambda member: sizes_of_parts(listing[member]))
        for rows in group.breakdown.values():
            for row in rows.values():
                row[2] = 0
        for member, size in zip(group.frame.members, group.frame.sizes, strict=True):
            self._sum(group, listing[member], 0, 0, size)

    def _sum(self, group: Group, found: Found, *numbers: int) -> None:
        for kind, name in self.parts_of(found).items():
            row = group.breakdown[kind].setdefault(self.names[kind].learn(name), [0, 0, 0])
            for place, number in enumerate(numbers):
                row[place] += number

    def parts_of(self, found: Found) -> dict[str, str]:
        """Folder and extension of a file."""
        return {"folders": folder_of(found.path, self.root), "extensions": extension_of(found.path)}

    def part_of(self, found: Found, kind: str) -> str:
        """Folder or extension under which a file is summed."""
        return self.names[kind].of(self.parts_of(found)[kind])


def shards_of(listing: Sequence[Found], members: Sequence[int]) -> Iterator[Shard]:
    """Some files of a listing, by place, in portions that fit into memory."""
    for start in range(0, len(members), SHARD_FILES):
        yield Shard(start, [listing[member] for member in members[start : start + SHARD_FILES]])


def sizes_of_parts(found: Found) -> list[int]:
    """Stored bytes of each part of a file; one that is broken is a part of its own, and refused when it is drawn."""
    try:
        return parts_of(found) or [found.stored_bytes]
    except Unreadable:
        return [found.stored_bytes]

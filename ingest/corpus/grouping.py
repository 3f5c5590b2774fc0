"""Files by how they can be drawn, in one pass over the listing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.corpus.drawing import Group
from ingest.corpus.groups import extension_of, folder_of, root_of
from ingest.corpus.reading import can_seek
from ingest.corpus.shards import OTHER, SHARD_FILES, Shard
from ingest.corpus.terms import Found

#: folders and extensions that are told apart
MOST_NAMES = 1000
PLAIN = "plain text"
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

    def _add(self, member: int, found: Found) -> None:
        blocks = can_seek(found)
        name = PLAIN if blocks else " ".join(filter(None, (found.format, found.compression)))
        if not (found.stored_bytes or blocks):
            name = f"{name}, empty"
        group = self.groups.setdefault(name, Group(name, blocks))
        group.add(member, found.stored_bytes)
        for kind, part in self.parts_of(found).items():
            row = group.breakdown[kind].setdefault(self.names[kind].learn(part), [0, 0])
            row[0] += 1
            row[1] += found.stored_bytes

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

"""Compressed or piped files of a format that must be sought: put into a temporary file first."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from ingest.corpus.compression import OUTPUT_BYTES, unfolded
from ingest.corpus.opening import Meter, Positioned, Source, Unreadable

#: of the room for temporary files, what one of them may take
MOST_OF_ROOM = 0.5


class _Unfolded(Positioned):
    """A temporary file; what is moved from it is moved from no storage that is measured."""

    def __init__(self, path: str, file: IO[bytes]) -> None:
        super().__init__(path, file.tell(), Meter())
        self._file = file

    def fetch(self, offset: int, size: int) -> bytes:
        """Return exactly these bytes."""
        self._file.seek(offset)
        return self._file.read(size)

    def finish(self) -> None:
        """Nothing can have changed."""

    def close(self) -> None:
        """Leave the file to the one who made it."""
        self.closed = True


@contextmanager
def unfolded_to_disk(source: Source, compression: str) -> Iterator[Source]:
    """Unfold a compressed file into a temporary one, which goes when the block is left.

    Raises:
        Unreadable: it is broken, or needs more than half of the room for temporary files.
    """
    with tempfile.TemporaryFile() as file:
        room = int(shutil.disk_usage(tempfile.gettempdir()).free * MOST_OF_ROOM)
        stream = unfolded(source, compression)
        try:
            while data := stream.read(OUTPUT_BYTES):
                file.write(data)
                if file.tell() > room:
                    raise Unreadable(source.path, f"unfolds to more than {room} B, half of the room for temporary files")
        except OSError as error:
            raise Unreadable(source.path, f"cannot be unfolded into a temporary file: {error.strerror}") from None
        yield _Unfolded(source.path, file)

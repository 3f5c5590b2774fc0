"""Writing files so that they are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from ingest.errors import IngestError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is never half-written.

    Raises:
        IngestError: the folder does not exist or cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise IngestError(f"--output: '{target}' cannot be written: {error.strerror}") from None

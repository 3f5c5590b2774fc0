"""Lines for the user on standard error."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def tell(line: str) -> None:
    """Print a line on standard error; what it cannot take changes neither the result nor the exit code."""
    whole = line.encode("utf-8", "replace").decode()  # half a surrogate pair would be printed as six letters
    try:
        print(whole, file=sys.stderr, flush=True)
    except OSError:
        # Python would flush the line again at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):
            os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)

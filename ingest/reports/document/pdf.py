"""A Word document as PDF, converted by LibreOffice with a profile of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from ingest.errors import IngestError

#: Names of the program, the usual one first.
PROGRAMS = ("soffice", "libreoffice")
#: Seconds after which a conversion is given up; the largest example takes ten.
LONGEST = 180
#: Every PDF file begins with this.
_BEGINNING = b"%PDF-"


def lacking_pdf() -> str:
    """Why no PDF can be written; empty where LibreOffice is installed."""
    return "" if _program() else "LibreOffice is not installed: install it, or write .docx or .html and print that file to PDF"


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def as_pdf(word: bytes, seconds: float = LONGEST) -> bytes:
    """Convert the content of a .docx.

    Args:
        word: the Word document.
        seconds: the longest time that the conversion may take.

    Raises:
        IngestError: LibreOffice is not installed, takes longer, or makes no PDF.
    """
    program = _program()
    if program is None:
        raise IngestError(f"a PDF cannot be written: {lacking_pdf()}")
    with tempfile.TemporaryDirectory(prefix="ingest-pdf-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "document.docx").write_bytes(word)
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        options = ("--headless", "--norestore", "--convert-to", "pdf", "--outdir", name, str(folder / "document.docx"))
        _run([program, profile, *options], seconds)
        try:
            made = (folder / "document.pdf").read_bytes()
        except OSError:
            made = b""
    if not made.startswith(_BEGINNING):
        raise IngestError("a PDF cannot be written: LibreOffice made none; write .docx or .html and print that file to PDF")
    return made


def _run(words: list[str], seconds: float) -> None:
    """Run the program; at the end of the time, end it with all processes that it has started.

    Raises:
        IngestError: it took longer, or cannot be started.
    """
    quiet = subprocess.DEVNULL
    try:
        running = subprocess.Popen(words, start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)
    except OSError as error:
        raise IngestError(f"a PDF cannot be written: LibreOffice does not start ({error.strerror})") from None
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        raise IngestError(f"a PDF cannot be written: LibreOffice took longer than {seconds:g} s; write .docx instead") from None
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()

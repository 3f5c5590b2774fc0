"""Load generators: for each tool its job files, and the reader of its results."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ingest.acceptance.test_spec import TOOLS, Load, Run
from ingest.acceptance.tools import dlio, elbencho, fio, ior, mdtest
from ingest.acceptance.tools.job_files import Task
from ingest.errors import IngestError
from ingest.files import read_text

#: Results of a run on thousands of clients have some kilobytes for each thread.
MOST_BYTES = 2**30
#: Files that tools write next to their results.
COMPANIONS = re.compile(
    r"(dlio\.log|\d+_output\.json|\d+_per_epoch_stats\.json|iostat\.json|.*metadata\.json)|.*\.(log|err|hosts|hosts\.rotated|why|sha256)|.*_bw\.\d+\.log.*"
)


class LoadGenerator(NamedTuple):
    """A writer of job files: the tool's least version, files by path, loads as the tool runs them, settings to be shown."""

    version: str
    job_files: Callable[[Task], dict[str, str]]
    loads: Callable[[Task], tuple[Load, ...]]
    parameters: Callable[[Task], dict[str, Any]] = lambda _: {}


#: By the suffix of their tests' ids. MLPerf Storage (`mlpstorage`) runs DLIO, whose results it leaves.
GENERATORS = {
    "fio": LoadGenerator(fio.VERSION, fio.job_files, fio.loads),
    "ior": LoadGenerator(ior.VERSION, ior.job_files, ior.loads),
    "mdtest": LoadGenerator(mdtest.VERSION, mdtest.job_files, mdtest.loads),
    "elbencho": LoadGenerator(elbencho.VERSION, elbencho.job_files, elbencho.loads),
    "dlio": LoadGenerator(dlio.VERSION, dlio.job_files, dlio.loads, dlio.parameters),
    dlio.MLPERF: LoadGenerator(dlio.MLPERF_VERSION, dlio.mlperf_files, partial(dlio.loads, ruled=True), dlio.mlperf_parameters),
}


def runs_in(path: Path) -> list[Run]:
    """The runs in a result file of any tool.

    Raises IngestError: it cannot be read, is cut off, or is not a result of a known tool.
    """
    text = read_text(path, f"a result of {', '.join(TOOLS)}", most=MOST_BYTES)
    for read in (fio.read, ior.read, mdtest.read, elbencho.read, dlio.read):
        runs = read(text, str(path))
        if runs is not None:
            return runs
    raise IngestError(f"{path}: found no result of {', '.join(TOOLS)}, expected one (is the file complete?)")

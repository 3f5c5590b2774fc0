"""fio: job files and start lines.

Job files name no directory: fio would fill it in on the driver, and every server of a shared file system would then
use the same files. Files lie where fio, or the server on a client, was started.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingest.acceptance.harmless import comment
from ingest.acceptance.loads import FILES_PER_THREAD, SHARED_FILES, Setting, given_for
from ingest.acceptance.records import METADATA, Load
from ingest.acceptance.script import script
from ingest.acceptance.sizes import bytes_per_client, file_bytes, files_per_thread, fill_bytes
from ingest.expression import Num
from ingest.requirement import Requirement

VERSION = "3.27"
RAMP = {"full": 60, "1node": 1}
#: filecreate and filestat look up names; an open is a read of a file of one page, opened for it alone.
ENGINES = {"create": "filecreate", "stat": "filestat", "open": "psync"}


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The job file of a test, the one that fills its files, and the script that runs both.

    Args:
        ident: of the test; no text in these files comes from outside but ids and the statement, as a comment.
        requirement: the line under test.
        loads: what runs at once.
        setting: scale and memory.
    """
    given = given_for(requirement, setting)
    about = f"{comment(f'{ident}: {requirement.statement}')}\n"
    files = {f"fio/{ident}.fio": about + _job(loads, given, setting)}
    fill = _fill(loads, given)
    if fill:
        files[f"fio/{ident}.fill.fio"] = f"{comment(f'{ident}: the files that it reads')}\n{fill}"
    files[f"fio/{ident}.sh"] = _script(ident, loads, setting, bool(fill))
    return files


def _job(loads: tuple[Load, ...], given: Mapping[str, Num], setting: Setting) -> str:
    if loads[0].operation in METADATA:
        return _section("global", _shared()) + _section(loads[0].name, _metadata(loads[0], given))
    common = {
        **_shared(),
        "ioengine": "psync",
        "time_based": 1,
        "ramp_time": RAMP[setting.scale],
        "runtime": f"{loads[0].seconds:g}",
        "norandommap": 1,
        "randrepeat": 0,
    }
    return _section("global", common) + "".join(_section(load.name, _data(load, given)) for load in loads)


def _shared() -> dict[str, object]:
    # fallocate would reserve files without writing them; threads of one process keep the memory of many jobs small.
    return {"direct": 1, "thread": 1, "fallocate": "none", "unique_filename": 0}


def _data(load: Load, given: Mapping[str, Num]) -> dict[str, object]:
    rw = {"random": f"rand{load.operation}", "sequential": load.operation}[load.pattern]
    options = {"rw": rw, "bs": load.io_bytes, "numjobs": load.threads, **_placed(load, given)}
    return options | ({"end_fsync": 1} if load.operation == "write" else {})


def _placed(load: Load, given: Mapping[str, Num]) -> dict[str, object]:
    """Names and sizes of the files; without `size` the threads of shared files end with EINVAL."""
    dataset = bytes_per_client(load, given)
    if load.operation == "write":
        return _files(load, "$jobnum.$filenum", 1, file_bytes(given, load.threads, dataset))
    if load.files == "shared":
        return _files(load, "$filenum", SHARED_FILES, file_bytes(given, SHARED_FILES, dataset * load.clients))
    return _files(load, "$jobnum.$filenum", FILES_PER_THREAD, file_bytes(given, FILES_PER_THREAD * load.threads, dataset))


def _files(load: Load, name: str, count: int, each: int) -> dict[str, object]:
    return {
        "filename_format": f"{load.name}.{name}",
        "nrfiles": count,
        "filesize": each,
        "size": each * count,
        "file_service_type": "random" if load.pattern == "random" else "sequential",
    }


def _metadata(load: Load, given: Mapping[str, Num]) -> dict[str, object]:
    count = files_per_thread(load, given)
    options: dict[str, object] = {"ioengine": ENGINES[load.operation], "numjobs": load.threads}
    options |= {"filename_format": f"{load.name}.$jobnum.$filenum", "nrfiles": count, "filesize": 4096}
    return options | ({"rw": "read", "bs": 4096, "openfiles": 1, "size": 4096 * count} if load.operation == "open" else {})


def trial_job(name: str, total: int, seconds: float, io_bytes: int, threads: int, direct: bool) -> str:
    """The job of a short trial of a path: `fill` the files, `write` over them, or `read` them.

    Args:
        name: which of the three.
        total: bytes of all files.
        seconds: of a measurement; filling ends with the files.
        io_bytes: of one request.
        threads: with one file each.
        direct: past the page cache.
    """
    given = {"aligned_io_bytes": io_bytes, "fill_request_bytes": io_bytes, "smallest_fill_request": io_bytes}
    each = file_bytes(given, threads, total)
    how: dict[str, object] = {**_shared(), "direct": int(direct), "ioengine": "psync", "numjobs": threads}
    how |= {"filename_format": "file.$jobnum", "nrfiles": 1, "filesize": each, "size": each, "bs": io_bytes}
    how |= {"rw": "randread", "norandommap": 1, "randrepeat": 0, "invalidate": 1} if name == "read" else {"rw": "write"}
    how |= {"time_based": 1, "runtime": f"{seconds:g}"} if name != "fill" else {}
    return _section("global", how | ({"end_fsync": 1} if name != "read" else {})) + _section(name, {})


def _fill(loads: tuple[Load, ...], given: Mapping[str, Num]) -> str:
    filled = [load for load in loads if load.operation in ("read", "open", "stat")]
    if not filled:
        return ""
    load = filled[0]
    jobs = 1 if load.files == "shared" and load.operation == "read" else load.threads
    if load.operation == "stat":
        how: dict[str, object] = {**_metadata(load, given), "ioengine": "filecreate"}
    elif load.operation == "open":
        how = {**_metadata(load, given), "rw": "write"}
    else:
        how = {**_placed(load, given), "ioengine": "psync", "rw": "write", "bs": fill_bytes(given)}
    return _section("global", _shared()) + _section("fill", {**how, "numjobs": jobs, "file_service_type": "sequential"})


def _section(name: str, options: Mapping[str, object]) -> str:
    return f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in options.items()) + "\n"


def _script(ident: str, loads: tuple[Load, ...], setting: Setting, fill: bool) -> str:
    client = "" if setting.rehearsal else '--client="$HOSTS" '
    first = '--client="$(head -n 1 "$HOSTS")" ' if client and loads[0].files == "shared" else client
    filling = [f'fio {first}--output=/dev/null "$here/{ident}.fill.fio"'] if fill else []
    lines = [
        *filling,
        f"for run in $(seq {setting.repeats}); do",
        f'  fio {client}--output-format=json --output="$RESULTS/{ident}.run$run.json" "$here/{ident}.fio"',
        "done",
    ]
    return script(ident, loads[0].clients, setting.rehearsal, lines, own_folder=False)

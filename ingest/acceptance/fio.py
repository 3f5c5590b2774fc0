"""fio: job files and start lines.

Job files name no directory: fio would fill it in on the driver, and every server of a shared file system would then
use the same files. Files lie where fio, or the server on a client, was started.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingest.acceptance.loads import FILES_PER_THREAD, SHARED_FILES, SMALL_FILE, Setting, ended_by_files, given_for
from ingest.acceptance.records import METADATA, Load
from ingest.acceptance.script import repeated, script
from ingest.acceptance.sizes import (
    bytes_per_client,
    data_clients,
    data_name,
    file_bytes,
    files_per_thread,
    fill_bytes,
    given_of,
    seconds_of_files,
)
from ingest.expression import Num
from ingest.requirement import Requirement
from ingest.text import comment

VERSION = "3.27"
RAMP = {"full": 60, "1node": 1}
#: filecreate and filestat look up names; an open is a read of a file of one page, opened for it alone.
ENGINES = {"create": "filecreate", "stat": "filestat", "open": "psync"}


def loads(requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> tuple[Load, ...]:
    """The loads as fio runs them: opens go round and round until the time is over, other metadata ends with its files."""
    load = loads[0]
    if load.operation not in ("create", "stat"):
        return loads
    each = files_per_thread(load, seconds_of_files(given_for(requirement, setting)))
    return (ended_by_files(load, each * load.threads * load.clients),)


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The job file of a test, the one that fills its files, and the scripts that run both.

    Args:
        ident: of the test; no text in these files comes from outside but ids and the statement, as a comment.
        requirement: the line under test.
        loads: what runs at once.
        setting: scale, memory and data sets.
    """
    given = given_for(requirement, setting)
    files = {f"fio/{ident}.fio": f"{comment(f'{ident}: {requirement.statement}')}\n{_job(loads, given, setting)}"}
    name, fill = _filled(ident, loads[0], setting), _fill(loads[0], given, setting)
    if fill:
        files[f"fio/{name}.fill.fio"] = fill
    if fill and not setting.rehearsal:
        clients = data_clients(loads[0], setting) if loads[0].operation == "read" else loads[0].clients
        files[f"fio/fill-{name}.sh"] = script(f"fill-{name}", clients, False, [_fill_line(name, loads[0], setting)])
    files[f"fio/{ident}.sh"] = _script(ident, name if fill else "", loads, setting)
    return files


def _filled(ident: str, load: Load, setting: Setting) -> str:
    return data_name(load, setting) if load.operation == "read" and not setting.rehearsal else ident


def _job(loads: tuple[Load, ...], given: Mapping[str, Num], setting: Setting) -> str:
    if loads[0].operation in METADATA:
        return _section("global", _shared()) + _section(loads[0].name, _metadata(loads[0], given, timed=True))
    common = {
        **_shared(),
        "ioengine": "psync",
        "time_based": 1,
        "ramp_time": RAMP[setting.scale],
        "runtime": f"{loads[0].seconds:g}",
        "norandommap": 1,
        "randrepeat": 0,
    }
    return _section("global", common) + "".join(_section(load.name, _data(load, given, setting)) for load in loads)


def _shared() -> dict[str, object]:
    # fallocate would reserve files without writing them; threads of one process keep the memory of many jobs small.
    return {"direct": 1, "thread": 1, "fallocate": "none", "unique_filename": 0}


def _data(load: Load, given: Mapping[str, Num], setting: Setting) -> dict[str, object]:
    rw = {"random": f"rand{load.operation}", "sequential": load.operation}[load.pattern]
    options = {"rw": rw, "bs": load.io_bytes, "numjobs": load.threads, **_placed(load, given, setting)}
    return options | ({"end_fsync": 1, "unlink": 1} if load.operation == "write" else {})


def _placed(load: Load, given: Mapping[str, Num], setting: Setting) -> dict[str, object]:
    """Names and sizes of the files; without `size` the threads of shared files end with EINVAL."""
    own = given_of(load, given)
    dataset = bytes_per_client(load, own)
    if load.operation == "write":
        return _files(load.name, load, "$jobnum.$filenum", 1, file_bytes(own, load.threads, dataset))
    name = data_name(load, setting)
    if load.files == "shared":
        whole = dataset * data_clients(load, setting)
        return _files(name, load, "$filenum", SHARED_FILES, file_bytes(own, SHARED_FILES, whole))
    each = file_bytes(own, FILES_PER_THREAD * load.threads, dataset)
    return _files(name, load, "$jobnum.$filenum", FILES_PER_THREAD, each)


def _files(name: str, load: Load, numbers: str, count: int, each: int) -> dict[str, object]:
    return {
        "filename_format": f"{name}.{numbers}",
        "nrfiles": count,
        "filesize": each,
        "size": each * count,
        "file_service_type": "random" if load.pattern == "random" else "sequential",
    }


def _metadata(load: Load, given: Mapping[str, Num], *, timed: bool) -> dict[str, object]:
    count = files_per_thread(load, given if load.operation == "open" else seconds_of_files(given))
    options: dict[str, object] = {"ioengine": ENGINES[load.operation], "numjobs": load.threads}
    options |= {"filename_format": f"{load.name}.$jobnum.$filenum", "nrfiles": count, "filesize": SMALL_FILE}
    if load.operation != "open":
        return options
    options |= {"rw": "read", "bs": SMALL_FILE, "openfiles": 1, "size": SMALL_FILE * count}
    return options | ({"time_based": 1, "runtime": f"{load.seconds:g}"} if timed else {})


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


def _fill(load: Load, given: Mapping[str, Num], setting: Setting) -> str:
    """The job that writes what a test reads, opens or looks up; nothing for other tests."""
    if load.operation == "stat":
        how: dict[str, object] = {**_metadata(load, given, timed=False), "ioengine": "filecreate"}
    elif load.operation == "open":
        how = {**_metadata(load, given, timed=False), "rw": "write"}
    elif load.operation == "read":
        jobs = 1 if load.files == "shared" else load.threads
        how = {**_placed(load, given, setting), "ioengine": "psync", "rw": "write", "bs": fill_bytes(given), "numjobs": jobs}
    else:
        return ""
    return _section("global", _shared()) + _section("fill", {**how, "file_service_type": "sequential"})


def _section(name: str, options: Mapping[str, object]) -> str:
    return f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in options.items()) + "\n"


def _fill_line(name: str, load: Load, setting: Setting) -> str:
    """Shared files are written once, by the first client; others by the client in whose folder they lie."""
    once = load.operation == "read" and load.files == "shared"
    client = "" if setting.rehearsal else ('--client="$(head -n 1 "$HOSTS")" ' if once else '--client="$HOSTS" ')
    return f'fio {client}--output=/dev/null "$here/{name}.fill.fio"'


def _script(ident: str, filled: str, loads: tuple[Load, ...], setting: Setting) -> str:
    client = "" if setting.rehearsal else '--client="$HOSTS" '
    drops = bool(filled) and not setting.rehearsal
    run = f'fio {client}--output-format=json --output="$RESULTS/{ident}.run$run.json" "$here/{ident}.fio"'
    filling = [_fill_line(filled, loads[0], setting)] if filled and setting.rehearsal else []
    lines = [*filling, *repeated(setting.repeats, ".json", [run], drops=drops)]
    return script(ident, loads[0].clients, setting.rehearsal, lines, drops=drops)

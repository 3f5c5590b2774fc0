"""Run the generated jobs under Darshan's or DFTracer's library, and keep their logs with the jobs' own counts.

LIBDARSHAN=… LIBDFTRACER=… python tests/observation/record_jobs.py writes tests/observation/generated_jobs-TOOL.zip.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import generated_job

HERE = Path(__file__).parent
KINDS = ("files", "shards", "direct", "shuffled", "partial", "mapped")
#: kind, manner of starting workers, workers
JOBS = [
    *((kind, "fork", 0) for kind in KINDS),
    *((kind, "fork", workers) for kind, workers in zip(KINDS, (2, 1, 4, 3, 2, 2), strict=True)),
    *((kind, "spawn", workers) for kind, workers in zip(KINDS, (1, 2, 2, 1, 3, 2), strict=True)),
    ("files", "fork", 4),
    ("shards", "spawn", 4),
]
#: Logs name the folder of a job and its program: a short one that exists on every machine, and the system's interpreter.
FOLDER, PYTHON = Path("/tmp/job"), "/usr/bin/python3"
LIBRARIES = {"darshan": "LIBDARSHAN", "dftracer": "LIBDFTRACER"}


def environment(tool: str, library: str, logs: Path) -> dict[str, str]:
    """The variables that make a library record a job."""
    if tool == "darshan":
        return {"DARSHAN_ENABLE_NONMPI": "1", "DARSHAN_LOG_DIR_PATH": str(logs), "LD_PRELOAD": library}
    return {
        "DFTRACER_ENABLE": "1",
        "DFTRACER_INC_METADATA": "1",
        "DFTRACER_INIT": "PRELOAD",
        "DFTRACER_DATA_DIR": str(FOLDER / "data"),
        "DFTRACER_LOG_FILE": str(logs / "t"),
        "LD_LIBRARY_PATH": os.path.dirname(library),
        "LD_PRELOAD": library,
    }


def run(tool: str, library: str, job: tuple[str, str, int], logs: Path) -> list[int]:
    """Run one job and return its own counts: bytes, reads and opens."""
    kind, manner, workers = job
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "data").mkdir(parents=True)
    logs.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "generated_job.py", FOLDER / "job.py")
    generated_job.make(FOLDER / "data", kind)
    words = [PYTHON, "-I", str(FOLDER / "job.py"), str(FOLDER / "data"), kind, manner, str(workers)]
    plain = {"PATH": "/usr/bin:/bin", "HOME": str(FOLDER), "USER": "user"}
    done = subprocess.run(
        words, env=plain | environment(tool, library, logs), cwd=FOLDER, capture_output=True, check=True, text=True, timeout=60
    )
    return json.loads(done.stdout)


def main() -> None:
    for tool, variable in LIBRARIES.items():
        if not os.environ.get(variable):
            print(f"{tool}: set {variable} to its library", file=sys.stderr)
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            zipfile.ZipFile(HERE / f"generated_jobs-{tool}.zip", "w", zipfile.ZIP_DEFLATED) as kept,
        ):
            for job in JOBS:
                name = "-".join(map(str, job))
                logs = Path(folder) / name
                counts = run(tool, os.environ[variable], job, logs)
                kept.writestr(f"{name}/counts.json", json.dumps(counts))
                for one in sorted(logs.iterdir()):
                    kept.write(one, f"{name}/{one.name}")


if __name__ == "__main__":
    main()

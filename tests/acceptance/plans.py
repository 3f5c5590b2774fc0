"""Plans with requirement lines, small enough to be tested anywhere."""

import json


def _line(ident, priority, statement, metric, value, unit, operation, clients=128, threads=2, **conditions):
    loaded = {} if operation == "hold" else {"clients": clients, "threads": threads}
    return {"id": ident, "priority": priority, "statement": statement, "metric": metric, "value": value, "unit": unit,
            "conditions": {"operation": operation, **loaded, **conditions}}  # fmt: skip


MIX = [
    {"share": 0.5, "operation": "read", "io_size": 131072, "pattern": "random"},
    {"share": 0.25, "operation": "read", "io_size": 262144, "pattern": "sequential"},
    {"share": 0.25, "operation": "write", "io_size": 262144, "pattern": "sequential"},
]
GOOD = {
    "schema": "ingest/1",
    "command": "plan",
    "site": {"name": "Example site"},
    "requirements": [
        _line("R-READ-01", "mandatory", "The system shall sustain the reads of all jobs.", "ingest_bandwidth_per_job", 128e6,
              "B/s", "read", io_size=131072, pattern="random", files="file per process", duration=1800, fill=0.8,
              cache="no read is served by a cache"),
        _line("R-READ-02", "target", "The system should sustain random reads of shared shards.", "ingest_bandwidth_per_job",
              128e6, "B/s", "read", io_size=100000, files="shared"),
        _line("R-WRITE-01", "mandatory", "The system shall take checkpoints.", "checkpoint_write_bandwidth", 64e6, "B/s",
              "write", io_size=1048576, pattern="sequential", files="file per process", duration=600),
        _line("R-MIX-01", "mandatory", "The system shall sustain reads while a checkpoint is written.", "mixed_bandwidth",
              192e6, "B/s", "read and write", threads=12, queue_depth=1536, implied_latency=0.002, latency_99=0.01,
              duration=600, mix=MIX),
        _line("R-META-01", "target", "The system should open files.", "file_opens_per_second_per_job", 12800, "file/s", "open"),
        _line("R-META-02", "target", "The system should create files.", "file_creates_per_second", 1280, "file/s", "create"),
        _line("R-META-03", "target", "Files are looked up.", "file_stats_per_second", 1280, "file/s", "stat"),
        _line("R-CAP-01", "mandatory", "The system shall hold the data.", "site_usable_bytes", 1e16, "B", "hold"),
    ],
}  # fmt: skip


def unchanged(_):
    """The plan as it is."""


def plan(folder, change=unchanged, name="plan.json"):
    found = json.loads(json.dumps(GOOD))
    change(found)
    path = folder / name
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def line(found, ident):
    return next(one for one in found["requirements"] if one["id"] == ident)


def times(factor):
    def change(found):
        for one in found["requirements"]:
            one["value"] *= factor

    return change

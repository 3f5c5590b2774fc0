"""Plans with requirement lines, small enough to be tested anywhere."""

import json

GOOD = {
    "schema": "ingest/1",
    "command": "plan",
    "site": {"name": "Example site"},
    "requirements": [
        {
            "id": "R-READ-01",
            "priority": "mandatory",
            "statement": "The system shall sustain the reads of all jobs.",
            "metric": "ingest_bandwidth_per_job",
            "value": 128e6,
            "unit": "B/s",
            "conditions": {
                "operation": "read",
                "clients": 128,
                "threads": 2,
                "io_size": 131072,
                "pattern": "random",
                "files": "file per process",
                "duration": 1800,
                "fill": 0.8,
                "cache": "no read is served by a cache",
            },
        },
        {
            "id": "R-READ-02",
            "priority": "target",
            "statement": "The system should sustain random reads of shared shards.",
            "metric": "ingest_bandwidth_per_job",
            "value": 128e6,
            "unit": "B/s",
            "conditions": {"operation": "read", "clients": 128, "threads": 2, "io_size": 100000, "files": "shared"},
        },
        {
            "id": "R-WRITE-01",
            "priority": "mandatory",
            "statement": "The system shall take checkpoints.",
            "metric": "checkpoint_write_bandwidth",
            "value": 64e6,
            "unit": "B/s",
            "conditions": {
                "operation": "write",
                "clients": 128,
                "threads": 2,
                "io_size": 1048576,
                "pattern": "sequential",
                "files": "file per process",
                "duration": 600,
            },
        },
        {
            "id": "R-MIX-01",
            "priority": "mandatory",
            "statement": "The system shall sustain reads while a checkpoint is written.",
            "metric": "mixed_bandwidth",
            "value": 192e6,
            "unit": "B/s",
            "conditions": {
                "operation": "read and write",
                "clients": 128,
                "threads": 12,
                "queue_depth": 1536,
                "implied_latency": 0.002,
                "latency_99": 0.01,
                "duration": 600,
                "mix": [
                    {"share": 0.5, "operation": "read", "io_size": 131072, "pattern": "random"},
                    {"share": 0.25, "operation": "read", "io_size": 262144, "pattern": "sequential"},
                    {"share": 0.25, "operation": "write", "io_size": 262144, "pattern": "sequential"},
                ],
            },
        },
        {
            "id": "R-META-01",
            "priority": "target",
            "statement": "The system should open files.",
            "metric": "file_opens_per_second_per_job",
            "value": 12800,
            "unit": "file/s",
            "conditions": {"operation": "open", "clients": 128, "threads": 2},
        },
        {
            "id": "R-META-02",
            "priority": "target",
            "statement": "The system should create files.",
            "metric": "file_creates_per_second",
            "value": 1280,
            "unit": "file/s",
            "conditions": {"operation": "create", "clients": 128, "threads": 2},
        },
        {
            "id": "R-META-03",
            "priority": "target",
            "statement": "Files are looked up.",
            "metric": "file_stats_per_second",
            "value": 1280,
            "unit": "file/s",
            "conditions": {"operation": "stat", "clients": 128, "threads": 2},
        },
        {
            "id": "R-CAP-01",
            "priority": "mandatory",
            "statement": "The system shall hold the data.",
            "metric": "site_usable_bytes",
            "value": 1e16,
            "unit": "B",
            "conditions": {"operation": "hold"},
        },
    ],
}


def unchanged(_):
    """The plan as it is."""


def plan(folder, change=unchanged, name="plan.json"):
    """The good plan, changed, as a file."""
    found = json.loads(json.dumps(GOOD))
    change(found)
    path = folder / name
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def line(found, ident):
    """A requirement line of a plan."""
    return next(one for one in found["requirements"] if one["id"] == ident)


def times(factor):
    """All rates so many times as high."""

    def change(found):
        for one in found["requirements"]:
            one["value"] *= factor

    return change

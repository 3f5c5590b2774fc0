"""Cases of what a job left: training logs, Darshan logs, DFTracer traces and observations."""

import contextlib
import gzip
import json
import random

from fuzz.mutations import encoded, mutated_bytes, mutated_text, mutated_tree
from fuzz.seeds import Seeds
from fuzz.site_inputs import form

#: options of `observe` that a log may need, or that contradict it
OPTIONS = """
    --gpus 8; --gpus 1e9; --gpus 0; --samples-per-step 64; --samples-per-step 1e-300; --tokens-per-sample 4096; --path /data;
    --synthetic 1e9; --synthetic 0.001; --real 900; --bundle; --path .
"""


def observed(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Logs and observations under `observe` and `calibrate`."""
    if chance.random() < 0.4:
        files = {"job.json": _mutated(chance, "job.json", seeds.observation.encode())}
        if chance.random() < 0.5:
            job = ["job.json", "--model", chance.choice(["cosmoflow", "llama3-8b"]), "--gpu", "h100"]
            return ["calibrate", *job, *chance.choice([form(chance), ["-o", "mine"]])], files
        return ["observe", "job.json", *chance.choice([[], ["--bundle"]]), *form(chance)], files
    name = chance.choice(sorted(seeds.logs))
    files = {name: _mutated(chance, name, seeds.logs[name])}
    words = ["observe", name]
    if chance.random() < 0.15:
        other = chance.choice(sorted(seeds.logs))
        words, files = [*words, other], {other: seeds.logs[other], **files}
    for option in chance.choices(OPTIONS.split(";"), k=chance.choice([0, 1, 1, 2])):
        words += option.split()
    return [*words, *form(chance)], files


def _mutated(chance: random.Random, name: str, content: bytes) -> bytes:
    """A log changed as what it is: events and lines within their compression, JSON as a tree, the rest as bytes."""
    if chance.random() < 0.15 or name.endswith(".darshan"):
        return mutated_bytes(chance, content)
    if name.endswith(".gz"):
        return gzip.compress(_mutated(chance, name.removesuffix(".gz"), gzip.decompress(content)), 1, mtime=0)
    text = content.decode("utf-8", "replace")
    if name.endswith(".json"):
        with contextlib.suppress(ValueError, RecursionError):
            return encoded(chance, json.dumps(mutated_tree(chance, json.loads(text))))
    lines = text.split("\n")
    for _ in range(chance.choice([1, 1, 2, 5])):
        place = chance.randrange(len(lines))
        lines[place] = _line(chance, lines[place])
    return encoded(chance, "\n".join(lines))


def _line(chance: random.Random, line: str) -> str:
    """One line changed: an event as JSON where it is one, else as text."""
    bare = line.rstrip(",")
    if bare.startswith("{") and bare.endswith("}") and chance.random() < 0.7:
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(mutated_tree(chance, json.loads(bare))) + line[len(bare) :]
    return mutated_text(chance, line)

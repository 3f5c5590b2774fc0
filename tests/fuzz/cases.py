"""One input of the fuzzer: the words of a command line and the files that lie in its working directory."""

import base64
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

#: the beginning of the name of a named pipe, into which nothing ever writes
PIPE = "pipe."
#: options that name what a command writes
OUTPUT = ("-o", "--output")


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes:
        kind: the generator that made it.
        words: the command line after `ingest`.
        files: path below the working directory -> content; a name that begins with `pipe.` becomes a named pipe.
        apart: run as a process of its own, not within a worker.
    """

    kind: str
    words: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    apart: bool = False

    def write(self, folder: Path) -> None:
        """Lay the files into a folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.name.startswith(PIPE):
                os.mkfifo(path)
            else:
                path.write_bytes(content)

    def changed_in(self, folder: Path) -> tuple[str, ...]:
        """The files in a folder that no longer are as `write` laid them there."""
        plain = {name: folder / name for name in self.files if not Path(name).name.startswith(PIPE)}
        return tuple(name for name, path in plain.items() if not path.is_file() or path.read_bytes() != self.files[name])

    @property
    def size(self) -> int:
        """What shrinking makes smaller."""
        return sum(map(len, self.words)) + 10 * len(self.words) + sum(map(len, self.files.values())) + 100 * len(self.files)


@dataclass(frozen=True)
class Outcome:
    """What a case did.

    Attributes:
        code: the exit code; negative: the number of the signal that ended the process.
        out, err: the standard streams.
        raised: the traceback of an exception that left `main`.
        written: files that the command left in its working directory, if their names end in `.json`.
        changed: files of the case that have another content afterwards, or are gone.
        seconds, memory: wall time, and the largest resident set of the process tree in bytes.
        stopped: it was killed because it exceeded the limit of time or of memory.
    """

    code: int
    out: str = ""
    err: str = ""
    raised: str = ""
    written: dict[str, bytes] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    seconds: float = 0.0
    memory: int = 0
    stopped: bool = False


@dataclass(frozen=True)
class Finding:
    """A breach of the contract.

    Attributes:
        what: traceback, crash, hang, memory, message, payload, input, code, json or silent (an impossible number).
        where: what tells this finding from others of the same sort; equal wheres are one finding.
        detail: for the reader.
    """

    what: str
    where: str
    detail: str = ""

    @property
    def name(self) -> str:
        """Sort and place in one line."""
        return f"{self.what}: {self.where}"


def to_json(case: Case, finding: Finding) -> str:
    """A fixture: the case, and what was found."""
    files = {name: _text_or_base64(content) for name, content in case.files.items()}
    found = {"found": finding.name, "kind": case.kind, "words": list(case.words), "files": files}
    return json.dumps(found, indent=1) + "\n"


def from_json(text: str) -> Case:
    """The case of a fixture."""
    held = json.loads(text)
    files = {name: content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
             for name, content in held["files"].items()}  # fmt: skip
    return Case(held["kind"], tuple(held["words"]), files)


def _text_or_base64(content: bytes) -> str | dict[str, str]:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}

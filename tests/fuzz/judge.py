"""The contract that every outcome is held against: one place, one list of rules."""

import json
import os
import re
import signal
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from fuzz.cases import OUTPUT, Case, Finding, Outcome

from ingest.engine.registry import FORMULAS, INPUTS

MOST_SECONDS = 10
MOST_BYTES = 1_500_000_000
MOST_LETTERS = 300
EXIT_CODES = (0, 1, 2, 3)
WARNING = "ingest: warning: "
#: How a line on standard error begins; of a result that goes to a file it also says the answer.
TOLD = ("ingest: ", "wrote ", "replaced ", "added ")
#: Commands that print what is known and exit with 1: a needed result is missing, files were left out, entries have problems.
PARTIAL = ("bw", "measure", "catalog")
#: A file that a command continues.
CONTINUED = "--resume"
SAVED = "--save-job"  # writes a job file


def patience() -> float:
    """The seconds after which a case hangs: more where more processes want to run than there are cores."""
    return MOST_SECONDS * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def judge(case: Case, outcome: Outcome) -> Finding | None:
    """The gravest breach of the contract in an outcome; None if there is none."""
    return next(_breaches(case, outcome), None)


def _breaches(case: Case, outcome: Outcome) -> Iterator[Finding]:
    command = case.words[0] if case.words else ""
    if outcome.memory > MOST_BYTES:
        yield Finding("memory", command, f"{outcome.memory / 1e9:.1f} GB")
    if outcome.stopped or outcome.seconds > patience():
        yield Finding("hang", command, f"{outcome.seconds:.1f} s")
    elif outcome.code < 0:
        name = signal.Signals(-outcome.code).name
        yield Finding("crash", f"{name} in {command} ({case.kind})", outcome.err[-600:])
    raised = outcome.raised or (outcome.err if "Traceback (most recent call last)" in outcome.err else "")
    if raised:
        yield Finding("traceback", _place(raised), raised[-1500:])
    if outcome.code >= 0 and outcome.code not in EXIT_CODES:
        yield Finding("code", f"{outcome.code} from {command}", outcome.err[-300:])
    yield from _messages(case, outcome)
    yield from _payload(case, outcome)
    yield from _json(case, outcome)
    for name in outcome.changed:
        if _is_read(name, case.words):
            yield Finding("input", f"changed by {command}", f"{name}: {outcome.err[-300:]}")


def _is_read(name: str, words: tuple[str, ...]) -> bool:
    """Whether a command reads a file, or a folder above it, and none of its options names it to be written."""
    written = [after for word, after in pairwise(words) if word in (*OUTPUT, CONTINUED, SAVED)]
    written += [word.partition("=")[2] for word in words if word.startswith("--output=")]
    return words.count(name) > written.count(name) or not any(name == one or name.startswith(f"{one}/") for one in written)


def _payload(case: Case, outcome: Outcome) -> Iterator[Finding]:
    """A refusal leaves standard output empty, unless it says what a partial result lacks."""
    command = case.words[0] if case.words else ""
    if outcome.code not in (1, 2) or not outcome.out.strip() or outcome.out.startswith("Usage:"):
        return
    lacks = {"--format", "-q", "--quiet"} & {*case.words} or "Not known" in outcome.out
    if outcome.code == 2 or command not in PARTIAL or (command == "bw" and not lacks):
        yield Finding("payload", f"with code {outcome.code} from {command}", outcome.out[:300])


def _place(raised: str) -> str:
    """Exception and innermost place in this product, such as `ValueError in units.number`; lines of code move, names stay."""
    frames = re.findall(r'File ".*?/(ingest/[^"]+)\.py", line \d+, in (\S+)', raised)
    last = next((line for line in reversed(raised.strip().splitlines()) if re.match(r"[\w.]+(:|$)", line)), "")
    return f"{last.partition(':')[0]} in {'.'.join(frames[-1]).replace('/', '.') if frames else 'a library'}"


def _messages(case: Case, outcome: Outcome) -> Iterator[Finding]:
    command, lines = case.words[0] if case.words else "", outcome.err.splitlines()
    for line in lines:
        if len(line) > MOST_LETTERS:
            yield Finding("message", f"too long: {_form(line)}", f"{len(line)} letters from {command}: {line[:600]}")
    if outcome.raised or outcome.code not in EXIT_CODES or any(line.startswith("Usage:") for line in lines):
        return
    stray = [line for line in lines if line.strip() and not line.startswith(TOLD)]
    if any(word in OUTPUT or word.startswith("--output=") for word in case.words):
        stray = stray[1:]
    if stray:
        yield Finding("message", f"of others: {_form(stray[0])}", f"{command}: {stray[0][:600]}")
    if outcome.code not in (1, 2):
        return
    errors = [line for line in lines if not line.startswith(WARNING)]
    if command != "catalog" and not (errors and errors[-1].startswith("ingest: ")):
        yield Finding("message", f"none with code {outcome.code} from {command}", outcome.err[-300:])


def _form(line: str) -> str:
    """What a message says, without its place and without what the input put into it."""
    line = re.sub(r"'.*?'|\".*?\"|\d[\d.,]*", "…", line.removeprefix(WARNING).removeprefix("ingest: "))
    said = re.split(r"expected|[(;[]", line)[0].rstrip(": ").rpartition(": ")[2]
    return re.sub(r"\S{20,}", "…", said)[:50].strip(" ,")


def _json(case: Case, outcome: Outcome) -> Iterator[Finding]:
    command = case.words[0] if case.words else ""
    partial = outcome.code == 1 and command in PARTIAL and outcome.out.strip() and command != "catalog"
    if outcome.code not in (0, 3) and not partial:
        return
    texts = {name: content.decode("utf-8", "replace") for name, content in outcome.written.items()}
    # A site whose job has no room or makes no progress has no plan to print: the error names the job's line.
    without_plan = command == "plan" and outcome.code == 3 and re.search(r"^ingest: \S+:\d+: ", outcome.err, re.MULTILINE)
    if expects_json(case) and not without_plan:
        texts["standard output"] = outcome.out
    for name, text in texts.items():
        try:
            found = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            yield Finding("json", f"{command}: {str(error).partition(':')[0]}", f"{name}: {error}: {text[:300]}")
        else:
            if "--schema" in case.words:
                continue
            schema = "ingest/observation/1" if command == "observe" else "ingest/1"
            if not isinstance(found, dict) or found.get("schema") != schema:
                yield Finding("json", f"{command}: no schema", f"{name}: {text[:300]}")
            else:
                yield from impossible_numbers(command, found, refused=outcome.code == 3)


def impossible_numbers(command: str, found: Any, refused: bool) -> Iterator[Finding]:
    """Values outside their own range, and results that their quantity may not have, unless they are why it refuses."""
    waiting = [("", found)]
    while waiting:
        key, one = waiting.pop()
        if isinstance(one, list):
            waiting += [(key, each) for each in one]
        if not isinstance(one, dict):
            continue
        waiting += one.items()
        key = one["name"] if isinstance(one.get("name"), str) else key
        value = one.get("computed", one.get("value"))
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        low, high = (one.get(end) if isinstance(one.get(end), (int, float)) else value for end in ("low", "high"))
        slack = 1e-9 * max(map(abs, (low, value, high)))
        if not low - slack <= value <= high + slack:
            yield Finding("silent", f"{command}: {key} outside its range", str(one)[:300])
        declared = FORMULAS.get(key) or INPUTS.get(key)
        # At the high end of an overhead a job may make no progress: more than all of its time.
        most = value if key.endswith("overhead") else high
        if declared is not None and not refused and not declared.low - slack <= low <= most <= declared.high + slack:
            yield Finding("silent", f"{command}: {key} outside what it may be", str(one)[:300])
        # An observation has means: 100 samples a step are 12.5 on each of 8 GPUs.
        whole = declared is not None and declared.whole and command not in ("observe", "calibrate")
        if whole and not refused and abs(value - round(value)) > slack:
            yield Finding("silent", f"{command}: {key} in parts", str(one)[:300])


def expects_json(case: Case) -> bool:
    """Whether standard output holds JSON."""
    words = case.words
    forms = [after for word, after in pairwise(words) if word == "--format"]
    other = {*OUTPUT, "--new", "--schema", "--help", "--help-all", "-h", "--version", "new"}
    written = other & set(words) or any(word.startswith("--output=") for word in words)
    return forms[-1:] == ["json"] and not written


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")

"""One-line mutants of the code that decides: each of `mutants.txt` must turn its tests red, and so must drawn ones.

A mutant is a line `file | definition | old -> new | tests`: the text `old` stands once in the definition, which is a function,
a class or a constant by its qualified name, or a computed quantity. A line that begins with `=` is a mutant that changes no
result, with the reason in place of the tests. Mutants are applied to a copy of the package; its tests run in a forked process.
"""

import argparse
import ast
import compileall
import json
import lzma
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "mutants.txt"
#: Mutants that run concurrently, and seconds after which tests that do not end count as red.
AT_ONCE, LONGEST = int(os.environ.get("AT_ONCE", "2")), 900
#: Imported once, before the forks; nothing of the package.
WARM = ("numpy", "yaml", "click", "jsonschema", "xlsxwriter", "openpyxl", "docx", "_pytest.doctest", "json")
#: What the copies share with the tree.
SHARED = ("catalogs", "examples", "docs", "Makefile", "README.md", "CHANGELOG.md", "cli.py")
#: Modules from which mutants are drawn, the first match of each -> the commands whose recorded answers (`tests/frozen`) are
#: compared first, and the tests that follow, quick ones first; of the package's own folder, where a name has none. The doctests
#: of the module itself run between them.
DRAWN = yaml.safe_load((ROOT / "tests/drawn_mutants.yaml").read_text(encoding="utf-8"))
#: so many questions of the first command at most, and so many of each other one
ASKED = (1200, 150)
#: Modules that decide nothing: they read, write or word.
WORDING = re.compile(
    r"(_file|_logs?|_text|_records|_reader|_wording|_commands|schema|manifest|pack|catalog|facts|new_site|questions|explain|live"
    r"|mounts|control_groups|processes|bundle|dftracer_traces|fio_runner|page_data|response_form|validation)\.py$"
)


class Mutant(NamedTuple):
    """One change of one definition; `tests` are ids, or the reason why no test can see the change."""

    file: str
    name: str
    old: str
    new: str
    tests: str
    equivalent: bool = False

    @property
    def shown(self):
        """The line of the list, without its tests."""
        return f"{self.file} | {self.name} | {self.old} -> {self.new}"

    def applied(self):
        """The source with the change; a ValueError says why the list does not match the code."""
        path = ROOT / self.file
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        start, end = spans(source).get(self.name, (0, 0))
        found = source.count(self.old, start, end)
        if found != 1:
            where = f"found {found} times there, expected once" if end else "no such definition"
            nearest = self.moved()
            raise ValueError(f"{self.shown}: {where}; {f'now {nearest}' if nearest else 'nothing near'} (--mend follows moves)")
        at = source.index(self.old, start)
        return source[:at] + self.new + source[at + len(self.old) :]

    def moved(self):
        """File and definition where the text stands now: one of this name, or the innermost of its file; empty in doubt."""
        same, near = [], []
        for path in sorted((ROOT / "ingest").rglob("*.py")):
            source, file = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
            if self.old in source:
                sizes = {
                    name: end - start for name, (start, end) in spans(source).items() if source.count(self.old, start, end) == 1
                }
                same += [f"{file} | {name}" for name in sizes if name.rpartition(".")[2] == self.name.rpartition(".")[2]]
                if file == self.file and "*" in sizes:
                    near = [f"{file} | {min(sizes, key=sizes.get)}"]
        return (same or near)[0] if len(same or near) == 1 else ""


#: functions that declare a quantity, whose name is their first argument
DECLARE = ("computed_quantity", "with_headroom", "signed")


@cache
def spans(source):
    """Name of each function, class, constant and quantity -> its place in the source; `*` is the whole module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = {"*": (0, len(source))}
    if source.startswith(("quantity,", "{", "# ")):  # a table of given quantities, of rules, or of defaults
        rows = re.finditer(r"^(\w+)(?:,|: \{).*$|^  \"(\w+)\": \{\n(?:   .*\n)+", source, re.MULTILINE)
        return found | {row[1] or row[2]: row.span() for row in rows}

    def walk(body, prefix, in_function):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names = [node.name]
                walk(node.body, f"{prefix}{node.name}.", in_function or isinstance(node, ast.FunctionDef))
            else:
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                whole = [one for target in targets if target and not in_function for one in ast.walk(target)]
                names = [one.id for one in whole if isinstance(one, ast.Name)]
                call = getattr(node, "value", None)
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") in DECLARE and not in_function:
                    names = [ast.literal_eval(call.args[0])]
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            for name in names:
                found.setdefault(prefix + name, (starts[first - 1], starts[node.end_lineno]))

    walk(ast.parse(source).body, "", False)
    return found


def listed():
    """The mutants of the list."""
    return [parsed(line) for line in LIST.read_text(encoding="utf-8").splitlines() if line.strip() and not line.startswith("#")]


def parsed(line):
    """The mutant in a line of the list."""
    file, name, rest = line.removeprefix("= ").split(" | ", 2)
    change, tests = rest.rsplit(" | ", 1)
    old, new = change.split(" -> ")
    return Mutant(file, name, old, new, tests, line.startswith("= "))


def rewritten(changed):
    """Write the list with changed lines: `changed` takes a mutant and returns another one, or the same."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            one = changed(parsed(line))
            lines[at] = f"{'= ' if one.equivalent else ''}{one.shown} | {one.tests}"
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


def mended(mutant):
    """The mutant where its text stands now."""
    try:
        mutant.applied()
    except ValueError:
        file, _, name = mutant.moved().partition(" | ")
        return mutant._replace(file=file, name=name) if name else mutant
    return mutant


SWAPPED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.BitOr: ("|", "&"), ast.BitAnd: ("&", "|"),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "any": "all", "all": "any"}
#: Calls whose arguments are words for people.
WORDS = {"Message", "Option", "display", "brief", "IngestError", "UsageError", "field", "TypeVar", "option_error", "Metavar"}


def mutations(file, source):
    """All one-line mutants of a module: places, old and new text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = source.encode()

    def place(node, end=False):
        return starts[(node.end_lineno if end else node.lineno) - 1] + (node.end_col_offset if end else node.col_offset)

    def between(left, right, old, new):
        start, end = place(left, True), place(right)
        at = data.find(old.encode(), start, end)
        if at >= 0 and b"#" not in data[start:end]:
            yield at, old, new

    def is_text(node):
        return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))

    def walk(node):
        if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED and not (is_text(node.left) or is_text(node.right)):
            yield from between(node.left, node.right, *SWAPPED[type(node.op)])
        elif isinstance(node, ast.Compare):
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from between(left, right, *SWAPPED[type(op)])
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, *SWAPPED[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield place(node), "not ", ""
        elif isinstance(node, ast.Name) and node.id in CALLED:
            yield place(node), node.id, CALLED[node.id]
        elif (
            isinstance(node, ast.Attribute)
            and node.attr in CALLED
            and isinstance(node.value, ast.Name)
            and node.value.id == "math"
        ):
            yield place(node, True) - len(node.attr), node.attr, CALLED[node.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            old, value = data[place(node) : place(node, True)].decode(), node.value
            new = (
                not value
                if isinstance(value, bool)
                else value + 1
                if isinstance(value, int) and value < 100
                else f"{value * 1.1:.12g}"
            )
            yield place(node), old, {"0": "1", "1": "0", "0.0": "1.0", "1.0": "0.0"}.get(old, str(new))
        for name, child in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "format_spec", "bases"):
                continue
            for one in child if isinstance(child, list) else [child]:
                if isinstance(one, ast.AST) and not _is_wording(one):
                    yield from walk(one)

    places = sorted(spans(source).items(), key=lambda one: one[1][1] - one[1][0], reverse=True)
    for at, old, new in walk(ast.parse(source)):
        position = len(data[:at].decode())
        name = [name for name, (start, end) in places if start <= position < end][-1]
        first, last = source.rfind("\n", 0, position) + 1, source.find("\n", position)
        mutated = source[:position] + new + source[position + len(old) :]
        line = source[first:last].strip()
        yield (
            Mutant(file, name, line, source[first:position].lstrip() + new + source[position + len(old) : last].rstrip(), ""),
            mutated,
        )


def _is_wording(node):
    """Whether a node only words what people read, only types, or only guards and speeds."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.keyword):
        return node.arg in ("strict", "maxsize", "note", "why", "main", "total")
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORDS


def _test_file(package, name):
    folder, _, name = name.rpartition("/")
    own = f"tests/{package}/test_{name}.py"
    return own if not folder and (ROOT / own).is_file() else f"tests/{folder and folder + '/'}test_{name}.py"


def drawn(seed, count, only=""):
    """So many mutants of the modules that decide, with the changed sources; those listed as equivalent are left out."""
    known = {(one.file, one.applied()) for one in listed() if one.equivalent}
    found = []
    for path in sorted(ROOT.joinpath("ingest").rglob("*.py")):
        file = str(path.relative_to(ROOT))
        tests = next((tests for place, tests in DRAWN.items() if fnmatch(file, place)), None)
        if tests and not WORDING.search(file) and only in file + " | ":
            source = path.read_text(encoding="utf-8")
            commands, _, names = tests.partition("| ")
            first = [f"frozen:{name}" for name in commands.split()] + [file] * (">>> " in source)
            seen_by = " ".join([*first, *(_test_file(Path(file).parts[1], name) for name in names.split())])
            found += [(one._replace(tests=seen_by), text) for one, text in mutations(file, source) if (file, text) not in known]
    return random.Random(seed).sample(found, min(count, len(found)))


class Copy:
    """A copy of the package and its tests in a temporary folder, with links to what they read."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        for name in ("ingest", "tests"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy2(ROOT / "pyproject.toml", folder)
        for name in SHARED:
            (folder / name).symlink_to(ROOT / name)

    def change(self, file, text):
        """Write a changed module."""
        self.path = self.folder / file
        self.content = self.path.read_bytes()
        self._write(text.encode())

    def restore(self):
        """Bring the module back."""
        self._write(self.content)

    def _write(self, content):
        for compiled in self.path.parent.glob(f"__pycache__/{self.path.stem}.*.pyc"):
            compiled.unlink()  # bytecode counts by whole seconds
        self.path.write_bytes(content)

    def start(self, tests):
        """Run tests in a process of its own; returns its id. Its output is in the file `output`."""
        child = os.fork()
        if child:
            return child
        code = 70
        try:
            os.setsid()
            out = os.open(self.folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(out, stream)
            sys.stdout, sys.stderr = (os.fdopen(stream, "w", buffering=1, closefd=False) for stream in (1, 2))
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            sys.dont_write_bytecode = False
            os.chdir(self.folder)
            sys.path.insert(0, str(self.folder))
            code = recorded_differ([one.removeprefix("frozen:") for one in tests.split() if one.startswith("frozen:")])
            tests = [one for one in tests.split() if not one.startswith("frozen:")]
            import pytest

            without = ("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "python_classes=")
            words = ("-x", "-q", "--tb=line", "-m", "not slow", *without)
            code = code or int(bool(tests) and pytest.main([*words, *tests]))
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)


@cache
def recorded():
    """Command -> the lines of its recorded answers, in an order drawn once; no process that was forked reads them again."""
    kept = (lzma.decompress((ROOT / f"tests/frozen/{name}.xz").read_bytes()) for name in ("answers", "plans"))
    lines = [line for held in kept for line in held.decode().split("\n") if line]
    random.Random(0).shuffle(lines)
    found = {}
    for line in lines:
        found.setdefault(line[3 : line.index('"', 3)], []).append(line)
    return found


def recorded_differ(commands):
    """Whether a recorded answer of these commands is another one now; says which."""
    sys.path.insert(0, "tests")
    from frozen.answers import differences
    from frozen.ask import asking

    pairs = [json.loads(line) for at, name in enumerate(commands) for line in recorded().get(name, [])[: ASKED[min(at, 1)]]]
    random.Random(0).shuffle(pairs)
    with asking(1, batch=60) as answers:
        for (words, kept), now in zip(pairs, answers([words for words, _ in pairs]), strict=True):
            if next(differences(kept, now), None):
                print(f"FAILED frozen:{' '.join(words)}".replace("[", "("))
                return 1
    return 0


def outcomes(jobs):
    """For jobs of a mutant and a changed source: the mutant, the exit code of its tests, the seconds and the last lines."""
    for name in WARM:
        __import__(name)
    import pytest  # noqa: F401

    compileall.compile_dir(ROOT / "ingest", quiet=2)
    recorded()
    sys.path[:] = [one for one in sys.path if one != str(ROOT / "tests")]
    waiting, running = [*reversed(jobs)], {}
    with tempfile.TemporaryDirectory() as top:
        free = [Copy(Path(top, str(number))) for number in range(min(AT_ONCE, len(jobs)))]
        while running or waiting:
            while free and waiting:
                copy, (mutant, text) = free.pop(), waiting.pop()
                if text is not None:
                    copy.change(mutant.file, text)
                running[copy.start(mutant.tests)] = (copy, mutant, text, time.monotonic())
            for child, (copy, mutant, text, began) in [*running.items()]:
                if time.monotonic() - began > LONGEST:
                    os.killpg(child, signal.SIGKILL)
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    del running[child]
                    free.append(copy)
                    if text is not None:
                        copy.restore()
                    lines = (copy.folder / "output").read_text(encoding="utf-8", errors="replace").splitlines()
                    yield mutant, os.waitstatus_to_exitcode(status), time.monotonic() - began, lines[-8:]
            time.sleep(0.02)


def main():
    """Run the list, or drawn mutants; exit with 1 where one survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="draw fresh mutants")
    parser.add_argument("--count", type=int, default=60, help="how many to draw")
    parser.add_argument("--only", default="", help="only mutants whose line has this text")
    parser.add_argument("--mend", action="store_true", help="rewrite lines whose definition moved, and run nothing")
    parser.add_argument("--narrow", action="store_true", help="name in each line the test that saw its mutant")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a mutant first")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each mutant with the test that saw it")
    options = parser.parse_args()
    if options.mend:
        sys.exit(rewritten(mended))
    wrong, jobs = [], []
    if options.seed is None:
        for one in (one for one in listed() if options.only in one.shown and not one.equivalent):
            try:
                jobs.append((one, one.applied()))
            except ValueError as error:
                wrong.append(str(error))
    else:
        jobs = drawn(options.seed, options.count, options.only)
    # The tests must pass without a mutant, else their red says nothing.
    names = dict.fromkeys(name for one, _ in jobs for name in one.tests.split())
    plain = Mutant("", "the code as it is", "", "", " ".join(names))
    for _, code, _, lines in outcomes([(plain, None)] if jobs and not options.trust else []):
        if code:
            sys.exit("\n".join(["the tests fail, or do not exist, without any mutant:", *lines]))
    survivors, seen, began = [], {}, time.monotonic()
    for one, code, seconds, lines in outcomes(jobs):
        if code in (1, 2, 3, 4, -signal.SIGKILL):
            by = next((line.split()[1] for line in lines if line.startswith(("FAILED", "ERROR"))), "its end")
            seen[one] = by.partition("[")[0]
            if options.verbose:
                print(f"red ({seconds:.1f} s) {one.shown}: {by}", flush=True)
        else:
            survivors.append(one)
            end = f", exit code {code}: {' / '.join(lines)}" if code else ""
            print(f"SURVIVED ({seconds:.1f} s{end}) {one.shown}", flush=True)
    for line in wrong:
        print(f"NO MATCH {line}")
    if options.narrow:
        rewritten(lambda one: one._replace(tests=seen[one]) if "::" in seen.get(one, "") else one)
    print(f"{len(jobs)} mutants, {len(survivors)} survived, {len(wrong)} match nothing, {time.monotonic() - began:.0f} s")
    sys.exit(bool(survivors or wrong))


if __name__ == "__main__":
    main()

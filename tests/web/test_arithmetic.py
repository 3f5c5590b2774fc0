"""The page's answers are those of the package: the modules that are printed to JavaScript, run in a browser."""

import ast
import gzip
import math
import random
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from browser import CHROMIUM, COMMAND
from conftest import CATALOG, table
from scenarios import TABS, Draws, asked, needs_of_site, parts_of_site

from ingest.architecture import describe
from ingest.catalog.store import Catalog
from ingest.engine.registry import FORMULAS
from ingest.reports.web.expressions import Unprintable
from ingest.reports.web.javascript import Printer
from ingest.reports.web.page import ASSETS, QUESTIONS, VIEWS, page
from ingest.site.planner import plan
from ingest.sizing.bandwidth import bw
from ingest.sizing.job import Job
from ingest.storage.fit import ONE_SPARE, chosen, fit_need
from ingest.storage.need import from_numbers, need_of
from ingest.units import as_printed, display, exact

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
#: The answers of the page in the form of `scenarios.asked`; inputs that a question does not set are empty.
ANSWERS = """(questions) => questions.map(([tab, values]) => {
    const empty = Object.fromEntries(Ingest.forms[tab].map(({ name }) => [name, ""]));
    const found = Ingest.answer(tab, { ...empty, ...values });
    if (!found.ok) return found.beyond ? { beyond: true } : { ok: false, error: found.error };
    const rows = found.rows.map(({ label, display, range }) => [label, display, range]);
    return { ok: true, title: found.headline.scene, rows, warnings: found.warnings.map(({ text }) => text),
        tables: found.tables.map(({ title, rows }) => [title, rows]), command: found.command };
})"""


@pytest.fixture(scope="module")
def opened(browser, url):
    window = browser.new_page()
    window.goto(url)
    yield window
    window.context.close()


def unknown_in(error):
    """The name that a refusal does not know, whatever it names as near: the page has fewer tables. Else the error."""
    found = re.match(r"(?:(?:unknown )?\w+ )?'([^']*)'(?:;|, nearest | is | has | could be )", error)
    return found[1] if found else error


def compared(answer, expected, tab):
    """Both in one form: labels without capitals, rows with a range, tables only where the question shows them."""
    if not expected["ok"]:
        return ({**one, "error": unknown_in(one.get("error", ""))} for one in (answer, expected))
    rows = [[label.lower(), shown, spread] for label, shown, spread in answer["rows"]]
    wanted = [[label.lower(), shown, *(rest or [""])] for label, shown, *rest in expected["rows"]]
    got = {**answer, "rows": rows[: len(wanted)] if tab == "fit" else rows}
    want = {**expected, "rows": wanted}
    if "tables" in expected:
        parts = [
            ((title, body), ("" if body else title, [[line] for line in lines])) for title, body, lines in expected["tables"]
        ]
        want["tables"] = [[title, rows] for both in parts for title, rows in both if rows]
    names = ("ok", "title", "rows", "warnings", *(("tables",) if "tables" in want else ()))
    return {name: got[name] for name in names}, {name: want[name] for name in names}


def hold(window, questions, catalog):
    """Hold every answer of the page against that of the package."""
    for start in range(0, len(questions), 100):
        part = questions[start : start + 100]
        for (tab, values), answer in zip(part, window.evaluate(ANSWERS, part), strict=True):
            expected = asked(tab, values, catalog)
            assert "beyond" not in answer, (tab, values)
            got, want = compared(answer, expected, tab)
            assert got == want, (tab, values)


@needs_chromium
@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize(("seed", "fits", "others"), [(23, 5, 20), pytest.param(2026, 150, 500, marks=pytest.mark.slow)])
def test_answers_of_the_page_are_those_of_the_package(opened, tab, seed, fits, others):
    hold(opened, list(Draws(CATALOG, seed, (tab,)).scenarios(fits if tab == "fit" else others)), CATALOG)


#: The cautions, reasons and refusals of the page, as it shows them.
SAID = """(questions) => questions.flatMap(([tab, values]) => {
    const empty = Object.fromEntries(Ingest.forms[tab].map(({ name }) => [name, ""]));
    const found = Ingest.answer(tab, { ...empty, ...values });
    const told = found.ok ? [...found.warnings, ...(found.rungs ?? [])] : [{ text: found.error }];
    return told.map(({ text, why }) => text ?? why ?? "").map((line) => Ingest.inFields(tab, String(line)));
})"""


#: Tab -> inputs, and how a line of it begins.
FIELDS = {
    "vectors": ({"vectors": "1M", "tokens": "1G", "index": "flat"}, "“Vectors”: found with “Tokens”, expected one of them"),
    "checkpoint": ({"model": "llama3-8b", "gpus": "8", "waste": "9"}, "“Checkpoint overhead allowed”: found 9, expected"),
}


@needs_chromium
@pytest.mark.parametrize("tab", TABS)
def test_the_page_names_its_fields_and_no_option(opened, tab):
    asked, begins = FIELDS.get(tab, ({}, ""))
    said = opened.evaluate(SAID, [*Draws(CATALOG, 54, (tab,)).scenarios(40), [tab, asked]])
    assert [line for line in said if re.search("--[a-z]", re.sub("`[^`]*`", "", line))] == []
    assert said[-1].startswith(begins), said[-1]
    assert tab != "vectors" or "the text of the vectors is not counted in the source" in said


#: The answer of a tab from its start, with other inputs, without the caution that one of them changes nothing.
STARTED = """([tab, questions]) => questions.map((values) => {
    const start = Object.fromEntries(Ingest.forms[tab].map(({ name, default: usual }) => [name, String(usual ?? "")]));
    const { ok, error, headline, rows, basis, tables, warnings } = Ingest.answer(tab, { ...start, ...values });
    const counted = warnings?.map(({ text }) => text).filter((text) => !/ changes nothing here/.test(text));
    return [ok, error, headline, rows, basis, tables, counted];
})"""
#: Other questions than the one that a tab begins with, in which more of its inputs count.
FURTHER = {
    "bw": [{"model": "resnet50", "basis": "efficiency"}],
    "checkpoint": [{"mode": "sync", "waste": "5%"}, {"duration": "60 days", "tier_capacity": "2 PB"}],
    "dataset": [{"tokens": "", "samples": "1M", "sample_bytes": "100 kB"}, {"tokens": "1T", "format": "parquet"}],
    "vectors": [{"vectors": "", "documents": "1M", "tokens": "1G"}, {"index": "ivf-pq", "code_bytes": "96", "probes": "16"}],
    "rl": [{"publish": "delta", "trainer_gpus": "64", "sandbox_image": "2 GB"}],
}


@needs_chromium
@pytest.mark.parametrize("tab", TABS)
def test_a_value_in_force_that_is_typed_changes_no_answer(opened, tab):
    fields = opened.evaluate("(tab) => Ingest.forms[tab]", tab)
    value = r"[0-9.,]+( (min|days|s|B|[GMT]B/s))?|[0-9]+%..[0-9]+%|stored|\S+,\S+"
    typed = {one["name"]: text for one in fields if re.fullmatch(value, text := one.get("placeholder", ""))}
    assert typed or tab in ("fit", "plan")
    for question in ({}, *FURTHER.get(tab, ())):
        of_start = {one["name"]: one["default"] for one in fields}
        left_out = [{**question, **({name: ""} if of_start[name] else {})} for name in typed]
        asked_once = [one for place, one in enumerate(left_out) if one not in left_out[:place]]
        without = opened.evaluate(STARTED, [tab, asked_once])
        given = opened.evaluate(STARTED, [tab, [{**question, name: text} for name, text in typed.items()]])
        for (name, text), unasked, found in zip(typed.items(), left_out, given, strict=True):
            usual = without[asked_once.index(unasked)]
            assert usual[0], usual[1]
            other_question = found[1] and "expected one of them" in found[1]
            assert found == usual or other_question, (question, name, text, found[1])


@needs_chromium
def test_commands_of_the_page_answer_alike(opened):
    question = ["checkpoint", {"model": "llama3-405b", "gpus": "16384", "mode": "async", "interval": "15 min"}]
    (answer,) = opened.evaluate(ANSWERS, [question])
    done = subprocess.run([COMMAND, *shlex.split(answer["command"])[1:], "-v"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert lines[1] == answer["title"]
    for label, shown, _ in answer["rows"]:
        assert any(label.lower() in line.lower() and shown in line for line in lines), (label, shown)


@needs_chromium
@pytest.mark.parametrize("tab", ["bw", "checkpoint"])
def test_the_page_names_the_command_of_the_simulation_that_follows(opened, run, tab):
    questions = list(Draws(CATALOG, 11, (tab,)).scenarios(8))
    named = """(questions) => questions.map(([tab, values]) => {
        const empty = Object.fromEntries(Ingest.forms[tab].map(({ name }) => [name, ""]));
        return Ingest.answer(tab, { ...empty, ...values }).next?.command;
    })"""
    followed = [command for command in opened.evaluate(named, questions) if command]
    assert followed
    short = {"bw": ("--steps", "20"), "checkpoint": ("--runs", "2")}[tab]
    for command in followed:
        found = run(*shlex.split(command)[1:], *short)
        assert found.code in (0, 1, 3), (command, found.err)  # 1: a fact of the loader is unknown; no option is
        assert command.split()[1] == {"bw": "feed", "checkpoint": "goodput"}[tab]


@needs_chromium
def test_derivations_of_the_page_are_those_of_explain(opened):
    values = {"model": "resnet50", "gpu": "b200", "nodes": "48"}
    step = bw(**values).derivation("ingest_bandwidth_per_job")

    def below(part):
        found = display(float(part.value), FORMULAS[part.name].unit) if part.formula else None
        return [found, *(line for one in part.inputs for line in below(one))]

    tree = opened.evaluate("(values) => Ingest.derivation('bw', values, 'ingest_bandwidth_per_job')", values)

    def shown(node):
        return [node["display"], *(line for one in node["parts"] for line in shown(one))]

    texts = shown(tree)
    assert all(any(text.startswith(one) for text in texts) for one in below(step) if one)


def edge_numbers():
    """Numbers at which a digit changes: ties, powers of ten and of two, their neighbours, and drawn ones."""
    ties = [0.5, 1.5, 2.5, 0.125, 0.375, 1234.5, 1235.5, 0.00012345, 99995, 999.95, 9999.5, 0.15, 1e15, 9.9995e14, 1e-4]
    powers = [sign * base**power for sign in (1, -1) for base in (2, 10) for power in range(-12, 21)]
    near = [math.nextafter(one, end) for one in (*ties, *powers) for end in (math.inf, -math.inf)]
    draw = random.Random(23)
    return [0, *ties, *powers, *near, *(draw.choice((1, -1)) * 10 ** draw.uniform(-8, 20) for _ in range(400))]


@needs_chromium
def test_numbers_are_printed_to_the_same_digit(opened):
    specs = ("", ",", ".0f", ".1f", ".2f", ".4f", ",.3f", ".3g", ",.4g", "g", ".2e", ".10g", "+.1f", "08.2f", ">12,.1f")
    numbers = [float(one) for one in edge_numbers()]
    for spec in specs:
        shown = opened.evaluate("([all, spec]) => all.map((one) => $.format(one, spec))", [numbers, spec])
        for number, text in zip(numbers, shown, strict=True):
            whole = number == int(number) and "f" not in spec and "g" not in spec and "e" not in spec
            assert text == format(int(number) if whole else number, spec), (number, spec)


@needs_chromium
@pytest.mark.parametrize("unit", ["B/s/GPU", "B", "s", "sample/s/GPU", "FLOP/s/GPU", "1", "file", "J", "B/s/B", "parameter"])
def test_quantities_are_printed_to_the_same_digit(opened, unit):
    numbers = [float(one) for one in edge_numbers()]
    ask = "([all, unit]) => all.map((one) => $.modules['ingest.units'].display(one, unit))"
    for number, text in zip(numbers, opened.evaluate(ask, [numbers, unit]), strict=True):
        assert text == display(number, unit), number
    if unit == "B":
        ask = "(all) => all.map((one) => $.modules['ingest.units'].exact(one))"
        for number, text in zip(numbers, opened.evaluate(ask, numbers), strict=True):
            assert text == exact(number), number
    assert as_printed(1e9, "B") == 1e9


@needs_chromium
def test_formulas_of_one_value_compute_the_same(opened):
    """Every formula of the page, on numbers drawn for its inputs; columns are covered by the questions."""
    draw, cases = random.Random(7), []
    names = opened.evaluate("[...$.modules['ingest.engine.registry'].FORMULAS]")
    for name in names:
        for _ in range(3):
            given = [draw.choice((0.0, 1.0, 10 ** draw.uniform(-3, 12))) for _ in FORMULAS[name].needs]
            try:
                cases.append([name, given, float(FORMULAS[name].function(*given))])
            except (ZeroDivisionError, OverflowError, ValueError):
                cases.append([name, given, None])
    ask = """(cases) => cases.map(([name, given]) => {
        try { const value = $.modules['ingest.engine.registry'].FORMULAS.__getitem__(name).function(...given);
            return Number.isFinite(value) ? value : String(value); } catch (error) { return null; }
    })"""
    assert len(names) > 250
    for (name, given, expected), value in zip(cases, opened.evaluate(ask, cases), strict=True):
        if expected is None or not math.isfinite(expected):
            assert value is None or isinstance(value, str), name
        else:
            assert value == pytest.approx(expected, rel=1e-12), (name, given)


#: Words that YAML reads as something else, or that no line of it holds.
DOUBTFUL = (
    "a\nb: #x", "yes", "Null", "0x1f", "010", "1e5", "12:30", "2026-01-01", "- a", "{a", "'", '"', "a: b", "é 中 \U0001f600",
    "\ud800", "\u2028", "\x85", "\x07", "*a", "&a", "!a", "%a", "@a", "`a", "~", "", " ", "1_000", ".inf", "a #b",
)  # fmt: skip


@needs_chromium
def test_words_in_a_site_file_are_read_as_they_are(opened):
    written = opened.evaluate("(words) => words.map((word) => Yaml.document({ outer: { word } }))", list(DOUBTFUL))
    for word, text in zip(DOUBTFUL, written, strict=True):
        expected = None if word == "" else word.replace("\ud800", "\ufffd")
        assert yaml.safe_load(text) == {"outer": {"word": expected} if expected is not None else {}}, text
    assert opened.evaluate("Yaml.document({ a: 64, b: '100B', c: 'dgx-h100', d: '1.5T' })") == (
        "a: 64\nb: 100B\nc: dgx-h100\nd: 1.5T\n"
    )


def planned(opened, values):
    """The plan of the site file that the page writes, or its refusal."""
    found = opened.evaluate("(values) => Ingest.siteFile(values)", values)
    if "text" not in found:
        return found["error"]
    site = yaml.safe_load(found["text"])
    assert [*site["jobs"]] == ["training"]
    return plan(site, samples=0)


@needs_chromium
def test_site_files_of_the_page_are_planned_and_others_are_not_written(opened):
    draws = Draws(CATALOG, 5, ("plan",))
    questions = [values for _, values in draws.scenarios(20)] + [{"name": word} for word in DOUBTFUL]
    found = [planned(opened, values) for values in questions]
    assert sum(not isinstance(one, str) for one in found) > 25  # a plan that is refused raises
    for values, one in zip(questions, found, strict=True):
        if isinstance(one, str):
            assert asked("plan", {"model": "llama3-8b", "node": "dgx-h100", **values}, CATALOG)["ok"] is False, values
    llm = planned(opened, {"model": "llama3-70b", "nodes": "64", "tokens": "100B"})
    assert {"R-READ-03", "R-WRITE-01", "R-CAP-03"} <= {*llm.results}
    assert "R-READ-03" in planned(opened, {"model": "cosmoflow"}).results


#: The flips of a small site on a storage system, as the page shows them.
FLIPS = """(values) => {
    const given = Object.fromEntries(Ingest.forms.plan.map(({ name, default: usual }) => [name, String(usual ?? "")]));
    return [...(Ingest.answer("plan", { ...given, ...values }).flips?.rest ?? [])].filter(Boolean);
}"""


def judged(values, best, catalog):
    """The verdict on a system as it is chosen, or on one to choose, for what a small site reads, writes and holds."""
    needs = needs_of_site([part for part in parts_of_site(values, catalog) if part])
    needed = need_of(None, from_numbers(**needs), Job(), catalog)
    return chosen(best, ONE_SPARE, catalog)(needed) if best else fit_need(needed, [values["storage"]], catalog).systems[0]


@needs_chromium
def test_flips_of_a_small_site_are_where_asking_again_has_them(opened):
    turned = 0
    start = {"nodes": 64, "tokens": 1e12, "copies": 1, "keep": 3}
    for model, storage in (("llama3-8b", "ddn-ai400x2"), ("llama3-405b", "flashblade-s500"), ("cosmoflow", "ddn-ai400x2")):
        site = {"model": model, "node": "dgx-h100", "mode": "async", "storage": storage}
        rows = opened.evaluate(FLIPS, {"model": model, "storage": storage})
        today = {**site, **{name: str(value) for name, value in start.items()}}
        best = judged(today, None, CATALOG)
        found = {row[0]: [one for one in rows if one[0] == row[0]] for row in rows}
        for name, label in (("nodes", "Nodes"), ("tokens", "Tokens of the data"), ("copies", "Copies of the data")):
            for sign, far in ((1, 100), (-1, 0.01)):
                ends = [row for row in found.get(label, []) if (row[2][0] in "≥>") == (sign > 0)]
                turns = float(re.sub(r"[^0-9.]", "", ends[0][2])) if ends else max(start[name] * far, 1)
                near = turns - sign * (1 if name != "tokens" else turns / 1000)
                there = {**today, name: f"{turns:.0f}"}
                assert (judged(there, best, CATALOG).fits != best.fits) == bool(ends), (model, storage, name, sign)
                if ends:
                    turned += 1
                    assert judged({**today, name: f"{near:.0f}"}, best, CATALOG).fits == best.fits, (model, storage, name, sign)
    assert turned >= 4


@needs_chromium
def test_a_job_without_progress_is_refused_as_the_rules_refuse_it(opened):
    hold(opened, [("bw", {"model": "airoboros-7b", "gpu": "a100", "nodes": "8"})], CATALOG)  # as llama2-7b
    stuck = {"model": "llama3-405b", "node": "dgx-h100", "nodes": "125000"}
    (answer,) = opened.evaluate(ANSWERS, [["plan", stuck]])
    assert answer["error"] == planned(opened, stuck) == asked("plan", stuck, CATALOG)["error"]
    assert answer["error"].startswith("no progress: checkpoints and restarts would take ")
    assert planned(opened, {"gpus": "1000000", "gpu": "h100-sxm", "model": "llama3-405b"}).startswith("no progress")


@needs_chromium
def test_entries_of_the_user_are_in_the_page(opened, tmp_path):
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "own.yaml").write_text(
        "name: Own GPU\nvendor: Own\npeak_flops: {bf16: {value: 5e14, unit: FLOP/s/GPU, source: recalled, grade: assumed}}\n"
        "gpus_per_node: {value: 8, unit: GPU/node, source: recalled, grade: assumed}\n"
    )
    made = page(output=tmp_path / "calc.html", catalogs=tmp_path)
    assert made.bytes_written == (tmp_path / "calc.html").stat().st_size
    question = ["bw", {"model": "resnet50", "gpu": "own", "nodes": "4"}]
    window = opened.context.browser.new_page()
    window.goto((tmp_path / "calc.html").as_uri())
    (answer,) = window.evaluate(ANSWERS, [question])
    got, want = compared(answer, asked(*question, Catalog(tmp_path)), "bw")
    assert got == want


@needs_chromium
def test_names_that_tools_print_mean_the_same_in_the_page(opened):
    names = table("catalog/names.yaml")
    names["gpus"] = [
        *[*names["gpus"]][::5],
        *names.pop("ambiguous"),
        "NVIDIA H100 64GB",
        "a3-edgegpu-8g",
        "MIG 1g.5gb",
        "gpu:l40s:2",
    ]
    asked = [(kind, name) for kind, written in names.items() for name in written if kind != "outside"]  # is no kind
    meant = "const { entry, possible, near } = new $.Catalog().meaning(kind, name); return [entry, [...possible], [...near]];"
    told = opened.evaluate(f"(asked) => asked.map(([kind, name]) => {{ {meant} }})", asked)
    for (kind, name), answer in zip(asked, told, strict=True):
        entry, possible, near, _ = CATALOG.meaning(kind, name)
        assert answer == [entry, [*possible], [*near]], name


def test_roots_are_what_the_scripts_take_from_modules():
    code = "\n".join((ASSETS / name).read_text() for name in ("catalog.js", *QUESTIONS, *VIEWS))
    taken = {(f"ingest.{module}", name) for module, name in re.findall(r'\bof\("([\w.]+)", "(\w+)"\)', code)}
    for names, module in re.findall(r'\{ ([\w, ]+) \} = \$[.]modules\["([\w.]+)"\]', code):
        taken |= {(module, name) for name in names.split(", ")}
    assert len(taken) > 30
    roots = yaml.safe_load((ASSETS / "program.yaml").read_text(encoding="utf-8"))["roots"]
    assert taken <= {(module, name) for module, names in roots.items() for name in names}


@needs_chromium
def test_the_page_knows_every_structure_by_each_of_its_names(opened):
    rows = [*CATALOG.releases.rows.values()]
    ask = """(names) => {
        const catalog = new $.Catalog(), { describe } = $.modules["ingest.architecture.model_description"];
        return names.map((name) => { const made = describe(name, catalog); return [made.id, made.parameters]; });
    }"""
    named = [(row, name) for row in rows for name in row.names]
    got = opened.evaluate(ask, [name for _, name in named])
    assert len({id for id, _ in got}) == len(rows) >= 550
    for (row, name), (id, parameters) in zip(named, got, strict=True):
        assert (id, parameters) == (row.id, row.parameters or describe(row.id, CATALOG).parameters), name


def test_another_suffix_is_refused(tmp_path):
    done = subprocess.run([COMMAND, "page", "-o", "calc.txt"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "ingest: --output: 'calc.txt' ends in '.txt', expected .html\n")
    assert not (tmp_path / "calc.txt").exists()


def test_the_page_is_small(url):
    content = Path(url.removeprefix("file://")).read_bytes()
    assert len(content) <= 1_560_000
    assert len(gzip.compress(content)) <= 590_000


@pytest.mark.parametrize(
    "code",
    ["x = [1]\nx[0], y = 1, 2", "async def f(): pass", "x = ~1", "while x: x = 0\nelse: x = 1", "x = eval('1')", "x = b'a'",
     "x = 'a'.isnumeric()"],
)  # fmt: skip
def test_python_that_the_printer_does_not_know_is_refused(code):
    printer = Printer("own", {"x": "value"}.get, {}.get, set())
    with pytest.raises(Unprintable, match=r"own:\d+: "):
        [printer.definition(node) for node in ast.parse(code).body]

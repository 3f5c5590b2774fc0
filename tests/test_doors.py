"""What CONTRIBUTING promises of additions, performed on a copy of the package: the files it takes, and where it shows."""

import gzip
import json
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import openpyxl
import pytest
from conftest import table

import ingest

ROOT = Path(ingest.__file__).parents[1]
#: What answers command lines, one after another, in a process that has read the package; then modules that a maintainer adds:
#: of a log and of counters that nobody has, of records that their first bytes tell, and of rows that a suffix tells.
SERVER, RUNNER, COUNTER, REEL = table("doors.yaml").values()
JOB = ("bw", "--model", "cosmoflow", "--gpu", "h100", "--nodes", "2")


class House:
    """A copy of the package and its catalogs, in which a maintainer edits files."""

    def __init__(self, folder):
        self.folder, self.edited = folder, set()
        for name in ("ingest", "catalogs"):  # with what is compiled: Python holds it valid by the time of the source
            shutil.copytree(ROOT / name, folder / name)

    def edit(self, name, before, after):
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, (name, before)
        path.write_text(text.replace(before, after), encoding="utf-8")
        self.edited.add(name)

    def add(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        self.edited.add(name)

    def python(self, code):
        """What a program prints that imports the copy."""
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @cached_property
    def server(self):
        """A process that imports the copy as it is now: what is edited later does not show."""
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-c", SERVER], cwd=self.folder, **streams)

    def asked(self, *words, code=0):
        """Standard output and standard error of a command line that ends with this code."""
        self.server.stdin.write(json.dumps(words) + "\n")
        self.server.stdin.flush()
        ended, *texts = json.loads(self.server.stdout.readline())
        assert ended == code, texts[1]
        return texts

    def ingest(self, *words):
        return self.asked(*words)[0]

    def refused(self, *words):
        return self.asked(*words, code=1)[1]

    def observed(self, *words):
        """An observation by the copy, and what a bundle of it holds."""
        self.ingest("observe", *words, "-o", "job.json")
        return json.loads((self.folder / "job.json").read_text()), json.loads(self.ingest("observe", "job.json", "--bundle"))


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    yield made
    if "server" in vars(made):
        made.server.communicate()


def lacking(house, results):
    """Results of `bw` and where each is missing: table, JSON, CSV, workbook, page of the browser or session."""
    table, comma, keyed = (house.ingest(*JOB, *form) for form in ((), ("--format", "csv"), ("--format", "json")))
    house.ingest(*JOB, "-o", "answer.xlsx")
    sheets = openpyxl.load_workbook(house.folder / "answer.xlsx")
    cells = " ".join(str(row) for sheet in sheets for row in sheet.values).casefold()
    house.ingest("page", "-o", "page.html")
    page = (house.folder / "page.html").read_text(encoding="utf-8")
    each = f"print(*(answer[words].display for words in {[*results.values()]}), sep='\\n')"
    shown = house.python(f"import ingest\nanswer = ingest.bw('cosmoflow', 'h100', nodes=2)\n{each}").splitlines()
    for (name, words), session in zip(results.items(), shown, strict=True):
        found = {"table": words in table, "csv": f",{name}," in comma, "json": name in json.loads(keyed)["results"],
                 "workbook": words in cells, "session": session, "page": f'"{name}"' in page}  # fmt: skip
        yield from ((name, place) for place, there in found.items() if not there)


def test_a_gpu_takes_one_file(house):
    text = (ROOT / "catalogs" / "gpus" / "h100-sxm.yaml").read_text(encoding="utf-8")
    house.add("catalogs/gpus/h100-next.yaml", text.replace("NVIDIA H100 SXM5", "NVIDIA H100 Next"))
    assert "NVIDIA H100 Next" in house.ingest("bw", "cosmoflow", "h100-next", "--basis", "peak")
    assert len(house.edited) == 1


def test_an_option_of_bw_takes_one_line(house):
    new = '    scaling_share: Annotated[Written | None, option("Linear share.", "F", quantity="scaling_efficiency")]\n'
    house.edit("ingest/sizing/job.py", "    cache_hit: Annotated[", f"{new}    cache_hit: Annotated[")
    assert "--scaling-share F" in house.ingest("bw", "--help-all")
    assert "--scaling-share F" in house.ingest("explain", "--help-all")
    name = "ingest_bandwidth_per_job"
    whole, half = (json.loads(house.ingest(*JOB, *more, "--format", "json")) for more in ((), ("--scaling-share", "0.5")))
    assert half["results"][name]["value"] == pytest.approx(whole["results"][name]["value"] / 2)
    assert half["inputs"]["scaling_efficiency"]["from"] == "user"
    call = f"import ingest\nprint(ingest.bw('cosmoflow', 'h100', nodes=2, scaling_share=0.5)[{name!r}].value)"
    assert float(house.python(call)) == half["results"][name]["value"]
    assert len(house.edited) == 1


def test_a_printed_result_takes_one_line_and_a_formula_with_a_label_two_files(house):
    words = "Read bandwidth of two such jobs.,read bandwidth of two jobs"
    made = f"bandwidth_of_two_jobs,B/s,2 * ingest_bandwidth_per_job,{words}\n"
    path = "ingest/formulas/bandwidth.computed.csv"
    house.add(path, (ROOT / path).read_text(encoding="utf-8") + made)
    last = '        Shown("implied_flops_utilization"'
    names = {"stored_dataset_bytes": "stored dataset bytes", "bandwidth_of_two_jobs": "read bandwidth of two jobs"}
    for name in names:
        house.edit("ingest/sizing/bandwidth.py", last, f'        Shown("{name}"),\n{last}')
    assert [*lacking(house, names)] == []
    assert len(house.edited) == 2


#: A log of a program that nobody has.
RUNNER_LOG = "".join(f"runner: step {step} took 0.5 s\n" for step in range(1, 41))


def test_a_training_log_of_observe_takes_one_file(house):
    (house.folder / "train.log").write_text(RUNNER_LOG, encoding="utf-8")
    house.add("ingest/observation/sources/runner.py", RUNNER)
    seen, bundle = house.observed("train.log", "--gpus", "4", "--samples-per-step", "64")
    assert seen["results"]["samples_per_second_per_gpu"]["value"] == 32
    assert seen["facts"]["program"] == bundle["facts"]["program"] == "Runner"
    assert ", Runner" in " ".join(house.ingest("observe", "--help").split())
    (house.folder / "other.log").write_text("nothing", encoding="utf-8")
    assert ", Runner" in house.refused("observe", "other.log")
    assert len(house.edited) == 1


def test_a_counter_of_observe_takes_one_file(house):
    table = "COUNTER 1\n" + "".join(f"1000000 {second / 10}\n" for second in range(100))
    (house.folder / "logs").mkdir()
    for name in ("a.counter", "b.counter"):
        (house.folder / "logs" / name).write_text(table, encoding="utf-8")
    house.add("ingest/observation/sources/counter.py", COUNTER)
    for one in house.observed("logs"):
        assert one["results"]["bytes_read"] | {"value": 2e8, "source": "Counter table"} == one["results"]["bytes_read"]
        assert one["facts"]["tables"] == 2
    assert "its Counter tables" in " ".join(house.ingest("observe", "--help").split())
    (house.folder / "empty").mkdir()
    assert "no *.counter" in house.refused("observe", "empty")
    (house.folder / "table").write_text(table, encoding="utf-8")
    assert house.observed("table")[0]["results"]["reads"]["value"] == 100
    assert len(house.edited) == 1


def test_a_format_of_samples_takes_one_file(house):
    (data := house.folder / "data").mkdir()
    record, table = b"REEL" + (10).to_bytes(4, "little") + bytes(10), b"image;label\n" + b"a;1\n" * 7
    (data / "train").write_bytes(record * 5)
    (data / "a.rows").write_bytes(table)
    (data / "b.rows.gz").write_bytes(gzip.compress(table))
    (data / "picture.png").write_bytes(bytes(100))
    house.add("ingest/corpus/formats/reel.py", REEL)
    found = json.loads(house.ingest("measure", "data", "--samples", "--format", "json"))
    assert found["design"]["forms"] == {"reel": 1, "rows": 2, "file": 1}
    assert found["results"]["samples"]["value"] == 5 + 2 * 7 + 1
    assert "of a table each row counts" in found["warnings"]
    (data / "train").write_bytes(record[:-1])
    assert "broken reel" in house.refused("measure", "data/train", "--samples")
    assert len(house.edited) == 1


SITE = """
format: 2
name: small
clusters: {main: {node: dgx-h100, count: 8}}
jobs: {one: {cluster: main, nodes: 8, data: images, samples_per_second: 1000, sample_bytes: 100 kB%s}}
datasets: {images: {bytes: 500 TB}}
"""
WORDING = "ingest/site/requirement_lines.yaml"
LINE = "  R-GROW-01:\n"


def planned_lines(house, text):
    (house.folder / "site.yaml").write_text(text, encoding="utf-8")
    found = json.loads(house.ingest("plan", "site.yaml", "--format", "json"))
    return {one["id"]: one for one in found["requirements"]}, found["missing"]


def test_a_requirement_line_takes_two_files(house):
    path = "ingest/formulas/site_totals.computed.csv"
    doubled = "site_doubled_reads,B/s,2 * workload_read_bandwidth,Reads of two such sites.\n"
    house.add(path, (ROOT / path).read_text(encoding="utf-8") + doubled)
    line = {"metric": "site_doubled_reads", "priority": "target", "operation": "read", "says": "$sustain $reads"}
    line |= {"theme": "capacity", "why": "A second site.", "column": "job_read_bandwidth_of_jobs", "clients": "site"}
    house.edit(WORDING, LINE, f"  R-GROW-09: {json.dumps(line)}\n{LINE}")
    lines, _ = planned_lines(house, SITE % "")
    assert lines["R-GROW-09"]["value"] == pytest.approx(2 * lines["R-READ-03"]["value"], rel=0.01)
    assert lines["R-GROW-09"]["conditions"]["clients"] == 8
    house.ingest("report", "site.yaml", "-o", "report.md", "-o", "model.xlsx")
    assert "R-GROW-09" in (house.folder / "report.md").read_text(encoding="utf-8")
    assert len(house.edited) == 2


INTAKE = """
columns("jobs", "B/s", "job_intake_bandwidth")
input_quantity("intake_bytes", "B", "Bytes that an instrument lands.")
input_quantity("intake_seconds", "s", "Time within which an instrument lands its bytes.")
computed_quantity("job_intake_bandwidth", "minimum(intake_bytes / intake_seconds, job_drawable_bandwidth)", "B/s",
    "Write bandwidth with which an instrument lands its data.")
computed_quantity("site_intake_bandwidth", "total(job_intake_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Write bandwidth of all instruments.")
"""


def test_a_kind_of_load_takes_three_files(house):
    """Its keys in the schema, its formulas, and its line; that its nodes draw it comes with them."""
    path = "ingest/formulas/site_transfers.py"
    text = (ROOT / path).read_text(encoding="utf-8")
    house.add(path, f"{text}\nfrom ingest.engine.registry import computed_quantity, input_quantity\n{INTAKE}")
    key = {"$ref": "#/$defs/quantity", "description": "Of the instrument."}
    keys = {"bytes": {**key, "x-quantity": "intake_bytes"}, "within": {**key, "x-quantity": "intake_seconds"}}
    intake = {"type": "object", "x-load": True, "properties": keys, "additionalProperties": False, "required": [*keys]}
    first = '        "evaluation": {\n          "type": "object",\n          "x-load": true,'
    house.edit("ingest/site/schema.json", first, f'        "intake": {json.dumps(intake)},\n{first}')
    line = {"metric": "site_intake_bandwidth", "priority": "mandatory", "operation": "write", "clients": "job"}
    line |= {"says": "$sustain of {io} writes from {clients} {within}", "column": "job_intake_bandwidth_of_jobs"}
    line |= {"within": "intake_seconds", "theme": "loading", "why": "Instruments do not wait."}
    house.edit(WORDING, LINE, f"  R-TAKE-01: {json.dumps(line)}\n{LINE}")
    lines, _ = planned_lines(house, SITE % ", intake: {bytes: 60 TB, within: 10 min}")
    assert lines["R-TAKE-01"]["value"] == pytest.approx(100e9, rel=0.01)
    lines, _ = planned_lines(house, SITE % ", intake: {bytes: 60 TB, within: 1 min}")
    assert lines["R-TAKE-01"]["value"] == pytest.approx(8 * 72e9)
    assert lines["R-TAKE-01"]["limited_by"]
    lines, missing = planned_lines(house, SITE % "")
    assert "R-TAKE-01" not in lines
    assert missing["R-TAKE-01"]
    assert len(house.edited) == 3

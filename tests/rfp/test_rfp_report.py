"""What `ingest report` writes: the same ids and values in every format, text that stays text, files that are whole."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import docx
import openpyxl
import pytest
import yaml
from conftest import EXAMPLES, first
from offers import ONE_JOB, told

from ingest.acceptance.accept import shown_by
from ingest.errors import IngestError, UsageError
from ingest.files import write_all, write_whole
from ingest.reports.charts.chart import LEAST_DATA, NO_DATA, NOT_INSTALLED
from ingest.reports.plan_report import NO_CHARTS, report
from ingest.text import visible

SITES = ("hpc-128-nodes", "llm-16384-gpus", "enterprise-64-nodes")
FORMATS = ("xlsx", "docx", "md", "html", "json", "csv")
#: id -> priority and value as the document shows it
Lines = dict[str, tuple[str, str]]


class Rows(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.tags.add(tag)
        self._cell = tag in ("td", "th")
        if tag == "tr":
            self.rows.append([])
        if self._cell:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data):
        self.words.append(data)
        if self._cell:
            self.rows[-1][-1] += data


def glance(rows) -> Lines:
    """The requirements out of the rows of a document's tables."""
    found = [[cell.strip() for cell in row] for row in rows]
    return {
        row[0]: (row[1], row[3])
        for row in found
        if len(row) == 5 and re.fullmatch(r"R-[A-Z]+-\d\d", row[0]) and row[1] in PRIORITIES
    }


PRIORITIES = ("mandatory", "target", "information")


def title_of(path: Path) -> str:
    return next(one.text for one in docx.Document(str(path)).paragraphs if one.style.name == "Title")


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=() if name == SITES[0] else pytest.mark.slow) for name in SITES]
)
def written(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    paths = {suffix: folder / f"rfp.{suffix}" for suffix in FORMATS}
    made = report(EXAMPLES / f"{request.param}.yaml", output=list(paths.values()))
    return made.plan, paths


def test_ids_priorities_and_values_agree_in_all_documents(written):
    plan, paths = written
    expected = {one.id: (one.priority, one.display) for one in plan.requirements}
    assert len(expected) > 15
    tables = docx.Document(str(paths["docx"])).tables
    assert glance([[cell.text for cell in row.cells] for table in tables for row in table.rows]) == expected
    written = [line for line in paths["md"].read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in written]
    assert glance([[re.sub(r"\\(.)", r"\1", cell) for cell in row] for row in rows]) == expected
    assert glance(Rows(paths["html"].read_text(encoding="utf-8")).rows) == expected


def test_ids_priorities_values_units_and_statements_agree_in_all_data(written):
    plan, paths = written
    expected = [(one.id, one.priority, one.value, one.unit, one.statement) for one in plan.requirements]
    heads, *rows = openpyxl.load_workbook(paths["xlsx"], data_only=True)["Requirements"].iter_rows(values_only=True)
    columns = [heads.index(head) for head in ("Id", "Priority", "Required", "Unit", "Statement")]
    assert [tuple(row[column] for column in columns) for row in rows if row[0]] == expected
    data = json.loads(paths["json"].read_text(encoding="utf-8"))["requirements"]
    keys = ("id", "priority", "value", "unit", "statement")
    assert [tuple(one[key] for key in keys) for one in data] == expected
    table = list(csv.DictReader(io.StringIO(paths["csv"].read_text(encoding="utf-8"))))
    assert [(row["id"], row["priority"], float(row["value"]), row["unit"], row["statement"]) for row in table] == expected
    conditions = [one.conditions for one in plan.requirements]
    assert [row["clients"] for row in table] == [str(one.clients or "") for one in conditions]
    assert [row["io_size (B)"] for row in table] == [str(one.io_size or "") for one in conditions]


def test_every_requirement_and_every_test_stands_in_the_text_of_every_document(written):
    plan, paths = written
    texts = {
        "docx": "\n".join(one.text for one in docx.Document(str(paths["docx"])).paragraphs),
        "md": re.sub(r"\\(.)", r"\1", paths["md"].read_text(encoding="utf-8")),
        "html": "".join(Rows(paths["html"].read_text(encoding="utf-8")).words),
    }
    for name, text in texts.items():
        for one in plan.requirements:
            assert f"{one.id} ({one.priority})." in text, name
            assert one.statement in text, name
    book = openpyxl.load_workbook(paths["xlsx"], data_only=True)
    heads, *rows = book["Requirements"].iter_rows(values_only=True)
    tests = {row[heads.index("Id")]: row[heads.index("Test")] for row in rows}
    assert {name: test for name, test in tests.items() if test} == shown_by(plan.requirements)


def test_the_buyers_report_counts_what_is_assumed_and_names_its_hashes(written):
    plan, paths = written
    text = paths["md"].read_text(encoding="utf-8")
    assert f"{len(plan.assumptions)} assumed values" in text
    assert plan.catalog.content_hash() in text
    assert plan.input_hash in text


HOSTILE = {
    "formula": "=1+1",
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(A1)",
    "markup": "<script>alert(1)</script> & <b>x</b>",
    "table": "a | b ` c ` [d](javascript:e) **f**",
    "long": "x" * 300,
    "right-to-left": "\u202eمرحبا بالعالم",
    "emoji": "🚀🧪 site",
    "path": "../../etc/passwd",
    "link": "https://example.org/=1",
}
#: Several kinds in one name, which begins as a formula; each kind alone takes the same paths, and seconds.
MIXED = " ".join(HOSTILE[kind] for kind in ("formula", "markup", "table", "right-to-left"))


def test_a_name_of_several_lines_is_refused(tmp_path):
    with pytest.raises(IngestError, match=r"name: found .*expected text without control characters"):
        report({**ONE_JOB, "name": "one\n# two\n| three"}, output=tmp_path / "rfp.md")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [pytest.param(MIXED, id="mixed"), *(pytest.param(name, id=kind, marks=pytest.mark.slow) for kind, name in HOSTILE.items())],
)
def test_a_hostile_name_stays_text(name, tmp_path):
    paths = {suffix: tmp_path / f"rfp.{suffix}" for suffix in FORMATS}
    report({**ONE_JOB, "name": name}, output=list(paths.values()))
    flat = " ".join(visible(name).split())
    book = openpyxl.load_workbook(paths["xlsx"])
    title = book["Results"]["A1"]
    assert title.data_type == "s"
    assert flat in " ".join(str(title.value).split())
    assert all(len(sheet.title) <= 31 for sheet in book)
    page = Rows(paths["html"].read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert flat in " ".join("".join(page.words).split())
    first = paths["md"].read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# Storage requirements of ")
    assert "<script" not in first.replace("\\<", "")
    assert "](javascript" not in first.replace("\\]", "")
    assert flat in " ".join(title_of(paths["docx"]).split())
    assert json.loads(paths["json"].read_text(encoding="utf-8"))["requirements"]
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths.values())


TURNED = "net\u202egnp\u2066.exe\u0085\u009b\u2029 مرحبا"
SEEN = "net\ufffdgnp\ufffd.exe \ufffd  مرحبا"


def test_what_is_invisible_is_marked_alike_in_every_format(tmp_path):
    paths = {suffix: tmp_path / f"rfp.{suffix}" for suffix in FORMATS}
    report({**ONE_JOB, "name": TURNED}, output=list(paths.values()))
    told = {
        "docx": title_of(paths["docx"]),
        "md": re.sub(r"\\(.)", r"\1", paths["md"].read_text(encoding="utf-8")),
        "html": "".join(Rows(paths["html"].read_text(encoding="utf-8")).words),
        "json": paths["json"].read_text(encoding="utf-8"),
        "csv": paths["csv"].read_text(encoding="utf-8"),
        "xlsx": str(openpyxl.load_workbook(paths["xlsx"])["Results"]["A1"].value),
    }
    for suffix, text in told.items():
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x80-\x9f\u2028\u2029]", text), suffix
    for suffix in ("docx", "md", "html", "xlsx"):
        assert SEEN.split() == told[suffix].partition("Storage requirements of ")[2].split()[: len(SEEN.split())], suffix
    assert SEEN in json.dumps(json.loads(told["json"]), ensure_ascii=False)


@pytest.mark.parametrize("section", ["jobs", "datasets", "clusters"])
@pytest.mark.parametrize("name", ["=1+1", "@x", "<script>", "../x", "a b", "x" * 300])
def test_a_hostile_key_is_refused_in_one_line(section, name, tmp_path):
    """Names of jobs, data sets and clusters are keys: they may not hold what a cell or a page would take for more."""
    site = yaml.safe_load((EXAMPLES / "hpc-128-nodes.yaml").read_text(encoding="utf-8"))
    first = next(iter(site[section]))
    site[section][name] = dict(site[section][first])
    path = tmp_path / "site.yaml"
    path.write_text(json.dumps(site), encoding="utf-8")
    done = told("report", path, "-o", tmp_path / "rfp.xlsx")
    assert done.code == 2
    assert section in done.refusal
    assert not (tmp_path / "rfp.xlsx").exists()


def test_what_cannot_be_asked_for(tmp_path):
    site = EXAMPLES / "hpc-128-nodes.yaml"
    for words, code, message in (
        (["-o", "rfp.xls"], 2, "'rfp.xls' ends in '.xls', expected .xlsx, .docx, .md, .html, .pdf, .csv, .json"),
        (["-o", "rfp"], 2, "'rfp' ends in '', expected .xlsx"),
        ([], 2, "--output is missing"),
        (["-o", "a.md", "-o", "a.md"], 2, "'a.md' is given twice"),
        (["-o", "a.csv", "--storage", "nfs-tcp"], 2, "a document or a workbook, expected --output with one of .docx, .html"),
        (["-o", tmp_path / "a.md", "--storage", "nfs-tpc"], 2, "did you mean 'nfs-tcp'"),
        (["-o", "a.docx", "-o", "./a.docx"], 2, "'a.docx' is given twice"),
        (["-o", "a.md", "-o", "b/../a.md"], 2, "'b/../a.md' is given twice, as 'a.md' too, expected each file once"),
        (["-o", "a.md", "--template", "t.docx"], 2, "--template fills a .docx, expected --output with one"),
        (["-o", tmp_path / "a.docx", "--template", tmp_path / "absent.docx"], 1, "absent.docx' does not exist"),
        (["-o", tmp_path / "nowhere" / "a.md"], 1, "a.md' cannot be written: No such file or directory"),
    ):  # fmt: skip
        done = told("report", site, *words)
        assert (done.code, message in done.refusal) == (code, True), done.err
    assert os.listdir(tmp_path) == []


def test_what_is_no_template_is_refused_before_it_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.docx")
    with zipfile.ZipFile(tmp_path / "bomb.docx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as package:
        package.writestr("word/document.xml", bytes(200_000_001))
    (tmp_path / "text.docx").write_text("no package", encoding="utf-8")
    for name, message in (
        ("pipe.docx", "is not a file, expected a .docx"),
        ("bomb.docx", "unpacks to 200,000,001 B, expected at most 200,000,000 B"),
        ("text.docx", "is not readable as .docx"),
    ):
        done = told("report", EXAMPLES / "hpc-128-nodes.yaml", "-o", tmp_path / "a.docx", "--template", tmp_path / name)
        assert (done.code, message in done.refusal) == (1, True), done.err
    assert not (tmp_path / "a.docx").exists()


def test_a_template_is_filled_and_an_unknown_field_is_named(tmp_path):
    made = docx.Document()
    made.add_paragraph("Ministry of {{site}}: at least {{R-READ-01}}")
    made.add_paragraph("{{performance}}")
    made.save(tmp_path / "house.docx")
    plan = report(EXAMPLES / "hpc-128-nodes.yaml", output=tmp_path / "a.docx", template=tmp_path / "house.docx").plan
    texts = [one.text for one in docx.Document(str(tmp_path / "a.docx")).paragraphs]
    one = plan.requirement("R-READ-01")
    assert texts[0] == f"Ministry of {plan.site.name}: at least {one.display}"
    assert texts[1] == "6 Performance"
    assert any(one.statement in text for text in texts)
    made.add_paragraph("{{performence}}")
    made.save(tmp_path / "house.docx")
    with pytest.raises(UsageError, match=r"unknown field '\{\{performence\}\}'.*did you mean 'performance'"):
        report(EXAMPLES / "hpc-128-nodes.yaml", output=tmp_path / "b.docx", template=tmp_path / "house.docx")
    assert not (tmp_path / "b.docx").exists()


def test_nothing_is_written_where_one_format_cannot_be_made(tmp_path):
    """All files are made before the first one is written."""
    (tmp_path / "rfp.xlsx").write_bytes(b"last year's")
    with pytest.raises(IngestError):
        report(
            EXAMPLES / "hpc-128-nodes.yaml",
            output=[tmp_path / "rfp.xlsx", tmp_path / "rfp.docx"],
            template=tmp_path / "absent.docx",
        )
    assert (tmp_path / "rfp.xlsx").read_bytes() == b"last year's"
    assert os.listdir(tmp_path) == ["rfp.xlsx"]


def test_ceilings_of_storage_stand_in_the_document_with_where_they_are_from(tmp_path):
    done = told(
        "report", EXAMPLES / "hpc-128-nodes.yaml", "-o", tmp_path / "a.html", "--storage", "nfs-tcp", "--storage", "ceph"
    )
    assert done.code == 0, done.err
    text = "".join(Rows((tmp_path / "a.html").read_text(encoding="utf-8")).words)
    assert re.search(r"client: 2\.\d+ GB/s for each", text)  # in lines beside the plot
    assert re.search(
        r"Figure \d: Read bandwidth of .*dashed: ceilings of storage: .*NFS over TCP, one mount/one client \(published: ", text
    )


def test_nothing_is_written_where_one_file_has_no_place(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").write_text("no folder")
    for place, why in (
        ("nowhere/b.csv", "No such file or directory"),
        ("folder.csv", "Is a directory"),
        ("file/b.csv", "Not a directory"),
    ):
        done = told("report", EXAMPLES / "hpc-128-nodes.yaml", "-o", tmp_path / "a.md", "-o", tmp_path / place)
        assert done.code == 1
        assert f"{place}' cannot be written: {why}" in done.refusal
        assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"]


def test_several_files_get_their_names_when_all_lie_whole(tmp_path):
    """The second name is longer than the file system takes: found out only when it is written."""
    (tmp_path / "a.md").write_text("last year's")
    with pytest.raises(IngestError, match="cannot be written: File name too long"):
        write_all({tmp_path / "a.md": "new", tmp_path / f"{'b' * 250}.md": "new"})
    assert os.listdir(tmp_path) == ["a.md"]
    assert (tmp_path / "a.md").read_text() == "last year's"


RUN = "from ingest.cli.main import main; main()"


@pytest.fixture
def limited(tmp_path_factory):
    """Write a report of the smallest site from a process of its own, under a restriction."""
    site = tmp_path_factory.mktemp("site") / "site.yaml"
    site.write_text(json.dumps(ONE_JOB), encoding="utf-8")

    def call(setting: str, *paths: Path) -> subprocess.CompletedProcess[str]:
        words = ["report", site, *(word for path in paths for word in ("-o", path))]
        code = [sys.executable, "-c", f"import resource, signal; {setting}; {RUN}", *map(str, words)]
        return subprocess.run(code, capture_output=True, encoding="utf-8", check=False)

    return call


def test_a_full_disk_leaves_the_old_file_and_no_half_one(tmp_path, limited):
    """The kernel lets no file grow beyond 4 kB: the write ends half-way, as on a full disk."""
    old = tmp_path / "rfp.md"
    old.write_text("last year's", encoding="utf-8")
    ignored = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    done = limited(f"{ignored}; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))", old)
    assert done.returncode == 1
    assert "cannot be written: File too large" in done.stderr
    assert old.read_text(encoding="utf-8") == "last year's"
    assert os.listdir(tmp_path) == [old.name]


@pytest.mark.skipif(not hasattr(os, "setuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_of_somebody_else_is_left_alone():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "rfp.md").write_text("last year's", encoding="utf-8")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            try:
                write_whole(folder / "rfp.md", "new")
            except IngestError as error:
                os.write(writer, str(error).encode())
            os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        assert "rfp.md' cannot be written: Permission denied" in os.read(reader, 10_000).decode()
        assert (folder / "rfp.md").read_text(encoding="utf-8") == "last year's"
        assert os.listdir(folder) == ["rfp.md"]


def test_without_the_extra_charts_a_document_has_none_and_a_note_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("ingest.reports.charts.chart.find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    found = report(ONE_JOB, output=[tmp_path / "rfp.html", tmp_path / "rfp.docx"])
    assert found.notes == (NO_CHARTS.format(why=NOT_INSTALLED),)
    assert "<svg" not in (tmp_path / "rfp.html").read_text(encoding="utf-8")
    assert report(ONE_JOB, output=tmp_path / "rfp.csv").notes == ()


NO_RENDERER = {"AS, (6 << 30, -1)": "reserves more addresses", "NOFILE, (16, 16)": "failed: "}


@pytest.mark.parametrize("limit", first(1, NO_RENDERER))
def test_under_a_limit_of_addresses_or_files_a_document_has_no_charts_and_a_note_says_so(tmp_path, limited, limit):
    done = limited(f"resource.setrlimit(resource.RLIMIT_{limit})", tmp_path / "rfp.docx", tmp_path / "rfp.html")
    assert done.returncode == 0, done.stderr
    assert f"has no charts, whose renderer {NO_RENDERER[limit]}" in " ".join(done.stderr.split()) + " "
    assert "Traceback" not in done.stderr
    assert "<svg" not in (tmp_path / "rfp.html").read_text(encoding="utf-8")
    assert (tmp_path / "rfp.docx").stat().st_size > 10_000


@pytest.mark.parametrize("enough", [False, True])
def test_charts_are_drawn_from_a_limit_of_data_on(tmp_path, limited, enough):
    limit = LEAST_DATA if enough else LEAST_DATA - 1
    done = limited(f"resource.setrlimit(resource.RLIMIT_DATA, ({limit}, -1))", tmp_path / "rfp.html")
    assert done.returncode == 0, done.stderr
    assert (NO_DATA in " ".join(done.stderr.split())) is not enough
    assert ("<svg" in (tmp_path / "rfp.html").read_text(encoding="utf-8")) is enough


def test_a_large_site_makes_a_workbook_of_every_job(tmp_path):
    jobs = {f"job-{n}": {"cluster": "main", "model": "cosmoflow", "nodes": 1, "data": "d", "share": 0.1} for n in range(60)}
    site = {
        "name": "many jobs",
        "clusters": {"main": {"node": "dgx-a100", "count": 60}},
        "jobs": jobs,
        "datasets": {"d": {"model": "cosmoflow"}},
    }
    made = report(site, output=[tmp_path / "rfp.xlsx", tmp_path / "rfp.docx"])
    with zipfile.ZipFile(tmp_path / "rfp.xlsx") as parts:
        assert parts.testzip() is None
    sheet = openpyxl.load_workbook(tmp_path / "rfp.xlsx")["Workloads"]
    assert sum(1 for _ in sheet.iter_rows(min_row=2, max_col=1)) == 60
    assert made.results["R-READ-03"].value > 0

"""`fit` on the sites of examples/: the need is that of the plan's mandatory lines, on the nodes of the site."""

import json
import re
from dataclasses import replace

import pytest
from conftest import CATALOG, SITES, example_plan, refused, table

import ingest
from ingest.catalog.records import Node
from ingest.cli.main import main
from ingest.errors import UsageError
from ingest.reports.page import as_text
from ingest.reports.pages.storage import fits_page
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.storage.need import from_requirements, need_in

HPC, ENTERPRISE = (next(path for path in SITES if path.stem.startswith(name)) for name in ("hpc", "enterprise"))
READS = ("R-READ-01", "R-READ-02", "R-READ-03", "R-READ-05", "R-RESTART-01", "R-RESTART-02", "R-STAGE-01", "R-PREP-01",
         "R-START-01", "R-KV-01", "R-SERVE-01", "R-READ-06", "R-GUIDE-01")  # fmt: skip
#: what may set each need, by the ids of the lines
ASKED = {
    "read_bandwidth_needed": READS,
    "node_read_bandwidth_needed": ("R-READ-04", "R-OFFLOAD-01", "R-GUIDE-03"),
    "write_bandwidth_needed": ("R-WRITE-01", "R-WRITE-02", "R-WRITE-03", "R-LOAD-01", "R-KV-02", "R-GUIDE-02"),
    "required_usable_bytes": ("R-CAP-01", "R-CAP-03"),
    "opens_per_second_needed": ("R-META-01", "R-START-02"),
    "creates_per_second_needed": ("R-META-02",),
    "files_needed": ("R-META-03",),
}


@pytest.fixture(scope="module")
def plans():
    return {path: example_plan(path.stem) for path in SITES}


def needed(found):
    return {name: item.value for name, item in found.needed.items() if name in ASKED}


def largest(plan, priorities):
    """By need: the largest of its lines of those priorities."""
    lines = [line for line in plan.requirements if line.priority in priorities]
    values = {name: [line.value for line in lines if line.id in ids] for name, ids in ASKED.items()}
    return {name: pytest.approx(max(found), rel=1e-12) for name, found in values.items() if found}


def requirement(ident, metric, value, unit, operation, priority="mandatory", **conditions):
    return Requirement(ident, priority, "The system shall.", metric, value, unit, Conditions(operation, **conditions))


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
@pytest.mark.parametrize(("priority", "counting"), [({}, 1), ({"priority": "target"}, 2), ({"priority": "information"}, 3)])
def test_the_need_is_that_of_the_mandatory_lines_or_of_those_asked_for(plans, path, priority, counting):
    found = ingest.fit(path, storage="ddn-ai400x2t", **priority)
    assert needed(found) == largest(plans[path], PRIORITIES[:counting])


def test_growth_raw_capacity_and_sums_set_no_need(plans):
    grown = plans[ENTERPRISE].requirement("R-GROW-01").value
    found = needed(ingest.fit(ENTERPRISE, storage="ddn-ai400x2t", priority="information"))
    assert found["read_bandwidth_needed"] == largest(plans[ENTERPRISE], PRIORITIES)["read_bandwidth_needed"]
    assert found["read_bandwidth_needed"] < grown
    assert found["required_usable_bytes"] < plans[ENTERPRISE].requirement("R-CAP-02").value


@pytest.mark.parametrize(("path", "node", "clients"), [(ENTERPRISE, "dgx-h100", 56), (HPC, "dgx-a100", 96)])
def test_nodes_and_conditions_are_those_of_the_site(plans, path, node, clients):
    (found,) = ingest.fit(path, storage="ddn-ai400x2t").systems
    described = _node(node)
    named = {judged.layer.name: judged for judged in found.layers}
    assert named["storage NIC"].ceiling == clients * described.storage_nic_bandwidth.value
    assert named["GPU host link"].holds is True
    reads = [line for line in plans[path].requirements if line.id in READS and line.priority == "mandatory"]
    load = max(reads, key=lambda line: line.value).conditions
    # A mix of requests has the mean size of its requests: 1 ÷ (0.979 ÷ 1 MiB + 0.021 ÷ 256 KiB), for example.
    size = 1 / sum(part.share / part.io_size for part in load.mix) if load.mix else load.io_size
    assert found.answer.given["io_bytes"].value == pytest.approx(size, abs=1)


def _node(name):
    return CATALOG.get(Node, name)


#: Reads are tokens only, so that the restore of its large job is what it reads most.
RESTORING = table("storage/cases.yaml")["a_site_whose_restore_is_what_it_reads_most"]


@pytest.fixture(scope="module")
def restoring(tmp_path_factory):
    path = tmp_path_factory.mktemp("site") / "site.yaml"
    path.write_text(json.dumps(RESTORING))
    return path


def test_lines_and_nodes_are_judged_by_their_own_conditions(restoring):
    # A restart is judged with the conditions of its own line.
    found = ingest.fit(restoring, storage="lustre")
    line = ingest.plan(restoring, samples=0).requirement("R-RESTART-01")
    # 70.55e9 parameters × 14 B, read within 120 s: 8.24 GB/s.
    assert found.needed["read_bandwidth_needed"].value == line.value == 8.24e9
    assert found.needed["nodes"].value == line.conditions.clients == 256
    assert found.needed["io_bytes"].value == line.conditions.io_size == 1_048_576
    # Of several node types the one large enough is judged and named.
    nic = next(judged for judged in found.systems[0].layers if judged.layer.name == "storage NIC")
    assert nic.ceiling == 256 * _node("grand-teton").storage_nic_bandwidth.value
    assert any("those of pretraining" in line and "not dgx-h100" in line for line in found.warnings)


def test_what_the_user_names_and_what_is_recalled():
    # A node that the user names wins.
    (found,) = ingest.fit(HPC, storage="weka-1c", node="dgx-h100").systems
    assert next(judged for judged in found.layers if judged.layer.name == "storage NIC").ceiling == 96 * 80e9  # those that read
    # Local drives are no storage of a site unless named.
    assert not [one for one in ingest.fit(HPC).systems if one.entry.family == "drive"]
    assert ingest.fit(HPC, storage="nvme-gen4").systems[0].entry.family == "drive"
    # What is recalled is the figure and not the number of units.
    (found,) = ingest.fit(HPC, storage="ddn-ai400x2t").systems
    assert [one.recalled for one in found.figures.values()] == [False, False, True]
    # 7 appliances: 612 ÷ 103.83 GB/s and half an appliance; 260.9 TB, 103.83 and 75 GB/s each; the need holds the fill limit.
    figures = tuple(one.value for one in found.figures.values())
    assert figures == pytest.approx((7 * 260.9e12, 7 * 103.83e9, 7 * 75e9))
    assert found.degraded_share == pytest.approx(6.5 * 103.83 * 0.7 / 612)


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_the_written_plan_says_the_same_as_the_site(plans, path, tmp_path):
    written = tmp_path / "plan.json"
    written.write_text(json.dumps(plans[path].to_dict()))
    ours, theirs = (ingest.fit(source, storage="weka-1c,ddn-ai400x2").to_dict() for source in (path, written))
    assert ours["need"] == theirs["need"]
    assert ours["results"] == theirs["results"]


def test_lines_that_set_the_need_and_lines_that_do_not():
    # One node is judged by its own line.
    lines = [requirement("R-READ-04", "site_node_read_bandwidth", 12e9, "B/s/node", "read", clients=1)]
    lines.append(requirement("R-READ-03", "site_read_bandwidth", 1e9, "B/s", "read", clients=4))
    need = from_requirements(lines)
    assert need.given["node_read_bandwidth_needed"].value == 12e9
    assert need.given["nodes"].value == 4
    # A growth line sets no need whatever its size.
    lines = [requirement("A", "site_read_bandwidth", 1, "B/s", "read"), requirement("B", "site_raw_bytes", 9, "B", "hold")]
    lines.append(requirement("C", "site_grown_read_bandwidth", 9, "B/s", "read"))
    assert [need_in(line) for line in lines] == ["read_bandwidth_needed", "", ""]
    assert "required_usable_bytes" not in from_requirements(lines).given
    # Another priority is refused.
    with pytest.raises(UsageError, match="--priority: found 'must', expected one of mandatory, target, information"):
        ingest.fit(HPC, storage="lustre", priority="must")


def test_of_several_lines_the_largest_of_the_priority_counts():
    small = requirement("A", "site_read_bandwidth", 5e9, "B/s", "read", clients=8, io_size=4096)
    large = replace(small, id="B", value=9e9, conditions=Conditions("read", clients=2))
    target = replace(small, id="C", value=20e9, priority="target")
    need = from_requirements([small, large, target])
    assert need.given["read_bandwidth_needed"].value == 9e9
    assert need.given["nodes"].value == 2
    assert "io_bytes" not in need.given
    assert any("C" in note and "--priority" in note for note in need.notes)


@pytest.mark.parametrize(
    ("clusters", "message"), table("storage/refused.yaml")["clusters_of_a_plan_that_cannot_be_read_are_refused"]
)
def test_clusters_of_a_plan_that_cannot_be_read_are_refused(plans, tmp_path, clusters, message):
    written = tmp_path / "plan.json"
    written.write_text(json.dumps({**plans[HPC].to_dict(), "tables": {"clusters": clusters}}))
    with refused(match=message):
        ingest.fit(written, storage="lustre")


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_eighty_columns_hold_every_line_and_every_id(monkeypatch, capsys, path):
    monkeypatch.setattr("ingest.cli.output.terminal_width", lambda *_: 80)
    outs = []
    for more in ([], ["-v"]):
        monkeypatch.setattr("sys.argv", ["ingest", "fit", str(path), *more])
        with pytest.raises(SystemExit):
            main()
        outs.append(capsys.readouterr().out)
    assert max(len(line) for out in outs for line in out.splitlines()) <= 80
    assert all(one.entry.id in outs[1] for one in ingest.fit(path).systems)
    assert len(outs[0].splitlines()) < 36
    assert "e+" not in "".join(outs)


ROW = re.compile(r"^  \d+  +(\S+) +(≥?[\d,.]+ \S.*?)  +(\S+(?: \S+)?)  +(\S+(?: \S+)?)  +(\S+(?: \S+)?)$")


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_the_table_shows_what_is_known_marked_where_it_is_recalled(path):
    found = ingest.fit(path)
    lines = as_text(fits_page(found), 80).splitlines()
    rows = {match[1]: match.groups()[1:] for match in map(ROW.match, lines) if match}
    assert len(rows) >= 10
    for one in found.systems:
        if one.entry.id not in rows:
            continue
        for text, figure in zip(rows[one.entry.id][1:], one.figures.values(), strict=True):
            assert (text == "unknown") is (figure.value is None and not figure.links), one.entry.id
            assert ("≥" in text) is bool(figure.links), (one.entry.id, text)
            assert ("*" in text, "≤" in text) == (figure.recalled, figure.at_most), (one.entry.id, text)
        # What is not known is never the reason for a rank among those that fit.
        assert one.fits is not True or one.figures["usable"].value is not None
    assert "1 down" in "\n".join(lines)
    assert "per month" not in "\n".join(lines)


@pytest.mark.parametrize("column", ["usable", "reads", "writes", "units_required"])
def test_a_number_of_the_table_is_explained_by_its_column(monkeypatch, capsys, column):
    monkeypatch.setattr("sys.argv", ["ingest", "fit", str(HPC), "--storage", "ddn-ai400x2t", "--explain", column])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "[mlperf-storage-v1-results]" in capsys.readouterr().out


def test_prices_are_a_column_of_every_table_and_details_are_on_request(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("date: 2026-11-01\ncurrency: USD\nprices: {google-managed-lustre: {mbps-1000: 600}}\n")
    found = ingest.fit(HPC, prices=prices)
    page = fits_page(found)
    tables = [section for section in page.sections if section.folded]
    assert len(tables) >= 2
    assert {section.columns for section in tables} == {tables[0].columns}
    # 612 GB/s at 1,000 MB/s of each TiB: 612 TiB, sold in steps of 9,000 GiB: 70 of them.
    assert "per month 369,141 USD" in as_text(page, 80)
    assert found.results["google-managed-lustre"].cost == 70 * 9000 / 1024 * 600
    assert len(fits_page(found, in_full=True).sections) > len(page.sections) + len(found.systems)


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_where_opens_are_the_only_unknown_the_question_names_them(path):
    for one in ingest.fit(path).systems:
        if one.not_known == ("metadata, opens",):
            assert one.question.startswith("File opens per second")
        assert one.fits is not True or one.figures["usable"].value is not None
    (known,) = ingest.fit(HPC, storage="ddn-ai400x2", set={"unit_files_max": 1e12}).systems
    assert known.not_known == ("metadata, opens",)
    assert known.question == "File opens per second: 79,500 files/s needed."


@pytest.mark.parametrize(("asked", "node"), [("5 GB/s", 5e9), ("11.1 GB/s", 11.1e9), ("15.5 GB/s", 15e9)])
def test_no_node_needs_more_than_the_reads_asked(asked, node):
    found = ingest.fit(HPC, set={"read_bandwidth_needed": asked}, storage="ddn-ai400x2")
    assert found.needed["node_read_bandwidth_needed"].value == pytest.approx(node)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--read-bandwidth", "1GB/s"), ("--write-bandwidth", "1GB/s"), ("--capacity", "1PB"), ("--opens", "9")],
)
def test_a_plan_and_an_option_do_not_set_one_need(option, value, run):
    done = run("fit", HPC, option, value, "--storage", "ddn-ai400x2")
    assert (done.code, done.err) == (2, f"ingest: {option}: the plan sets this already; expected one of the two\n")


def test_an_option_sets_what_a_plan_leaves_open(run):
    assert run("fit", HPC, "--creates", "1000", "--storage", "ddn-ai400x2").code == 0

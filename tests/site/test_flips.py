"""Flips of verdicts, compared with bisection that plans the whole site again."""

import random
from dataclasses import replace
from importlib import import_module

import openpyxl
import pytest
import yaml
from conftest import EXAMPLES, first, seeds
from test_demand_law import drawn

import ingest
from ingest.catalog.store import Catalog
from ingest.engine.registry import steps_below
from ingest.errors import IngestError, UsageError
from ingest.reports.pages.storage import flip_row, turned_systems
from ingest.site.influence import site_inputs
from ingest.site.planner import plan
from ingest.sizing.job import Job
from ingest.storage import flips
from ingest.storage.need import need_in, need_of
from ingest.storage.replanning import waits

fits = import_module("ingest.storage.fit")
CATALOG = Catalog()
NEAR = 0.005


class Chosen:
    """A site, the systems that are chosen for it, and the verdict on each line by planning again."""

    def __init__(self, site, storage=("all",)):
        self.site, self.plan = site, plan(site, samples=0, catalogs=CATALOG)
        need = need_of(self.plan, {}, Job(), CATALOG)
        found = fits.fit_need(need, storage, CATALOG)
        first = [one for one in found.systems if one.verdict not in (fits.UNKNOWN, fits.MISFIT)][: flips.MOST_SYSTEMS]
        self.judge = {one.entry.id: fits.chosen(one, fits.ONE_SPARE, CATALOG) for one in first}
        self.flips = flips.flips_of(self.plan, first, [*self.judge.values()], found.need, "mandatory")
        self.inputs = {one.name: one for one in site_inputs(self.plan)}

    def verdict(self, system, line, name, value):
        """By the planner; None where it refuses the site."""
        changed = dict.fromkeys(self.inputs[name].keys, value)
        try:
            again = plan(self.site, samples=0, catalogs=CATALOG, set=changed)
        except (IngestError, UsageError):
            return None
        lines = {one.id: one for one in again.requirements if one.priority == "mandatory"}
        if line not in lines:
            return "holds"
        need, of = need_of(again, {}, Job(), CATALOG), need_in(lines[line])
        given = {**need.given, of: need.given[of]._replace(value=lines[line].value)}
        reads, one_node = (given.get(key) for key in ("read_bandwidth_needed", "node_read_bandwidth_needed"))
        if reads is not None and one_node is not None and one_node.value > reads.value:
            given["node_read_bandwidth_needed"] = reads
        found = self.judge[system](replace(need, given=given))
        known = found.answer.known
        short = [
            layer
            for layer in found.layers
            if layer.ceiling and not layer.unsure and layer.layer != flips.INSTALLED
            and not waits([known.step(layer.layer.need), known.step(layer.layer.ceiling)])
            and known.step(of) in steps_below([known.step(layer.layer.need)]) and layer.need > layer.ceiling * (1 + 1e-12)
        ]  # fmt: skip
        return "fails" if any(not one.at_least for one in short) else "not known" if short else "holds"

    def sides(self, one):
        """A value just before a flip, and one just behind it."""
        up = one.flips_at > one.value
        if one.whole:
            return one.flips_at - (1 if up else -1), one.flips_at
        before, behind = one.flips_at * (1 - NEAR), one.flips_at * (1 + NEAR)
        return (before, behind) if up else (behind, before)

    def check(self, one):
        """The verdict of today holds up to the flip and turns there; half-way it is still that of today."""
        if not self.inputs[one.input].keys:
            return
        for end, verdict in zip(self.sides(one), (one.verdict, one.then), strict=True):
            assert self.verdict(one.system, one.requirement, one.input, end) == verdict, one


@pytest.mark.parametrize("path", first(2, sorted(EXAMPLES.glob("*.yaml"))), ids=lambda path: path.stem)
def test_the_flips_of_an_example_are_those_of_planning_again(path):
    chosen = Chosen(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert chosen.flips.flips
    for one in random.Random(path.stem).sample(chosen.flips.flips, 3):
        chosen.check(one)


@pytest.mark.parametrize("seed", seeds(3, 200))
def test_the_flips_of_a_drawn_site_are_those_of_planning_again(seed):
    try:
        chosen = Chosen(drawn(seed))
    except (IngestError, UsageError):
        pytest.skip("no site, or one without a need")
    one = random.Random(seed)
    for flip in one.sample(chosen.flips.flips, min(2, len(chosen.flips.flips))):
        chosen.check(flip)
    for row in one.sample(chosen.flips.steady, min(1, len(chosen.flips.steady))):
        if chosen.inputs[row.input].keys:
            ends = {chosen.verdict(row.system, row.requirement, row.input, end) for end in (row.tried_low, row.tried_high)}
            assert len(ends - {None}) <= 1, row


def test_a_flip_that_planning_again_does_not_show_is_not_reported():
    """Beyond it the NICs of a cluster limit a line, and setting the rate of a job takes it out of its evidence."""
    chosen = Chosen(drawn(105))
    found = chosen.flips
    assert "jobs.j1.samples_per_second" in found.refused
    assert found.refused["jobs.j0.samples_per_second"].startswith("above 2,099 samples/s")
    assert not any(one.input.startswith("jobs.j1.samples") for one in (*found.flips, *found.steady))
    for one in (flip for flip in found.flips if flip.system == "ddn-ai400x2"):
        chosen.check(one)


@pytest.mark.slow
@pytest.mark.parametrize("site", [*sorted(EXAMPLES.glob("*.yaml")), 314, 330, 331, 334, 338, 345], ids=str)
def test_the_shares_of_the_variance_are_those_of_many_draws(site, monkeypatch):
    monkeypatch.setattr(flips, "_turned", lambda *_: ())
    site = drawn(site) if isinstance(site, int) else yaml.safe_load(site.read_text(encoding="utf-8"))
    found = Chosen(site).flips.effects
    monkeypatch.setattr(flips, "DRAWS", 100_000)
    monkeypatch.setattr(flips, "SEED", 10)
    many = {(one.system, one.input): one.share for one in Chosen(site).flips.effects}
    largest = [one for system in {one.system for one in found} for one in [row for row in found if row.system == system][:3]]
    assert largest
    assert all(abs(one.share - many.get((one.system, one.input), 0)) <= 0.05 for one in largest)


def test_an_amount_that_hardly_any_draw_moves_states_no_shares():
    assert Chosen(drawn(321)).flips.effects == ()


def test_an_undecided_verdict_names_the_observation_that_narrows_it():
    found = ingest.fit(EXAMPLES / "hpc-128-nodes.yaml", flip=True, storage="ddn-ai400x2").flips
    flip = found.flips[0]
    assert (flip.input, flip.requirement, flip.inside_range, flip.then) == (
        "jobs.climate.samples_per_second", "R-READ-01", True, "fails",
    )  # fmt: skip
    assert found.observation.command == "ingest observe --pid PID --path DATA --window 1h -o climate.json"
    assert found.effects[0].input == flip.input
    assert 0.9 < found.effects[0].share < 0.99
    assert {f"jobs.{{climate, cosmology}}.{key}" for key in ("warm_up", "memory_share")} < {one.input for one in found.flips}
    assert "jobs.climate.nodes" in found.refused


def test_page_and_document_show_the_flips(run, tmp_path):
    shown = run("fit", EXAMPLES / "hpc-128-nodes.yaml", "--flip", "--storage", "ddn-ai400x2,ddn-ai400x").out
    assert shown.index("where jobs.climate.samples_per_second > ") < shown.index("per GPU  27.8   19.8 – 38.9: undecided")
    assert shown.index("undecided") < shown.index("Measure first: an hour of climate") < shown.index("It narrows")
    assert shown.index("It narrows") < shown.index("Needed")
    assert "not known at both ends of " in run("fit", EXAMPLES / "enterprise-64-nodes.yaml", "--flip", "--storage", "vast").out
    # Where a ceiling is unknown, no input decides; a system that no input turns is listed all the same.
    open_ = run("fit", EXAMPLES / "hpc-128-nodes.yaml", "--flip", "--storage", "vast-ceres,gpfs").out
    assert "vast-ceres: fits as far as known, number of units open; ask read bandwidth. " in open_
    assert "decided" not in open_
    found = ingest.fit(EXAMPLES / "enterprise-64-nodes.yaml", flip=True, storage="vast,ddn-ai400x2")
    assert {one.entry.id for one in turned_systems(found)} == {"vast", "ddn-ai400x2"}
    files = [tmp_path / "buyer.md", tmp_path / "buyer.xlsx"]
    ingest.report(EXAMPLES / "hpc-128-nodes.yaml", output=files, storage="ddn-ai400x2")
    written = files[0].read_text(encoding="utf-8")
    assert written.index("Measure first: an hour of climate") < written.index(
        "31.4 samples/s per GPU | 27.8 | 19.8 – 38.9: undecided"
    )
    heads, first, *_ = openpyxl.load_workbook(files[1])["Flips"].iter_rows(values_only=True)
    row = dict(zip(heads, first, strict=True))
    assert (row["Input"], row["Then"], row["Today undecided"]) == ("jobs.climate.samples_per_second", "fails", "undecided")
    assert row["Value"] < row["Turns at"] < row["High"]


def test_a_flip_shows_as_many_digits_as_tell_it_from_today():
    flip = flips.Flip("a", "R-CAP-03", "capacity", "x", "B", 3e15, 3.0001e15, False, "holds", "fails", 2e15, 4e15)
    assert flip_row(flip) == ("R-CAP-03 fails", "> 3.0001 PB", "3", "2 – 4: undecided", "x")
    of_node = flip._replace(unit="B/s/node", value=1e9, flips_at=2e10, low=None)
    assert flip_row(of_node)[1:4] == ("> 20 GB/s per node", "1", "")


def test_a_line_may_turn_where_another_cluster_decides():
    found = Chosen(drawn(148)).flips
    assert found.refused["jobs.j0.evaluation.bytes"].startswith("above 25.8 TB")
    assert not any(one.input == "jobs.j0.evaluation.bytes" and one.requirement == "R-START-01" for one in found.flips)


def test_that_nothing_turns_is_said_only_as_far_as_planning_chooses_alike():
    # Another job restarts the most bytes in a second where restarts may take little time, or long.
    wanted = "jobs.*.checkpoint.restart_time", "R-RESTART-01"
    row = next(one for one in Chosen(drawn(14)).flips.steady if (one.input, one.requirement) == wanted)
    assert 1.2 < row.tried_low < 120 < row.tried_high < 12_000


def test_flips_need_a_site(tmp_path):
    with pytest.raises(UsageError, match=r"--flip: the inputs of a site are turned, expected SITE\.yaml"):
        ingest.fit(read_bandwidth="1 GB/s", flip=True)
    site = yaml.safe_load((EXAMPLES / "hpc-128-nodes.yaml").read_text(encoding="utf-8"))
    site["storage"]["existing"] = ["ddn-ai400x2"]
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site), encoding="utf-8")
    with pytest.raises(UsageError, match="storage in place"):
        ingest.fit(tmp_path / "site.yaml", flip=True)

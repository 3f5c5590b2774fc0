"""Flips of verdicts, compared with bisection that plans the whole site again."""

import json
import random
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy
import openpyxl
import pytest
import yaml
from conftest import CATALOG, EXAMPLES, SITES, example_plan, first, seeds
from test_demand_law import drawn

import ingest
from ingest.engine.registry import steps_below
from ingest.errors import IngestError, UsageError
from ingest.reports.page import as_text, shortened
from ingest.reports.pages.storage import fits_page, flip_row, turned
from ingest.site.influence import site_inputs
from ingest.site.planner import plan
from ingest.sizing.job import Job
from ingest.storage import flips, replanning
from ingest.storage.data_path import INSTALLED
from ingest.storage.need import need_in, need_of
from ingest.storage.replanning import waits

fits = import_module("ingest.storage.fit")
NEAR = 0.005
HPC = EXAMPLES / "hpc-128-nodes.yaml"


@pytest.fixture(scope="module", autouse=True)
def planned_once():
    """What a site is planned as with another value, kept: most tests here turn the inputs of one example."""
    made, plan_again = {}, replanning.planned_again

    def once(planned, settings):
        key = repr((planned.site.written, planned.years, settings))
        made[key] = made[key] if key in made else plan_again(planned, settings)
        return made[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(replanning, "planned_again", once)
        yield


class Chosen:
    """A site, the systems that are chosen for it, and the verdict on each line by planning again."""

    def __init__(self, site, storage=("all",), offers=None):
        self.site, self.plan = site, plan(site, samples=0, catalogs=CATALOG)
        need = need_of(self.plan, {}, Job(), CATALOG)
        found = fits.fit_need(need, storage, CATALOG)
        first = [one for one in found.systems if one.verdict not in (fits.UNKNOWN, fits.MISFIT)][: flips.MOST_SYSTEMS]
        self.judge = {one.entry.id: fits.chosen(one, fits.ONE_SPARE, CATALOG) for one in first}
        self.offers = {} if offers is None else {one.name: one.values for one in offers(self.plan)}
        judged = (first, [*self.judge.values()]) if offers is None else ((), ())
        self.flips = flips.flips_of(self.plan, *judged, found.need, "mandatory", offers(self.plan) if offers else ())
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
        if system in self.offers:
            return "holds" if self.offers[system][line] >= lines[line].value * (1 - 1e-9) else "fails"
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
            if layer.ceiling and not layer.unsure and layer.layer != INSTALLED
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


@cache
def of_example(path):
    """An example with the systems that are chosen for it."""
    return Chosen(yaml.safe_load(path.read_text(encoding="utf-8")))


@cache
def fitted(path, storage):
    """The answer of `fit` with flips."""
    return ingest.fit(path, flip=True, storage=storage)


def printed(found):
    """What `ingest fit` prints."""
    return as_text(shortened(fits_page(found)))


@pytest.mark.parametrize("path", first(2, SITES), ids=lambda path: path.stem)
def test_the_flips_of_an_example_are_those_of_planning_again(path):
    chosen = of_example(path)
    assert chosen.flips.flips
    for one in random.Random(path.stem).sample(chosen.flips.flips, 3):
        chosen.check(one)


def response(plan, factors):
    """The JSON of `ingest response` on offers of so many times what each line requires."""
    bodies = [
        {"name": name, "verdict": "COMPLIES", "requirements": [
            {"id": one.id, "unit": one.unit, "required": one.value, "offered": one.value * factor,
             "result": "met" if factor >= 1 else "missed"}
            for one in plan.requirements for factor in [factors(name, one)]
        ]} for name in "ab"
    ]  # fmt: skip
    return {"command": "response", "offers": bodies}


@pytest.mark.parametrize("offered", [False, True], ids=["systems", "offers"])
@pytest.mark.parametrize("seed", seeds(3, 200))
def test_the_flips_of_a_drawn_site_are_those_of_planning_again(offered, seed, tmp_path):
    def offers(plan):
        own = random.Random(seed)
        path = tmp_path / "response.json"
        path.write_text(json.dumps(response(plan, lambda *_: own.choice([0.8, 1, 1.05, 1.3, 3]))), encoding="utf-8")
        return fits.offers_in(path, plan, "mandatory")

    try:
        chosen = Chosen(drawn(seed), offers=offers if offered else None)
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
    assert found.refused["c0: storage_nic_bandwidth_per_node"].startswith("below 9.69 GB/s")
    assert not any(one.input.startswith("jobs.j1.samples") for one in (*found.flips, *found.steady))
    for one in (flip for flip in found.flips if flip.system == "ddn-ai400x2"):
        chosen.check(one)


@pytest.mark.slow
@pytest.mark.parametrize("site", [*SITES, 301, 314, 330, 331, 334, 339], ids=str)
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


def test_the_lines_of_a_draw_are_those_of_planning_again():
    """All uncertain inputs at once, as the shares of an offer and of the variance count them."""
    chosen = of_example(HPC)
    turned = {row.input for row in (*chosen.flips.flips, *chosen.flips.steady)}
    inputs = [one for one in chosen.inputs.values() if one.low is not None and one.keys and one.name in turned]
    values = {one.name: flips.draw(one.uncertain, 5, 0).tolist() for one in inputs}
    lines = flips._Lines(chosen.plan, "mandatory", every=True)
    known = {step: numpy.array(values[one.name]) for one in inputs for step in one.steps}
    required = lines.all_of(lines.tree.again(known, lines.tree.above(known)), 5)
    for at in range(5):
        settings = {key: values[one.name][at] for one in inputs for key in one.keys}
        again = plan(chosen.site, samples=0, catalogs=CATALOG, set=settings).requirements
        found = {one.id: one.value for one in again if one.priority == "mandatory"}
        assert [found.get(name, 0) for name in lines.names] == pytest.approx(required[:, at].tolist())


def test_an_amount_that_hardly_any_draw_moves_states_so_instead_of_shares(run, tmp_path):
    found = Chosen(drawn(321)).flips
    assert found.effects == ()
    path, name = tmp_path / "site.yaml", found.unmoved[0]
    path.write_text(yaml.safe_dump(drawn(321)), encoding="utf-8")
    said = "No input moves the units to buy in more than 1 % of draws"
    assert said in run("fit", path, "--flip", "--storage", name).out
    ingest.report(path, output=tmp_path / "buyer.md", storage=name)
    assert f"{name}: {said}" in (tmp_path / "buyer.md").read_text(encoding="utf-8")


def test_an_undecided_verdict_names_the_observation_that_narrows_it():
    found = fitted(HPC, "ddn-ai400x2,ddn-ai400x").flips
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
    shown = printed(fitted(HPC, "ddn-ai400x2,ddn-ai400x"))
    assert shown.index("where jobs.climate.samples_per_second > ") < shown.index("per GPU  27.8   19.8 – 38.9: undecided")
    assert shown.index("undecided") < shown.index("Measure first: an hour of climate") < shown.index("It narrows")
    assert shown.index("It narrows") < shown.index("Needed")
    # Where a ceiling is unknown, no input decides; a system that no input turns is listed all the same.
    open_ = run("fit", HPC, "--flip", "--storage", "vast-ceres,gpfs").out
    assert "vast-ceres: fits as far as known, number of units open; ask read bandwidth. " in open_
    assert "decided" not in open_
    found = ingest.fit(EXAMPLES / "enterprise-64-nodes.yaml", flip=True, storage="vast,ddn-ai400x2")
    assert "not known at both ends of " in printed(found)
    assert {one.name for one in turned(found.flips, found.systems)} == {"vast", "ddn-ai400x2"}
    files = [tmp_path / "buyer.md", tmp_path / "buyer.xlsx"]
    ingest.report(HPC, output=files, storage="ddn-ai400x2")
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
    of_time = flip._replace(unit="s", value=120, flips_at=104.348, low=None)
    assert flip_row(of_time)[1:4] == ("< 1.74 min", "2", "")
    of_model = flip._replace(unit="parameter", value=405853388800, flips_at=39257132617689, low=None)
    assert flip_row(of_model)[1:4] == ("> 39.3T parameters", "406B", "")
    # Between nothing and a value the steps are equal.
    assert flips._split(0.0, 16.0, False).tolist() == [*range(17)]
    of_node = flip._replace(unit="B/s/node", value=1e9, flips_at=2e10, low=None)
    assert flip_row(of_node)[1:4] == ("> 20 GB/s per node", "1", "")


def test_a_line_may_turn_where_another_cluster_decides():
    found, time = Chosen(drawn(425)).flips, "jobs.{j1, j3}.checkpoint.restart_time"
    assert found.refused[time].startswith("below 5.6 s")
    assert not any(one.input == time and one.requirement == "R-RESTART-01" for one in found.flips)


def test_that_nothing_turns_is_said_only_as_far_as_planning_chooses_alike():
    # Another job restarts the most bytes in a second where restarts may take little time, or long.
    wanted = "jobs.*.checkpoint.restart_time", "R-RESTART-01"
    row = next(one for one in Chosen(drawn(14)).flips.steady if (one.input, one.requirement) == wanted)
    assert 1.2 < row.tried_low < 120 < row.tried_high < 12_000
    # Below, the line that reads most has most requests, too: they are no longer those of another line.
    steady = Chosen(drawn(159)).flips.steady
    assert {one.tried_low > 3e5 for one in steady if (one.input, one.requirement) == ("test.read_size", "R-STAGE-01")} == {True}


def test_a_size_or_a_key_that_chooses_formulas_is_turned_as_far_as_it_does_not():
    # More parameters take tensor parallelism, whose checkpoints hold 16-bit weights, too: another capacity.
    for seed, values, above in ((120, {"R-CAP-01": 59.5e12}, "80,484,830,734"), (5160, {"R-CAP-03": 354e12}, "21,849,335,819")):
        chosen = Chosen(drawn(seed), offers=lambda _, values=values: [fits.Offer("a", "", values, ())])
        assert chosen.flips.refused["jobs.j0.checkpoint.parameters"].startswith(f"above {above}")
    # A job that saves in the background does not take the overhead allowed that one which stops takes.
    inputs = site_inputs(plan(drawn(1020), samples=0, catalogs=CATALOG))
    saved = [key for one in inputs for key in one.keys if key.endswith((".checkpoint.waste", "failures_per_node_second"))]
    own = (f"jobs.{job}.checkpoint.set.failures_per_node_second" for job in ("j0", "j2"))
    assert saved == [*own, "jobs.j2.checkpoint.waste"]


def test_flips_need_a_site(tmp_path):
    with pytest.raises(UsageError, match=r"--flip: the inputs of a site are turned, expected SITE\.yaml"):
        ingest.fit(read_bandwidth="1 GB/s", flip=True)
    site = yaml.safe_load(HPC.read_text(encoding="utf-8"))
    site["storage"]["existing"] = ["ddn-ai400x2"]
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site), encoding="utf-8")
    with pytest.raises(UsageError, match=r"a copy of the site without `storage\.existing`"):
        ingest.fit(tmp_path / "site.yaml", flip=True)


def test_offers_are_turned_by_the_values_that_they_state(run, tmp_path):
    site, path = HPC, tmp_path / "response.json"
    of = {("a", "R-READ-01"): 1.1, ("b", "R-READ-01"): 0.95}
    written = response(example_plan(site.stem), lambda name, one: of.get((name, one.id), 1.5))
    # What a word decides, or a person, no value turns.
    decided = {one["id"]: one for one in written["offers"][0]["requirements"]}
    decided["R-WRITE-01"]["result"] = "with reservations"
    decided["R-META-01"] |= {"result": "missed"}
    path.write_text(json.dumps(written), encoding="utf-8")
    found = ingest.fit(site, flip=True, offers=path)
    shown = printed(found)
    assert "a: undecided. R-READ-01 fails first, where jobs.climate.samples_per_second > " in shown
    assert "b: undecided. R-READ-01 holds first, where jobs.climate.samples_per_second < " in shown
    assert "No value decides R-WRITE-01, R-META-01\n" in shown
    assert {one.system for one in found.flips.flips} == {"a", "b"}
    assert not {one.requirement for one in found.flips.flips if one.system == "a"} & {"R-WRITE-01", "R-META-01"}
    assert not found.flips.effects
    assert "It meets the lines that a value decides in " in shown
    assert shown.splitlines()[0] == "a: undecided · b: undecided · 3 cautions"
    first, second = found.flips.withstood
    assert 0 < second.share < first.share < 1
    ingest.report(site, output=tmp_path / "buyer.md", offers=path)
    assert "| b | R-READ-01 holds | " in (tmp_path / "buyer.md").read_text(encoding="utf-8")
    # An offer of which no value decides a line meets none in any draw.
    written["offers"][0]["name"] = "a\x1b[31m"
    for one in decided.values():
        one["result"] = "not answered"
    path.write_text(json.dumps(written), encoding="utf-8")
    assert "  a\ufffd[31m: complies\n  b: undecided. " in run("fit", site, "--flip", "--offers", path).out
    with pytest.raises(UsageError, match="--offers: systems are not named to vendors"):
        ingest.report(site, output=tmp_path / "tender.md", offers=path, for_vendor=True)
    for change, refusal in (
        ({"required": 1.0}, "R-READ-01: other requirements than those of this site, expected 612 GB/s"),
        ({"unit": "s"}, "R-READ-01: other requirements"),
        ({"offered": "much"}, "expected what `ingest response … --format json` wrote"),
    ):
        again = response(example_plan(site.stem), lambda *_: 2)
        again["offers"][1]["requirements"][0] |= change
        path.write_text(json.dumps(again), encoding="utf-8")
        with pytest.raises(UsageError, match=refusal):
            ingest.fit(site, flip=True, offers=path)
    with pytest.raises(UsageError, match="expected --flip"):
        ingest.fit(site, offers=path)

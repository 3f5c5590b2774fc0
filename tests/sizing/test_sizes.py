"""Sizes of samples as a mix: requests, small files, padding and tests follow; equal sizes are the mean alone."""

import json
import math
import random

import numpy
import pytest
from conftest import table

from ingest import accept, bw, dataset, fit, measure, plan
from ingest.corpus.measurement_file import sizes_of
from ingest.errors import IngestError

QUANTUM, REQUEST = 4096, 2**20
#: mean of ImageNet's JPEGs, of a document of the Pile, of a slide of a pathology archive, with the spread of their logarithm
ARCHIVES = {"imagenet": (114_660, 0.55), "pile": (5_900, 1.4), "pathology": (1.2e9, 0.9)}


def lognormal(mean, spread):
    """The quantiles of a lognormal, and independently of the product its sizes in ten million equal slices."""
    middle = math.log(mean) - spread**2 / 2
    marks = {"p10": -1.2815515655446004, "p50": 0.0, "p90": 1.2815515655446004, "max": 4.0}
    sizes = {name: math.exp(middle + spread * z) for name, z in marks.items()}
    deviates = numpy.linspace(-6, 4, 4_000_001)
    weights = numpy.exp(-(deviates**2) / 2)
    drawn = numpy.exp(middle + spread * deviates)
    return ",".join(f"{name}={size!r}B" for name, size in sizes.items()), drawn, weights / weights.sum()


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_lognormal_moves_requests_and_padding_as_counted_by_hand(name):
    written, drawn, weights = lognormal(*ARCHIVES[name])
    mean, requests = (weights * drawn).sum(), (weights * numpy.maximum(drawn / REQUEST, 1)).sum()
    padding = (weights * (numpy.ceil(drawn / QUANTUM) * QUANTUM - drawn)).sum()
    files = {"set": {"samples_per_file": 1}}
    answer = bw(samples_per_second=100, gpu="h100", sizes=written, **files).results
    assert answer["ingest_bandwidth_per_job"].value == pytest.approx(800 * mean, rel=2e-3)
    assert answer["sample_reads_per_second_per_job"].value == pytest.approx(800 * requests, rel=5e-3)
    assert answer["small_file_share"].value == pytest.approx(weights[drawn < REQUEST].sum(), abs=1e-2)
    plain = bw(samples_per_second=100, gpu="h100", sample_bytes=answer["ingest_bandwidth_per_job"].value / 800, **files).results
    assert plain["file_opens_per_second_per_job"].value == answer["file_opens_per_second_per_job"].value
    held = dataset(samples=10**6, sizes=written, format="file-per-sample").results
    assert held["dataset_bytes"].value == pytest.approx(1e6 * (mean + padding), rel=5e-3)
    assert held["dataset_bytes"].value - held["clean_bytes"].value == pytest.approx(1e6 * padding, rel=3e-2)
    packed = bw(samples_per_second=100, gpu="h100", sizes=written, set={"samples_per_file": 50})
    assert "small_file_share" not in packed.results
    assert "move the mean alone" in " ".join(packed.warnings)
    found = fit(samples_per_second=100, gpu="h100", sizes=written, storage="ddn-ai400x2", **files).needed
    assert found["io_bytes"].value == pytest.approx(mean / requests, rel=5e-3)


def test_equal_sizes_answer_as_their_mean():
    draw = random.Random(47)
    for _ in range(25):
        size, files = round(math.exp(draw.uniform(4, 19))), {"set": {"samples_per_file": 1}}
        same, one = f"p5={size}B,p50={size}B,max={size}B", f"{size}B"
        for results in ("ingest_bandwidth_per_job", "file_opens_per_second_per_job"):
            ours, theirs = (
                bw(samples_per_second=9, gpu="h100", **given, **files).results[results]
                for given in ({"sizes": same}, {"sample_bytes": one})
            )
            assert ours.value == pytest.approx(theirs.value, rel=1e-12)
        for form in ("file-per-sample", "webdataset"):
            ours, theirs = (
                dataset(samples=7919, format=form, **given)
                for given in ({"sizes": same}, {"sample_bytes": one, "sizes": "equal"})
            )
            for name, result in theirs.results.items():
                assert ours.results[name].value == pytest.approx(result.value, rel=1e-12), (size, form, name)
        ours, theirs = (
            fit(samples_per_second=9, gpu="h100", storage="ddn-ai400x2", **given, **files).needed
            for given in ({"sizes": same}, {"sample_bytes": one})
        )
        for name, need in theirs.items():
            assert ours[name].value == pytest.approx(need.value, rel=1e-12), (size, name)


def test_a_measurement_keeps_its_classes(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    sizes = [3000 * n**3 for n in range(1, 9)]
    for size in sizes:
        (folder / f"{size}.jpg").write_bytes(bytes(size))
    (tmp_path / "sizes.json").write_text(json.dumps(measure(folder, samples=True).to_dict()))
    answer = bw(samples_per_second=100, gpu="h100", sizes=tmp_path / "sizes.json")
    requests = sum(max(size / REQUEST, 1) for size in sizes) / 8
    assert answer.results["sample_reads_per_second_per_job"].value == pytest.approx(800 * requests, rel=1e-9)
    assert answer.results["small_file_share"].value == pytest.approx(7 / 8)
    held = dataset(sizes=tmp_path / "sizes.json", format="file-per-sample").results
    assert held["dataset_files"].value == 8
    assert held["dataset_bytes"].value == pytest.approx(sum(math.ceil(size / QUANTUM) * QUANTUM for size in sizes), abs=QUANTUM)
    data = json.loads((tmp_path / "sizes.json").read_text())
    data["tables"]["sample_histogram"][0]["smallest"] = 10**9
    (tmp_path / "wrong.json").write_text(json.dumps(data))
    with pytest.raises(IngestError, match="expected a mean between its ends"):
        sizes_of(tmp_path / "wrong.json", "--sizes")


@pytest.mark.parametrize(("written", "why"), table("sizing/refused.yaml")["other_sizes_are_refused"])
def test_other_sizes_are_refused(written, why):
    with pytest.raises(IngestError, match=why):
        bw(samples_per_second=9, gpu="h100", sizes=written)


SITE = {
    "clusters": {"main": {"node": "dgx-h100", "count": 4}},
    "jobs": {"slides": {"cluster": "main", "samples_per_second": 300, "nodes": 4, "data": "archive"}},
    "storage": {"protection": {"data": 8, "parity": 2}},
}


def of_archive(**described):
    return plan({**SITE, "datasets": {"archive": {"samples": "20M", "samples_per_file": 1, **described}}}, samples=0)


def test_the_tests_of_a_site_read_a_mix_of_sizes(tmp_path):
    mixed = of_archive(sizes={"p10": "100 kB", "p50": "500 kB", "p90": "2500 kB", "max": "40 MB"})
    line = next(one for one in mixed.requirements if one.id == "R-READ-01")
    row = mixed.rows["jobs"][0].known
    assert len(line.conditions.mix) > 2
    assert sum(part.share for part in line.conditions.mix) == pytest.approx(1)
    counted = 1 / sum(part.share / part.io_size for part in line.conditions.mix)
    assert counted == pytest.approx(row.value("read_request_bytes"), rel=0.02)
    # A file is opened at its size, up to the read of 1 MiB: the mean of what an open takes, and whole pages.
    opens = next(one for one in mixed.requirements if one.id == "R-META-01").conditions.mix
    assert len(opens) > 4
    assert sum(part.share for part in opens) == pytest.approx(1)
    spread = math.log(5) / 1.2815515655446004
    top = math.log(80) / spread
    deviates = numpy.linspace(-9, top, 400_001)
    weights = numpy.exp(-(deviates**2) / 2)
    drawn = numpy.minimum(500e3 * numpy.exp(spread * deviates), REQUEST)
    whole = sum(part.share * part.io_size for part in opens)
    assert whole == pytest.approx((weights * drawn).sum() / weights.sum() + QUANTUM / 2, rel=0.01)
    size = row.value("sample_bytes")
    equal = of_archive(sizes=dict.fromkeys(("p10", "p50", "max"), f"{size!r} B"))
    plain = of_archive(sample_bytes=f"{size!r} B")
    for one, other in zip(equal.requirements, plain.requirements, strict=True):
        assert (one.id, one.conditions.mix) == (other.id, other.conditions.mix)
        assert one.computed == pytest.approx(other.computed, rel=1e-12)
    tests = []
    for number, one in enumerate((equal, plain)):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(one.to_dict()))
        made = accept(path, tmp_path / str(number), tool=("fio", "mdtest")).results
        tests.append({name: test.files for name, test in made.items() if test.requirement == "R-META-01"})
    assert len(tests[0]) == 2
    assert tests[0] == tests[1]
    packed = of_archive(sizes={"p10": "100 kB", "p50": "500 kB", "max": "40 MB"}, samples_per_file=50)
    assert any("move the mean alone" in line for line in packed.warnings)
    assert not any("move the mean alone" in line for line in mixed.warnings)


def test_steep_quantiles_keep_the_bytes_of_their_largest_files():
    draw = random.Random(12)
    for _ in range(15):
        middle, spread, step = draw.uniform(5, 9), draw.uniform(0.2, 2), draw.uniform(1, 13)
        # p50, p90 and p99 in logarithms: the last step is up to 13 for a standard deviation of one.
        z90, z99 = 1.2815515655446004, 2.3263478740408408
        ends = [middle, middle + spread * z90, middle + spread * z90 + step * (z99 - z90)]
        top = draw.uniform(0.1, 1)
        most = ends[-1] + step * top
        written = ",".join(
            f"{name}={math.exp(size)!r}B" for name, size in zip(("p50", "p90", "p99", "max"), (*ends, most), strict=False)
        )
        total = 0.0
        for low, high, start, slope, share in (
            (-9, z90, middle, spread, None),
            (z90, z99, ends[1] - step * z90, step, None),
            (z99, z99 + top, ends[1] - step * z90, step, 0.01),
        ):
            deviates = numpy.linspace(low, high, 400_001)
            weights = numpy.exp(-(deviates**2) / 2) / math.sqrt(2 * math.pi)
            part = numpy.mean(numpy.exp(start + slope * deviates) * weights) * (high - low)
            total += part if share is None else part * share / (numpy.mean(weights) * (high - low))
        assert sizes_of(written, "--sizes").given["sample_bytes"].value == pytest.approx(total, rel=1e-4), written


@pytest.mark.parametrize(("written", "why"), table("sizing/refused.yaml")["quantiles_that_no_mix_has_are_refused"])
def test_quantiles_that_no_mix_has_are_refused(written, why):
    with pytest.raises(IngestError, match=why):
        sizes_of(written, "--sizes")

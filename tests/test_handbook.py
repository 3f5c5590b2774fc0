"""The check of links in the built handbook, and the picture of the terminal."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import table

sys.path.append(str(Path(__file__).parents[1] / "docs"))
from common import ROOT
from decision_table import decisions
from site_links import broken

PAGE = '<h1 id="top">A</h1><a href="{}">b</a>'


@pytest.mark.parametrize(("link", "message"), table("cases.yaml")["a_link_leads_to_a_file_and_an_anchor_of_the_handbook"])
def test_a_link_leads_to_a_file_and_an_anchor_of_the_handbook(tmp_path, link, message):
    built = tmp_path / "html"
    for folder in (built / "folder", built / "empty"):
        folder.mkdir(parents=True)
    (tmp_path / "outside.html").write_text("")
    (built / "a.html").write_text(PAGE.format(link))
    (built / "b.html").write_text('<a name="there"></a><img src="a.html">')
    (built / "folder" / "index.html").write_text('<a href="../b.html#there"></a>')
    assert list(broken(built)) == ([message] if message else [])


#: Pages written by hand, which name decisions and modules.
PAGES = [*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]


def test_a_module_that_the_handbook_names_exists():
    named = {
        name for path in PAGES for name in re.findall(r"`((?:ingest|tests|docs)/[\w/]+\.py)`", path.read_text(encoding="utf-8"))
    }
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert "ingest/engine/solver.py" in named


def test_a_decision_that_is_cited_by_number_has_one_place():
    places = Counter(number for number, _, _ in decisions())
    assert set(places.values()) == {1}
    texts = [*(ROOT / "ingest").rglob("*.py"), *PAGES, ROOT / "CHANGELOG.md"]
    cited = {number for path in texts for number in re.findall(r"[Dd]ecision (\d{4})\b", path.read_text(encoding="utf-8"))}
    assert cited <= set(places)
    assert "0091" in cited

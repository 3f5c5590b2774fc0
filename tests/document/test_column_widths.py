"""Columns hold their words: no word of a table is cut while there is room for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.reports.document.column_widths import SIZES, columns_for
from ingest.reports.document.model import Table

words = st.text("abMI1-. ", max_size=30)
shares = st.lists(st.tuples(st.floats(0.1, 5), words), min_size=1, max_size=8)


@given(columns=shares, width=st.floats(2, 30))
def test_columns_fill_the_place_and_none_is_without_width(columns, width):
    table = Table("", tuple(text for _, text in columns), (), tuple(share for share, _ in columns))
    found = columns_for(table, width)
    assert sum(found.widths) == pytest.approx(width)
    assert min(found.widths) > 0


GLANCE = Table(
    "",
    ("Id", "Priority", "What", "Value", "Range (P10 to P90)"),
    (("R-RESTART-01", "information", "Restart", "984.5 GB/s (916.9 GiB/s)", "900 GB/s to 1 TB/s"),),
    (1.15, 1.0, 2.0, 1.9, 1.95),
)


@pytest.mark.parametrize("width", [9.0, 12.0, 14.4, 16.5])
def test_ids_and_priorities_have_room_on_narrow_pages(width):
    found = columns_for(GLANCE, width)
    letters = {"R-RESTART-01": 0, "information": 1, "(916.9": 3}
    for word, place in letters.items():
        # Half the size of the letters is what narrow typefaces take: wider ones need more, never less.
        assert found.widths[place] >= len(word) * found.size * 0.5 * 2.54 / 72 + 0.38, word


def test_shares_are_as_wished_where_all_words_have_room():
    assert columns_for(GLANCE, 40).widths == pytest.approx([40 * share / 8 for share in GLANCE.widths])


def test_letters_become_smaller_only_where_they_have_to():
    sizes = [columns_for(GLANCE, width).size for width in (16.5, 8.6, 2)]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (SIZES[0], SIZES[-1])

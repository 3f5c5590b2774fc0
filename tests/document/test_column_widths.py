"""Columns hold their words: no word of a table is cut while there is room for it."""

import io

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.reports.document.markup import Document, DocumentSection, Table
from ingest.reports.document.plan_documents import MOST_TURNED, tables_of
from ingest.reports.document.word import as_docx
from ingest.reports.document.word_blocks import SIZES, columns_for

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
    ("Id", "Priority", "Quantity", "Value", "Range (P10 to P90)"),
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


def test_many_rows_stand_on_lines_of_their_own_and_few_are_turned():
    columns = ("nodes", "gpus", "job_read_bandwidth", "run_read_bandwidth", "run_seconds", "sample_bytes", "training_samples")
    rows = [{"name": f"job-{n}", "cluster": "c", **dict.fromkeys(columns, n + 1.0)} for n in range(MOST_TURNED + 1)]
    main = ("name", "nodes", "job_read_bandwidth")
    look = {"caption": "Jobs", "text_columns": ("name", "cluster"), "main_columns": main}
    (table,) = tables_of(look, rows)
    assert not table.turned
    assert [row[0] for row in table.rows] == [row["name"] for row in rows]
    assert len(table.heads) == len(main)
    assert "workbook" in table.caption
    turned = tables_of(look, rows[1:])
    assert all(one.turned for one in turned)
    assert len(turned[0].rows) == len(columns) + 1


def test_every_row_of_a_long_table_has_its_own_words():
    rows = tuple((f"job-{n}", f"{n} GB/s about") for n in range(40))
    section = DocumentSection("scope", "Scope", (Table("Jobs", ("Name", "Value"), rows),))
    found = docx.Document(io.BytesIO(as_docx(Document("T", "s", (section,))))).tables[0]
    assert [tuple(cell.text for cell in row.cells) for row in found.rows][1:] == list(rows)
    assert len({cell.width for cell in found.columns[0].cells}) == 1

"""The list of mutants keeps up with the code: `make mutants` runs it, these tests only see that each line still applies."""

import ast

import pytest
from mutants import ROOT, Mutant, listed, mutations, spans

MUTANTS = listed()


@pytest.mark.parametrize("file", sorted({one.file for one in MUTANTS}))
def test_each_mutant_changes_its_definition_into_other_code(file):
    source, read = (ROOT / file).read_text(encoding="utf-8"), parsed if file.endswith(".py") else str
    for one in (one for one in MUTANTS if one.file == file):
        start, end = spans(source)[one.name]
        assert read(source[start:end]) != read(one.applied()[start : end + len(one.new) - len(one.old)]), one.shown


def parsed(definition):
    return ast.dump(ast.parse(f"if True:\n{definition}" if definition[0].isspace() else definition))


def test_no_mutant_is_listed_twice():
    assert len({one.shown for one in MUTANTS}) == len(MUTANTS)


def test_the_tests_of_each_mutant_exist():
    sources, missing = {}, []
    for name in {name for one in MUTANTS if not one.equivalent for name in one.tests.split()}:
        path, _, function = name.partition("::")
        source = sources.setdefault(path, (ROOT / path).read_text(encoding="utf-8"))
        # A doctest has the dotted name of its definition.
        module = path.removesuffix(".py").replace("/", ".")
        start, end = spans(source).get(function.removeprefix(f"{module}.") or "*", (0, 0))
        if start == end or (path.startswith("ingest/") and ">>> " not in source[start:end]):
            missing.append(name)
    assert missing == []


def test_a_mutant_whose_definition_moved_is_found_by_its_text():
    one = Mutant("ingest/gone.py", "knee_of", "at for at in range(len(goodputs) - 1)", "", "")
    with pytest.raises(ValueError, match=r"no such definition; now ingest/sizing/goodput\.py \| knee_of"):
        one.applied()


SAMPLE = '''
"""Two words and 1 number."""
LEAST = 3


def chosen(values: list | None, least=LEAST):
    if not values or least <= 0:
        raise ValueError(f"{least + 1} and more")
    return max(value * 2 for value in values)
'''


def test_mutations_change_decisions_and_no_words():
    found = {(one.name, one.new) for one, _ in mutations("sample.py", SAMPLE)}
    assert found == {
        ("LEAST", "LEAST = 4"),
        ("chosen", "if values or least <= 0:"),
        ("chosen", "if not values and least <= 0:"),
        ("chosen", "if not values or least < 0:"),
        ("chosen", "if not values or least <= 1:"),
        ("chosen", "return min(value * 2 for value in values)"),
        ("chosen", "return max(value / 2 for value in values)"),
        ("chosen", "return max(value * 3 for value in values)"),
    }

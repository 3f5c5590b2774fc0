"""Questions of sizing that cannot be asked: one line, an exit code, and nothing on standard output."""

import pytest
from conftest import table

#: command -> what is asked, the exit code, and what the line says
REFUSED = table("sizing/refusals.yaml")


@pytest.mark.parametrize(
    ("command", "words", "code", "said"), [(command, *row) for command, rows in REFUSED.items() for row in rows]
)
def test_what_cannot_be_asked_is_one_line(run, command, words, code, said):
    ran = run(command, *words.split())
    assert ran.code == code, ran.err
    assert said in ran.refusal
    assert ran.out == ""

"""`ingest mcp` as a client of the official SDK meets it."""

import asyncio
import json
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from conftest import clean_environment, table

import ingest
from ingest.cli.mcp import TOOLS, called, schema_of, server
from ingest.engine.question import arguments_of

SITE = {
    "clusters": {"main": {"node": "dgx-h100", "count": 4}},
    "jobs": {"a": {"cluster": "main", "model": "unet3d", "nodes": 4}},
}
#: Calls, and words of their refusals.
HOSTILE = [
    ("bw", {"model": "/etc/passwd"}, "outside of the folder"), ("model", {"source": "../secret.json"}, "outside of the folder"),
    ("model", {"source": "hf://org/name"}, "no network"), ("bw", {"model": "x" * 10_000_000}, "more than 1,000,000 letters"),
    ("shell", {"command": "ls"}, "no such tool 'shell'"), ("bw", {"modell": "unet3d"}, "no argument 'modell'"),
    ("bw", {"model": "unet3d", "gpu": "h100", "catalogs": ["/"]}, "no argument 'catalogs'"), ("bw", {"model": 7}, "model"),
    ("plan", {"site": {**SITE, "jobs": {"a": {"model": "/etc/passwd"}}}}, "outside of the folder"),
    ("plan", {"site": "none.yaml"}, "none.yaml"), ("bw", {"model": "cosmoflow"}, "gpu is missing"),
    ("plan", {}, "no argument 'site'"), ("explain", {}, "no argument 'name'"), ("catalog", {"kind": ["gpus"]}, "expected text"),
    ("catalog", {"kind": "gpus", "matching": 5}, "expected text"), ("fit", {"plan": 5}, "found 5"),
    ("bw", {"model": "\u0000"}, ""), ("dataset", {"tokens": "1e999"}, "finite"),
]  # fmt: skip


def asked(server, *calls):
    """What a client gets for calls, one after the other: whether each is a refusal, and its text.

    A server of this process is joined by memory streams, one of another process by its standard input and output.
    """

    from mcp import Client

    async def ask():
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    # In a thread of its own: a browser of other tests keeps an event loop in this one.
    with ThreadPoolExecutor(1) as threads:
        return [(one.is_error, one.content[0].text) for one in threads.submit(asyncio.run, ask()).result()]


def test_tools_answer_as_their_commands_and_refuse_what_leads_out(tmp_path, run):
    site = tmp_path / "site.yaml"
    site.write_text(json.dumps(SITE), encoding="utf-8")
    lines = {
        "bw cosmoflow h100 --nodes 128": ("bw", {"model": "cosmoflow", "gpu": "h100", "nodes": 128}),
        "plan site.yaml": ("plan", {"site": "site.yaml"}),
        "checkpoint llama3-8b --gpus 64 --interval 900s": (
            "checkpoint",
            {"model": "llama3-8b", "gpus": 64, "interval": "900s"},
        ),
        "catalog list gpus h100": ("catalog", {"kind": "gpus", "matching": "h100"}),
    }
    from mcp.client.stdio import StdioServerParameters

    words = [sys.executable, "-m", "ingest", "mcp", "--root", str(tmp_path)]
    other = StdioServerParameters(command=words[0], args=words[1:], env=clean_environment())
    found = asked(other, *((name, arguments) for name, arguments, _ in HOSTILE), *lines.values())
    for (name, arguments, said), (refused, text) in zip(HOSTILE, found, strict=False):
        assert refused, (name, str(arguments)[:80])
        assert said in text
        assert "root:" not in text
        assert not re.search("--[a-z]", re.sub("`.*?`", "", text)), "an option of the command line, where a tool has arguments"
    for line, (refused, text) in zip(lines, found[len(HOSTILE) :], strict=True):
        assert (refused, f"{text}\n") == (False, run(*line.split(), "--format", "json").out)


def test_a_call_that_is_cancelled_leaves_the_server_alive(tmp_path, monkeypatch):
    from mcp import Client

    begun, ended = threading.Event(), threading.Event()

    def slow(tool, arguments, root):
        if tool == "plan":
            begun.set()
            assert ended.wait(30)
        return called(tool, arguments, root)

    monkeypatch.setattr("ingest.cli.mcp.called", slow)

    async def ask():
        async with Client(server(tmp_path)) as client:
            waiting = asyncio.create_task(client.call_tool("plan", {"site": SITE}))
            while not begun.is_set():
                await asyncio.sleep(0.01)
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting
            after = await client.call_tool("model", {"source": "llama3-8b"})
            ended.set()
            return waiting.cancelled(), after.is_error

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asyncio.run, ask()).result() == (True, False)


QUESTIONS = table("cli/questions.yaml")
#: Words beside the tool in a recorded call.
NOTES = ("says", "near", "of", "refused")


def stated(tool, answer, name):
    """The answer of a tool to what was asked, by name: an amount with its unit and range, or words."""
    if tool == "catalog":
        return ", ".join(one[name] for one in answer["entries"])
    found = {one["id"]: one for one in answer["requirements"]} if tool == "plan" else answer["results"]
    for part in name.split("."):
        found = next(iter(found.values())) if part == "first" else found[part]
    if isinstance(found, dict):
        assert found["unit"]
        return " – ".join(str(found[end]) for end in ("display", "low", "high") if end in found)
    return found


def test_recorded_questions_are_answered_by_tools_alone(tmp_path):
    """A client without knowledge: its answers are made of what tools return, or of why they refuse."""
    calls = [(one, next(iter(one.keys() - {*NOTES}))) for question in QUESTIONS for one in question["calls"]]
    assert len(QUESTIONS) == 60
    replies = asked(server(tmp_path), *((tool, one[tool]) for one, tool in calls))
    for (one, tool), (refused, text) in zip(calls, replies, strict=True):
        if refused or "refused" in one:
            assert (refused, one.get("refused", "an answer") in text) == (True, True), (one, text[:200])
            continue
        answer = json.loads(text)
        assert tool == "catalog" or answer["sources"] or answer["basis"] == "given", one
        said = "; ".join(f"{name}: {stated(tool, answer, name)}" for name in one["says"])
        assert [number for number in re.findall(r"\d(?:[\d,.]*\d)?", said) if number not in text] == []
        if "near" in one:
            assert 0.5 < answer["results"][one.get("of", one["says"][0])]["value"] / float(one["near"]) < 2, one


def test_a_page_stands_in_for_a_long_answer(tmp_path):
    [(refused, text), (wrong, said)] = asked(
        server(tmp_path), ("plan", {"site": SITE, "answer_as": "markdown"}), ("plan", {"site": SITE, "answer_as": "xml"})
    )
    assert (refused, "| R-READ-01 | mandatory |" in text, len(text) < 12_000) == (False, True, True)
    assert (wrong, "expected json or markdown" in said) == (True, True)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_schema_names_arguments_of_its_command(tool):
    function = ingest.catalog.list if tool == "catalog" else getattr(ingest, tool)
    assert schema_of(tool)["properties"].keys() - {"answer_as"} <= arguments_of(function).keys()


def test_all_schemas_take_few_tokens(tmp_path):
    text = tmp_path / "tools.txt"
    described = [{"name": name, "description": one.about, "inputSchema": schema_of(name)} for name, one in TOOLS.items()]
    text.write_text(f"The tools: {json.dumps(described)}", encoding="utf-8")
    assert ingest.measure(str(text), exact=True).results["tokens"].value < 4000


def test_a_comparison_is_cut_to_its_first_systems(tmp_path):
    [(refused, text)] = asked(server(tmp_path), ("fit", {"model": "cosmoflow", "gpu": "h100", "nodes": 4}))
    found = json.loads(text)
    assert not refused
    assert len(found["results"]) == 5
    assert found["left_off"] > 10

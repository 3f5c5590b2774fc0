"""`ingest mcp` as a client of the official SDK meets it."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import clean_environment
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

import ingest
from ingest.cli.mcp import TOOLS, schema_of
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
    ("plan", {"site": "none.yaml"}, "none.yaml"), ("bw", {"model": "cosmoflow"}, "--gpu is missing"),
    ("plan", {}, "no argument 'site'"), ("explain", {}, "no argument 'name'"), ("catalog", {"kind": ["gpus"]}, "expected text"),
    ("catalog", {"kind": "gpus", "matching": 5}, "expected text"), ("fit", {"plan": 5}, "found 5"),
    ("bw", {"model": "\u0000"}, ""), ("dataset", {"tokens": "1e999"}, "finite"),
]  # fmt: skip


def asked(folder, calls):
    """The results of calls on one server, one after the other: whether each is a refusal, and its text."""

    async def ask():
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "ingest", "mcp", "--root", str(folder)], env=clean_environment()
        )
        async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
            await session.initialize()
            listed = await session.list_tools()
            found = [await session.call_tool(name, arguments) for name, arguments in calls]
        return [tool.name for tool in listed.tools], [(one.is_error, one.content[0].text) for one in found]

    # In a thread of its own: a browser of other tests keeps an event loop in this one.
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, ask()).result()


def test_tools_answer_as_their_commands_and_refuse_what_leads_out(tmp_path, run):
    site = tmp_path / "site.yaml"
    site.write_text(json.dumps(SITE), encoding="utf-8")
    good = [
        ("bw", {"model": "cosmoflow", "gpu": "h100", "nodes": 128}), ("plan", {"site": "site.yaml"}),
        ("checkpoint", {"model": "llama3-8b", "gpus": 64, "interval": "15 min"}),
        ("catalog", {"kind": "gpus", "matching": "h100"}),
    ]  # fmt: skip
    names, found = asked(tmp_path, [*((name, arguments) for name, arguments, _ in HOSTILE), *good])
    assert names == [*TOOLS]
    for (name, arguments, said), (refused, text) in zip(HOSTILE, found, strict=False):
        assert refused, (name, str(arguments)[:80])
        assert said in text
        assert "root:" not in text
    lines = [
        ["bw", "cosmoflow", "h100", "--nodes", "128"], ["plan", str(site)],
        ["checkpoint", "llama3-8b", "--gpus", "64", "--interval", "15 min"], ["catalog", "list", "gpus", "h100"],
    ]  # fmt: skip
    for line, (refused, text) in zip(lines, found[len(HOSTILE) :], strict=True):
        assert not refused, text
        assert json.loads(text) == run(*line, "--format", "json").data


@pytest.mark.parametrize("tool", TOOLS)
def test_a_schema_names_arguments_of_its_command(tool):
    function = ingest.catalog.list if tool == "catalog" else getattr(ingest, tool)
    assert schema_of(tool)["properties"].keys() <= arguments_of(function).keys()


def test_all_schemas_take_few_tokens(tmp_path):
    text = tmp_path / "tools.txt"
    described = [{"name": name, "description": one.about, "inputSchema": schema_of(name)} for name, one in TOOLS.items()]
    text.write_text(f"The tools: {json.dumps(described)}", encoding="utf-8")
    assert ingest.measure(str(text), exact=True).results["tokens"].value < 4000


def test_a_comparison_is_cut_to_its_first_systems(tmp_path):
    _, [(refused, text)] = asked(tmp_path, [("fit", {"model": "cosmoflow", "gpu": "h100", "nodes": 4})])
    found = json.loads(text)
    assert not refused
    assert len(found["results"]) == 5
    assert found["left_off"] > 10

"""`ingest mcp`: the answers of the commands for assistants, over the Model Context Protocol on standard input and output.

Each tool is a command and returns the JSON of the command, with unit, range, source and cautions, or its page; a refusal stays
one. Tools read files below the folder given, write none, and use no network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

import ingest
from ingest.cli.options import BriefCommand
from ingest.engine.question import Argument, arguments_of
from ingest.errors import IngestError, UsageError, brief, expected_one_of
from ingest.files import table_beside
from ingest.reports.page import render
from ingest.reports.pages import page_for
from ingest.version import __version__

#: Letters of the arguments of one call, a site among them.
MOST_LETTERS = 1_000_000
#: Systems of a comparison that a tool returns; more fill the memory of an assistant.
MOST_SYSTEMS = 5
ABOUT = (
    "Storage sizing for AI training. Call a tool for every number: each has unit, range, evidence and source; never derive or "
    "recall one. A refusal says what is missing: ask the user for it. Cautions belong in the answer. Sizes, rates and times "
    "are text with a unit ('2.83 MB', '30 min'). `answer_as` is json, every number with its unit, or markdown, the page: a "
    "third as long or less."
)
#: The forms of an answer, the usual first.
FORMS = ("json", "markdown")


class Tool(NamedTuple):
    """A command as a tool: what it answers, and the arguments that its schema lists; it takes all others of the command too."""

    about: str
    arguments: list[str]


TOOLS = {name: Tool(one["about"], one["arguments"].split()) for name, one in table_beside(__file__, "tools.yaml").items()}


def function_of(tool: str) -> Any:
    """The public function that a tool asks."""
    return ingest.catalog.list if tool == "catalog" else getattr(ingest, tool)


def schema_of(tool: str) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    known, properties = arguments_of(function_of(tool)), dict[str, dict[str, Any]]()
    for name in TOOLS[tool].arguments:
        properties[name] = {"type": list(_types(name, known[name]))}
        if (declared := known[name].declared) is not None:
            # The beginning of an option's help, as far as it says what the option is.
            properties[name]["description"] = re.split(r"[:;.,(]( |$)|\s\[", declared.text.replace("`", ""))[0]
    properties["answer_as"] = {"enum": [*FORMS]}
    needed = [name for name in TOOLS[tool].arguments if known[name].required]
    return {"type": "object", "properties": properties, **({"required": needed} if needed else {})}


def _types(name: str, argument: Argument) -> Iterator[str]:
    if name == "set":
        yield "object"
        return
    yield "string"
    if name in ("site", "plan"):
        yield "object"
    elif argument.declared is not None and argument.declared.metavar == "N":
        yield "number"


def called(tool: str, arguments: Mapping[str, Any], root: Path) -> str:
    """The JSON or the page of the command for the arguments of one call.

    Raises:
        UsageError: an unknown tool or argument, or a file outside the folder.
        IngestError: what the command refuses.
    """
    if tool not in TOOLS:
        raise UsageError(f"no such tool {brief(tool)}, {expected_one_of(tool, TOOLS)}")
    if len(json.dumps(arguments)) > MOST_LETTERS:
        raise UsageError(f"the arguments of {tool} have more than {MOST_LETTERS:,} letters")
    function = function_of(tool)
    known = arguments_of(function)
    asked = dict(arguments)
    form = asked.pop("answer_as", FORMS[0])
    if form not in FORMS:
        raise UsageError(f"answer_as: found {brief(form)}, expected {' or '.join(FORMS)}")
    for name, value in asked.items():
        if name not in known or name in ("catalogs", "derivations", "output"):
            raise UsageError(f"{tool}: no argument {brief(name)}, {expected_one_of(name, TOOLS[tool].arguments)}")
        if known[name].declared is None and not isinstance(value, str) and "object" not in _types(name, known[name]):
            raise UsageError(f"{name}: found {brief(value)}, expected text")
        for text in _texts(value):
            _inside(text, root, name)
    if lacking := next((name for name, one in known.items() if one.required and name not in arguments), ""):
        raise UsageError(f"{tool}: no argument '{lacking}', expected one")
    if "root" in known:
        asked["root"] = root
    answer = function(**asked)
    if incomplete := getattr(answer, "incomplete", ""):
        raise IngestError(incomplete)
    found = answer.to_dict()
    # A comparison with its first systems alone.
    systems = [*found.get("results", {}).items()] if tool == "fit" else []
    if len(systems) > MOST_SYSTEMS:
        found |= {"results": dict(systems[:MOST_SYSTEMS]), "left_off": len(systems) - MOST_SYSTEMS}
    return render(partial(page_for, answer), lambda: found, form)


def in_words_of_tool(text: str, tool: str) -> str:
    """A refusal with the arguments of a tool in place of the options of its command.

    >>> in_words_of_tool("expected --gpu or --samples-per-second (`ingest plan --new` writes one)", "bw")
    'expected gpu or samples_per_second (`ingest plan --new` writes one)'
    """
    known = arguments_of(function_of(tool)) if tool in TOOLS else ()
    return re.sub("--([a-z][a-z-]*)", lambda one: name if (name := one[1].replace("-", "_")) in known else one[0], text)


def _texts(value: Any) -> Iterator[str]:
    """All text in a value, names of keys apart."""
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(one)


def _inside(text: str, root: Path, name: str) -> None:
    """Refuse a path that leaves the folder, and an address of a network."""
    if "://" in text:
        raise UsageError(f"{name}: {brief(text)} is an address; this server uses no network")
    try:
        path = (root / Path(text).expanduser()).resolve()
        leads_out = not path.is_relative_to(root) and (path.exists() or ".." in Path(text).parts or Path(text).is_absolute())
    except (OSError, ValueError, RuntimeError):
        leads_out = True
    if leads_out:
        raise UsageError(f"{name}: {brief(text)} lies outside of the folder that this server reads")


@click.command("mcp", cls=BriefCommand)
@click.option("--root", default=".", metavar="DIR", show_default=True, help="The folder whose files tools may read.")
def command(root: str) -> None:
    import os

    import anyio

    folder = Path(root).resolve()
    if not folder.is_dir():
        raise UsageError(f"--root: found '{root}', expected a folder")
    os.chdir(folder)
    anyio.run(partial(_serve, folder))


async def _serve(root: Path) -> None:
    from mcp.server.stdio import stdio_server

    served = server(root)
    async with stdio_server() as (reads, writes):
        await served.run(reads, writes, served.create_initialization_options())


def server(root: Path) -> Any:
    """The server of the tools, over files below a folder."""
    import anyio.to_thread
    from mcp import types
    from mcp.server.lowlevel import Server

    async def tools(*_: Any) -> Any:
        listed = [types.Tool(name=name, description=one.about, input_schema=schema_of(name)) for name, one in TOOLS.items()]
        return types.ListToolsResult(tools=listed)

    async def call(_: Any, asked: Any) -> Any:
        def answered() -> tuple[str, bool]:
            try:
                return called(asked.name, asked.arguments or {}, root), False
            except IngestError as error:
                return in_words_of_tool("\n".join(error.lines), asked.name), True

        # A call that is cancelled is given up; its thread ends by itself.
        text, refused = await anyio.to_thread.run_sync(answered, abandon_on_cancel=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=refused)

    return Server("ingest", version=__version__, instructions=ABOUT, on_list_tools=tools, on_call_tool=call)

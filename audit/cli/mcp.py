"""``audit mcp``: agents ask a run by the Model Context Protocol, of its shared view alone.

Every answer is ``result.json`` with parts left out, so that no sequence of answers tells more than
the file does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from audit.base.machine import require_package
from audit.cli.options import Force, RunFolder
from audit.cli.verify import read_view

if TYPE_CHECKING:
    from mcp.server import Server

Shared = Mapping[str, Any]
_VERDICT = ("identity", "ledger", "readings", "status", "worst", "since_reference")


def verdict(shared: Shared) -> dict[str, Any]:
    """What was audited and how it came out: the ledger, the status of each check, and the findings
    to act on first.
    """
    first = set(shared["worst"])
    return {**_some(shared, _VERDICT), "checks": _checks(shared, lambda one: one["id"] in first)}


def findings(shared: Shared, check: str | None = None, node: str | None = None) -> dict[str, Any]:
    """The findings with their evidence and what to do: all, of one check, or that name one node."""

    def named(one: Shared) -> bool:
        parts = (one, *one["parts"])
        return node is None or any(node == n["id"] for part in parts for n in part["nodes"])

    checks = [one for one in _checks(shared, named) if check in (None, one["name"])]
    return {"checks": [one for one in checks if one["findings"]]}


def nodes(shared: Shared, node: str | None = None) -> dict[str, Any]:
    """The counts of nodes: of all that are shown, or of one node and its children."""
    return _rows(shared, ("node", "parent"), {"node"}, node)


def pairs(shared: Shared, node: str | None = None) -> dict[str, Any]:
    """The counts of pairs of nodes: of all that are shown, or of those with one node."""
    return _rows(shared, ("a", "b"), {"a", "b"}, node)


def policy(shared: Shared) -> dict[str, Any]:
    """The policy that the audit judged by, with its thresholds, and its waivers."""
    return _some(shared, ("policy", "waivers"))


TOOLS: Mapping[str, Callable[..., dict[str, Any]]] = {
    tool.__name__: tool for tool in (verdict, findings, nodes, pairs, policy)
}


def _some(record: Shared, names: Iterable[str]) -> dict[str, Any]:
    return {name: record[name] for name in names}


def _checks(shared: Shared, kept: Callable[[Shared], bool]) -> list[dict[str, Any]]:
    return [{**check, "findings": [*filter(kept, check["findings"])]} for check in shared["checks"]]


def _rows(
    shared: Shared, where: tuple[str, ...], needed: set[str], node: str | None
) -> dict[str, Any]:
    """The lists of the overview whose rows have the needed columns, and the rows with the node."""
    lists = {
        name: [row for row in rows if node is None or node in map(row.get, where)]
        for name, rows in shared["overview"].items()
        if isinstance(rows, list) and rows and needed <= rows[0].keys()
    }
    return {"overview": {name: rows for name, rows in lists.items() if rows}}


def server(shared: Shared) -> Server[Any]:
    """A server of the tools on one shared view."""
    import mcp_types as types
    from mcp.server import Server

    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name) for name in TOOLS])

    async def called(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        given = asked.arguments or {}
        if asked.name not in TOOLS or not given.keys() <= _parameters(asked.name):
            return _answer(
                "Only the listed tools and their listed arguments can be called.", wrong=True
            )
        answer = TOOLS[asked.name](shared, **given)
        return _answer(json.dumps(answer, ensure_ascii=False), answer)

    def _answer(text: str, structured: Any = None, *, wrong: bool = False) -> types.CallToolResult:
        content: list[types.ContentBlock] = [types.TextContent(text=text)]
        return types.CallToolResult(content=content, structured_content=structured, is_error=wrong)

    def _tool(name: str) -> types.Tool:
        properties = {one: {"type": "string"} for one in sorted(_parameters(name))}
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        described = " ".join((TOOLS[name].__doc__ or "").split())
        return types.Tool(name=name, description=described, input_schema=schema)

    return Server("audit", on_list_tools=listed, on_call_tool=called)


def _parameters(tool: str) -> set[str]:
    return {*TOOLS[tool].__annotations__} - {"shared", "return"}


def mcp(run: RunFolder, force: Force = False) -> None:
    """Answer agents on standard input and output, by the Model Context Protocol."""
    require_package("mcp", "to answer agents")
    import anyio
    from mcp.server.stdio import stdio_server

    served = server(read_view(run, force))

    async def serve() -> None:
        async with stdio_server() as (asked, answered):
            await served.run(asked, answered, served.create_initialization_options())

    anyio.run(serve)

"""``audit mcp``: each answer is ``result.json`` with parts left out, of a shared copy too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.cli.mcp import TOOLS
from fixtures import results
from fixtures.toy import EDGES

SHARED = results.rich_result().shared()


def is_part(answer: Any, whole: Any) -> bool:
    """Whether an answer is a record with some of its entries, and lists with some of their rows."""
    if isinstance(answer, dict):
        return isinstance(whole, dict) and all(
            key in whole and is_part(value, whole[key]) for key, value in answer.items()
        )
    if isinstance(answer, list):
        rest = iter(whole)
        return all(any(is_part(one, other) for other in rest) for one in answer)
    return type(answer) is type(whole) and bool(answer == whole)


NAMES = st.sampled_from(sorted(
    {node["id"] for check in SHARED["checks"] for one in check["findings"] for node in one["nodes"]}
    | {check["name"] for check in SHARED["checks"]} | {"", "nowhere"}
))  # fmt: skip


@given(st.sampled_from(sorted(TOOLS)), NAMES, NAMES)
def test_an_answer_is_the_result_with_parts_left_out(tool: str, check: str, node: str) -> None:
    arguments = {"check": check, "node": node}
    asked = {name: arguments[name] for name in TOOLS[tool].__annotations__ if name in arguments}
    for some in ({}, {"node": node} if "node" in asked else {}, asked):
        assert is_part(TOOLS[tool](SHARED, **some), SHARED)


def test_answers_tell_what_is_asked() -> None:
    (first, *_) = SHARED["worst"]
    check = next(c for c in SHARED["checks"] if any(one["id"] == first for one in c["findings"]))
    finding = next(one for one in check["findings"] if one["id"] == first)
    node = finding["nodes"][0]["id"]
    told = [one["id"] for c in TOOLS["verdict"](SHARED)["checks"] for one in c["findings"]]
    assert sorted(told) == sorted(SHARED["worst"])
    asked = TOOLS["findings"](SHARED, check=check["name"], node=node)["checks"]
    assert first in [one["id"] for one in asked[0]["findings"]]
    assert [one["name"] for one in asked] == [check["name"]]
    rows = TOOLS["nodes"](SHARED)["overview"]["tree"]
    assert rows == SHARED["overview"]["tree"]
    pair = SHARED["overview"]["pairs"][0]
    assert pair in TOOLS["pairs"](SHARED, node=pair["b"])["overview"]["pairs"]
    assert TOOLS["policy"](SHARED)["policy"] == SHARED["policy"]


@pytest.mark.slow
def test_a_client_asks_a_shared_copy_over_standard_input(
    tmp_path: Path,
) -> None:
    pytest.importorskip("mcp")
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    where = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    copy = tmp_path / "copy"
    (tmp_path / "toy.csv").write_text("child,parent\n" + "\n".join(map(",".join, EDGES)))
    (tmp_path / "labels.csv").write_text("instance,label\n1,dog\n1,cow\n2,dgo\n3,bird\n")
    made = ("run", "labels.csv", "--hierarchy", "toy.csv", "--no-pdf", "--out", "copy")
    subprocess.run([sys.executable, "-m", "audit", *made], cwd=tmp_path, env=where, check=True)
    shutil.rmtree(copy / "restricted")
    shared = json.loads((copy / "result.json").read_text("utf-8"))
    served = StdioServerParameters(
        command=sys.executable, args=["-m", "audit", "mcp", str(copy)],
        env=where, cwd=tmp_path,
    )  # fmt: skip

    async def ask() -> None:
        async with Client(stdio_client(served)) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {*TOOLS}
            for tool in tools:
                answer = await client.call_tool(tool.name, {})
                assert not answer.is_error
                assert is_part(answer.structured_content, shared)
                assert json.loads(answer.content[0].text) == answer.structured_content
            for name, arguments in (("delete", {}), ("nodes", {"children": "428"})):
                assert (await client.call_tool(name, arguments)).is_error

    # Tests of the browser leave a loop running in the thread that they share with this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, ask).result()

"""What commands find stays what it was, to each column of each exact table.

A file of `pins` has a command and what it found, in the form of `fixtures.pins`; a place in braces
is of the sample, of inputs that are made, of real releases (``AUDIT_DATA``), or what the command of
another pin wrote. ``UPDATE_PINS=1`` writes what is found, to be read as a difference. Nothing that
may be shared is pinned, and no sentence.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fixtures.doors import command
from fixtures.exact_tables import exact_tables, told
from fixtures.once import filled_once
from fixtures.pinned_inputs import SAMPLE, write_pinned_inputs
from fixtures.pins import Pin, differences, dumped, pinned

PINS = Path(__file__).parent / "pins"
DATA = os.environ.get("AUDIT_DATA", "")
DATED = {"SOURCE_DATE_EPOCH": "1767225600"}
"""The first of January 2026: waivers expire."""


def pin_of(name: str) -> Pin:
    return tomllib.loads((PINS / f"{name}.toml").read_text("utf-8"))


def all_pins() -> Iterator[Any]:
    for path in sorted(PINS.glob("*.toml")):
        quick = "\nquick = true\n" in path.read_text("utf-8")
        yield pytest.param(path.stem, marks=() if quick else pytest.mark.slow)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_once("pinned_inputs", write_pinned_inputs, tmp_path_factory)


def run(name: str, made: Path, factory: pytest.TempPathFactory) -> Path:
    """The folder of a pin's command, which is run once, after those that it names."""
    pin = pin_of(name)
    for extra in pin.get("extras", ()):
        pytest.importorskip(extra)
    places = {"sample": SAMPLE, "made": made, "pins": PINS, "data": Path(DATA)}
    for place in re.findall(r"{(\w+)}", " ".join(pin["command"])):
        if place == "data" and not DATA:
            pytest.skip("AUDIT_DATA names no folder with the real releases")
        if place not in (*places, "out"):
            places[place] = run(place, made, factory) / "out"

    def fill(folder: Path) -> None:
        words = (one.format(**places, out=folder / "out") for one in pin["command"])
        done = command(*words, **DATED)
        assert done.exit_code == 0, (done.output, done.exception)
        (folder / "printed").write_text(done.stdout, "utf-8")

    return filled_once(f"pin_{name}", fill, factory)


def found(folder: Path, prints: str = "") -> Pin:
    """What is pinned of a command: the tables that it wrote, or lines or a table it printed."""
    printed = (folder / "printed").read_text("utf-8") if prints else ""
    if prints == "lines":
        tables = {prints: pl.DataFrame({"line": printed.splitlines()})}
    elif prints:
        rows = [{**row, "cases": repr(row.get("cases"))} for row in json.loads(printed)[prints]]
        tables = told({prints: pl.DataFrame(rows)})
    else:
        tables = exact_tables(folder / "out")
    return {name: pinned(table) for name, table in tables.items()}


@pytest.mark.parametrize("name", [*all_pins()])
def test_a_command_finds_what_it_found(
    name: str, made: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pin = pin_of(name)
    now = found(run(name, made, tmp_path_factory), pin.get("prints", ""))
    assert now, "the command left no table"
    if os.environ.get("UPDATE_PINS"):
        (PINS / f"{name}.toml").write_text(dumped(pin | {"found": now}), "utf-8")
    assert list(differences(pin_of(name)["found"], now)) == []


def test_a_changed_number_is_seen(
    made: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shutil.copytree(run("one_node", made, tmp_path_factory), tmp_path / "copy")
    nodes = tmp_path / "copy" / "out" / "restricted" / "nodes.parquet"
    pl.read_parquet(nodes).with_columns(pl.col("support") + 1).write_parquet(nodes)
    told = list(differences(pin_of("one_node")["found"], found(tmp_path / "copy")))
    assert told == ["nodes.support is [4], not [3]"]

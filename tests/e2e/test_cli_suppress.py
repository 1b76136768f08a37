"""``audit suppress``: a table of counts in, what may be shared and what is withheld out."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from audit.cli.app import app

COUNTS = "code,n\n401,190\n401.0,64\n401.1,4\n401.9,122\n"


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS, "utf-8")
    return path


def suppress(path: Path, *options: object) -> tuple[int, str]:
    ran = CliRunner().invoke(
        app, ["suppress", str(path), "--hierarchy", "icd9cm", *map(str, options)]
    )
    return ran.exit_code, " ".join(ran.output.split())


def test_what_may_be_shared_does_not_say_which_count_is_small(counts: Path, tmp_path: Path) -> None:
    out, why = tmp_path / "shared.csv", tmp_path / "why.parquet"
    status, printed = suppress(counts, "--out", out, "--why", why)

    assert status == 0
    assert "2 of 4 counts must be withheld: 1 small (primary; 4 units), and 1 from" in printed
    assert out.read_text("utf-8") == "node,count\n401,190\n401.0,\n401.1,\n401.9,122\n"
    assert pl.read_parquet(why)["why"].to_list() == [None, "secondary", "primary", None]
    assert suppress(counts, "--out", out)[0] == 2
    assert suppress(counts, "--out", out, "--overwrite")[0] == 0


def test_json_has_every_count_with_the_reason(counts: Path) -> None:
    ran = CliRunner().invoke(app, ["suppress", str(counts), "--hierarchy", "icd9cm", "--json"])
    told = json.loads(ran.output)

    assert told["withheld"]["secondary"] == {"counts": 1, "units": 64}
    assert told["rows"][2] == {"node": "401.1", "count": 4, "shown": None, "why": "primary"}


def test_periods_are_told_together(tmp_path: Path) -> None:
    """Three more at 401.9, and at 401: a reader of both years must not learn it."""
    path = tmp_path / "counts.csv"
    rows = ["401,190,2020", "401.0,64,2020", "401.9,126,2020"]
    rows += ["401,193,2021", "401.0,64,2021", "401.9,129,2021"]
    path.write_text("\n".join(["code,n,year", *rows]), "utf-8")
    ran = CliRunner().invoke(
        app, ["suppress", str(path), "--hierarchy", "icd9cm", "--period", "year", "--json"]
    )
    shown = {(row["node"], row["period"]): row["shown"] for row in json.loads(ran.output)["rows"]}

    for node in ("401", "401.9"):
        assert None in (shown[node, "2020"], shown[node, "2021"])
    assert suppress(path)[1].count("'401', '401.0', '401.9'") == 1


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (COUNTS + "4019,3\n", "each node may occur only once Found: '401.9'"),
        ("code,n\n401,-3\n", "whole numbers from 0 on Found: '401: -3'"),
        ("code,n\n401,2.5\n", "Found: '401: 2.5'"),
        ("code,n\n401,\n", "Found: '401: None'"),
        ("code,n\n401,20\n401.9,30\n", "Found: 401 20, and 401.9 30 below it"),
        ("code,n\n401,20\n401.1,11\n401.9,12\n", "401 20, and 23 below it: '401.1 11', '401.9 12'"),
        ("code,n\n401,20\nnone,3\n", "Found: 'none', in column 'code'"),
        ("code,total\n401,20\n", "Hint: --count COL names it"),
        ("code,node,n\n401,401,20\n", "Found: 'code', 'node' Hint: --node COL names it"),
    ],
)
def test_what_cannot_be_a_table_of_counts_is_refused(tmp_path: Path, table: str, told: str) -> None:
    path, out = tmp_path / "counts.csv", tmp_path / "out.csv"
    path.write_text(table, "utf-8")
    status, printed = suppress(path, "--out", out)

    assert (status, out.exists()) == (2, False)
    assert told in printed
    assert "Traceback" not in printed


def test_another_kind_of_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    status, printed = suppress(tmp_path / "none.csv", "--out", tmp_path / "shared.txt")

    assert status == 2
    assert "a file that ends in .csv or .parquet is required" in printed


def test_several_nodes_a_unit_is_said_by_an_option(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("code,n\n401,40\n401.1,31\n401.9,32\n", "utf-8")  # 9 and 8 without each

    assert suppress(path)[0] == 2
    status, printed = suppress(path, "--several")
    assert status == 0
    assert "2 of 3 counts must be withheld: 0 small" in printed

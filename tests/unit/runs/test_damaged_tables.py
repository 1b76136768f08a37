"""Tables of a run that somebody has damaged: one error, whichever library would read them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from audit.base.errors import InputError
from audit.cli.app import app
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.read import read_run
from audit.runs.sealed_run import broken_of
from fixtures.labelled import labelled, repeated, tree

BODY = tree("lung heart < body", "asthma other_lung < lung", "attack < heart")
EAGER = ("nodes", "edges", "findings")
"""Tables with text that `read_run` reads at once."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    counts = [(40, ["other_lung"]), (20, ["asthma", "attack", "lung"]), (2, ["elf"])]
    result = run_audit(labelled(BODY, repeated(counts), persons=True), anyway=True)
    return write_run(result, tmp_path_factory.mktemp("damaged") / "run")


def table_of(run: Path, name: str) -> Path:
    return run / "restricted" / f"{name}.parquet"


def without_utf8(content: Path) -> pa.Table:
    """The table with a byte that no text has in each value of its first column of text."""
    table = pq.read_table(content)
    types = list(map(str, table.schema.types))
    at = types.index("large_string")
    wrong = pa.array([b"\xff"] * len(table), pa.large_binary()).view(pa.large_string())
    return table.set_column(at, table.schema.field(at), wrong)


@pytest.mark.parametrize("name", [*EAGER, "cases"])
def test_text_that_is_no_utf8_is_refused_where_a_broken_seal_is_passed(
    run: Path, name: str
) -> None:
    whole = table_of(run, name).read_bytes()
    try:
        pq.write_table(without_utf8(table_of(run, name)), table_of(run, name))
        with pytest.raises(InputError, match=f"{name}.parquet"):
            broken_of([run], forced=True)
        if name in EAGER:
            with pytest.raises(InputError, match="Invalid UTF8"):
                read_run(run, unsealed=True)
    finally:
        table_of(run, name).write_bytes(whole)


@pytest.mark.parametrize("column", ["a", "b"])
def test_pairs_of_no_node_are_refused_where_a_broken_seal_is_passed(run: Path, column: str) -> None:
    whole = table_of(run, "pairs").read_bytes()
    try:
        beyond = pl.lit(10**9, pl.UInt32).alias(column)
        pl.read_parquet(table_of(run, "pairs")).with_columns(beyond).write_parquet(
            table_of(run, "pairs")
        )
        with pytest.raises(InputError, match="whatever its seal"):
            read_run(run, unsealed=True)
    finally:
        table_of(run, "pairs").write_bytes(whole)


@pytest.mark.parametrize("name", ["pair_margins", "judged_pairs", "pair_strata"])
def test_margins_that_are_missing_or_changed_are_refused(run: Path, name: str) -> None:
    whole = table_of(run, name).read_bytes()
    try:
        table_of(run, name).write_bytes(whole + b" ")
        with pytest.raises(InputError, match=f"changed: .*{name}.parquet"):
            read_run(run)
        table_of(run, name).unlink()
        with pytest.raises(InputError, match=f"missing: .*{name}.parquet"):
            read_run(run)
        with pytest.raises(InputError, match=f"no restricted/{name}.parquet"):
            read_run(run, unsealed=True)
    finally:
        table_of(run, name).write_bytes(whole)


def test_a_run_with_all_columns_of_pairs_is_refused_with_what_to_do(run: Path) -> None:
    whole = table_of(run, "pairs").read_bytes()
    try:
        read_run(run).pairs.collect().write_parquet(table_of(run, "pairs"))
        with pytest.raises(InputError, match="audit the data again"):
            read_run(run, unsealed=True)
    finally:
        table_of(run, "pairs").write_bytes(whole)


@pytest.mark.parametrize("name", ["nodes", "pairs"])
def test_a_table_without_its_footer_is_refused(run: Path, name: str) -> None:
    whole = table_of(run, name).read_bytes()
    try:
        table_of(run, name).write_bytes(whole[:-9])
        with pytest.raises(InputError, match=f"{name}.parquet"):
            read_run(run, unsealed=True)
    finally:
        table_of(run, name).write_bytes(whole)


@pytest.mark.parametrize(
    ("name", "column", "command"),
    [("cases", "finding", ["cases"]), ("nodes", "node", ["report", "--no-pdf"])],
)
def test_a_command_that_passes_a_broken_seal_needs_the_columns_that_it_reads(
    run: Path, name: str, column: str, command: list[str]
) -> None:
    whole = table_of(run, name).read_bytes()
    try:
        pl.read_parquet(table_of(run, name)).rename({column: "other"}).write_parquet(
            table_of(run, name)
        )
        ended = CliRunner().invoke(app, [command[0], str(run), *command[1:], "--force"])
    finally:
        table_of(run, name).write_bytes(whole)

    assert ended.exit_code == 2
    assert f"Error: {run}: a run that can be read is required, whatever its seal" in ended.output


@given(
    name=st.sampled_from([*EAGER, "pairs", "cases"]),
    at=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
)
def test_a_flipped_bit_gives_one_error_or_a_table_that_is_read_whole(
    run: Path, name: str, at: float, bit: int
) -> None:
    whole, refused = table_of(run, name).read_bytes(), ""
    damaged = bytearray(whole)
    damaged[int(at * len(whole))] ^= 1 << bit
    try:
        table_of(run, name).write_bytes(damaged)
        broken_of([run], forced=True)
        pl.from_arrow(pq.read_table(table_of(run, name)))
    except InputError as error:
        refused = str(error)
    finally:
        table_of(run, name).write_bytes(whole)
    assert not refused or f"{name}.parquet: a " in refused


def test_an_unbroken_run_passes(run: Path) -> None:
    assert broken_of([run], forced=True) == ()
    assert len(read_run(run).pairs.collect()) > 0

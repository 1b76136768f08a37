"""A run of rows of a database: told without what is secret, and made again from the database."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from audit import verify_run
from fixtures.doors import command
from fixtures.postgres import SECRET, ingest, server

pytest.importorskip("adbc_driver_postgresql")
pytestmark = pytest.mark.slow

ROWS = pl.DataFrame({"visit": [*range(60)] * 2, "word": ["dog"] * 60 + ["owl", "cat"] * 30})
QUERY = "SELECT visit, word FROM tag WHERE visit < 50"


def test_a_run_tells_no_secret_and_is_recomputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree.csv").write_text("child,parent\ndog,pet\ncat,pet\nowl,bird\npet,animal\n"
                                       "bird,animal\n")  # fmt: skip
    monkeypatch.setenv("PGPASSWORD", SECRET)
    out, file = tmp_path / "run", tmp_path / "file"
    ROWS.filter(pl.col("visit") < 50).sort("visit").write_csv(tmp_path / "rows.csv")
    named = ["--hierarchy", str(tmp_path / "tree.csv"), "--id", "visit", "--label", "word"]
    with server() as base:
        ingest(base, "tag", ROWS)
        address = base.replace("postgres@", "secret@")
        asked = [*named, "--no-pdf", "--out"]
        read = command("run", address, "--sql", QUERY, *asked, out)
        assert read.exit_code == 0, read.output
        done = command("run", tmp_path / "rows.csv", *asked, file)
        assert done.exit_code == 0, done.output
        results = [json.loads((run / "result.json").read_text()) for run in (out, file)]
        assert results[0]["ledger"] == results[1]["ledger"]
        assert results[0]["checks"] == results[1]["checks"]
        kept = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
        assert not any(secret.encode() in kept for secret in (SECRET, "127.0.0.1", "secret@"))
        manifest = json.loads((out / "manifest.json").read_text())
        (data,) = [one for one in manifest["inputs"] if one["role"] == "data"]
        assert data["query"] == manifest["settings"]["sql"] == QUERY
        assert data["driver"].split()[1][0].isdigit()
        verdicts = {v.name: v for v in verify_run(out, recompute=True, data=address)}
        assert verdicts["recomputation"].outcome == "holds", verdicts["recomputation"]
        gone = {v.name: v for v in verify_run(out, recompute=True, data=address[:-2])}
        assert gone["recomputation"].outcome == "not checked"

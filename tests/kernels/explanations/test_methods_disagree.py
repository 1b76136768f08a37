"""methods_disagree: two methods of which one is noise, and two that share their signal.

A release that disagrees is no case among the files: it is made up here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fixtures.doors import made
from fixtures.explained_releases import TOKENS, explained_release, thirty_nodes, write_release

BODY = thirty_nodes()
ROWS = explained_release(1, hierarchy=BODY, instances=60)


def found(folder: Path, rows: pl.DataFrame) -> Any:
    """The check's entry in a result."""
    path, tree, _ = write_release(folder, rows, BODY)
    run = folder / "run"
    made("explanations", path, "--hierarchy", tree, "--no-pdf", "--out", run)
    checks = json.loads((run / "result.json").read_bytes())["checks"]
    return next(one for one in checks if one["name"] == "methods_disagree")


def test_two_methods_of_which_one_is_noise_are_told(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(size=(len(ROWS), TOKENS)).tolist()
    own = pl.when(pl.col("method") == "second").then("noise").otherwise("scores")
    rows = ROWS.with_columns(noise=pl.Series(noise)).with_columns(scores=own).drop("noise")
    check = found(tmp_path, rows)
    (finding,) = check["findings"]
    assert finding["id"] == "methods_disagree:m:first:second"
    assert finding["evidence"]["above_high"] <= 0.05


def test_two_methods_that_share_their_signal_are_not(tmp_path: Path) -> None:
    assert found(tmp_path, ROWS)["status"] == "pass"


def test_one_method_has_nothing_to_agree_with(tmp_path: Path) -> None:
    check = found(tmp_path, ROWS.filter(pl.col("method") == "first"))
    assert check["status"] == "not_applicable"

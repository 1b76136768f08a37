"""Count the numbers that what may be shared still tells: ``python -m validation.told_numbers``.

Audited are the sample's second release with its model and reference, its explanations, concepts and
entailment, and releases of 5,000 and 50,000 rows with columns of site, ward and year, of which
wards lie within sites. A number counts where ``result.json`` has it exactly; it is compared with
how many are told with ``--min-cell 1``. To compare two states of the code, run it in a worktree of
each: ``git worktree add BEFORE COMMIT``, and ``PYTHONPATH=BEFORE python FILE`` with this file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from typer.testing import CliRunner

from audit.cli.app import app
from audit.hierarchies.reading import load_hierarchy
from fixtures.synthetic import icd9cm_usage, make_release

SAMPLE = Path("sample_data")
ICD9CM = ("--hierarchy", "icd9cm")
COLUMNS = 'drift = ["site", "ward", "year"]\ncoding_columns = ["site", "ward"]\n'
LABELS = 10
WARDS = 120
SECTIONS = ("checks", "metrics", "overview", "explanations", "concepts", "entailment")


def numbers(value: Any) -> int:
    """How many exact numbers plain data hold."""
    if isinstance(value, dict):
        return sum(map(numbers, value.values()))
    if isinstance(value, list):
        return sum(map(numbers, value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def write_rows(folder: Path, rows: int) -> None:
    """Labels of so many rows, with the columns, and the policy that compares them."""
    hierarchy = load_hierarchy("icd9cm")
    usage = icd9cm_usage(hierarchy, seed=rows, diagnoses=600, procedures=0)
    release = make_release(
        hierarchy, instances=rows // LABELS, seed=rows, labels_per_instance=LABELS, usage=usage
    )
    draw, n = np.random.default_rng(rows), len(release.instances)
    shares = 1 / np.arange(1, WARDS + 1)
    ward = draw.choice(WARDS, n, p=shares / shares.sum())
    stray = draw.random(n) < 0.002
    beside: dict[str, Any] = {
        "site": [f"s{one}" for one in ((ward + stray) % 12).tolist()],
        "ward": [f"w{one}" for one in ward.tolist()],
        "year": draw.integers(2018, 2024, n),
    }
    columns = release.instances.select("instance").with_columns(
        pl.Series(name, values).cast(pl.String) for name, values in beside.items()
    )
    labels = release.rows.join(columns, on="instance", how="left", maintain_order="left")
    labels.select("instance", "label", *beside).write_csv(folder / "rows.csv")
    (folder / "policy.toml").write_text(COLUMNS, "utf-8")


def commands(folder: Path) -> Iterator[tuple[str, list[object]]]:
    """What is audited, by name, without ``--out``."""
    first = folder / "first"
    audited(["run", SAMPLE / "release_1", *ICD9CM], first, ())
    model = ("--predictions", SAMPLE / "predictions.psv", "--reference", first)
    yield "sample with its model", ["run", SAMPLE / "release_2", *ICD9CM, *model]
    own = SAMPLE / "explanations"
    evidence = ("--evidence", own / "evidence.jsonl", "--hierarchy", "icd9cm")
    yield "explanations", ["explanations", own / "attributions.jsonl", *evidence]
    own = SAMPLE / "concepts"
    told = ("--hierarchy", "icd9cm", "--facets", own / "facets.csv")
    yield "concepts", ["concepts", own / "representations.npz", *told]
    own = SAMPLE / "entailment"
    votes = ("--column", "votes=worker_*", "--predictions", own / "scores.csv")
    yield "entailment", ["entailment", own / "tuples.csv", *votes]
    for rows in (5_000, 50_000):
        place = folder / str(rows)
        place.mkdir()
        write_rows(place, rows)
        stated = (*ICD9CM, "--id", "instance", "--label", "label", "--format", "long")
        policy = ("--policy", place / "policy.toml")
        yield f"{rows:,} rows", ["run", place / "rows.csv", *stated, *policy]


def audited(command: list[object], out: Path, options: tuple[str, ...]) -> dict[str, Any]:
    """The ``result.json`` of a command."""
    typed = [str(one) for one in (*command, "--no-pdf", "--out", out, *options)]
    done = CliRunner().invoke(app, typed)
    if done.exit_code:
        raise SystemExit(f"{' '.join(typed)}: {done.output}")
    found: dict[str, Any] = json.loads((out / "result.json").read_text("utf-8"))
    return found


def main(*named: str) -> None:
    """Print a line for each, and its sections."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        for name, command in commands(folder):
            if named and not name.startswith(named):
                continue
            views = [
                audited(command, folder / f"out-{m}-{name}", ("--min-cell", m)) for m in ("11", "1")
            ]
            parts = {part: [numbers(view.get(part)) for view in views] for part in SECTIONS}
            drift = [numbers(view["overview"]["coverage"]["drift"]) for view in views]
            parts |= {"of which drift": drift} if any(drift) else {}
            told, of = (numbers(view) for view in views)
            lines = [f"{part} {own:,} of {all_:,}" for part, (own, all_) in parts.items() if all_]
            sys.stdout.write(f"{name}: {told:,} of {of:,} ({told / of:.1%}); {'; '.join(lines)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

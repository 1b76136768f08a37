"""Slips planted in the sample: what is likely is right as often as is said, in five bins."""

from __future__ import annotations

import csv
import random
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

import audit

RELEASE = Path(__file__).parents[4] / "sample_data" / "release_1"
TABLE = "DIAGNOSES_ICD.csv"


def slip(code: str, kind: str, draws: random.Random) -> str:
    place = draws.randrange(len(code))
    before, sign, after = code[:place], code[place], code[place + 1 :]
    return {
        "other": before + draws.choice("0123456789") + after,
        "exchanged": before + after[:1] + sign + after[1:],
        "doubled": before + sign + sign + after,
        "lost": before + after,
        "cut": code[:3],
    }[kind]


def planted(folder: Path, seed: int) -> dict[tuple[str, str], str]:
    """Damage labels of a copy of the release; the right code by instance and damaged label."""
    shutil.copytree(RELEASE, folder)
    lines = (folder / TABLE).read_text("utf-8").splitlines()
    head, *rows = csv.reader(lines)
    instance, label = head.index("HADM_ID"), head.index("ICD9_CODE")
    known = {node.replace(".", "") for node in audit.load_hierarchy("icd9cm").nodes}
    own = defaultdict[str, set[str]](set)
    for row in rows:
        own[row[instance]].add(row[label])
    draws, truth = random.Random(seed), dict[tuple[str, str], str]()
    for row in draws.sample(rows, 4000):
        code, carried = row[label], own[row[instance]]
        if code not in known or len(code) < 4:
            continue
        kind = draws.choice(["other", "exchanged", "doubled", "lost", "cut"])
        new = slip(code, kind, draws)
        if new not in carried and (kind == "cut" or new not in known):
            row[label] = new
            truth[row[instance], new] = code
            carried.add(new)
    with (folder / TABLE).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return truth


@pytest.mark.slow
def test_what_is_likely_is_right_as_often_as_is_said(tmp_path: Path) -> None:
    truth = planted(tmp_path / "release", 1)

    result = audit.run_audit(audit.load_labels(tmp_path / "release", "icd9cm"))

    assert result.proposals is not None
    rows = result.proposals.collect().to_dicts()
    ours = [row for row in rows if (row["instance"], row["label"]) in truth]
    bins = defaultdict[int, list[tuple[float, bool]]](list)
    for row in ours:
        if row["certainty"] == "likely":
            right = row["proposed"] == truth[row["instance"], row["label"]]
            bins[min(4, int(10 * (row["probability"] - 0.5)))].append((row["probability"], right))
    assert sum(map(len, bins.values())) > len(truth) / 2
    for some in bins.values():
        said, right = (sum(one) / len(some) for one in zip(*some, strict=True))
        assert abs(said - right) < 0.1 or len(some) < 100
    assert not [row for row in ours if row["certainty"] == "certain" and row["proposed"]]

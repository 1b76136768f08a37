"""A sheet to judge findings on pairs blind: the top ones shuffled with pairs that are not reported.

``AUDIT_DATA=FOLDER python validation/pair_sheet.py OUT`` writes ``sheet.md``, which tells nodes,
supports and some records with both, and ``answers.json``, which tells what was reported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import audit
from audit.results.result import AuditResult

TOP, RECORDS, LABELS = 20, 4, 8
SOURCES = {
    "GO slim": ("go-slim/slim_association", "go-slim/goslim_generic.obo"),
    "AudioSet": ("audioset/labels.jsonl", "audioset/ontology.json"),
}


def main() -> None:
    """Write the sheet and the answers."""
    folder, out = Path(os.environ["AUDIT_DATA"]), Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    lines, answers = ["# Which of these pairs go together?\n"], {}
    for name, (data, hierarchy) in SOURCES.items():
        dataset = audit.load_labels(folder / data, audit.load_hierarchy(folder / hierarchy))
        result = audit.run_audit(dataset)
        lines.append(f"## {name}: {len(dataset):,} records\n")
        for number, pair in enumerate(_shuffled(result), 1):
            key = f"{name} {number}"
            answers[key] = pair
            lines += _entry(key, pair, dataset)
    (out / "sheet.md").write_text("\n".join(lines), "utf-8")
    (out / "answers.json").write_text(json.dumps(answers, indent=1), "utf-8")


def _shuffled(result: AuditResult) -> list[dict[str, Any]]:
    """The top findings, and for each a pair with about its supports that is not reported."""
    check = next(check for check in result.checks if check.name == "unexpected_pair")
    found = [finding.nodes[-2:] for finding in check.standing[:TOP]]
    judged = result.pairs.filter(
        pl.col("found_rank").is_null() & pl.col("ratio").is_not_null() & (pl.col("joint") > 4)
    )
    others = judged.filter(pl.col("explained").is_null()).collect()
    numbers = result.pairs.collect()
    pairs, taken = [], set()
    for a, b in found:
        own = numbers.row(by_predicate=(pl.col("a") == a) & (pl.col("b") == b), named=True)
        pairs.append({**_told(own), "reported": True})
        distance = sum(
            (pl.col(f"support_{end}").log() - np.log(own[f"support_{end}"])).abs() for end in "ab"
        )
        for row in others.sort(distance).iter_rows(named=True):
            if (row["a"], row["b"]) not in taken:
                taken.add((row["a"], row["b"]))
                pairs.append({**_told(row), "reported": False})
                break
    order = np.random.default_rng(len(pairs)).permutation(len(pairs))
    return [pairs[place] for place in order]


def _told(row: dict[str, Any]) -> dict[str, Any]:
    names = ("a", "b", "support_a", "support_b", "joint", "expected_length")
    return {name: row[name] for name in names}


def _entry(key: str, pair: dict[str, Any], dataset: audit.LabelDataset) -> Iterator[str]:
    hierarchy = dataset.hierarchy
    a, b = (hierarchy.index(pair[end]) for end in "ab")
    yield f"**{key}.** {hierarchy.describe(a)} ({pair['support_a']:,} records) and "
    yield f"{hierarchy.describe(b)} ({pair['support_b']:,} records). Some records with both:\n"
    carried = (dataset.direct @ hierarchy.closure)[:, [a, b]].toarray() > 0
    both = np.flatnonzero(carried.all(axis=1))
    for record in both[:: max(len(both) // RECORDS, 1)][:RECORDS]:
        labels = dataset.direct.indices[slice(*dataset.direct.indptr[record : record + 2])]
        names = [hierarchy.titles[i] or hierarchy.nodes[i] for i in labels[:LABELS]]
        yield f"- {'; '.join(names)}"
    yield ""


if __name__ == "__main__":
    main()

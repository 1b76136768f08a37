"""A sheet to judge the findings of all checks blind: the top ones, shuffled with decoys.

``AUDIT_DATA=FOLDER python -m validation.finding_sheet OUT`` audits five public data sets and writes
``sheet.md``, which tells sentences, titles and some records, and ``answers.json``, which tells what
was reported and whether its numbers come out again.
``python -m validation.finding_sheet OUT JUDGEMENTS`` writes ``finding_judgements.csv`` beside this
file and prints the table of docs/finding_judgements.md; JUDGEMENTS has a number, ``yes``,
``partly`` or ``no`` and a reason a line, separated by tabs.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import audit
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.case_lists import cases_of
from validation.confusion_sheet import SOURCES, Source
from validation.finding_decoys import Entry, decoys
from validation.finding_recount import Recount, recounted
from validation.plain_releases import Release, read

JUDGED = Path(__file__).with_name("finding_judgements.csv")
TOP, PER_CHECK, RECORDS, LABELS, TITLE = 20, 8, 10, 10, 60
_SEVERITIES = ("error", "warning", "note")
AUDITED: Mapping[str, Source] = {
    "MIMIC-III demo": Source("mimic-iii-demo", "", "icd9cm"),
    "GO slim": Source("go-slim/slim_association", "", "go-slim/goslim_generic.obo"),
    **SOURCES,
}
ABOUT = """# Findings to judge

Each numbered line says something of a data set whose labels are nodes of a hierarchy, or of a
model's answers on it. Some lines were chosen by a tool, some were not. For each say

- `yes`: it is true as far as the records show, and worth a minute of the curator of these data,
- `partly`: it is true, but says less than it seems to, or is hardly worth that minute,
- `no`: it misleads, or tells a curator nothing,

and why, in a sentence. One line a number: number, verdict and reason, separated by tabs.

The data: **MIMIC-III demo**, diagnoses and procedures in ICD-9-CM of 129 hospital stays of 100
patients, years 2001 to 2012. **GO slim**, terms of the Gene Ontology's generic slim on 34,284 genes
of a plant. **AudioSet**, sound classes heard on 20,371 clips, and the classes that a model answers.
**CIFAR-10**, 10,000 small pictures of ten classes, and a model's answers. **20 Newsgroups**, 7,532
posts, the group of each, and a model's answers. An instance is a stay, gene, clip, picture or post.
A residual label is a catch-all such as “other” or “unspecified”.
"""


def main() -> None:
    """Write the sheet and the answers, or what readers said of them."""
    out = Path(sys.argv[1])
    if len(sys.argv) > 2:
        kept = judged(json.loads((out / "answers.json").read_text("utf-8")), sys.argv[2])
        kept.write_csv(JUDGED)
        print("\n".join(totals(kept)))
        return
    folder = Path(os.environ["AUDIT_DATA"])
    out.mkdir(parents=True, exist_ok=True)
    releases = [read(name, folder) for name in AUDITED]
    entries = [(release, one) for release in releases for one in lines(release, folder)]
    order = np.random.default_rng(len(entries)).permutation(len(entries))
    shuffled = [entries[place] for place in order]
    text = [ABOUT]
    for number, (release, one) in enumerate(shuffled, 1):
        text += _shown(number, release, one)
    answers = {
        number: {"data": release.name, **asdict(one), "cases": len(one.cases)}
        for number, (release, one) in enumerate(shuffled, 1)
    }
    (out / "sheet.md").write_text("\n".join(text), "utf-8")
    (out / "answers.json").write_text(json.dumps(answers, indent=1), "utf-8")


def lines(release: Release, folder: Path) -> list[Entry]:
    """The top findings of a release, each recounted, and its decoys.

    Args:
        release: Its rows, read without the product.
        folder: Where the public data lie.
    """
    result = _audited(AUDITED[release.name], folder)
    recount = Recount(release, folder)
    shown = top(result.shared())
    policy = {**result.policy, **_catch_alls(result.nodes)}
    found = [
        Entry(
            check=finding["id"].partition(":")[0],
            id=finding["id"],
            statement=finding["statement"],
            nodes=_nodes(finding),
            cases=tuple(cases_of(result, finding["id"]).collect()["instance"].sort()),
            reported=True,
            recount=recounted(recount, finding, policy),
        )
        for finding in shown
    ]
    frames = {
        "findings": result.findings,
        "pairs": result.pairs.collect(),
        "residuals": result.residuals,
        "catch_alls": policy["residual"],
    }
    return found + decoys(recount, shown, frames)


def top(shared: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The first findings of all checks: by severity, then by rank within their checks.

    At most `PER_CHECK` of a check stand before those of others; waived ones are last.

    Args:
        shared: The shared view of an audit.
    """
    ranked = sorted(
        (
            rank >= PER_CHECK,
            finding["waiver"] is not None,
            _SEVERITIES.index(finding["severity"]),
            rank,
            place,
        )
        for place, check in enumerate(shared["checks"])
        for rank, finding in enumerate(check["findings"])
    )
    checks = shared["checks"]
    return [checks[place]["findings"][rank] for *_, rank, place in ranked[:TOP]]


def _audited(source: Source, folder: Path) -> AuditResult:
    named = source.hierarchy
    hierarchy = audit.load_hierarchy(folder / named if "/" in named else named)
    classes = folder / source.classes if source.classes else None
    dataset = audit.load_labels(folder / source.labels, hierarchy, classes=classes)
    predictions = (
        audit.load_predictions(folder / source.predictions, dataset, classes=classes)
        if source.predictions
        else None
    )
    return audit.run_audit(dataset, Policy(min_cell=1), predictions=predictions)


def _catch_alls(nodes: pl.DataFrame) -> dict[str, set[str]]:
    """Nodes that are residual, and those of them that leave open what was meant."""
    left_open = (pl.col("residual") == "unspecified") | pl.col("residual_rule").str.contains(
        "title: .*unspecified"
    )
    return {
        "residual": set(nodes.drop_nulls("residual")["node"]),
        "open": set(nodes.filter(left_open)["node"]),
    }


def _nodes(finding: Mapping[str, Any]) -> tuple[str, ...]:
    """The nodes of a finding and of its breakdown, each once."""
    of = (node["id"] for one in (finding, *finding["parts"]) for node in one["nodes"])
    return tuple(dict.fromkeys(of))


def _shown(number: int, release: Release, entry: Entry) -> Iterator[str]:
    yield f"## {number}. {release.name}\n\n{entry.statement}\n"
    yield "Nodes: " + "; ".join(release.describe(node) for node in entry.nodes) + "\n"
    picked = np.random.default_rng(number).permutation(len(entry.cases))[:RECORDS]
    for place in sorted(picked):
        yield f"- {_record(release, entry.cases[place], entry.nodes)}"
    yield ""


def _record(release: Release, record: str, nodes: Sequence[str]) -> str:
    """Labels of a record in their order, those of the entry kept where not all fit; answers."""
    text = f"{record}: {_listed(release, release.labels[record], nodes)}"
    answers = release.answers.get(record)
    if answers is None:
        return text
    return f"{text} | the model answers {_listed(release, sorted(answers), nodes)}"


def _listed(release: Release, labels: Sequence[str], nodes: Sequence[str]) -> str:
    own = [not release.above[label].isdisjoint(nodes) for label in labels]
    room = LABELS - sum(own)
    shown = []
    for label, concerned in zip(labels, own, strict=True):
        room -= not concerned
        if concerned or room >= 0:
            shown.append(shortened(release.describe(label)))
    more = f"; and {len(labels) - len(shown)} more" if len(shown) < len(labels) else ""
    return ("; ".join(shown) or "no label") + more


def shortened(text: str) -> str:
    """A title cut to what fits on a line."""
    return text if len(text) <= TITLE else f"{text[: TITLE - 1].rstrip()}…"


def judged(answers: Mapping[str, Mapping[str, Any]], judgements: str) -> pl.DataFrame:
    """What readers said of each line, as validation/finding_judgements.csv keeps it.

    Args:
        answers: By number, as `main` writes them.
        judgements: The file of verdicts. Lines without one are left out.
    """
    rows = (line.split("\t") for line in Path(judgements).read_text("utf-8").splitlines() if line)
    said = {number: (verdict.strip("`"), why) for number, verdict, why in rows}
    return pl.DataFrame(
        {
            "data": one["data"],
            "line": int(number),
            "check": one["check"],
            "statement": _first_sentence(one["statement"]),
            "reported": "yes" if one["reported"] else "no",
            "counted_again": one["recount"],
            "judged": said[number][0],
            "why": said[number][1],
        }
        for number, one in answers.items()
        if number in said
    )


def totals(lines: pl.DataFrame) -> Iterator[str]:
    """The table of docs/finding_judgements.md, of what `judged` gives."""
    yield "| check | yes | partly | no | decoys: yes | partly | no |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for check in (*sorted(set(lines["check"])), None):
        of = lines if check is None else lines.filter(pl.col("check") == check)
        counts = Counter(of.select("reported", "judged").iter_rows())
        cells = (counts[kind, said] for kind in ("yes", "no") for said in ("yes", "partly", "no"))
        yield f"| {f'`{check}`' if check else 'all'} | {' | '.join(map(str, cells))} |"


def _first_sentence(statement: str) -> str:
    return statement.partition(". ")[0].removesuffix(".")


if __name__ == "__main__":
    main()

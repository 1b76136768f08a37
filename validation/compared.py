"""Write docs/compared.md: what this package and others say of the same three files.

``AUDIT_DATA=FOLDER python -m validation.compared PYTHON`` takes the Python of an environment with
cleanlab, pointblank, evidently (which needs pandas below 3), HiClass and the packages that these
bring; half a minute of a processor. Tests do not run it: the peers are a gigabyte.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import audit
from validation.shares import table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compared.md"
TEXT = ROOT / "validation" / "compared.md"
"""What the page says beside the tables, with a place for each."""
COMMAND = "from audit.cli.app import app; app()"
FILES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "sample": (
        ("sample_data/release_2", "--hierarchy", "icd9cm",
         "--predictions", "sample_data/predictions.psv"),
        ("pointblank_sample", "evidently_sample"),
    ),
    "cifar": (
        ("{data}/softmax/cifar10_test_labels.npy",
         "--hierarchy", "{data}/softmax/cifar10_edges.csv",
         "--classes", "{data}/softmax/cifar10_classes.txt",
         "--predictions", "{data}/softmax/cifar10_test_probabilities.npy"),
        ("cleanlab_cifar", "evidently_cifar", "hiclass_cifar"),
    ),
    "news": (
        ("{data}/softmax/20news_test_labels.npy",
         "--hierarchy", "{data}/softmax/20news_classes.txt",
         "--classes", "{data}/softmax/20news_classes.txt",
         "--predictions", "{data}/softmax/20news_test_probabilities.npy"),
        ("cleanlab_news", "hiclass_news"),
    ),
}  # fmt: skip
"""The command of an audit, and what peers do, by file."""
PLANTED = {
    "residual_overuse": ("residual_overuse", "428"),
    "cross_branch_habit": ("cross_branch", "V72.81"),
    "unknown_codes": ("malformed_code", ""),
    "unlisted_codes": ("malformed_code", ""),
    "malformed_codes": ("malformed_code", ""),
    "missing_codes": ("", ""),
    "parent_beside_child": ("parent_and_child", ""),
}
"""Which check of an audit tells a planted fault, and what its finding must name."""
BY_RULE = {"missing_codes": 0, "malformed_codes": 1, "unknown_codes": 2, "unlisted_codes": 2,
           "parent_beside_child": 2}  # fmt: skip
"""The rule of `validation.peers.pointblank_sample` that tells a planted fault."""


@dataclass(frozen=True)
class Said:
    """What a package said of a file.

    Args:
        package: Its name, with the version.
        found: Sentences.
        seconds: Of a processor, starting it and reading included.
    """

    package: str
    found: Sequence[str]
    seconds: float


def main() -> None:
    """Run all of it and write the page."""
    data, python = os.environ["AUDIT_DATA"], sys.argv[1]
    places: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (command, tasks) in FILES.items():
            run = Path(folder) / name
            own, result = _audited([one.format(data=data) for one in command], run)
            others = [_asked(python, task, data) for task in tasks]
            rows = [
                (one.package, "; ".join(one.found), f"{one.seconds:.1f}") for one in (own, *others)
            ]
            head = ("package", "what it says", "seconds of a processor")
            places[name] = table(head, rows).rstrip()
            if name == "sample":
                places["planted"] = table(
                    ("planted in the release", "`audit`", "pointblank, by rules written for it"),
                    _planted(result, others[0].found),
                ).rstrip()
    commands = [" ".join(command).format(data="FOLDER") for command, _ in FILES.values()]
    places["commands"] = "\n".join(f"    audit run {one} --no-pdf" for one in commands)
    PAGE.write_text(TEXT.read_text("utf-8").format(**places), "utf-8")


def _audited(command: Sequence[str], run: Path) -> tuple[Said, dict[str, Any]]:
    """An audit, what it says first, and its result."""
    words = [sys.executable, "-c", COMMAND, "run", *command, "--no-pdf", "--out", str(run)]
    _, seconds = _timed(words)
    result = json.loads((run / "result.json").read_text("utf-8"))
    return Said(f"audit {audit.__version__}", list(_first(result)), seconds), result


def _first(result: Mapping[str, Any]) -> Iterator[str]:
    """The numbers of findings by check, the first one, and metrics that peers have too."""
    by_check = [f"{one['name']} {one['total']}" for one in result["checks"] if one["total"]]
    yield f"findings: {', '.join(by_check)}"
    yield f"first: {_sentence(_finding(result, result['worst'][0])['statement'])}"
    for one in result["metrics"]:
        stated = one["parameters"]
        if one["scope"] == "all" and one["name"] == "hierarchical_f1":
            yield f"hierarchical F1 ({stated['average']}) {one['value']:.4f}"


def _finding(result: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next(
        finding
        for check in result["checks"]
        for finding in check["findings"]
        if finding["id"] == name
    )


def _sentence(statement: str) -> str:
    return statement.partition(". ")[0].removesuffix(".")


def _planted(result: Mapping[str, Any], rules: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each planted fault of the sample, and what told it."""
    truth = json.loads((ROOT / "sample_data" / "truth.json").read_text("utf-8"))["release_2"]
    findings = {one["name"]: one["findings"] for one in result["checks"]}
    before = set[str]()
    for fault in truth["planted"]:
        check, node = PLANTED[fault["kind"]]
        told = [
            one["statement"]
            for one in findings.get(check, ())
            if node in one["statement"] or node in str(one["nodes"])
        ]
        own = (
            f"`{check}`: {_sentence(told[0])}"
            if told
            else "the ledger: rows refused as `missing_code`"
        )
        by_rule = BY_RULE.get(fault["kind"])
        shown = "the same finding" if own in before else own
        before.add(own)
        yield fault["words"], shown, "–" if by_rule is None else rules[by_rule]


def _asked(python: str, task: str, data: str) -> Said:
    """What a peer says."""
    script = str(ROOT / "validation" / "peers.py")
    output, seconds = _timed([python, script, task, "sample_data", data])
    said = json.loads(output.splitlines()[-1])
    return Said(f"{said['package']} {said['version']}", said["found"], seconds)


def _timed(command: Sequence[str]) -> tuple[str, float]:
    """What a command prints, and the seconds of a processor that it took."""
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()

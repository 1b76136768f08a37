"""Time the commands of the product, in turns with an earlier version.

``python benchmarks/commands.py [--before REVISION] [--rounds N] [--minutes M] [--page]``

Each measurement is a line in ``benchmarks/results/``, so that the command may be interrupted: it
then goes on where it stopped, and measures nothing twice of the same version. What the minutes do
not suffice for is left out, later rounds first. Each command is a process of its own with an empty
cache folder; the first round also compiles modules.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from first_view import AUDIT
from large_release import INSTANCES
from measure import RESULTS, run, stay_on_cores, surroundings

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
MARKS = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
SIZES = (5_000, 50_000, 500_000)


@dataclass(frozen=True)
class Row:
    """A line of the table: its name, what is said of it, and the arguments of a command."""

    name: str
    title: str
    command: Sequence[str]
    once: bool = False
    """Whether one round is enough."""


def rows_of(inputs: Path, out: Path) -> Iterator[Row]:
    """The commands of the product, in an order in which each finds the run that it reads."""
    sample, large = (
        [*AUDIT, "run", str(ROOT / "sample_data" / "release_1"), "--hierarchy"],
        out / "large",
    )
    policy, to_sample = (
        inputs / "policy.toml",
        ["icd9cm", "--out", str(out / "sample"), "--overwrite"],
    )
    yield Row("sample", "`audit run`, sample release, HTML and PDF", [*sample, *to_sample])
    yield Row("html", "the same without PDF", [*sample, *to_sample, "--no-pdf"])
    yield Row(
        "report",
        "`audit report` of it, no PDF",
        [*AUDIT, "report", str(out / "sample"), "--no-pdf"],
    )
    judged = ["--policy", str(policy), "--out", str(out / "judged"), "--overwrite", "--no-pdf"]
    yield Row(
        "judge",
        "`audit report --policy` of it, no PDF",
        [*AUDIT, "report", str(out / "sample"), *judged],
    )
    few = [
        str(inputs / "few.csv"),
        "--hierarchy",
        "icd10cm",
        "--out",
        str(out / "few"),
        "--overwrite",
    ]
    yield Row("few", "300 rows under ICD-10-CM, HTML and PDF", [*AUDIT, "run", *few])
    if "AUDIT_DATA" in os.environ:
        data = Path(os.environ["AUDIT_DATA"]) / "audioset"
        read = [str(data / "labels.jsonl"), "--hierarchy", str(data / "ontology.json")]
        read += ["--predictions", str(data / "predictions.jsonl"), "--out", str(out / "audioset")]
        yield Row(
            "audioset",
            "AudioSet with predictions, no PDF",
            [*AUDIT, "run", *read, "--overwrite", "--no-pdf"],
        )
    files = [str(inputs / "release"), "--hierarchy", "icd9cm", "--out", str(large), "--overwrite"]
    yield Row("large", f"{INSTANCES:,} admissions, HTML and PDF", [*AUDIT, "run", *files])
    view = [sys.executable, str(ROOT / "benchmarks" / "first_view.py"), str(large)]
    yield Row("explore", "the first `audit explore` of it: two pages", view)


def others_of(inputs: Path, out: Path) -> Iterator[Row]:
    """Releases of growing size, of this version alone."""
    for size in SIZES:
        columns = ["--hierarchy", "icd9cm", "--id", "instance", "--label", "label"]
        written = ["--out", str(out / "grown"), "--overwrite", "--no-pdf"]
        command = [*AUDIT, "run", str(inputs / f"{size}.csv"), *columns, *written]
        yield Row(f"{size:,}", f"{size:,} admissions, one table, no PDF", command, once=True)
        if size == SIZES[1]:
            yield Row(f"{size:,} in batches", "", [*command, "--engine", "stream"], once=True)


def main() -> None:
    """Make what is read, measure in turns, print and keep the table."""
    options = _options()
    cores, ends = stay_on_cores(), time.monotonic() + 60 * options.minutes
    RESULTS.mkdir(exist_ok=True)
    inputs = _inputs(RESULTS / "inputs")
    kept = RESULTS / "commands.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        trees = dict(_trees(options.before, Path(folder)))
        _refuse_others(trees.values())
        for round_, row, (version, tree) in _turns(inputs, trees, options.rounds):
            if time.monotonic() > ends:
                break
            if (row.name, version, round_) not in _measured(kept):
                line = {"row": row.name, "version": version, "round": round_}
                try:
                    _keep(kept, line | _taken(row, tree, RESULTS / f"out-{version}"))
                except SystemExit as failed:
                    print(failed, flush=True)
    _git("worktree", "prune")
    text = "".join(f"{line}\n" for line in _table(inputs, kept, list(trees), cores))
    print(text)
    if options.page:
        before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
        PAGE.write_text(before + MARKS[0] + text + MARKS[1] + rest.partition(MARKS[1])[2], "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="revision of git to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--minutes", type=float, default=14, help="no measurement starts after these"
    )
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.name}")
    return parser.parse_args()


def _inputs(folder: Path) -> Path:
    """The files that are read; made once, by a child, whose memory no measured process inherits."""
    if not (folder / "size.json").exists():
        folder.mkdir(exist_ok=True)
        script, sizes = str(ROOT / "benchmarks" / "large_release.py"), [*map(str, SIZES)]
        run(["env", f"PYTHONPATH={ROOT}", sys.executable, script, str(folder), *sizes])
    return folder


def _git(*arguments: str) -> str:
    return subprocess.check_output(["git", "-C", str(ROOT), *arguments], text=True).strip()


def _trees(before: str | None, folder: Path) -> Iterator[tuple[str, Path]]:
    """Each version and where it lies, the earlier one first."""
    if before:
        _git("worktree", "add", "--detach", str(folder / "before"), before)
        yield _git("rev-parse", "--short=8", before), folder.resolve() / "before"
    yield _git("describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"), ROOT


def _refuse_others(trees: Iterable[Path]) -> None:
    """End where a tree would run code of another one, or of an installed package."""
    for tree in trees:
        code = "import audit, reports; print(audit.__file__, reports.__file__)"
        found = run(["env", f"PYTHONPATH={tree}", sys.executable, "-c", code], tree).output.split()
        if not all(Path(one).resolve().is_relative_to(tree.resolve()) for one in found):
            sys.exit(f"{tree} would run {' and '.join(found)}")


def _turns(
    inputs: Path, trees: Mapping[str, Path], rounds: int
) -> Iterator[tuple[int, Row, tuple[str, Path]]]:
    """Every measurement, round by round; within one, each row of both versions in turn."""
    last = list(trees)[-1]
    for round_ in range(rounds):
        of_each = zip(
            *(rows_of(inputs, RESULTS / f"out-{version}") for version in trees), strict=True
        )
        for rows in of_each:
            for row, tree in zip(rows, trees.items(), strict=True):
                yield round_, row, tree
        for row in others_of(inputs, RESULTS / f"out-{last}"):
            if round_ == 0 or not row.once:
                yield round_, row, (last, trees[last])


def _taken(row: Row, tree: Path, out: Path) -> dict[str, Any]:
    """What a command took."""
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        variables = {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": cache, "OPENBLAS_NUM_THREADS": "1"}
        set_to = [f"{name}={value}" for name, value in variables.items()]
        taken = run(["env", *set_to, *row.command], tree)
    written = out / row.name
    return {
        "wall": taken.wall,
        "cpu": taken.cpu,
        "peak_mb": taken.peak / 1e6,
        "folder_mb": sum(one.stat().st_size for one in written.rglob("*") if one.is_file()) / 1e6,
        "load": os.getloadavg()[0],
    }


def _keep(kept: Path, line: Mapping[str, Any]) -> None:
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(*(f"{name} {value}" for name, value in line.items() if name in SHOWN), flush=True)


SHOWN = ("row", "version", "round", "cpu", "wall")


def _measured(kept: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    read = [json.loads(line) for line in lines]
    return {(one["row"], one["version"], one["round"]): one for one in read}


def _table(inputs: Path, kept: Path, versions: Sequence[str], cores: int) -> Iterator[str]:
    """The page's part that is measured, line by line."""
    size = json.loads((inputs / "size.json").read_text("utf-8"))
    every = [one for one in _measured(kept).values() if one["version"] in versions]
    loads = sorted(one["load"] for one in every)
    told = ", ".join(
        f"{name} {value}" for name, value in surroundings(cores).items() if name != "load"
    )
    load = f"load {loads[0]:.0f} to {loads[-1]:.0f}" if loads else "nothing measured yet"
    yield f"{told}; {load}."
    yield f"The release: {', '.join(f'{value:,} {name}' for name, value in size.items())}."
    yield ""
    old, new = ([*versions, versions[0]][0], versions[-1])
    heads = ("processor seconds, median (least)", f"before ({old})", f"now ({new})", "seconds")
    yield f"| {' | '.join(heads)} | peak, MB | folder, MB | rounds |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    found = {
        version: {
            name: [one for one in every if one["row"] == name and one["version"] == version]
            for name in {one["row"] for one in every}
        }
        for version in versions
    }
    out = RESULTS / f"out-{new}"
    for row in (*rows_of(inputs, out), *others_of(inputs, out)):
        now = found[new].get(row.name, [])
        if now:
            earlier = found[old].get(row.name, []) if old != new else []
            yield _line(row.title or row.name, earlier, now)
        if row.name == "explore" and now and found[new].get("large"):
            both = [
                found.get(version, {}).get(name, [])
                for version in (old if old != new else "", new)
                for name in ("large", "explore")
            ]
            yield _together("`audit run` and the first `audit explore` together", *both)
    yield ""
    yield from _growth(found[new])


def _line(
    title: str, earlier: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> str:
    folder = max(one["folder_mb"] for one in now)
    cells = [
        title,
        _seconds(earlier),
        _seconds(now),
        f"{statistics.median(one['wall'] for one in now):.1f}",
        f"{max(one['peak_mb'] for one in now):,.0f}",
        f"{folder:.1f}" if folder else "",
        str(len(now)),
    ]
    return f"| {' | '.join(cells)} |"


def _seconds(taken: Sequence[Mapping[str, Any]]) -> str:
    seconds = [one["cpu"] for one in taken]
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f})" if seconds else ""


def _together(title: str, *taken: Sequence[Mapping[str, Any]]) -> str:
    before, now = (
        sum(statistics.median(one["cpu"] for one in part) for part in parts) if all(parts) else None
        for parts in (taken[:2], taken[2:])
    )
    return f"| {title} | {'' if before is None else f'{before:.1f}'} | {now:.1f} | | | | |"


def _growth(now: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    for small, large in pairwise(SIZES):
        names = f"{small:,}", f"{large:,}"
        if small == SIZES[1]:
            names = f"{small:,} in batches", names[1]
        if all(now.get(name) for name in names):
            one, other = (now[name][0]["cpu"] for name in names)
            power = math.log(other / one) / math.log(large / small)
            told = f"{names[0]} to {names[1]} admissions"
            yield f"Growth of processor time from {told}: exponent {power:.2f}."


if __name__ == "__main__":
    main()

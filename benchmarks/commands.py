"""Times the commands of the product, in turns with an earlier version, and peers beside them.

``python -m benchmarks.commands [--before REVISION] [--rounds N]`` prints the table and writes it
into docs/performance.md. Each measurement is a process of its own with an empty cache folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers import PEERS
from benchmarks.releases import ADMISSIONS, ROWS, SIZES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
MARKS = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
AUDIT = [sys.executable, "-m", "hierarchy_audit"]
RUN = [*AUDIT, "run"]
CORES = 2
COLUMNS = ["--hierarchy", "icd9cm", "--id", "instance", "--label", "label"]
Taken = tuple[float, float]
"""Processor seconds of a process and its children, and its peak of memory in MB."""


def rows_of(inputs: Path, out: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """What is measured of each version: a title and the arguments of a command."""
    to, sample = ["--overwrite", "--out"], [str(ROOT / "sample_data" / "release_1")]
    sample += ["--hierarchy", "icd9cm", *to, str(out / "sample")]
    report = [*AUDIT, "report", str(out / "sample"), "--no-pdf"]
    judged = [*report, "--policy", str(inputs / "policy.toml"), *to, str(out / "judged")]
    few = [str(inputs / "few.csv"), "--hierarchy", "icd10cm", *to, str(out / "few")]
    large = [str(inputs / f"{ADMISSIONS}.csv"), *COLUMNS, *to, str(out / "large")]
    yield "sample, HTML and PDF", [*RUN, *sample]
    yield "sample, no PDF", [*RUN, *sample, "--no-pdf"]
    yield "`audit report` of it", report
    yield "`audit report --policy` of it", judged
    yield "300 rows of ICD-10-CM, HTML and PDF", [*RUN, *few]
    if "AUDIT_DATA" in os.environ:
        data = Path(os.environ["AUDIT_DATA"]) / "audioset"
        read = [str(data / "labels.jsonl"), "--hierarchy", str(data / "ontology.json"), "--no-pdf"]
        read += ["--predictions", str(data / "predictions.jsonl"), *to, str(out / "audioset")]
        yield "AudioSet with predictions, no PDF", [*RUN, *read]
    yield f"{ADMISSIONS:,} admissions, HTML and PDF", [*RUN, *large]


def grown_of(inputs: Path, out: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Releases of growing size, of this version alone, and what peers take for a part of it."""
    to = [*COLUMNS, "--out", str(out / "grown"), "--overwrite", "--no-pdf"]
    for size in SIZES:
        yield f"{size:,} admissions, no PDF", [*RUN, str(inputs / f"{size}.csv"), *to]
    yield f"{ROWS:,} rows, no PDF", [*RUN, str(inputs / f"{ROWS}.csv"), *to]
    script, table = str(ROOT / "benchmarks" / "peers.py"), str(inputs / f"{ADMISSIONS}.csv")
    for name, (does, _) in PEERS.items():
        yield f"{name}: {does}", [sys.executable, script, name, table]


def main() -> None:
    """Make what is read, measure in turns, print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="revision of git to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory() as folder:
        inputs, trees = Path(folder) / "inputs", dict(_trees(asked.before, Path(folder)))
        inputs.mkdir()
        compiled = [sys.executable, "-m", "compileall", "-q", "audit", "reports"]
        for tree in trees.values():  # as an installed package is
            subprocess.run(compiled, cwd=tree, check=True)
        (inputs / "policy.toml").write_text('[severities]\nunexpected_pair = "note"\n', "utf-8")
        measured([sys.executable, str(ROOT / "benchmarks" / "releases.py"), str(inputs)], ROOT)
        taken: dict[tuple[str, str], list[Taken]] = {}
        for name, tree, title, command in _turns(inputs, trees, asked.rounds):
            took = measured(command, tree)
            taken.setdefault((title, name), []).append(took)
            print(f"{name} {title}: {took[0]:.1f} s, {took[1]:,.0f} MB", flush=True)
    subprocess.run(["git", "-C", str(ROOT), "worktree", "prune"], check=True)
    text = "".join(f"{line}\n" for line in _table(taken, list(trees)))
    before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
    PAGE.write_text(before + MARKS[0] + text + MARKS[1] + rest.partition(MARKS[1])[2], "utf-8")
    print(text)


def _trees(before: str | None, folder: Path) -> Iterator[tuple[str, Path]]:
    """Each version and where it lies, the earlier one first."""
    git = ["git", "-C", str(ROOT)]
    if before:
        place = folder / "before"
        subprocess.run([*git, "worktree", "add", "--detach", str(place), before], check=True)
        short = subprocess.check_output([*git, "rev-parse", "--short=8", before], text=True)
        yield short.strip(), place
    told = [*git, "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    yield subprocess.check_output(told, text=True).strip(), ROOT


def _turns(
    inputs: Path, trees: Mapping[str, Path], rounds: int
) -> Iterator[tuple[str, Path, str, Sequence[str]]]:
    """Every measurement: in each round each row of both versions in turn, and once what grows."""
    for _ in range(rounds):
        for rows in zip(*(rows_of(inputs, inputs.parent / name) for name in trees), strict=True):
            yield from ((*tree, *row) for tree, row in zip(trees.items(), rows, strict=True))
    name, tree = [*trees.items()][-1]
    yield from ((name, tree, *row) for row in grown_of(inputs, inputs.parent / name))


def measured(command: Sequence[str], tree: Path) -> Taken:
    """Run a command of the code in a tree; SystemExit with its last words if it fails."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile() as output:
        ours = {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": cache, "OPENBLAS_NUM_THREADS": "1"}
        own = os.environ | ours
        child = subprocess.Popen(command, cwd=tree, env=own, stdout=output, stderr=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(command)} ended with {child.returncode}: {output.read()[-300:]!r}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def _table(
    taken: Mapping[tuple[str, str], Sequence[Taken]], versions: Sequence[str]
) -> Iterator[str]:
    """The page's part that is measured, line by line."""
    told = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "polars"))
    old, new = versions[0] if len(versions) > 1 else "", versions[-1]
    yield f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {told}."
    yield ""
    yield f"| processor seconds, median (least) | before {old} | now ({new}) | peak, MB | rounds |"
    yield "|---|---:|---:|---:|---:|"
    for title in dict.fromkeys(title for title, _ in taken):
        earlier, now = (taken.get((title, one), []) for one in (old, new))
        peak = max(peak for _, peak in now)
        yield f"| {title} | {_seconds(earlier)} | {_seconds(now)} | {peak:,.0f} | {len(now)} |"


def _seconds(taken: Sequence[Taken]) -> str:
    seconds = [seconds for seconds, _ in taken]
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f})" if seconds else ""


if __name__ == "__main__":
    main()

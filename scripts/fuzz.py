"""Give every reader damaged files, and keep those that end in neither a result nor an AuditError.

    python scripts/fuzz.py [--inputs 10000] [--only labels] [--seed 0] [--keep FOLDER]

Each reader has a process of its own, so that one that dies is told too. Exit status 1: a reader
stumbled.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.fuzzed import READERS, attempts


def main() -> int:
    """Fuzz one reader here, or each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--only", choices=[reader.name for reader in READERS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where files that were stumbled over stay")
    asked = parser.parse_args()
    keep = asked.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))
    if asked.only:
        return _one(asked.only, asked.inputs, asked.seed, keep)
    failed = 0
    for reader in READERS:
        command = [sys.executable, __file__, "--only", reader.name, "--keep", str(keep)]
        command += ["--inputs", str(asked.inputs), "--seed", str(asked.seed)]
        status = subprocess.run(command, check=False).returncode
        if status not in (0, 1):
            print(f"{reader.name}: the process ended with status {status}; see {keep}")
        failed += status != 0
    return int(failed > 0)


def _one(name: str, inputs: int, seed: int, keep: Path) -> int:
    reader = next(reader for reader in READERS if reader.name == name)
    folder = keep / f"{name}-{seed}"
    folder.mkdir(parents=True)
    started, became = time.monotonic(), Counter[str]()
    for attempt in attempts(reader, inputs, seed, folder):
        became["stumbled" if attempt.kept else "refused" if attempt.error else "read"] += 1
        if attempt.kept:
            error = attempt.error
            print(f"{attempt.kept}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    seconds = time.monotonic() - started
    print(
        f"{name}: {inputs:,} inputs, {became['read']:,} read, {became['refused']:,} refused, "
        f"{became['stumbled']:,} stumbled over, {seconds:.0f} s",
        flush=True,
    )
    return int(became["stumbled"] > 0)


if __name__ == "__main__":
    sys.exit(main())

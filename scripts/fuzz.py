"""Give every reader damaged files, and keep those that end in neither a result nor an AuditError.

    python scripts/fuzz.py [--inputs 10000] [--only labels] [--seed 0] [--structured]

A child process reads them, so that one that dies is told too. Exit status 1: a reader stumbled.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.structured import READERS, mutant, outcomes, plain


def main() -> int:
    """Fuzz one reader, or each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--only", choices=[reader.name for reader in READERS])
    parser.add_argument("--structured", action="store_true", help="damage what values mean")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where files that were stumbled over stay")
    asked = parser.parse_args()
    keep = asked.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))
    damage, stumbled = mutant if asked.structured else plain, 0
    for reader in (one for one in READERS if asked.only in (None, one.name)):
        folder = keep / f"{reader.name}-{asked.seed}"
        folder.mkdir(parents=True)
        became = Counter[str]()
        for number, what in outcomes(reader, asked.inputs, asked.seed, folder, damage):
            became[what if what in ("read", "refused") else "stumbled over"] += 1
            if what not in ("read", "refused"):
                print(f"{folder}: {number}: {what[:200]}", flush=True)
        print(f"{reader.name}: {', '.join(f'{n:,} {what}' for what, n in became.items())}")
        stumbled += became["stumbled over"]
    return int(stumbled > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Try a full disk, a refused permission and a kill at every write of every command that writes.

    python scripts/try_faults.py [--only SCENE] [--sample 20] [--seed 0]

Exit status 1: something was lost, half written or left behind.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.faults import FAULTS, Scene, fault_at, load, scenes, writes_of


def main() -> int:
    """Try all, and tell what is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="name of a scene")
    parser.add_argument("--sample", type=int, help="how many are tried; else all")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    wrong, tries = 0, list[tuple[Scene, Path, str, int, bytes]]()
    load()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        for scene in scenes(Path(name)):
            if asked.only and scene.name not in asked.only:
                continue
            kept = Path(name) / f"kept {scene.name}"
            if scene.out.exists() and not kept.exists():
                shutil.copytree(scene.out.parent, kept)
            count, whole = writes_of(scene)
            _as_before(scene, kept)
            print(f"{scene.name}: {count} writes", flush=True)
            tries += [(scene, kept, fault, at, whole) for fault in FAULTS for at in range(count)]
        some = random.Random(asked.seed).sample(range(len(tries)), asked.sample or len(tries))
        for scene, kept, fault, at, whole in (tries[number] for number in sorted(some)):
            for one in fault_at(scene, fault, at, whole):
                print(f"{scene.name}, {fault} at write {at}: {one}", flush=True)
                wrong += 1
            _as_before(scene, kept)
    print(f"{asked.sample or len(tries):,} of {len(tries):,} faults tried, {wrong} wrong")
    return int(wrong > 0)


def _as_before(scene: Scene, kept: Path) -> None:
    shutil.rmtree(scene.out.parent, ignore_errors=True)
    if kept.exists():
        shutil.copytree(kept, scene.out.parent)


if __name__ == "__main__":
    sys.exit(main())

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
from collections.abc import Sequence
from itertools import groupby
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
    wrong = 0
    load()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        some = [scene for scene in scenes(Path(name)) if scene.name in (asked.only or [scene.name])]
        counts = [_counted(scene, Path(name)) for scene in some]
        tries = [
            (scene, fault, at, whole)
            for scene, (count, whole) in zip(some, counts, strict=True)
            for fault in FAULTS
            for at in range(count)
        ]
        chosen: Sequence[int] = range(len(tries))
        if asked.sample:
            chosen = sorted(random.Random(asked.seed).sample(chosen, asked.sample))
        for scene, own in groupby(chosen, lambda number: tries[number][0].name):
            found = [_tried(*tries[number], Path(name)) for number in own]
            wrong += sum(found)
            print(f"{scene}: {len(found)} faults tried, {sum(found)} wrong", flush=True)
    print(f"{len(chosen):,} of {len(tries):,} faults tried, {wrong} wrong")
    return int(wrong > 0)


def _counted(scene: Scene, folder: Path) -> tuple[int, bytes]:
    """What `writes_of` says of a command; its place is then as it was."""
    kept = folder / f"kept {scene.name}"
    if scene.out.exists() and not kept.exists():
        shutil.copytree(scene.out.parent, kept)
    counted = writes_of(scene)
    _as_before(scene, kept)
    print(f"{scene.name}: {counted[0]} writes", flush=True)
    return counted


def _tried(scene: Scene, fault: str, at: int, whole: bytes, folder: Path) -> int:
    """How much is wrong after a fault."""
    told = list(fault_at(scene, fault, at, whole))
    for one in told:
        print(f"{scene.name}, {fault} at write {at}: {one}", flush=True)
    _as_before(scene, folder / f"kept {scene.name}")
    return len(told)


def _as_before(scene: Scene, kept: Path) -> None:
    shutil.rmtree(scene.out.parent, ignore_errors=True)
    if kept.exists():
        shutil.copytree(kept, scene.out.parent)


if __name__ == "__main__":
    sys.exit(main())

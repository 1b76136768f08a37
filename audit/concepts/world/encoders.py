"""Networks trained on the world, their representations and figures, kept so that work goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from audit.base.disk import alone_in, on_disk, written_whole
from audit.base.errors import OutputError
from audit.base.files import read_json
from audit.base.machine import require_package
from audit.base.progress import Progress, silent
from audit.concepts.measure import measure_concepts
from audit.concepts.reading.writing import write_representations
from audit.concepts.world.classes import world_facets
from audit.concepts.world.images import CORRELATIONS, SIDE, minimal_pairs, training_images
from audit.concepts.world.networks import Kind, encoded, trained, untrained
from audit.concepts.world.statements import figures_of

JUDGED = 1_000_003
"""Added to a seed for the images that a network is judged on."""
SizeName: TypeAlias = Literal["small", "full"]


@dataclass(frozen=True)
class Size:
    """How much is trained and judged.

    Args:
        per_class: Images of each class that a network learns from.
        sets: Sets of minimal pairs that it is judged on, 18 images each.
        side: Pixels of a side.
        epochs: Times that a network sees its images.
        networks: Networks of each kind, each with images and weights of its own.
        splits: Resampled splits of the tests, for each network.
        correlations: How often a colour tells the class, where it does.
        coloured: Kinds of network that learn from colours.
    """

    per_class: int
    sets: int
    side: int
    epochs: int
    networks: int
    splits: int
    correlations: tuple[float, ...]
    coloured: tuple[Kind, ...]

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The networks to be trained, those without colours first."""
        sorts = [(None, KINDS), *((one, self.coloured) for one in self.correlations)]
        tasks = [
            Task(kind, seed, correlation)
            for seed in range(self.networks)
            for correlation, kinds in sorts
            for kind in kinds
        ]
        return tuple(sorted(tasks, key=lambda task: task.correlation is not None))


KINDS: tuple[Kind, ...] = ("CNN", "ResNet")
SIZES: Mapping[SizeName, Size] = MappingProxyType(
    {
        "small": Size(300, 40, 48, 6, 3, 2, (0.9, 1.0), ("CNN",)),
        "full": Size(1_000, 1_000, SIDE, 20, 5, 5, CORRELATIONS, KINDS),
    }
)
"""``full`` has the paper's numbers of images."""


@dataclass(frozen=True)
class Task:
    """One network.

    Args:
        kind: What network.
        seed: Of its images and weights.
        correlation: How often a colour tells the class in its images; None: all are black.
    """

    kind: Kind
    seed: int
    correlation: float | None = None

    @property
    def name(self) -> str:
        """Name of its files."""
        colour = "" if self.correlation is None else f"-colour-{100 * self.correlation:.0f}"
        return f"{self.kind}-{self.seed}{colour}"


Figures: TypeAlias = Mapping[str, Any]
"""Of one network: ``right``, the share of minimal pairs that it names rightly; and of one without
colours ``statements``, what `figures_of` says."""


def make_world(name: SizeName, folder: Path, progress: Progress = silent) -> dict[Task, Figures]:
    """Train all networks of a size, and keep what they give, network by network.

    Files of a network that are there already are taken as they are, so that work that was
    interrupted goes on. Each network has its figures, ``NAME.json``; one without colours also its
    representations, ``NAME.npz``, those before it was trained, ``NAME-untrained.npz``, and all
    share ``facets.csv``, so that `audit concepts` audits it.

    Raises:
        InputError: If torch or scikit-learn is not installed.
        OutputError: If the disk has no room for the representations, or another process works here.
    """
    require_package("torch", "to train the networks of the paper's world")
    require_package("sklearn", "to test concepts")
    size = SIZES[name]
    with alone_in(folder):
        left = [task for task in size.tasks if not (folder / f"{task.name}.json").exists()]
        _require_room(size, left, folder)
        with written_whole(folder / "facets.csv") as passing:
            world_facets().table.write_csv(passing)
        for done, task in enumerate(left, start=len(size.tasks) - len(left)):
            progress("networks", done, len(size.tasks), "networks")
            figures = _made(task, size, folder, progress)
            with written_whole(folder / f"{task.name}.json", lasting=True) as passing:
                passing.write_text(json.dumps(figures, indent=1), "utf-8")
    return dict(kept(name, folder))


def kept(name: SizeName, folder: Path) -> Iterator[tuple[Task, Figures]]:
    """The figures of the networks that are there."""
    for task in SIZES[name].tasks:
        path = folder / f"{task.name}.json"
        if path.exists():
            yield task, read_json(path)


def _require_room(size: Size, left: list[Task], folder: Path) -> None:
    """Refuse to begin where the representations will not fit on the disk."""
    needed = 0
    for kind in {task.kind for task in left if task.correlation is None}:
        one = minimal_pairs(1, 0, side=size.side)
        layers = encoded(kind, untrained(kind, 0, size.side), one).layers.values()
        networks = sum(task.kind == kind and task.correlation is None for task in left)
        needed += 2 * networks * size.sets * sum(layer.nbytes for layer in layers)
    with on_disk(folder):
        free = shutil.disk_usage(folder).free
    if needed > free:
        raise OutputError(
            "room on the disk for the representations is required",
            found=f"{needed / 1e9:,.1f} GB to be written, and {free / 1e9:,.1f} GB free",
            where=folder,
            hint="free some, name another folder, or take --size small",
        )


def _made(task: Task, size: Size, folder: Path, progress: Progress) -> Figures:
    coloured = task.correlation is not None
    images = training_images(
        size.per_class, task.seed, correlation=task.correlation, side=size.side
    )
    pairs = minimal_pairs(size.sets, JUDGED + task.seed, coloured=coloured, side=size.side)
    network = trained(task.kind, images, task.seed, size.epochs, progress=progress)
    read = encoded(task.kind, network, pairs, progress)
    right = (read.instances["prediction"] == read.instances["labels"].list.first()).mean()
    if coloured:
        return {"right": right}
    before = encoded(task.kind, untrained(task.kind, JUDGED + task.seed, size.side), pairs)
    measured = measure_concepts(
        read, world_facets(), baseline=before, seeds=size.splits, progress=progress
    )
    for name, of in ((task.name, read), (f"{task.name}-untrained", before)):
        with written_whole(folder / f"{name}.npz") as passing:
            write_representations(of, passing.with_suffix(".npz"))
            passing.with_suffix(".npz").replace(passing)
    return {"right": right, "statements": figures_of(measured)}

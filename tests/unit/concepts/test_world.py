"""The paper's world: what is said of its statements, and work on it that goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sklearn")

from audit.base.errors import OutputError
from audit.concepts.measure import measure_concepts
from audit.concepts.representations import Representations
from audit.concepts.world import networks
from audit.concepts.world.images import world_facets
from audit.concepts.world.networks import SIZES, Size, Task, kept, make_world
from audit.concepts.world.page import page
from audit.concepts.world.statements import STATEMENTS, figures_of, of_colours
from fixtures.made_up_encoders import constant_answer, pure_noise, symbolic_with_copy

ROOT = Path(__file__).parents[3]
PER_CLASS = 30
TINY = Size(6, 4, 24, 1, 2, 1, (0.9, 1.0), ("CNN",))


def figures(last: Representations) -> Any:
    """Figures of an encoder behind a first layer that says nothing."""
    first = pure_noise(per_class=PER_CLASS, seed=9).layers["last"]
    layers = {"first": first, **last.layers}
    measured = measure_concepts(Representations(layers, last.instances), world_facets(), seeds=1)
    return json.loads(json.dumps(figures_of(measured)))


@pytest.mark.slow
def test_figures_are_those_of_encoders_of_which_the_truth_is_known() -> None:
    constant, copied = figures(constant_answer(PER_CLASS)), figures(symbolic_with_copy(PER_CLASS))
    assert constant["grounded"]["shown"] == {"right": pytest.approx(1 / 18)}
    assert {name for name, one in copied.items() if one["holds"]} >= {
        "seen", "removed", "left", "causal"
    }  # fmt: skip
    text = page({"small": {Task("CNN", 0): {"statements": constant},
                           Task("ResNet", 0): {"statements": copied}}})  # fmt: skip
    assert "CNN: right 0.06; 0 of 1. ResNet: " in text


def test_eighteen_statements_stand_on_the_page_with_why_one_may_not_hold() -> None:
    shown = {one.name: {"shown": {"x": 0.25}, "holds": True} for one in STATEMENTS if one.figure}
    trained: dict[Task, Any] = {
        Task("CNN", seed): {"right": 0.5, "statements": shown} for seed in (0, 1)
    }
    colours = {Task("CNN", seed, at): {"right": right} for seed in (0, 1)
               for at, right in ((0.9, 0.25 + seed / 2), (1.0, 0.5))}  # fmt: skip
    interrupted = {Task("CNN", 2, 0.9): {"right": 0.1}}

    lines = page({"small": trained | colours | interrupted}).splitlines()

    rows = [re.split(r" \| ", line.strip("| ")) for line in lines if re.match(r"\| \d+ \|", line)]
    assert [int(row[0]) for row in rows] == list(range(1, 19))
    assert [row[2] for row in rows] == [one.says for one in STATEMENTS]
    assert all(len(row) == 5 and row[4] for row in rows)
    assert [row[3] for row in rows].count("not tested") == 5
    assert rows[1][3].endswith("90 % 0.50 (0.25 to 0.75), 100 % 0.50; 1 of 2")
    assert sum(row[3] == "CNN: x 0.25; 2 of 2" for row in rows) == 12
    assert not of_colours({0.9: 0.5, 1.0: 0.5}).holds


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Networks of a tiny size are made without training, but for one at which work stops."""
    made: list[Task] = []

    def one(task: Task, *_: object) -> dict[str, float]:
        made.append(task)
        if len(made) == 3:
            raise KeyboardInterrupt
        return {"right": len(made)}

    monkeypatch.setattr(networks, "SIZES", {"small": TINY})
    monkeypatch.setattr(networks, "require_package", lambda *_: None)
    monkeypatch.setattr(networks, "_require_room", lambda *_: None)
    monkeypatch.setattr(networks, "_made", one)
    return made


def test_work_that_was_interrupted_goes_on(tmp_path: Path, tiny: list[Task]) -> None:
    with pytest.raises(KeyboardInterrupt):
        make_world("small", tmp_path)
    steps: list[int] = []
    results = make_world("small", tmp_path, lambda _, done=0, *more: steps.append(done))

    assert list(results) == list(TINY.tasks)
    assert tiny[:2] + tiny[3:] == list(TINY.tasks)
    assert steps == list(range(2, len(TINY.tasks)))
    assert results[TINY.tasks[0]] == {"right": 1}


def test_a_size_that_the_disk_cannot_hold_is_refused_before_work_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2_000_000))
    with pytest.raises(OutputError, match=r"[234]\.\d GB to be written, and 0.0 GB free"):
        make_world("full", tmp_path / "a" / "world")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_networks_are_trained_and_can_be_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from audit.concepts.representation_files import read_representations

    tiny = Size(3, 8, 24, 1, 1, 1, (0.9, 1.0), ("CNN",))
    monkeypatch.setattr(networks, "SIZES", {"small": tiny})
    results = make_world("small", tmp_path)
    assert len(results) == len(tiny.tasks) == 4
    for name in ("ResNet-0.npz", "ResNet-0-untrained.npz"):
        assert len(read_representations(tmp_path / name).instances) == 18 * tiny.sets
    assert sorted(results[Task("CNN", 0)]["statements"]) == sorted(
        one.name for one in STATEMENTS if one.figure
    )


def test_small_and_full_are_the_sizes() -> None:
    assert {name: len(size.tasks) for name, size in SIZES.items()} == {"small": 12, "full": 50}


def test_the_page_of_the_docs_is_that_of_the_networks_that_are_kept() -> None:
    figures = ROOT / "validation" / "concepts_world"
    results = {size: dict(kept(size, figures / size)) for size in SIZES}
    assert page(results) == (ROOT / "docs" / "concepts_benchmark.md").read_text("utf-8")

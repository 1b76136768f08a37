"""Guards of single checks at work: what a check tells when one of them is switched off.

One function or constant of the running product is replaced at a time, or one line of the policy, on
a scene where that guard has most to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import audit.checks.rules.habits.sibling_shift
import audit.checks.rules.model_habit
import audit.checks.rules.not_specific
import audit.checks.rules.residual_overuse
import audit.checks.rules.split_leak
import audit.checks.shared.labels_as_written
import audit.counting.residual_nodes
from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.two_rates import MeanLoss, mean_loss
from audit.policy.policy import Policy
from audit.policy.statements import BranchRule
from validation.scene import Seen
from validation.scenes import seen


@dataclass(frozen=True)
class SceneGuard:
    """A guard, and a scene where it has most to do.

    Args:
        name: What it is called.
        scene: The scene.
        instead: What takes its place while it is off.
        off: Replaces what runs.
        policy: Lines of the policy that take its place.
    """

    name: str
    scene: str
    instead: str
    off: Callable[[], AbstractContextManager[object]] = nullcontext
    policy: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GuardedScene:
    """One release with all guards at work, and with one of them off."""

    guard: str
    on: Seen
    off: Seen


def guarded_scene(number: int) -> GuardedScene:
    """Audit a release twice; guards take turns, so that each has the releases 0, 1, 2 and so on."""
    guard, which = SCENE_GUARDS[number % len(SCENE_GUARDS)], number // len(SCENE_GUARDS)
    return GuardedScene(guard.name, seen(guard.scene, which), without(guard, which))


def without(guard: SceneGuard, number: int) -> Seen:
    """Audit a release with a guard off."""
    with guard.off():
        return seen(guard.scene, number, guard.policy)


def _each_on_its_own(p_value: FloatArray, family: int) -> FloatArray:
    return p_value


def _none_expected(*of_split: object) -> tuple[float, float]:
    return 0.0, 0.0


def _nothing_reviewed(*of_hierarchy: object) -> dict[int, object]:
    return {}


def _every_code_set(*of_labels: object) -> set[str]:
    return {"diagnoses", "procedures"}


def _all_told(carried: object, found: Sized, *limits: object, **named: object) -> IntArray:
    return np.arange(len(found))


def _no_effect(*of_table: object) -> float:
    return 1.0


def _every_label_alone(
    sums: FloatArray, sizes: FloatArray, here: IntArray, there: IntArray, units_there: int
) -> MeanLoss | None:
    depths = np.repeat(np.arange(len(here), dtype=np.float64), here)
    return mean_loss(depths, np.ones(len(depths)), here, there, int(there.sum()))


_EVERY_BRANCH = BranchRule(branches=("*", "*"), rule="watch", reason="every two are watched")

SCENE_GUARDS = (
    SceneGuard(
        "readings of code sets in use",
        "numbers with decimals, one unknown table",
        "zeros are put back as in any code set",
        partial(
            patch.object, audit.checks.shared.labels_as_written, "_code_sets_shown", _every_code_set
        ),
    ),
    SceneGuard(
        "false discoveries among parents",
        "all parents at the limit, null",
        "each parent is tested on its own",
        partial(
            patch.object,
            audit.checks.rules.residual_overuse,
            "benjamini_hochberg",
            _each_on_its_own,
        ),
    ),
    SceneGuard(
        "residual nodes read by hand",
        "titles that only sound residual, null",
        "titles alone decide",
        partial(patch.object, audit.counting.residual_nodes, "reviewed", _nothing_reviewed),
    ),
    SceneGuard(
        "limit of the loss of depth",
        "labels cut less than is told, null",
        "any loss beyond chance is told (`depth_loss = 0`)",
        policy={"depth_loss": Policy().depth_loss.model_copy(update={"value": 0.0})},
    ),
    SceneGuard(
        "persons, not labels, are drawn",
        "few persons with habits, null",
        "every label counts as drawn by itself",
        partial(patch.object, audit.checks.rules.not_specific, "mean_loss", _every_label_alone),
    ),
    SceneGuard(
        "records of one person",
        "sites whose patients come again, null",
        "every record counts as drawn by itself",
        partial(patch.object, audit.checks.rules.habits.sibling_shift, "design_effect", _no_effect),
    ),
    SceneGuard(
        "pairs that rules ask for",
        "a pair that a rule asks for, null",
        "no rule is known",
        policy={"companions": ()},
    ),
    SceneGuard(
        "branches that no rule speaks of",
        "branches without a rule, null",
        "every two branches are watched",
        policy={"branch_rules": (_EVERY_BRANCH,)},
    ),
    SceneGuard(
        "what a random split leaves unseen",
        "a random split, null",
        "no unseen label is expected",
        partial(patch.object, audit.checks.rules.split_leak, "_by_chance", _none_expected),
    ),
    SceneGuard(
        "one phenomenon told once",
        "a habit made stronger",
        "every pair that the model has more often is told",
        partial(patch.object, audit.checks.rules.model_habit, "representatives", _all_told),
    ),
    SceneGuard(
        "severity by weight",
        "one stray code",
        "every error counts as one (`error_share = 0`)",
        policy={"error_share": Policy().error_share.model_copy(update={"value": 0.0})},
    ),
)
"""All guards, in the order of the scenes."""

"""Findings of neighbouring runs: which are new, gone, or persist, as far as the runs show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

Step: TypeAlias = Literal["new", "gone", "persisting", "appeared", "disappeared", "not_asked"]
STEPS: tuple[Step, ...] = ("new", "gone", "persisting", "appeared", "disappeared", "not_asked")
"""What becomes of a finding from one run to the next.

``appeared`` and ``disappeared`` are said where the other run has findings of the check that it does
not list, folded ones or those beyond the policy's limit, so that the finding may be one of them.
``not_asked``: the check did not run in one of the two.
"""

_Check: TypeAlias = Mapping[str, Any]


def ran(check: _Check | None) -> bool:
    """Whether a run has a check, and it ran."""
    return check is not None and check["status"] not in ("error", "not_applicable")


def steps_of(old: _Check | None, new: _Check | None) -> dict[str, Step]:
    """What becomes of every finding of a check from one run to the next, by the finding's id.

    Args:
        old: The check as the earlier run shares it; None if the run does not have it.
        new: The same of the later run.
    """
    before, after = _ids(old), _ids(new)
    asked = ran(old) and ran(new)
    steps: dict[str, Step] = {}
    for one in (*after, *(one for one in before if one not in after)):
        if one in before and one in after:
            steps[one] = "persisting"
        elif not asked:
            steps[one] = "not_asked"
        elif one in after:
            steps[one] = "appeared" if _unlisted(old) else "new"
        else:
            steps[one] = "disappeared" if _unlisted(new) else "gone"
    return steps


def counted_steps(steps: Sequence[Step]) -> dict[str, int]:
    """Number of findings of each step."""
    return {step: sum(one == step for one in steps) for step in STEPS}


def _ids(check: _Check | None) -> dict[str, None]:
    return {} if check is None else {finding["id"]: None for finding in check["findings"]}


def _unlisted(check: _Check | None) -> bool:
    return check is not None and bool(check["folded"] or check["not_shown"])

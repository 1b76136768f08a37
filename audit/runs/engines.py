"""How data are counted: what batches and other engines lack, and what is told of their choice."""

from __future__ import annotations

from collections.abc import Sequence

from audit.base.errors import InputError
from audit.base.readings import Reading
from audit.policy.policy import KEYS_OF_COLUMNS, Policy
from audit.runs.settings import MANY_ROWS, Settings


def not_counted(settings: Settings, policy: Policy | None, keep_instances: bool) -> list[str]:
    """The options that are given, and ask for what counts do not hold."""
    options: dict[str, object] = {
        "--sql or --table": settings.counting == "spark" and (settings.sql or settings.table),
        "--group": settings.group,
        "--split": settings.split,
        "--predictions": settings.predictions,
        "--classes": settings.classes,
        "--changes": settings.changes,
        "--keep-instances": keep_instances,
        "aggregation of the policy": policy and policy.aggregation != "descendants",
        f"--strata, or {KEYS_OF_COLUMNS} of the policy": policy and policy.columns,
    }
    return [option for option, value in options.items() if value]


def refuse_not_counted(given: Sequence[str]) -> None:
    """Raise InputError if there are options from `not_counted`."""
    if given:
        raise InputError(
            "data that are only counted are audited without their groups, splits and instances",
            found=", ".join(given),
            hint="leave these out, or audit in memory: without --memory and --engine",
        )


def as_counted(settings: Settings, lacking: Sequence[str], *, in_batches: bool) -> Reading:
    """What is told of an audit of `MANY_ROWS` rows or more for which no engine was named."""
    many = f"the files have some {settings.rows:,} rows, and {MANY_ROWS:,} or more are many"
    if in_batches:
        said = "rows are counted in batches, without the checks that look at single instances"
        return Reading(said, many, settings.rows, "--engine memory")
    why = f"batches lack {', '.join(lacking)}" if lacking else "batches refuse these rows"
    otherwise = "leave these out" if lacking else "--engine stream says what batches require"
    return Reading("all rows are held in memory", f"{many}, but {why}", settings.rows, otherwise)

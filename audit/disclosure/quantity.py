"""Suppression of a single number, given the totals that it is part of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from audit.disclosure.digits import Range, in_digits, in_proportion

Shown: TypeAlias = int | float | str | None
"""A value as published: a number, a bound such as ``<11``, or null where it is withheld."""

BESIDE = "beside"
"""Source name for counts shown elsewhere that a number depends on, such as those of other pairs."""
WHOLE = "whole"
"""Source name for the finding's own count, in a line of its breakdown."""
AT_MOST = "at most"
"""Name of the most that a line's instances can be by numbers that are shown elsewhere."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a finding's evidence, with what is needed to publish it safely.

    Args:
        value: The number itself.
        kind: ``count`` of instances or groups; ``derived`` from counts; ``exempt`` (rows of the
            ledger, totals of the release, limits of the policy); ``coarse``, a count that is shown
            in steps of ``min_cell`` (`shown_in_steps`); ``digits``, a number beside such a count;
            ``proportional``, a number that grows with a count (`in_proportion`); ``unnamed``, a
            number of which nobody says what it counts: it is withheld.
        totals: For a count: totals that it is part of; the remainders are protected as cells too.
            For ``digits``: the count in steps that it stands beside, and the total of this. For
            ``proportional``: the count that it grows with.
        sources: For a derived value: names in the same evidence of the counts that could be
            reconstructed from it; `BESIDE` and `WHOLE` are counts shown elsewhere. For a count: the
            cell that it counts, as `count_of` names it, where the check is not one of ours.
        untold: For a count: totals that it is part of, and that no bound may tell; for a coarse
            one in place of the total.
    """

    value: int | float | str | None
    kind: Literal["count", "derived", "exempt", "coarse", "digits", "proportional", "unnamed"] = (
        "exempt"
    )
    totals: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    untold: tuple[int, ...] = ()


def count(value: int, *totals: int) -> Quantity:
    """A quantity that counts instances or groups, part of each of the totals."""
    return Quantity(int(value), "count", tuple(int(total) for total in totals))


def derived(value: float | None, *sources: str) -> Quantity:
    """A quantity computed from the named counts of the same evidence."""
    return Quantity(None if value is None else float(value), "derived", sources=sources)


def coarse(value: int, total: int) -> Quantity:
    """A quantity that counts instances of one group among groups that contain each other."""
    return Quantity(int(value), "coarse", (int(total),))


DIGITS = 3
"""Most decimals of a number beside a count in steps, where nothing is withheld too."""


def rounded(value: float, n: int, total: int) -> Quantity:
    """A number computed from so many instances, whose count is coarse and part of a total."""
    return Quantity(round(value, DIGITS), "digits", (n, total))


def rounded_chance(value: float, n: int, total: int) -> Quantity:
    """A p-value or q-value, likewise."""
    return Quantity(float(f"{value:.0e}"), "digits", (n, total))


def shown_in_steps(value: int, total: int, min_cell: int) -> Shown:
    """A count as a bound in steps of ``min_cell``, so that no difference of two is a small count.

    Two counts in steps differ by anything from 0 to twice a step, whatever is shown of them. The
    bound leaves at least a step to the total, which is shown exactly; a total below two steps
    leaves nothing to show.

    >>> shown_in_steps(37, 100, 11), shown_in_steps(95, 100, 11), shown_in_steps(37, 100, 1)
    ('>32', '>87', 37)
    """
    if min_cell <= 1 or value == total:
        return value
    steps = min(value // min_cell, max(0, (total - min_cell) // min_cell))
    if steps:
        return f">{steps * min_cell - 1}"
    return f"<{min_cell}" if total >= 2 * min_cell else None


def shown_count(value: int, totals: Iterable[int], min_cell: int) -> int | str:
    """A count as published: itself, or a bound if it or a remainder is a small cell.

    For a count of 0 the remainder is the total itself, which is protected on its own.

    >>> shown_count(5, [100], 11), shown_count(95, [100], 11), shown_count(0, [100], 11)
    ('<11', '>89', 0)
    """
    if is_small(value, min_cell):
        return f"<{min_cell}"
    close = [total for total in totals if value and is_small(total - value, min_cell)]
    return f">{min(close) - min_cell}" if close else value


def possible(shown: int | str | None, total: int, min_cell: int) -> Range:
    """Least and greatest count that a published value allows; 0 to ``total`` without a value."""
    if shown is None:
        return 0, total
    if isinstance(shown, int):
        return shown, shown
    bound = int(shown[1:])
    if shown[0] == "<":
        return 1, bound - 1
    nearly_all = bound == total - min_cell and bound >= min_cell
    return bound + 1, total - nearly_all


def share_left(
    shown: Shown, n: int, labelled: int, min_cell: int, *wholes: Shown
) -> dict[str, float | None]:
    """A count as ``share`` of n; withheld, the ``share_least`` and ``share_most`` that it leaves.

    These follow from what is shown of the count and of what it is part of, and tell nothing more.

    Args:
        shown: The count as published.
        n: All instances.
        labelled: Those with labels.
        min_cell: Smallest count that may be shown.
        wholes: Counts that it is part of, as published.

    >>> share_left(60, 120, 100, 11), share_left(">89", 120, 100, 11, 96)
    ({'share': 0.5, 'share_least': None, 'share_most': None}, \
{'share': None, 'share_least': 0.75, 'share_most': 0.8})
    """
    if isinstance(shown, int):
        return {"share": shown / n, "share_least": None, "share_most": None}
    (low, high), *parts = (
        possible(one if isinstance(one, int | str) else None, labelled, min_cell)
        for one in (shown, *wholes)
    )
    most = min([high, labelled, *(end for _, end in parts)])
    return {"share": None, "share_least": low / n, "share_most": most / n}


def shown_change(
    old: int, new: int, old_total: int, new_total: int, min_cell: int
) -> tuple[int | str, int | str]:
    """Suppress a count shown for two releases: each alone, and both if they differ by a small cell.

    If the new release contains the old one, the difference counts the added instances in the cell,
    and the difference of the remainders counts the added instances outside it. If one of these is a
    small cell, the larger count is shown only as at least ``min_cell``. The same applies if the
    larger count would disclose a small old count or remainder because of the number of added
    instances.

    Args:
        old: The count in the old release.
        new: The count in the new release.
        old_total: Instances of the old release.
        new_total: Instances of the new release.
        min_cell: Smallest count that may be shown.

    >>> shown_change(50, 60, 100, 200, 11), shown_change(50, 61, 100, 200, 11)
    ((50, '>10'), (50, 61))
    >>> shown_change(8, 12, 100, 200, 11)
    ('<11', '>10')
    """
    first = shown_count(old, [old_total], min_cell)
    second = shown_count(new, [new_total], min_cell)
    came = abs(new - old)
    others = abs((new_total - new) - (old_total - old))
    at_most = new_total - old_total
    disclosed = (is_small(old, min_cell) and new - at_most > 1) or (
        is_small(old_total - old, min_cell) and old_total - new > 1
    )
    if not (disclosed or is_small(came, min_cell) or is_small(others, min_cell)):
        return first, second
    floor = f">{min_cell - 1}"
    if isinstance(second, int) and (new >= old or isinstance(first, str)):
        return first, floor if new >= min_cell else second
    return (floor if isinstance(first, int) and old >= min_cell else first), second


def least(published: Shown) -> int:
    """The least value that a published count can have.

    Lists are ranked by it, so that their order discloses nothing beyond the numbers shown.

    >>> least(60), least("<11"), least(">89"), least(None)
    (60, 1, 90, 0)
    """
    if isinstance(published, str):
        return 1 if published[0] == "<" else int(published[1:]) + 1
    return int(published or 0)


def most(published: Shown) -> float:
    """The greatest value that a published count can have, taken by itself.

    >>> most(60), most("<11"), most(">89")
    (60.0, 10.0, inf)
    """
    if isinstance(published, str):
        return float(published[1:]) - 1 if published[0] == "<" else float("inf")
    return float("inf") if published is None else float(published)


def withheld_last(rows: Iterable[dict[str, Any]], number: str, *ids: str) -> list[dict[str, Any]]:
    """Move rows whose number is withheld to the end, by their ids, so that rank tells nothing."""
    given = list(rows)
    withheld = [row for row in given if row[number] is None]
    shown = [row for row in given if row[number] is not None]
    return shown + sorted(withheld, key=lambda row: [row[name] for name in ids])


def less_precise(first: Shown, second: Shown) -> Shown:
    """The form of a count that tells no more than either of two.

    >>> less_precise(20, ">10"), less_precise("<11", "<5")
    ('>10', '<11')
    >>> less_precise(7, None), less_precise("<11", ">4")
    (None, '>0')
    """
    if first is None or second is None:
        return None
    if not isinstance(first, str) or not isinstance(second, str):
        return second if isinstance(second, str) else first
    if first[0] != second[0]:
        return ">0"
    bounds = int(first[1:]), int(second[1:])
    return f"<{max(bounds)}" if first[0] == "<" else f">{min(bounds)}"


_OWN = ("instances", "rows")
"""Names of a finding's main count, whose total is called ``of``."""


def with_tight_bounds(
    evidence: Mapping[str, Quantity], published: Mapping[str, Shown], min_cell: int, *totals: int
) -> dict[str, Shown]:
    """Tighten bounds so that they do not exceed a printed total.

    A tightened bound never reads as "all but few of a total", which only `shown_count` may say.

    Args:
        evidence: Numbers by name.
        published: Each number as shown.
        min_cell: Smallest count that may be shown.
        totals: Totals that are printed elsewhere.

    >>> numbers = {"rows": count(3, 5), "of": Quantity(5)}
    >>> with_tight_bounds(numbers, {"rows": "<11", "of": 5}, 11)
    {'rows': '<6', 'of': 5}
    """
    tight = dict(published)
    for name, quantity in evidence.items():
        value, all_but_few = tight[name], (*totals, *quantity.totals)
        if quantity.kind != "count" or not isinstance(value, str):
            continue
        above = [
            most(tight[other])
            for other, one in evidence.items()
            if other.startswith("of") and one.value in quantity.totals
        ]
        above += [float(total) for total in totals if total in quantity.totals]
        within = [tight.get(part) for part in _OWN if name == "of"]
        low, high = max([0, *map(least, within)]), min(above, default=float("inf"))
        if value[0] == "<" and high < most(value):
            tight[name] = f"<{int(high) + 1}"
        while low - 1 + min_cell in all_but_few:
            low -= 1
        if value[0] == ">" and low > least(value):
            tight[name] = f">{low - 1}"
    return tight


def is_small(value: int, min_cell: int) -> bool:
    """Whether a count lies from 1 to ``min_cell - 1``."""
    return 0 < value < min_cell


def shown_parts(
    parts: Sequence[int], min_cell: int, withheld: Collection[int] = ()
) -> list[int | str | None]:
    """Suppress parts of a known total: the smallest become null until no small one is disclosed.

    Parts at the places ``withheld`` are null, and so is another one where the total would tell one.
    """
    total, m = sum(parts), min_cell - 1
    shown: list[int | str | None] = [shown_count(part, [total], min_cell) for part in parts]
    small = [i for i, part in enumerate(parts) if is_small(part, min_cell)]
    others = sorted((part, i) for i, part in enumerate(parts) if isinstance(shown[i], int) and part)
    for i in [-1, *(i for _, i in others)] if small or withheld else ():
        hide = {i, *withheld}
        shown = [None if place in hide else value for place, value in enumerate(shown)]
        hidden = [place for place, value in enumerate(shown) if not isinstance(value, int)]
        rest, more = len(small) - 1, len(hidden) > len(small)
        left = sum(parts[place] for place in hidden)
        if len(hidden) > 1 and left - m >= rest and (more or left - 1 <= rest * m):
            break
    return shown


def shown(
    evidence: Mapping[str, Quantity], min_cell: int, elsewhere: Mapping[str, Shown] | None = None
) -> dict[str, Shown]:
    """Evidence as published: small counts as bounds, values derived from them as null.

    Args:
        evidence: Numbers by name.
        min_cell: Smallest count that may be shown.
        elsewhere: Counts as they are shown elsewhere, by name: those of the evidence, and those
            shown only there, which are assumed to be shown if missing here.
    """
    known = {BESIDE: 0, WHOLE: 0, **(elsewhere or {})}
    published: dict[str, Shown] = {
        name: known[name] if name in known else _alone(quantity, min_cell)
        for name, quantity in evidence.items()
    }
    published |= _in_digits(evidence, published, known[WHOLE], min_cell)
    for name, quantity in evidence.items():
        names = () if quantity.kind == "count" else quantity.sources
        sources = (published.get(source, known.get(source)) for source in names)
        if any(isinstance(source, str | None) for source in sources):
            published[name] = None
    return published


def _in_digits(
    evidence: Mapping[str, Quantity], published: Mapping[str, Shown], whole: Shown, min_cell: int
) -> dict[str, Shown]:
    """Numbers beside coarse counts, those of each count as they may be told together."""
    steps = {
        (one.value, *one.totals): published[name]
        for name, one in evidence.items()
        if one.kind == "coarse"
    }
    beside: dict[tuple[int, ...], dict[str, float | None]] = {}
    for name, quantity in evidence.items():
        if quantity.kind == "digits" and not isinstance(quantity.value, str):
            beside.setdefault(quantity.totals, {})[name] = quantity.value
    told_in = dict[str, Shown]()
    for count, numbers in beside.items():
        told = steps.get(count, whole)
        size = min(count[0], least(told)) if isinstance(told, str) else count[0]
        digits = in_digits(numbers, [(count[0], count[1])], min_cell, at_least=size)
        told_in |= digits if size >= min_cell else dict.fromkeys(numbers)
    return told_in


def _alone(quantity: Quantity, min_cell: int) -> Shown:
    if quantity.kind == "unnamed":
        return quantity.value if min_cell <= 1 else None
    if quantity.kind == "coarse" and quantity.value is not None:
        value = min([int(quantity.value), *(total - 1 for total in quantity.untold)])
        total = (*quantity.untold, *quantity.totals)[0]
        return shown_in_steps(value if min_cell > 1 else int(quantity.value), total, min_cell)
    if quantity.kind == "proportional" and isinstance(quantity.value, float):
        return in_proportion(quantity.value, quantity.totals[0], min_cell)
    if quantity.kind != "count" or quantity.value is None:
        return quantity.value
    told = shown_count(int(quantity.value), quantity.totals, min_cell)
    rests = (total - int(quantity.value) for total in quantity.untold if told)
    few = isinstance(told, int) and any(is_small(rest, min_cell) for rest in rests)
    return f">{min_cell - 1}" if few else told

"""Counts of two releases side by side: a difference is a cell too."""

from __future__ import annotations

from audit.results.disclosure.quantity import is_small, shown_count


def shown_change(
    old: int, new: int, old_total: int, new_total: int, min_cell: int
) -> tuple[int | str, int | str]:
    """A count of two releases as published: each as alone, and neither where they nearly agree.

    Where the new release holds the old one, the difference counts the instances that came, and
    the difference of the remainders those that came without. Where one of the two is a small cell,
    the larger count is shown only as at least ``min_cell``; so it is where, as no more than the
    further instances can have come, it would tell a small old count or remainder.

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
    told = (is_small(old, min_cell) and new - at_most > 1) or (
        is_small(old_total - old, min_cell) and old_total - new > 1
    )
    if not (told or is_small(came, min_cell) or is_small(others, min_cell)):
        return first, second
    floor = f">{min_cell - 1}"
    if isinstance(second, int) and (new >= old or isinstance(first, str)):
        return first, floor if new >= min_cell else second
    return (floor if isinstance(first, int) and old >= min_cell else first), second

"""Suppression of counts shown for two releases: their difference is a cell too."""

from __future__ import annotations

from audit.disclosure.quantity import is_small, shown_count


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
    told = (is_small(old, min_cell) and new - at_most > 1) or (
        is_small(old_total - old, min_cell) and old_total - new > 1
    )
    if not (told or is_small(came, min_cell) or is_small(others, min_cell)):
        return first, second
    floor = f">{min_cell - 1}"
    if isinstance(second, int) and (new >= old or isinstance(first, str)):
        return first, floor if new >= min_cell else second
    return (floor if isinstance(first, int) and old >= min_cell else first), second

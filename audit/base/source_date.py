"""The moment that files are dated with, so that the same work gives the same bytes."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from audit.base.errors import InputError


def dated() -> datetime:
    """The moment of ``SOURCE_DATE_EPOCH`` in UTC; the present if it is not set.

    Raises:
        InputError: If ``SOURCE_DATE_EPOCH`` is not a valid timestamp.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(
            "SOURCE_DATE_EPOCH is the seconds since 1970 that a run is dated with",
            found=repr(epoch),
            hint="a whole number, or unset it",
        ) from None


def judging_date() -> date:
    """Today in UTC, or the day of ``SOURCE_DATE_EPOCH`` if that is set.

    Raises:
        InputError: If ``SOURCE_DATE_EPOCH`` is not a valid timestamp.
    """
    return dated().date()

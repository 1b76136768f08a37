"""Options that are about a dataset of labels beside attributions or representations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.base.errors import InputError


def refuse_without_labels(options: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse options of a dataset where none is given, and a dataset without a hierarchy."""
    if options["labels"] is None:
        given = [f"--{name}" for name in names if options[name] is not None]
        if given:
            raise InputError(f"{', '.join(given)} goes with --labels", found="no dataset")
    elif options["hierarchy"] is None:
        raise InputError("--labels goes with --hierarchy", found="no hierarchy")

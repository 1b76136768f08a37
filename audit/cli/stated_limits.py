"""Parsing of ``--limit NAME=NUMBER``."""

from __future__ import annotations

from collections.abc import Sequence

from audit.base.errors import InputError, first_cases
from audit.base.limits import refuse_unknown
from audit.cli.sizes import size_of


def limits_of(stated: Sequence[str] | None) -> dict[str, int]:
    """Parse limits; a number may be written as a size.

    Raises:
        InputError: If there is no limit of a name, one is stated twice, or a number is none.

    >>> limits_of(["labels=20000", "unpacked=4GB"])
    {'labels': 20000, 'unpacked': 4000000000}
    """
    pairs = [text.partition("=") for text in stated or ()]
    unlike = [text for text, (_, sign, _) in zip(stated or (), pairs, strict=True) if not sign]
    if unlike:
        raise InputError(
            "--limit takes a name and a number, such as labels=20000", found=first_cases(unlike)
        )
    names = [name.strip() for name, _, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError("each limit can be stated once", found=f"twice: {first_cases(twice)}")
    refuse_unknown(dict.fromkeys(names, 1))
    limits = {name: _number(name, text) for name, (_, _, text) in zip(names, pairs, strict=True)}
    refuse_unknown(limits)
    return limits


def _number(name: str, text: str) -> int:
    try:
        return size_of(text)
    except InputError as error:
        raise InputError(
            f"--limit {name} takes a whole number, or a size such as 4GB", found=error.found
        ) from None

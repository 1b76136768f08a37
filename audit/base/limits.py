"""Limits that keep odd input from taking all memory, each raised by an environment variable."""

from __future__ import annotations

import os
from dataclasses import dataclass

from audit.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of something is read.

    Args:
        variable: Environment variable that says another limit.
        most: The limit where it says nothing.
        of: What is limited.
    """

    variable: str
    most: int
    of: str

    def refuse_beyond(self, found: int, where: object, *, allowed: int = 0) -> None:
        """Raise InputError where there is more.

        Args:
            found: How much there is.
            where: The place, for the message.
            allowed: How much there may be in any case, where no variable says otherwise.
        """
        stated = os.environ.get(self.variable, "")
        most = int(stated) if stated.isdecimal() else max(self.most, allowed)
        if found > most:
            raise InputError(
                f"at most {most:,} {self.of} are read",
                found=f"{found:,} or more",
                where=where,
                hint=f"the environment variable {self.variable} says another limit, as the memory "
                "allows",
            )


LABELS = Limit("AUDIT_MOST_LABELS", 10_000, "different labels on one instance")
"""Memory and time grow with their square: each pair of them is counted."""
ANCESTORS = Limit("AUDIT_MOST_ANCESTORS", 10**8, "pairs of a node and one above it")
"""A chain of n nodes has n * (n - 1) / 2 of them."""
PARTS = Limit("AUDIT_MOST_PARTS", 1_000, "parts of a dotted path")
"""Each part is a node that is named by all parts before it."""
UNPACKED = Limit("AUDIT_MOST_UNPACKED", 2**30, "bytes that are packed in a file")
"""A hundred times the size of the packed file is read in any case."""
EXPANSION = 100
"""How many bytes a packed byte may give without being asked."""

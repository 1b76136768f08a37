"""Limits that keep unusual input from exhausting memory; environment variables change them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from audit.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on how much of something is read.

    Args:
        variable: Environment variable that overrides the limit.
        most: The limit where the variable is not set.
        of: What is limited, as a plural noun for the message.
    """

    variable: str
    most: int
    of: str

    def refuse_beyond(self, found: int, where: object, *, allowed: int = 0) -> None:
        """Raise InputError if the limit is exceeded.

        Args:
            found: The actual number.
            where: The location, for the message.
            allowed: A number that is accepted in any case, unless the variable is set.
        """
        stated = os.environ.get(self.variable, "")
        most = int(stated) if stated.isdecimal() else max(self.most, allowed)
        if found > most:
            raise InputError(
                f"at most {most:,} {self.of} are read",
                found=f"{found:,} or more",
                where=where,
                hint=f"set the environment variable {self.variable} to a higher limit, if there is "
                "memory for it",
            )


LABELS = Limit("AUDIT_MOST_LABELS", 10_000, "different labels on one instance")
"""Memory and time grow with the square of this number, because each pair of labels is counted."""
ANCESTORS = Limit("AUDIT_MOST_ANCESTORS", 10**8, "pairs of a node and one above it")
"""A chain of n nodes has n * (n - 1) / 2 of them."""
PARTS = Limit("AUDIT_MOST_PARTS", 1_000, "parts of a dotted path")
"""Each part adds a node, whose id repeats all parts before it."""
UNPACKED = Limit("AUDIT_MOST_UNPACKED", 2**30, "bytes that are packed in a file")
"""Up to `EXPANSION` times the size of the compressed file is read in any case."""
EXPANSION = 100
"""Decompressed bytes that each compressed byte may give before the limit applies."""

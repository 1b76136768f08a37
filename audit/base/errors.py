"""Every error that a user's input can cause, with the exit status it ends in.

AuditError                  anything below; the command line prints it and exits
├── InputError         2    a file, a table or an option is not what was asked for
│   ├── FormatError    2    not exactly one format matches
│   ├── SchemaError    2    a column, a type or a value is not as required
│   ├── HierarchyError 2    the edges do not form a hierarchy: a cycle, an undeclared parent
│   ├── PolicyError    2    a policy file says something that cannot be applied
│   └── PluginError    2    a plugin is not installed, or crashes
├── OutputError        2    the output folder may not be written
└── RenderError        3    a report could not be rendered; tables are still written
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SHOWN = 5
"""Number of cases that a message names before it only counts the rest."""


COPIES: dict[str, str] = {}
"""What messages call files that are copies, by the paths of these."""
_SECRETS = re.compile(r"\b([a-z][a-z0-9+]*:/{1,3})(?:[^/@\s'\"]*@)?([^\s?#'\"]*)(?:[?#][^\s'\"]*)?")


def without_secrets(text: str) -> str:
    """A text whose addresses are without users, passwords and what follows a question mark.

    >>> without_secrets("a.csv, https://me:secret@h.org/x.csv?signature=abc")
    'a.csv, https://h.org/x.csv'
    """
    return _SECRETS.sub(r"\1\2", text)


class AuditError(Exception):
    """An error that the user can fix, described in one message.

    Args:
        required: What was required, as a sentence.
        found: What was found instead, with the first cases and their total.
        where: The location, as ``path`` or ``path:line``.
        hint: What to do about it.

    >>> import audit
    >>> try:
    ...     audit.load_labels([["cat"], ["cow"]], {"pet": {"cat": {}, "dog": {}}}, label="animal")
    ... except audit.AuditError as error:
    ...     print(error)
    data frame: a column named 'animal' is required
    Found: the columns 'id', 'labels'
    Hint: name another with --label
    """

    exit_status = 2

    def __init__(
        self, required: str, *, found: str = "", where: object = "", hint: str = ""
    ) -> None:
        self.required, self.found, self.where, self.hint = required, found, str(where), hint
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = self._lines()
        for copy, name in COPIES.items():
            lines = lines.replace(copy, name)
        return printable(without_secrets(lines) if ":/" in lines else lines)

    def _lines(self) -> str:
        """What was required and where; then, where stated, what was found, and the hint."""
        lines = [f"{self.where}: {self.required}" if self.where else self.required]
        if self.found:
            lines.append(f"Found: {self.found}")
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)


class InputError(AuditError):
    """A file, a table or an option is not what was asked for."""


class FormatError(InputError):
    """Not exactly one format matches the input."""


class SchemaError(InputError):
    """A column, a type or a value is not as required."""


class HierarchyError(InputError):
    """The edges do not form a hierarchy."""


class PolicyError(InputError):
    """A policy says something that cannot be applied."""


class PluginError(InputError):
    """A plugin is not installed, crashes, or gives what it may not."""


class OutputError(AuditError):
    """The output folder may not be written."""


class RenderError(AuditError):
    """A report could not be rendered."""

    exit_status = 3


def refuse_unknown(name: str, known: Iterable[str], what: str, names: str) -> None:
    """Raise InputError if a name is none of those known; the message requires ``what``, with an
    article, and lists those known as the ``names``, a plural."""
    known = list(known)
    if name not in known:
        raise InputError(
            f"{what} is required",
            found=repr(name),
            hint=f"the {names} are {', '.join(known)}",
        )


def printable(text: str) -> str:
    r"""Escape characters that are neither printable nor line breaks, so that a terminal shows them
    and runs none, and XML may hold them.

    >>> printable("\x1b[2J")
    '\\x1b[2J'
    """
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def first_cases(cases: Iterable[object], total: int | None = None) -> str:
    """Name the first cases and count the rest, of ``total`` if stated: ``'a', 'b' and 3 more``.

    >>> first_cases(["a", "b"])
    "'a', 'b'"
    >>> first_cases(range(9))
    '0, 1, 2, 3, 4 and 4 more'
    """
    cases = list(cases)
    rest = (len(cases) if total is None else total) - min(len(cases), SHOWN)
    named = ", ".join(repr(case) for case in cases[:SHOWN])
    return f"{named} and {rest:,} more" if rest > 0 else named

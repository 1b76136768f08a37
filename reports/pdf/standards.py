"""What a printed report says of the standards that it conforms to, or of why it does not."""

from __future__ import annotations

import unicodedata

from audit.base.plurals import counted

_NAMED = 5


def conformance(unshown: str) -> str:
    """Say that the document conforms to PDF/A-3a and PDF/UA-1, or which characters forbid it.

    Args:
        unshown: Characters that no font of the machine has or that are for private use, each once.

    >>> conformance("\\u5fc3").rpartition(": ")[2]
    'U+5FC3 (cjk unified ideograph-5fc3).'
    """
    if not unshown:
        return "This document conforms to PDF/A-3a (ISO 19005-3) and to PDF/UA-1 (ISO 14289-1)."
    more = len(unshown) - _NAMED
    named = ", ".join(map(_name_of, unshown[:_NAMED])) + (f" and {more:,} more" if more > 0 else "")
    return (
        "This document conforms neither to PDF/A-3a nor to PDF/UA-1, for its pages show boxes in "
        f"place of {counted(len(unshown), 'characters')}. No font of the machine that made it has "
        "these characters, or they are for private use; install a font of their script, and "
        f"render the report again: {named}."
    )


def _name_of(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")

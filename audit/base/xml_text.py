"""Text that is valid in XML."""

from __future__ import annotations

import re

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """The text, a replacement character for each one that XML 1.0 does not know.

    >>> xml_text("a\\x00b")
    'a\ufffdb'
    """
    return _NO_XML.sub("\ufffd", text)

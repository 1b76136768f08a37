"""Lines below the rows of a table: sources, footnotes, totals, numbers of rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from audit.base.text_tables import separator_in

_MOST = 12
"""Number of lines below the rows of a table, at most."""
_NOTE = re.compile(
    r"(?:(?:data |foot)?(?:source|note)s?|disclaimer|licen[cs]e|legend|quellen?|hinweise?|anmerkung"
    r"(?:en)?|stand|fuentes?|notas?|fontes?|bron|noot|källa|obs|key)\s*(?::|$)"
    r"|(?:last )?(?:updated|generated|exported|retrieved|downloaded|accessed|created|printed)"
    r"(?::|\s+(?:on|by|at|from|\d))"
    r"|(?:\(c\)|©|copyright\b|[#†‡]|\*+(?=\s*\w)|//|--+ )"
    r"|(?:number of|total) (?:rows|records|lines)\b"
    r"|[(<]?\d+ (?:rows?|records?|lines?|datensätze|zeilen|filas|lignes)\b"
    r"|-*\s*(?:end of (?:file|report|data|table|list)\b|(?:eof|end)\s*$)",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"(?:grand |overall )?totals?|sum|summe|gesamt(?:summe)?|insgesamt|somme|suma|totale|totaal|"
    r"trailer|trl|eof|end",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+\d.,'% ]*\d[-+\d.,'% ]*")


def lines_below(head: Sequence[str], end: str, *, rows: bool) -> tuple[list[str], bool]:
    """The last lines of a text that are no rows, blank ones included, and whether words say so.

    The first of them is below a blank line, or is a note by its words or its sign, as ``Source:``;
    or, of a table of ``rows``, a total: a word and numbers, with nothing else. The others have no
    separators. Where words are those of rows too, they say nothing.
    """
    lines = [line.rstrip("\r") for line in end.rstrip().split("\n")]
    signs = "".join(dict.fromkeys(filter(None, map(separator_in, head[:50]))))
    above = head[1 : min(50, max(1, len(head) - _MOST))]
    known = {found[0].casefold() for line in above if (found := _NOTE.match(_bare(line)))}
    seen = [{*own} for own in zip(*(_cells(line, signs) for line in above), strict=False)]

    def says(line: str) -> bool:
        cells = _cells(line, signs)
        again = any(one and one in own for one, own in zip(cells[1:], seen[1:], strict=False))
        found = _NOTE.match(_bare(line))
        if found and found[0].casefold() not in known and not again:
            return True
        filled = [cell for cell in cells[1:] if cell]
        total = _TOTAL.fullmatch(cells[0].strip(" :")) and all(map(_NUMBER.fullmatch, filled))
        return rows and bool(total and filled)

    def is_bare(line: str) -> bool:
        return not set(line) & {*signs, '"'} or not any(_cells(line, signs)[1:])

    start = len(lines)
    while start > 1 and (says(lines[start - 1]) or is_bare(lines[start - 1])):
        start -= 1
    tail = range(max(1, start), len(lines))
    blank = [rows and bool(signs) and not any(_cells(line, signs)) for line in lines]
    first = next((n for n in tail if says(lines[n]) or blank[n]), len(lines))
    below = lines[first:]
    worded = any(map(says, below))
    whole = worded or (signs and not any(set(line) & {*signs, '"'} for line in below))
    few = sum(map(bool, map(str.strip, below))) <= min(_MOST, len(lines) / 2)
    return (below, worded) if whole and few and any(map(_bare, below)) else ([], False)


def _bare(line: str) -> str:
    return line.strip(' \t,;"')


def _cells(line: str, signs: str) -> list[str]:
    """The cells of a line, without blanks around them."""
    try:
        row = next(csv.reader([line], delimiter=signs[:1] or "\t"), [])
    except csv.Error:
        row = [line]
    return [*map(str.strip, row)] or [""]

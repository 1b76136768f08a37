"""Which texts are nodes of a hierarchy, and which sign joins several of them in one cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, takewhile

import polars as pl

from audit.hierarchies.formats.names import whole
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import HOLDING
from audit.hierarchies.icd.column_readings import column_readings
from audit.hierarchies.label_words import Words, is_plain
from audit.hierarchies.titles import node_spelt, nodes_by_title, title_key

SEPARATORS = (";", "|", ",", " ")
"""Signs that may stand between two labels of one cell, the most telling first."""
_BOXES = r"/(?:\s+-?[0-9][0-9.]*){4}\s*/"
_LINES = r"/[\r\n]+/"
_STARS = r"/[*+!†^~\n\/]+/"
_TWICE = r"/\s*(?:-{2,}|={2,}|_{2,}|\|{2,}|:{2,}|;{2,}|,{2,}|&{2,}|#{2,}|@{1,}|\${1,})\s*/"
_BEHIND = "(?<="
_MOST_NAMES = 1_000
"""Largest number of names with commas by which those between names are told apart."""
_EXPRESSIONS = {
    r"/^\s*(?:\{\s*\"\w+\"\s*:\s*)?\[\s*['\"]|['\"]\s*,?\s*['\"]|['\"]\s*\]\s*\}?\s*$/": (
        "as a list in Python has them"
    ),
    r"/^\s*\{\s*['\"]|['\"]\s*:\s*-?(?:[0-9]*\.[0-9]+|[0-9]{2,}|[2-9])\s*(?:,\s*['\"]|\}\s*$)/": (
        "as the keys of a dictionary, whatever number stands behind each, 0 too"
    ),
    "/[<>]+/": "each between < and >",
    _BOXES: "each before the four numbers of a box",
    _LINES: "each on a line of its own",
    _STARS: "with *, +, !, ^, ~, / or the end of a line between them",
    _TWICE: "with a sign such as --- or || between them",
}
"""What else stands between labels, as a regular expression, and how they stand then."""
_WORD = re.compile(r"\S{1,60}")
_CODE = re.compile(r"\S{0,30}\d\S{0,30}")
_PART = {";": _WORD, "|": _WORD, ",": _CODE, " ": _CODE}
"""What each part must look like for a cell to be taken for several labels: one word; where it is a
comma or a blank that joins them, with a digit in it."""
LEAST_SHARE = 0.5
"""Share of the cells of a column that are nodes from which it is one of labels."""
_MARKS, _NUMBER = " '\"[]().", re.compile(r"(?<=\s)-?[0-9][0-9.]*(?=\s|$)")
_BRACKETS = re.compile(r"[\[(]([^\[\]()]+)[\])]")
_BEFORE_TITLE = re.compile(r"(\S+)(?:\s+[-–—:|]|:)\s+(\S.*)")
_TITLE_SIGNS = re.compile(r"\s+[-–—:|]\s+")
_TITLED = re.compile(r"(\S+?)(?:\s*[-–—]\s*(?=[^\W\d_]{3})|\s*[(\[]).*")
"""A code before its title behind a dash, or before what stands in brackets."""
_LEADING = re.compile(r"\d+(?![^\s])")
_QUOTED = re.compile(r'[:\[,]\s*"([^"]+)"(?!\s*:)')
"""Values within a text of JSON."""
_LITERAL = re.compile(r'^\s*="([^"]*)"\s*$')
"""A text as formulas of a spreadsheet write it, so that zeros at its beginning stay."""
_SEVERAL = 5
"""Least number of different cells by which what they begin with is known."""
_WORDS = Words()
_HEADING = 0.25
"""What a heading counts where codes are digits: numbers of other things are headings too often."""


class KnownNodes:
    """The nodes of a hierarchy, asked of by the texts of cells and the names of columns."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._weights: dict[str, float] = {}
        self._cells: dict[str, float] = {}
        self._digits: Counter[int] | None = None
        self.gains: dict[tuple[str, ...], dict[str, float]] = {}

    @property
    def name(self) -> str:
        """The name of the hierarchy."""
        return self._hierarchy.name

    @cached_property
    def commas(self) -> str | None:
        """The commas that stand in no name of a node, as an expression; None if all do so."""
        every = {*self._hierarchy.nodes, *self._hierarchy.titles} - {None}
        held = sorted(str(one) for one in every if "," in str(one))
        if self.coded or not held or len(held) > _MOST_NAMES:
            return None
        ends = ((one, at) for one in held for at, sign in enumerate(one, 1) if sign == ",")
        places = ((one[:at], one[at:]) for one, at in ends)
        inside = "|".join(f"{_BEHIND}{re.escape(a)}){re.escape(b)}" for a, b in places)
        return f"/,(?!{inside})/"

    @property
    def words(self) -> Words:
        """What the user says of labels."""
        return self._hierarchy.words

    @property
    def coded(self) -> bool:
        """Whether nodes are codes of a classification that is built in."""
        return self._hierarchy.integrity is not None

    def weight(self, text: str) -> float:
        """1 for a node as it is written, but for its spelling, dashes that fill a code up and
        decimals of an id; less for a heading of codes; else 0."""
        if text not in self._weights:
            bare = text.strip()
            core = bare.rstrip("-").rstrip("Xx") if self.coded else whole(bare)
            spelt = float(node_spelt(bare, self._hierarchy) is not None)
            self._weights[text] = self._weight(bare) or (core and self._weight(core)) or spelt
        return self._weights[text]

    def _weight(self, text: str) -> float:
        node = self._hierarchy.place(text, None).node
        if node is None or node not in self._hierarchy:
            return 0.0
        if self.coded and alphanumeric(node) != alphanumeric(text):
            return 0.0
        heading = self.coded and not self._hierarchy.assignable[self._hierarchy.index(node)]
        return _HEADING if heading else 1.0

    def lack_zeros(self, cells: Iterable[str]) -> bool:
        """Whether cells that are no nodes are some behind a zero, so that others may be wrong."""
        others = (cell.strip() for cell in cells if cell.strip() and not self.weight(cell))
        return self._hierarchy.integrity is None and any(self.weight(f"0{one}") for one in others)

    def means(self, text: str) -> bool:
        """Whether a text is a node, or the title of one, perhaps behind those above it."""
        return self.weight(text) > 0 or title_key(text) in nodes_by_title(self._hierarchy)

    def share_of_titles(self, cells: Iterable[str]) -> float:
        """Share of cells that are titles of nodes, or hold some joined by a sign."""
        filled = [cell for cell in cells if cell.strip()]
        signs = [sign for sign in SEPARATORS if sign != " "]
        quoted = [_QUOTED.findall(cell) if "[" in cell else [] for cell in filled]
        parts = [[[cell], *(cell.split(sign) for sign in signs)] for cell in filled]
        parts = [[*own, *([one] if one else [])] for own, one in zip(parts, quoted, strict=True)]
        named = (
            [sum(self.means(one.strip(_MARKS)) for one in own) / len(own) for own in some]
            for some in parts
        )
        held = map(max, named)
        return sum(held) / len(filled) if filled else 0.0

    def are_way(self, names: Sequence[object]) -> bool:
        """Whether names, or titles, are those of nodes each of which is below the one before."""
        found = [self._node(one) if isinstance(one, str) else None for one in names]
        pairs = pairwise(found)
        return all(found) and all(a in self._hierarchy.parents(b) for a, b in pairs if a and b)

    def hold_one_above(self, names: Sequence[str]) -> bool:
        """Whether one of some names, or titles, is that of a node above another's."""
        found = {node for node in map(self._node, names) if node is not None}
        return any(not found.isdisjoint(self._hierarchy.ancestors(node)) for node in found)

    def _node(self, text: str) -> str | None:
        return (
            text
            if text in self._hierarchy
            else nodes_by_title(self._hierarchy).get(title_key(text))
        )

    def is_above(self, upper: str, lower: str) -> bool:
        """Whether a text is a node above that of another."""
        above, below = self._node(upper.strip()), self._node(lower.strip())
        return None not in (above, below) and above in self._hierarchy.ancestors(str(below))

    def holds_one(self, text: str) -> bool:
        """Whether a text is a node, or there is one before its title or in brackets behind it."""
        before = _BEFORE_TITLE.fullmatch(text.strip())
        listed = before and any(map(self.weight, _TITLE_SIGNS.split(before[2])))
        inside = [before[1]] if before and not listed else _BRACKETS.findall(text)
        return self.means(text.strip(_MARKS)) or len([*filter(self.weight, inside)]) == 1

    def code_sets(self, cells: Iterable[str], named: str | None = None) -> list[str]:
        """The code sets of which cells may be, the likeliest first; none if that is unclear.

        Where it is, or they are several, and most may be of the set named, it is that one.
        """
        integrity = self._hierarchy.integrity
        own = [one for one, name in HOLDING.items() if name == self._hierarchy.name]
        if integrity is None or not own:
            return []
        rows = Counter(cell.strip() for cell in cells if cell.strip())
        labels = pl.DataFrame([*rows.items()], {"label": pl.String, "rows": pl.Int64}, orient="row")
        found = column_readings(labels, own)
        known = bool(found) and len(found[0].sets) == 1 and found[0].sets[0] in integrity.tables
        sets = [*dict.fromkeys(table for one in found for table in one.sets)] if known else []
        if named not in integrity.tables or len(sets) == 1:
            return sets
        codes = [integrity.readings(cell, named) for cell in rows]
        may = 2 * sum(any(one in self._hierarchy for one in some) for some in codes) > len(codes)
        return [str(named)] if may else sets

    def share(self, cells: Iterable[str], *, headings: bool = False) -> float | None:
        """Share of the cells that are nodes, or hold some joined by a sign; None where all are
        blank, or words for no code. Where ``headings`` are codes too, one counts as any other."""
        filled = [_LITERAL.sub(r"\1", cell) for cell in cells if self._is_filled(cell)]
        weights = [self._held(cell) for cell in filled]
        if filled and not sum(weights) and (before := beginning(filled)):
            weights = [self._held(cell.strip().removeprefix(before)) for cell in filled]
        held = [weight > 0 for weight in weights] if headings else weights
        return sum(held) / len(held) if held else None

    def chance(self, cells: Iterable[str]) -> float:
        """Share of cells that numbers of as many digits as theirs are nodes by chance, where nodes
        are no codes of a classification that is built in."""
        filled = [cell.strip() for cell in cells if cell.strip()]
        if self.coded or not filled:
            return 0.0
        if self._digits is None:
            self._digits = Counter(map(len, filter(str.isdecimal, self._hierarchy.nodes)))
        sizes = (len(found[0]) for cell in filled if (found := _LEADING.match(cell)))
        return sum(self._digits[size] * 0.1**size for size in sizes) / len(filled)

    def inside(self, cell: str) -> frozenset[str]:
        """The nodes that a cell is, or holds some parts of, without signs."""
        whole = [cell] if self.weight(cell) else _parts(cell)
        return frozenset(alphanumeric(part) for part in whole if self.weight(part))

    def _held(self, cell: str) -> float:
        """The weight of the best part of a cell."""
        if cell not in self._cells:
            parts = _parts(cell, words=self._are_words(cell.split()))
            self._cells[cell] = max(map(self.weight, parts))
        return self._cells[cell]

    def _are_words(self, words: Sequence[str]) -> bool:
        """Whether half of the words of a cell are nodes, or one with a mark, or a code in front."""
        held = [word for word in words if self.weight(word.strip(_MARKS))]
        texts = [word for word in words if any(map(str.isalpha, word))] or words
        marked = any(word != word.strip(_MARKS) for word in held)
        code = held[:1] == words[:1] and any(map(str.isdigit, "".join(held[:1])))
        return 2 * len(held) >= len(texts) or marked or code

    def _is_filled(self, cell: str) -> bool:
        return bool(cell.strip()) and (self.weight(cell) > 0 or not _WORDS.mean_nothing(cell))


def beginning(cells: Sequence[str]) -> str:
    """The letters that all of several cells begin with, none of which is a code as it stands."""
    different = {cell.strip() for cell in cells}
    several = len(different) >= _SEVERAL and not any(map(is_plain, different))
    letters = re.match("[A-Za-z]*", common_beginning([*different])) if several else None
    return letters[0] if letters else ""


def common_beginning(texts: Sequence[str]) -> str:
    """What all of some texts begin with.

    >>> common_beginning(["LINEA", "LINEB"])
    'LINE'
    """
    first, last = min(texts), max(texts)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(a for a, _ in alike)


def _parts(cell: str, *, words: bool = True) -> list[str]:
    """What of a cell may be a node: all of it, without marks of a list, or what signs part, also
    ``words`` between blanks."""
    bare = cell.strip(_MARKS)
    signs = [sign for sign in SEPARATORS if sign in bare and (words or sign != " ")]
    signs += [sign for sign in _EXPRESSIONS if re.search(r"[<'*+!†^~\n/{@$]|([^\w\s])\1|__", bare)]
    signs += [":"] * (":" in bare)
    parts = [part.strip(_MARKS) for sign in signs for part in split(bare, sign)]
    quoted = _QUOTED.findall(cell) if "{" in cell else []
    before = [found[1] for one in (bare, *parts) if (found := _TITLED.fullmatch(one))]
    return [cell, bare, bare.replace(",", "."), *parts, *quoted, *before]


def alphanumeric(text: str) -> str:
    """A text without case, dots, blanks and other signs, by which codes are compared."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def split(joined: str, separator: str | None) -> list[str]:
    """The parts of a text between separators, which may be regular expressions between slashes.

    >>> split("a;b", ";"), split("<a><b>", "/[<>]+/"), split("a b", None)
    (['a', 'b'], ['', 'a', 'b', ''], ['a b'])
    """
    if separator is None:
        return [joined]
    regular = is_expression(separator)
    return re.split(separator[1:-1], joined) if regular else joined.split(separator)


def pattern_of(separator: str) -> str:
    """A separator as a regular expression."""
    return separator[1:-1] if is_expression(separator) else re.escape(separator)


def is_expression(separator: str) -> bool:
    """Whether a separator is a regular expression between slashes."""
    return len(separator) > 2 and separator[0] == separator[-1] == "/"


def looks_behind(sign: str) -> bool:
    """Whether a separator is the commas that stand in no name, which Polars cannot look for."""
    return _BEHIND in sign


def how_joined(sign: str) -> str:
    """How labels stand in cells, by what is between them."""
    said = "joined by ',', which stands within names too" if looks_behind(sign) else ""
    return said or _EXPRESSIONS.get(sign, f"joined by {sign!r}")


def separator_of(cells: Sequence[str]) -> str | None:
    """The first sign of `SEPARATORS` that stands between labels of cells; None where none does.

    >>> separator_of(["401.9;250.00", "428.0", ""]), separator_of(["dog cat", "dog"])
    (';', ' ')
    """
    inside = [cell.strip() for cell in cells]
    return next((sign for sign in SEPARATORS if any(sign in cell for cell in inside)), None)


def hold_several(cells: Sequence[str], *, codes: bool = False) -> bool:
    """Whether cells hold several labels each, by their shape: not texts that are one label.

    With ``codes`` each label must have a digit, whatever joins them.

    >>> hold_several(["401.9;250.00", "428.0"]), hold_several(["heart failure, acute"])
    (True, False)
    """
    sign = separator_of(cells)
    if sign is None:
        return False
    parts = [part.strip() for cell in cells for part in cell.split(sign)]
    shape = _CODE if codes else _PART[sign]
    return all(shape.fullmatch(part) for part in parts if part)


def sign_between(
    cells: Sequence[str], nodes: KnownNodes | None, *, codes: bool = False
) -> tuple[str | None, bool]:
    """The sign that joins the labels of cells, None where each is one label, and if nodes say so.

    Cells are split where their parts are nodes more often than the whole cells, in which a comma
    may be that of a decimal. Where neither are nodes, or none are known, their shape decides, as
    in `hold_several`.
    """
    own = [nodes.commas] if nodes and nodes.commas else []
    signs = (*[one for one in _EXPRESSIONS if one != _STARS], *SEPARATORS, _STARS, *own)
    key = tuple(cells)
    if nodes is not None and key not in nodes.gains:
        counts = Counter(map(str.strip, cells))
        gains = {sign: _gain(sign, counts, nodes) for sign in signs}
        nodes.gains[key] = {sign: gain for sign, gain in gains.items() if gain is not None}
    told = nodes.gains[key] if nodes else {}
    if told:
        best = max(told, key=lambda sign: told[sign])
        return (best, True) if told[best] > 0 else (None, True)
    return (separator_of(cells) if hold_several(cells, codes=codes) else None), False


def _gain(sign: str, cells: Mapping[str, int], nodes: KnownNodes) -> float | None:
    """By how many cells the parts are nodes more often than the whole; None where neither are.

    Parts most of which are no nodes, as a code before its title, tell nothing, and cells most of
    which are nodes as a whole, as ways from the top, are not split.
    """
    parts = whole = 0.0
    between = re.compile(pattern_of(sign))
    held = {cell: rows for cell, rows in cells.items() if between.search(cell)}
    if sign == _BOXES and any(map(nodes.weight, _NUMBER.findall(" ".join(held)))):
        return None
    for cell, rows in held.items():
        inside = [part for part in map(str.strip, split(cell, sign)) if part]
        parts += rows * sum(nodes.holds_one(part) for part in inside) / max(len(inside), 1)
        whole += rows * (nodes.holds_one(cell) or nodes.means(cell.replace(",", ".")))
    every = sum(held.values())
    most = 2 * parts > every or (sign != " " and 2 * parts == every > 0)
    gain = min(parts - whole, 0.0) if 2 * whole > every else parts - whole
    return gain if most or whole else None

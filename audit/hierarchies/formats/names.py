"""Names under which files keep ids, parents, children and titles; the reading of what has none."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit.base.errors import first_cases
from audit.base.readings import Reading, asked
from audit.hierarchies.coding import CONSIDER, OBSOLETE, REPLACED_BY

TITLES = ("title", "name", "label", "text", "preflabel", "preferredlabel", "displayname", "meaning")
"""Names of titles, the most usual first, as `plain` gives them."""
IDS = ("id", "child", "hyponym", "narrower", "node", "code", "key", "uri", "iri", "identifier",
       "labelname", "classid", "categoryid", "conceptid", "termid")  # fmt: skip
"""Names of ids, likewise."""
AROUND = ("data", "tree", "hierarchy", "taxonomy", "ontology", "result", "results")
"""What the only key of an object is called that is around a tree."""
BESIDE = (*OBSOLETE, REPLACED_BY, CONSIDER, "inScheme", "topConceptOf", "related")
"""What nodes name besides those above and below them: successors, and what JSKOS names."""
CHILD = ("child", "hyponym", "narrower")
"""Those of them that stand beside parents alone."""
SIGNS = (" > ", " >> ", " » ", " → ", " / ", " | ", "::", "/", "|", "\\")
"""What joins the names of a path, the plainest first; dots have a format of their own."""
_PARENT = re.compile(
    r"parent[a-z]*(id|code|key|uri)s?|(parents?|super(class|category|type|concept|term|group|ordinate|taxon|topic|tag)?|hypernym|broader)"
    r"(e?s|ids?|codes?|keys?|uris?|iris?|names?|node|class|category|concept|term|label|tax[ao]n?|topic|tag|relations?)*\d*"
    r"|isa|subclassof|childof|belongsto|ancestry"
)
_CHILDREN = re.compile(
    r"(child(ren)?|sub(class|categor(y|ie)|type|concept|term|group|node|topic|item|tree)?s?"
    r"|narrower|hyponyms?|kids|leaves|branches|descendants|nodes?|items?|members?)(es|ids?)?"
)
_ENDS = re.compile(r".+(id|code|key|uri|iri)")
NOTHING = (
    "",
    "null",
    "none",
    "nan",
    "n/a",
    "-",
    "#",
    r"\n",
    "http://www.w3.org/2002/07/owl#thing",
)


def plain(name: object) -> str:
    """A name without case and signs: ``parentid`` of ``parent_id``, ``parentId``, ``Parent ID``."""
    return re.sub(r"[\W_]", "", str(name)).lower()


def is_parent(name: str) -> bool:
    """Whether that is what files call a node's parents."""
    return _PARENT.fullmatch(plain(name).removeprefix("immediate")) is not None


def parents_among(names: Iterable[str]) -> list[str]:
    """The names of what holds parents, without those of their titles where their ids are there."""
    parents = [name for name in names if is_parent(name)]
    return [name for name in parents if not plain(name).endswith("name")] or parents


def is_children(name: str) -> bool:
    """Whether that is what files call the nodes below one."""
    return _CHILDREN.fullmatch(plain(name)) is not None


def ids_among(names: Iterable[str]) -> list[str]:
    """The names of ids: the usual ones, else those that end as such, as ``taxon_id`` does."""
    own = list(names)
    return among(own, IDS) or [name for name in own if _ENDS.fullmatch(plain(name))]


def titles_among(names: Iterable[str]) -> list[str]:
    """The names of titles: the usual ones, else the only one that ends as such, as ``pt_name``."""
    own = list(names)
    ending = [name for name in own if plain(name).endswith(TITLES[:2])]
    return among(own, TITLES) or (ending if len(ending) == 1 else [])


def whole(text: str) -> str:
    """An id as text without the decimals that a missing number beside it has left: 7 of 7.0."""
    return text[:-2] if text.endswith(".0") and text[:-2].isdigit() else text


def is_id(value: Any) -> bool:
    """Whether a value can be an id: a text, or a whole number, which may be written as 7.0."""
    whole = isinstance(value, float) and value.is_integer()
    return whole or (isinstance(value, str | int) and not isinstance(value, bool))


def id_of(value: Any) -> str:
    """A value as an id: ``7`` of 7.0, and of a text without blanks around it."""
    return str(int(value)) if isinstance(value, float) else str(value).strip()


def is_nothing(value: Any, ids: Collection[str] = ()) -> bool:
    """Whether a parent says that there is none: null, NaN, or such a word that is no id."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and value.strip().lower() in NOTHING and value not in ids


def among(names: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """The names that are among those wanted, in the order of these."""
    named = [(wanted.index(plain(name)), name) for name in names if plain(name) in wanted]
    return [name for _, name in sorted(named, key=lambda pair: pair[0])]


def spoken(title: Any) -> Any:
    """A title, of one by language that in none, else in English, else in the first."""
    if not isinstance(title, Mapping):
        return title
    texts = [title.get(one) for one in ("", "en", *title)]
    return next((one[0] if isinstance(one, list) else one for one in texts if one), None)


def languages_told(titles: Sequence[Mapping[str, Any]]) -> list[Reading]:
    """What is told of titles in several languages."""
    found = dict.fromkeys(one for title in titles for one in title)
    said = "titles are those in 'en', else in the language that comes first"
    why = f"there are {first_cases(found)}"
    told = Reading(said, why, len(titles), "write titles of one language", "nodes")
    return [told] if len(found) > 1 else []


def named_by(
    parents: Collection[str], columns: Mapping[str, Collection[str]], rows: int, unit: str = "rows"
) -> tuple[str, list[Reading]]:
    """The column whose values the parents name, the first of equals, told if it is not the first.

    Where none holds any of them, it is the first that has numbers exactly if they are numbers.
    """
    parents = set(map(whole, parents))

    def fit(name: str) -> tuple[int, bool]:
        values = set(map(whole, columns[name]))
        numbers = all(map(str.isdigit, values))
        return sum(one in values for one in parents), numbers == all(map(str.isdigit, parents))

    found, first = max(columns, key=fit), next(iter(columns))
    told = Reading(
        f"nodes go by {found!r}", f"parents are such names, and no values of {first!r}",
        rows, f"--hierarchy-child {first}", unit,
    )  # fmt: skip
    return found, [] if found == first else [told]


def parts_of(cells: Iterable[str], ids: Collection[str]) -> dict[str, list[str]]:
    """The parents in each cell, split where its parts are ids and it is none."""
    found: dict[str, list[str]] = {}
    for cell in cells:
        found[cell] = [cell]
        for sign in "|;," if cell not in ids else "":
            parts = [part.strip() for part in cell.split(sign) if part.strip()]
            if len(parts) > 1 and 2 * sum(part in ids for part in parts) > len(parts):
                found[cell] = parts
                break
        if cell not in ids and cell.endswith(".0") and cell[:-2] in ids:
            found[cell] = [cell[:-2]]
    return found


_NO_NODES = (*TITLES, "description", "count")


def are_edges(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether two columns that are not called so are edges by their values.

    One of them has another value in each row; and the other some of these too, or, behind it, at
    most half as many of its own.
    """
    titled = any(plain(name).endswith(_NO_NODES) for name in header)
    if len(header) != 2 or titled or any(len(row) != 2 or not all(row) for row in rows):
        return False
    first, second = ([row[end].strip() for row in rows] for end in (0, 1))
    if not rows or all(map(str.isdigit, second)) or all(map(str.isdigit, first)):
        return False
    once = [len({*end}) == len(rows) for end in (first, second)]
    if {*first} & {*second}:
        return once[0] != once[1]
    return once[0] and 2 * len({*second}) <= len(rows)


def ends_by_values(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, str] | None:
    """The columns of child and parent where the values say it, of three columns or more.

    The child has another value in each row, and all values of the parent alone are among these, in
    most rows, and some of them in several.
    """
    rows = [row for row in rows if any(row)]
    if len(header) < 3 or len(rows) < 3 or any(len(row) != len(header) for row in rows):
        return None
    cells = {
        n: [*map(str.strip, own)] for n, own in zip(header, zip(*rows, strict=True), strict=False)
    }
    own = [name for name in cells if len({*cells[name]}) == len(rows) and all(cells[name])]
    found = []
    for child in own:
        known = {*cells[child]}
        for parent in (name for name in cells if name not in own):
            filled = [one for one in cells[parent] if not is_nothing(one, known)]
            several = len({*filled}) < len(filled) and len(rows) <= 2 * len(filled)
            apart = all(a != b for a, b in zip(cells[child], cells[parent], strict=True))
            if several and apart and {*filled} <= known and not all(map(str.isdigit, filled)):
                found.append((child, parent))
    return found[0] if len(found) == 1 else None


_IS_A = re.compile(
    r"is_?an?|(sub|child|kind)_?(class)?_?of|p279|parent|has_?parent|broader|hypernym|superclass"
    r"|116680003"
)
"""Relations of a child to its parent, the last one SNOMED CT's."""
_WITHIN = re.compile(r"part_?of|member_?of|located_?in|instance_?of|belongs_?to|within|p31|p361")


def is_a(relation: str) -> bool:
    """Whether a relation is that of a child to its parent, with the name of a vocabulary or not."""
    return _IS_A.fullmatch(_bare(relation)) is not None


def _bare(relation: str) -> str:
    return re.split(r"[#/:]", relation.strip().lower())[-1].replace(" ", "_").replace("-", "_")


def are_triples(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows are two names with a relation between them, `is_a` in some or the only one."""
    if not rows or any(len(row) != 3 or not all(row) for row in rows):
        return False
    said = {row[1] for row in rows}
    only = len(said) == 1 and _WITHIN.fullmatch(_bare(*said)) is not None
    return (only or any(map(is_a, said))) and len(said) <= max(1, len(rows) // 2)


def lower_end(
    pairs: Collection[tuple[str, str]],
    where: object,
    called: tuple[str, str],
    options: tuple[str, str],
) -> tuple[int, Reading]:
    """Which end of pairs is the lower one, 0 or 1, where nothing says it.

    It is the end at which no name repeats, since a node of a tree has one parent; where that holds
    of both or of neither, the end that alone has more of the names: leaves outnumber tops.

    ``called`` is what the names at either end are called; ``options`` state which end is the lower.
    """
    pairs = set(pairs)
    ends = [{pair[end] for pair in pairs} for end in (0, 1)]
    once = [len(end) == len(pairs) for end in ends]
    alone = [len(ends[0] - ends[1]), len(ends[1] - ends[0])]
    tree = once[0] != once[1]
    evidence = "each node then has one parent" if tree else "leaves then outnumber tops"
    said = [
        Reading(f"{called[low]} are below {called[1 - low]}", evidence, len(pairs), option, "pairs")
        for low, option in ((0, options[1]), (1, options[0]))
    ]
    if not tree and alone[0] == alone[1]:
        either = [replace(said[low], option=options[low]) for low in (0, 1)]
        raise asked("it must be known which names are above which", either, where)
    lower = int(once[1] if tree else alone[1] > alone[0])
    return lower, said[lower]


_NO_NAME = re.compile(r"(\w?__)?")


def way_of(cell: str, sign: str) -> tuple[str, ...]:
    """The names on a way, without ranks that name nothing, as ``s__`` of QIIME."""
    parts = map(str.strip, cell.strip(sign).split(sign))
    return tuple(part for part in parts if not _NO_NAME.fullmatch(part))


def way_sign(cells: Iterable[str | None]) -> str | None:
    """The sign that joins names of ways from the top, alone, in half of the cells; else None.

    Ways share their tops, and nearly each name above others has one way above it; lists of other
    things do not. Prose goes on in small letters behind a sign.
    """
    filled = [cell for cell in cells if cell]
    for sign in ";|>":
        ways = [way_of(cell, sign) for cell in filled if sign in cell.strip(sign)]
        prose = sum(way[0][:1].isupper() and " " in way[1] and way[1][0].islower()
                    for way in ways if len(way) > 1)  # fmt: skip
        if (
            min(len(filled), 1 + len({*filled})) < 3
            or 2 * len(ways) < len(filled)
            or 2 * prose > len(ways)
        ):
            continue
        above = {way[:n] for way in ways for n in range(1, len(way))}
        places = Counter(way[-1] for way in above)
        once = sum(n == 1 for n in places.values())
        tops = {way[0] for way in ways if way}
        words = not any(map(str.isdecimal, tops))
        if words and 2 * len(tops) <= len(ways) and 5 * once >= 4 * len(places) > 0:
            return sign
    return None


def sign_of(lines: Sequence[str]) -> str | None:
    """The plainest sign that joins the names of half of the lines; None if there is none."""
    for sign in SIGNS:
        joined = sum(sign in line.strip(sign) for line in lines)
        if 2 * joined >= len(lines) > 0 or (joined and sign == SIGNS[0]):
            return sign
    return None

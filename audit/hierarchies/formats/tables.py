"""Tables of hierarchies: their columns and cells, read as people and programs write them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote

import polars as pl
import polars.selectors as cs

from audit.base.errors import first_cases
from audit.base.files import SNIFFED_BYTES, column_named, first_bytes, read_table
from audit.base.readings import Reading
from audit.base.text_tables import Preamble, preamble_of
from audit.hierarchies.formats import caml, names
from audit.hierarchies.formats.format import Shape, head_text

_SIGNS = "\t,;|"
_SNIFFED_ROWS = 200


def columns_of(path: Path, head: bytes) -> list[str]:
    """The names in the first line of a table; none of what is no table."""
    if is_parquet(path):
        return read_table(path).columns
    rows = rows_of(head)
    return [bare(name) for name in rows[0]] if rows and len(rows[0]) > 1 else []


def table_of(path: Path, shape: Shape) -> pl.DataFrame:
    """The table in a file; columns without a header are called by their numbers, 1 and 2."""
    if is_parquet(path):
        return read_table(path)
    head = first_bytes(path)
    preamble = preamble_in(head_text(head).replace("\r", "").split("\n"))
    first = preamble.of_lines(head_text(head).split("\n"))[0]
    stated = [name for name in (shape.child, shape.parent) if name]
    headless = is_headless(path, head) or (bool(stated) and all(map(str.isdigit, stated)))
    separator = _separator(first) if any(sign in first for sign in _SIGNS) else " "
    separator = separator if headless or separator != " " else ","
    frame = read_table(path, separator=separator, header=not headless, preamble=preamble)
    made = [n for n in frame.columns if not bare(n) or n.startswith("_duplicated_")]
    frame = frame.drop(n for n in made if not headless and frame[n].null_count() == len(frame))
    called = [str(n) if headless else bare(name) for n, name in enumerate(frame.columns, 1)]
    once = len(set(called)) == len(called)
    return frame.rename(dict(zip(frame.columns, called, strict=True))) if once else frame


def text_of(frame: pl.DataFrame, column: str, *, trimmed: bool = True) -> pl.Series:
    """A column as text, trimmed or not; whole floats are the numbers without their points."""
    values = frame[column]
    if values.dtype.is_float() and (values.drop_nans().round() == values.drop_nans()).all():
        values = values.fill_nan(None).cast(pl.Int64)
    text = values.cast(pl.String)
    bare = text.str.strip_chars()
    known = bare.drop_nulls()
    quoted = known.str.starts_with("'") & known.str.ends_with("'")
    if len(known) and quoted.all():
        return bare.str.strip_chars("'").str.strip_chars()
    return bare if trimmed else text


def is_parquet(path: Path) -> bool:
    """Whether a file is named as Parquet."""
    return path.suffix.lower() == ".parquet"


def is_headless(path: Path, head: bytes) -> bool:
    """Whether a text is pairs of names, or these with a relation between them, and the first line
    is one: a name of it, or its relation, stands in others too."""
    if is_parquet(path) or caml.FORMAT.matches(path, head):
        return False
    rows = [row for row in rows_of(head) if any(row)]
    if all(len(row) == 1 for row in rows):
        rows = [row[0].split(" ") for row in rows]
    if names.are_triples(rows):
        return any(row[1] == rows[0][1] for row in rows[1:])
    if not rows or not all(len(row) == 2 and all(row) for row in rows):
        return False
    return bool({*rows[0]} & {name for row in rows[1:] for name in row})


def rows_of(head: bytes) -> list[list[str]]:
    """The fields of the first lines; of what is no table, none."""
    text = head_text(head)
    lines = text.replace("\r", "").split("\n")
    lines = lines[: -1 if len(head) >= SNIFFED_BYTES else None][:_SNIFFED_ROWS]
    if text.startswith(("{", "[", "<", "@", "format-version:")):
        return []
    try:
        lines = preamble_in(lines).of_lines(lines)
        return list(csv.reader(lines, delimiter=_separator(lines[0])))
    except csv.Error:
        return []


def preamble_in(lines: Sequence[str]) -> Preamble:
    """What stands before the rows: notes, or a single line that has no fields."""
    found = preamble_of(lines)
    fields = [any(sign in line for sign in _SIGNS) for line in lines[:2]]
    return Preamble(1) if not found.lines and fields == [False, True] else found


def bare(name: str) -> str:
    """A name without blanks, and without the single quotes of files of AHRQ."""
    return name.strip(" \t\r\ufeff").strip("'").strip()


def _separator(header: str) -> str:
    return max(_SIGNS, key=header.count)


_RELATIONS = re.compile(
    r"(relation(ship)?|edge|predicate|property|rel)?(type)?(id)?(?<!^id)(?<!^$)"
)
"""Names of columns that say how the ends of an edge are related, as `names.plain` gives them."""
_ENDS = (("sourceid", "destinationid"), ("source", "target"), ("subject", "object"))
"""Names of the ends of relations, the child first where the relation is is_a."""


def relations_in(columns: Iterable[str]) -> list[str]:
    """The columns that are called relations."""
    return [name for name in columns if _RELATIONS.fullmatch(names.plain(name))]


def ends_of_relations(columns: Sequence[str]) -> tuple[str, str] | None:
    """The columns of child and parent of a table that says how its ends are related."""
    plain = {names.plain(name): name for name in columns}
    ends = [pair for pair in _ENDS if {*pair} <= plain.keys()]
    return (plain[ends[0][0]], plain[ends[0][1]]) if ends and relations_in(columns) else None


def relation_between(frame: pl.DataFrame) -> list[str]:
    """The column of relations between two of names, where that is all."""
    there = frame.width == 3 and not any(map(names.is_parent, frame.columns))
    triples = there and names.are_triples([tuple(map(str, r)) for r in frame.drop_nulls().rows()])
    return [frame.columns[1]] if triples else []


def roles_of(path: Path, frame: pl.DataFrame, shape: Shape) -> tuple[dict[str, str], list[Reading]]:
    """The columns of child, parent and title, and what of it was found by the values alone."""
    stated = {"child": shape.child, "parent": shape.parent, "title": shape.title}
    found = {role: column_named(frame, name, path) for role, name in stated.items() if name}
    ends = [*frame.columns]
    unknown = len(ends) == 2 and not (found or any(map(names.is_parent, ends)))
    pairs = [(str(a), str(b)) for a, b in frame.drop_nulls().rows()] if unknown else []
    if (unknown and ends == ["1", "2"]) or names.are_edges(ends, pairs):
        ways = [
            f"--hierarchy-child {quote(child)} --hierarchy-parent {quote(parent)}"
            for child, parent in (ends, ends[::-1])
        ]
        first, second = (
            f"names of column {n}" if n.isdigit() else f"values of {n!r}" for n in ends
        )
        lower, said = names.lower_end(pairs, path, (first, second), (ways[0], ways[1]))
        return {"child": ends[lower], "parent": ends[1 - lower]}, [said]
    related = None if found else ends_of_relations(frame.columns)
    if not found and related is None and relation_between(frame):
        child, relation, parent = frame.columns
        said = Reading(
            f"{relation!r} says that names of {child!r} are below those of {parent!r}",
            f"its values are {first_cases(frame[relation].unique().sort())}", len(frame),
            f"--hierarchy-child {quote(parent)} --hierarchy-parent {quote(child)}",
        )  # fmt: skip
        return {"child": child, "parent": parent}, [said]
    if related:
        found = {"child": related[0], "parent": related[1]}
    others = [name for name in frame.columns if name not in found.values()]
    parents = [name for name in others if names.is_parent(name)]
    unnamed = [] if found or parents else frame.columns
    rows = zip(*(text_of(frame, name).fill_null("") for name in unnamed), strict=True)
    if (meant := names.ends_by_values(unnamed, [*rows])) is not None:
        child, parent = meant
        titled = names.titles_among([name for name in others if name not in meant])
        said = Reading(
            f"{parent!r} holds the parents of {child!r}",
            "its values are some of that one's, and no other column's are", len(frame),
            "--hierarchy-parent COL",
        )  # fmt: skip
        title = {"title": titled[0]} if titled else {}
        return {"child": child, "parent": parent, **title}, [said]
    if "parent" not in found:
        found["parent"] = [*names.parents_among(parents), "parent"][0]
        column_named(frame, found["parent"], path)
    others = [name for name in others if name not in (*parents, found["parent"])]
    told = list[Reading]()
    if "child" not in found:
        found["child"], told = _child(path, frame, found["parent"], others)
    titled = names.titles_among([name for name in others if name != found["child"]])
    return ({"title": titled[0]} if titled else {}) | found, told


_NUMBER = re.compile(r"(node|row|line|record)(id|number|no|nr)?|key|pk|index|idx")
"""What columns are called whose numbers say which row is meant, as `names.plain` gives them."""
_CODE = re.compile(r".*(code|coding|notation|symbol)")


def through_numbers(
    frame: pl.DataFrame, columns: dict[str, str], shape: Shape
) -> tuple[pl.DataFrame, dict[str, str], list[Reading]]:
    """The table with parents by what nodes are called, where rows name them by another column.

    That is so of a child that is stated, no value of which is a parent, and of codes beside numbers
    of rows.
    """
    code = child = columns["child"]
    parent = columns["parent"]
    ends = [text_of(frame, name).fill_null("") for name in (child, parent)]
    above = {one for one in {*ends[1]} if one != "0" and not names.is_nothing(one)}
    numbered = not shape.child and _NUMBER.fullmatch(names.plain(child))
    if not above or not (numbered or (shape.child and above.isdisjoint(ends[0]))):
        return frame, columns, []
    flat = frame.select(~cs.nested())
    texts = {n: text_of(flat, n).fill_null("").to_list() for n in flat.columns}
    own = [n for n, text in texts.items() if n != parent and len({*text} - {""}) == len(frame)]
    if shape.child:
        child = next((n for n in own if above <= {*texts[n]}), child)
    else:
        coded = (n for n in own if n != child and _CODE.fullmatch(names.plain(n)))
        code = next((n for n in coded if not all(map(str.isdigit, texts[n]))), child)
    if child == code or child not in own or not above <= {*texts[child]}:
        return frame, columns, []
    called = dict(zip(texts[child], texts[code], strict=True))
    parents = pl.Series(parent, [called.get(one, "") for one in texts[parent]])
    told = Reading(
        f"nodes go by {code!r}", f"parents are named by {child!r}, whose rows have one",
        len(frame), f"--hierarchy-{'parent COL' if shape.child else f'child {quote(child)}'}",
    )  # fmt: skip
    return frame.with_columns(parents), columns | {"child": code}, [told]


def _child(
    path: Path, frame: pl.DataFrame, parent: str, others: list[str]
) -> tuple[str, list[Reading]]:
    """The column of the child, with what decided between several that may be it."""
    named = names.ids_among(others) + names.among(others, names.TITLES)
    possible = named or others
    if len(others) == 1 or (named and names.plain(named[0]) in names.CHILD):
        return possible[0], []
    if not possible:
        return column_named(frame, "child", path), []
    texts = {n: text_of(frame, n).drop_nulls() for n in [*possible, *others, parent]}
    values = {n: set(map(names.whole, text)) - {""} for n, text in texts.items()}
    above = {names.whole(one) for one in texts[parent] if not names.is_nothing(one)}
    if not any(above & values[name] for name in possible):
        held = [n for n in others if 2 * len(above & values[n]) > len(above)]
        possible = [*possible, *(n for n in held if 2 * len(values[n]) > len(frame))]
    return names.named_by(above, {n: values[n] for n in possible}, len(frame))

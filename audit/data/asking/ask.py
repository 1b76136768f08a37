"""The one question: what a table may hold, and the options that most likely read it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from audit.data.asking.repairs import Way, best_way, ids_of
from audit.data.asking.seen import HALF, NEARLY_ALL, Seen, as_read
from audit.data.columns import family
from audit.data.labels import Nodes, Share
from audit.data.rows import YES, left_out

MOST_KINDS, LEAST_ROWS, FEW = 12, 0.1, 5
"""Number of values of a column that may say the kind of a row, share of the rows of another kind,
and number of labels below which nothing is known of a kind."""
KNOWN_BY = 50_000
"""Number of labels by which the kinds of rows are known."""
_EACH_ONCE = 10
"""Number of rows from which on a column of nodes that never repeats is a list of them, and those of
all pairs of instances and labels are no chance."""
_SHOWN, _WIDTH = 12, 80
"""Numbers of columns that are shown, and of characters of a line."""


@dataclass(frozen=True)
class Proposal:
    """What most likely reads a table.

    Args:
        options: By arguments of `audit.load_labels`; empty if nothing does.
        notes: What was seen of columns that cells as they are written do not show.
        said: Further sentences.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()


def kinds_of(seen: Seen, rows: pl.DataFrame, taken: Collection[str]) -> Proposal | None:
    """The rows of nodes, by the column that says of what kind each is; None if there is none.

    It has at most `MOST_KINDS` values, of which one has nine in ten nodes and another, a tenth of
    the rows or more, at most half.

    Args:
        seen: What is seen of the table.
        rows: ``row, label``, the labels of its rows.
        taken: Columns that say something else.
    """
    some = rows.gather_every(max(1, rows.height // KNOWN_BY))
    complete = seen.complete(dict(some["label"].value_counts().iter_rows()))
    some = some.with_columns(pl.col("label").replace_strict(complete, return_dtype=pl.Boolean))
    least, best, most = max(FEW, LEAST_ROWS * some.height), None, FEW - 1
    for column in seen.frame.columns:
        if column in taken or seen.is_list(column) or not 2 <= seen.n_values(column) <= MOST_KINDS:
            continue
        values = seen.frame[column].cast(pl.String).str.strip_chars().gather(some["row"])
        kinds = some.select("label", kind=values).drop_nulls().group_by("kind")
        share, nodes = pl.mean("label").alias("share"), pl.sum("label").alias("nodes")
        every = kinds.agg(share, nodes, n=pl.len()).sort("kind")
        good = every.filter(pl.col("share") >= NEARLY_ALL)
        others = every.filter(pl.col("n") >= least, pl.col("share") <= HALF)
        n = int(good["nodes"].sum())
        if not others.is_empty() and n > most:
            nodes_of = every.select("share", "kind").iter_rows()
            shares = ", ".join(f"{_percent(share)} of {kind}" for share, kind in nodes_of)
            said = f"{column!r} says of what kind a row is; nodes are {shares}."
            where = tuple(f"{column}={kind}" for kind in good["kind"])
            options = {"where": (*seen.stated.where, *where)}
            best, most = Proposal(options, said=(said,)), n
    return best


def present_in(seen: Seen, ids: Sequence[str], label: Sequence[str]) -> Proposal | None:
    """The rows of labels that are present, where every instance has every label and one column says
    of each whether it is; None where that is not so.
    """
    named = [*ids, *label]
    if len(label) > 1 or not seen.whole or not {*named} <= {*seen.frame.columns}:
        return None
    frame, out = seen.frame.select(named), {*named, *seen.stated.taken}
    n_ids, n_labels = frame.select(ids).n_unique(), frame.select(label).n_unique()
    flags = [one for one in seen.frame.columns if one not in out and seen.is_flag(one)]
    if min(n_ids, n_labels) < 2 or len(flags) != 1:
        return None
    (name,), values = flags, seen.cells(flags[0])["cell"].to_list()
    present = [one for one in values if one.lower() in YES]
    every = _EACH_ONCE <= frame.height == frame.n_unique() == n_ids * n_labels
    if not every or (len(values), len(present)) != (2, 1):
        return None
    said = f"Each instance has each label once, and {name!r} says of each whether it is one."
    return Proposal({"where": (*seen.stated.where, f"{name}={present[0]}")}, said=(said,))


def proposed(seen: Seen, others: Iterable[Nodes] = ()) -> Proposal:
    """The options that most likely read a table, which state what is not stated yet.

    Args:
        seen: What is seen of it.
        others: Nodes of the other built-in classifications, which are tried where nothing is read.
    """
    if seen.stated.label:
        return _identified(seen, Proposal(), seen.stated.label)
    ways = ways_in(seen)
    if found := _labels(seen, ways) or _of_kind(seen):
        return found
    for nodes in others:
        beside = replace(seen, nodes=nodes)
        if other := _labels(beside, ways_in(beside)):
            name = nodes.hierarchy.name
            said = (f"Its labels are codes of {name}.", *other.said)
            return replace(other, options={"hierarchy": name, **other.options}, said=said)
    best = max(ways, key=lambda one: ways[one].share.of_complete, default="")
    halves = [one for one in ways if ways[one].share.of_complete >= HALF]
    if good := [one for one in halves if family(one) == family(best)]:
        return _label_columns(seen, ways, good)
    text = f"No column holds enough nodes of {seen.nodes.hierarchy.name}."
    if any(map(seen.is_count, seen.frame.columns)):
        text += " Numbers of classes are named with --classes FILE."
    return Proposal(said=(text,))


def ways_in(seen: Seen) -> Mapping[str, Way]:
    """How the cells of each column that may hold labels are best read."""
    out = {*seen.stated.taken, seen.index}
    found = {one: way_of(seen, one) for one in seen.frame.columns if one not in out}
    return {one: way for one, way in found.items() if way is not None}


def way_of(seen: Seen, name: str) -> Way | None:
    """How the cells of a column are best read; None of dates, of flags, and of nothing."""
    if not seen.n_values(name) or seen.is_date(name) or seen.is_flag(name):
        return None
    plain = seen.share(name)
    if plain.of_complete >= NEARLY_ALL or seen.is_number(name):
        return Way(share=plain)
    return best_way(seen.cells(name), seen.nodes, seen.stated)


def _labels(seen: Seen, ways: Mapping[str, Way]) -> Proposal | None:
    """The columns nine in ten of whose labels are nodes, and how to read them; None if none are."""
    good = [one for one, way in ways.items() if way.share.of_complete >= NEARLY_ALL]
    plain = [one for one in good if not ways[one].options]
    if plain and not any(map(seen.repeats, plain)) and seen.frame.height >= _EACH_ONCE:
        said = f"Each value of {plain[0]!r} stands in one row, as in a table of counts: what is "
        said += "audited has a row for each label of an instance."
        return Proposal(said=(said,))
    likely = [one for one in good if ways[one].options or seen.may_be_labels(one)]
    return _label_columns(seen, ways, likely or good) if good else None


def _of_kind(seen: Seen) -> Proposal | None:
    """The columns of labels among the rows of one kind; None if there are none."""
    stated = seen.stated
    free = [one for one in seen.frame.columns if one not in stated.taken]
    shares = {one: seen.share(one).of_complete for one in free if seen.may_be_labels(one)}
    for name in sorted(filter(shares.get, shares), key=lambda one: -shares[one])[:3]:
        if kinds := kinds_of(seen, seen.rows(name), {name, *stated.taken}):
            own = replace(stated, **kinds.options)
            rows = seen.frame.filter(~left_out(seen.frame, own, seen.table))
            inside = replace(seen, frame=rows, stated=own)
            if found := _labels(inside, ways_in(inside)):
                options = {**found.options, **kinds.options}
                return replace(found, options=options, said=(*kinds.said, *found.said))
    return None


def _label_columns(seen: Seen, ways: Mapping[str, Way], good: Sequence[str]) -> Proposal:
    """Columns of labels that are read in one way, without those that say the same again."""
    options = dict(ways[max(good, key=lambda one: ways[one].share.complete)].options)
    for word in ("strip", "missing"):
        if every := dict.fromkeys(text for one in good for text in ways[one].options.get(word, ())):
            options[word] = tuple(every)
    inner = replace(seen, stated=replace(seen.stated, **options))
    families, units = {*map(family, good)}, dict[str, list[str]]()
    for one in (one for one in ways if family(one) in families):
        share = inner.share_of(inner.labels(one, inner.stated))
        few = seen.table.text.header and one not in good and share.n < FEW
        if share.of_complete >= HALF or few:
            units.setdefault(family(one), []).append(one)
    held = {unit: _held(inner, names) for unit, names in units.items()}
    kept, said = list[str](), list[str]()
    for unit in sorted(units, key=lambda one: -held[one].height):
        inside = {other: _share_in_row(held[unit], held[other]) for other in kept}
        within = max(inside, key=lambda other: inside[other], default="")
        if within and inside[within] >= HALF:
            stand = f"{_percent(inside[within])} of its labels stand in"
            said.append(f"{unit!r} is left out: {stand} {within!r} of the same row.")
        else:
            kept.append(unit)
    members = [one for unit, names in units.items() if unit in kept for one in names]
    notes = {one: _note_of(way) for one, way in ways.items() if way.options}
    found = Proposal({"label": patterns(seen, members), **options}, notes, tuple(said))
    return _identified(inner, found, members, out=good)


def patterns(seen: Seen, names: Sequence[str]) -> tuple[str, ...]:
    """Patterns that take columns, and no others but empty ones; names where there are none."""
    found = list[str]()
    for pattern in dict.fromkeys(map(family, names)):
        alike = [one for one in seen.frame.columns if family(one) == pattern]
        whole = all(one in names or not seen.n_values(one) for one in alike)
        own = [one for one in names if family(one) == pattern]
        found += [pattern] if whole and len(alike) > 1 else own
    return tuple(found)


def _held(seen: Seen, names: Sequence[str]) -> pl.DataFrame:
    """``row, label`` of the different nodes in columns, as one spelling writes them."""
    every, nodes = pl.concat(map(seen.rows, names)), seen.nodes
    texts = every["label"].unique()
    spelt = {t: next(map(nodes.node, as_read({t: 1}, nodes, seen.stated)), None) for t in texts}
    label = pl.col("label").replace_strict(spelt, return_dtype=pl.String)
    return every.with_columns(label).drop_nulls().unique()


def _share_in_row(some: pl.DataFrame, others: pl.DataFrame) -> float:
    """Share of the labels of one frame that the other one has in the same row too."""
    same = some.join(others, on=["row", "label"], how="semi")
    return same.height / some.height if some.height else 0.0


def _note_of(way: Way) -> str:
    """How a way reads a column, as a note like ``90 % of its parts at ';' are nodes``."""
    options = way.options
    sep, take = options.get("sep"), options.get("take")
    of = f"its parts at {sep!r}" if sep else "what stands within it" if take else "its values"
    nodes = "titles of nodes" if options.get("by_title") else "nodes"
    said = f"{_percent(way.share.of_complete)} of {of} are {nodes}"
    if "strip" in options:
        said += f", without {', '.join(map(repr, options['strip']))}"
    if "missing" in options:
        said += f", but for {', '.join(map(repr, options['missing'][:4]))}"
    return said


def _identified(
    seen: Seen, found: Proposal, label: Sequence[str], out: Sequence[str] = ()
) -> Proposal:
    """A proposal with the ids, and what is said of groups."""
    if seen.stated.id:
        return found
    ids, said = ids_of(seen, replace(seen.stated, label=tuple(label)), out)
    said = () if seen.stated.group else said
    present = present_in(seen, ids, label) or Proposal()
    options = {"id": ids, **found.options, **present.options}
    return replace(found, options=options, said=(*found.said, *present.said, *said))


def screen(seen: Seen, proposal: Proposal) -> str:
    """The columns of a table: number of values, share of nodes, first values; what else was seen.

    Columns of one family are one line. Of many columns the first are shown.
    """
    families = dict[str, list[str]]()
    for name in seen.frame.columns:
        alike = [one for one in seen.frame.columns if family(one) == family(name)]
        families.setdefault(family(name) if len(alike) > 2 else name, []).append(name)
    titles = {
        title if len(own) == 1 else f"{title} ({len(own)})": own for title, own in families.items()
    }
    wide = min(max(map(len, ["column", *titles])), _WIDTH // 3)
    lines = [f"{'column':<{wide}}  values  nodes  first values"]
    for title, names in [*titles.items()][:_SHOWN]:
        share = sum(map(seen.share, names), Share()).of_complete
        first = [text for name in names for text in seen.cells(name)["cell"].head(3)][:3]
        first = [re.sub(r"\s+", " ", text) for text in first]
        shown = ", ".join(f'"{text}"' if re.search("[,; ]", text) else text for text in first)
        n = max(map(seen.n_values, names))
        lines.append(_cut(f"{_cut(title, wide):<{wide}}  {n:>6,}  {_percent(share):>5}  {shown}"))
        notes = (proposal.notes[one] for one in names if one in proposal.notes)
        lines += dict.fromkeys(f"{'':<{wide}}  {note}" for note in notes)
    if len(families) > _SHOWN:
        lines.append(f"and {len(families) - _SHOWN} more")
    return "\n".join([*lines, *([""] if proposal.said else []), *proposal.said])


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _cut(text: str, width: int = _WIDTH) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."

"""Labels as codes: of which code set, and which version, they are where nothing else says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.readings import Reading, asked
from audit.hierarchies.coding import BESIDE, VERSIONS, Integrity
from audit.hierarchies.formats.names import whole
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import HOLDING, SAID
from audit.hierarchies.icd.column_readings import ColumnReading, column_readings
from audit.hierarchies.icd.icd9 import TABLES
from audit.hierarchies.icd.icd10 import DIAGNOSES, WHO
from audit.hierarchies.icd.writers import named
from audit.hierarchies.label_words import bare

AS_WRITTEN, WITH_ZEROS = "as-written", "with-zeros"
"""What is said of labels that are read as they stand, and of numbers that lost zeros in front."""
_HEADING, _SURE = 1 / 60, 0.9
"""Likelihood of a node with others below it beside one without, and what makes a node sure."""
_FEW, _MANY = 0.01, 100
"""Share of labels that are no codes as they stand from which on a column is read as a whole, and
number of labels from which on codes that are written as nodes say how all are written."""
_CHANGED = dict.fromkeys(("label", "table", "text", "set"), pl.String)
_SETS: Mapping[object, list[str]] = {
    None: [*SAID],
    VERSIONS["9"]: [*TABLES],
    VERSIONS["10"]: [DIAGNOSES, WHO],
}
"""Code sets of labels in a table that says no more than a version, or nothing."""


def with_codes(hierarchy: Hierarchy, codes: str | Iterable[str]) -> Hierarchy:
    """The hierarchy with what a user says of the code sets of labels.

    Args:
        hierarchy: The hierarchy whose code sets are meant.
        codes: ``diagnoses``, ``procedures`` or ``as-written`` for all labels, or
            ``PATTERN=procedures`` for the columns that fit; ``with-zeros`` or ``as-written`` where
            nodes are numbers and some begin with 0. ``PATTERN*`` alone chooses labels; what stands
            before the star is taken off, unless a node begins with it.
    """
    integrity = hierarchy.integrity
    tables = {} if integrity is None else {one.split("-")[0]: one for one in integrity.tables}
    if codes and integrity is None and any(map(_begins_with_zero, hierarchy.nodes)):
        tables = {WITH_ZEROS: WITH_ZEROS}
    found: dict[str, str | None] = {}
    every = [codes] if isinstance(codes, str) else [*codes]
    chosen = tuple(one for one in every if "*" in one and "=" not in one)
    for one in every:
        if one in chosen:
            continue
        pattern, _, word = one.rpartition("=")
        named = word in tables and not (pattern and word == WITH_ZEROS)
        if not named and word != AS_WRITTEN:
            raise InputError(
                f"--codes names a code set of the hierarchy {hierarchy.name}, or {AS_WRITTEN}",
                found=repr(one),
                hint=f"it has {first_cases(tables)}" if tables else "it has none: leave it out",
            )
        found[pattern or "*"] = tables.get(word)
    if chosen:
        before = {one.partition("*")[0]: None for one in chosen}
        off = [
            text
            for text in before
            if text and not any(node.startswith(text) for node in hierarchy.nodes)
        ]
        words = replace(hierarchy.words, strip=(*hierarchy.words.strip, *off), chosen=chosen)
        hierarchy = replace(hierarchy, words=words)
    return replace(hierarchy, codes=found) if found else hierarchy


def table_stated(hierarchy: Hierarchy) -> pl.Expr:
    """The table of each row: the one that is stated for all, where nothing else is known of it."""
    stated, table = hierarchy.codes.get("*"), pl.col("table")
    if stated in (None, WITH_ZEROS):
        return table
    free = table.is_null() | (table == VERSIONS["9" if stated in TABLES else "10"])
    return pl.when(free).then(pl.lit(stated)).otherwise(table).alias("table")


def read_as_codes(
    labels: pl.DataFrame, hierarchy: Hierarchy, where: object
) -> tuple[pl.DataFrame, tuple[Reading, ...]]:
    """Decide once for all labels of which code sets they are, where no known layout says it.

    Where the user states a set, how its codes are written is decided. Where nodes are numbers, it
    is decided whether labels lost the zeros in front.

    Returns:
        ``label, table, text, set`` of labels that are read otherwise than one by one, as codes of a
        set; and what is to be told.
    """
    changed, told = [pl.DataFrame(schema=_CHANGED)], list[Reading]()
    integrity = hierarchy.integrity
    stated, words = hierarchy.codes.values(), hierarchy.words
    if integrity is None:
        return _with_zeros(labels, hierarchy)
    if hierarchy.name not in HOLDING.values() or None in stated:
        return changed[0], ()
    bared = pl.Series([bare(label, words.strip) for label in labels["label"]], dtype=pl.String)
    nothing = [bool(words.missing) and words.mean_nothing(text) for text in bared]
    labels = labels.rename({"label": "as_read"}).with_columns(bared.alias("label"))
    kept = labels.filter(~pl.Series(nothing, dtype=pl.Boolean))
    for (table,), own in kept.group_by("table", maintain_order=True):
        sets = [str(table)] if table in stated else _SETS.get(table, [])
        sets = sets if table is None else [one for one in sets if HOLDING[one] == hierarchy.name]
        if not sets:
            continue
        texts = own.group_by("label", "table", maintain_order=True).agg(pl.col("rows").sum())
        texts = _one_by_one(texts, hierarchy, integrity)
        found = column_readings(texts, sets) if _needs_reading(texts, hierarchy, integrity) else []
        if found:
            _refuse_unclear(found, hierarchy, int(texts["rows"].sum()), where)
            codes = _joined(texts, found, hierarchy)
            read = own.join(codes.filter("sure", "changed"), on="label")
            changed.append(read.select("table", label="as_read", text="code", set="code_set"))
            told += _told(found[0], codes, hierarchy)
    return pl.concat(changed, how="diagonal"), tuple(told)


def _with_zeros(
    labels: pl.DataFrame, hierarchy: Hierarchy
) -> tuple[pl.DataFrame, tuple[Reading, ...]]:
    """The labels that are numbers which lost zeros in front, as `read_as_codes`.

    They did where none begins with 0 and at least half of those that are no nodes, and shorter
    than the longest of these, are some with zeros put back. Then each number is the node that is
    nine times as likely as any other, of those that it may be; nodes with others below them, by an
    edge or as numbers, are less likely.
    """
    stated = hierarchy.codes.get("*", "")
    texts = [whole(bare(label, hierarchy.words.strip)) for label in labels["label"]]
    numbers = labels.with_columns(text=pl.Series(texts, dtype=pl.String))
    numbers = numbers.filter(pl.col("text").str.contains("^[0-9]*[1-9][0-9]*$"))
    numbers = numbers.with_columns(known=pl.col("label").is_in([*hierarchy.nodes]))
    if stated is None or (numbers["known"].all() and stated != WITH_ZEROS):
        return pl.DataFrame(schema=_CHANGED), ()
    read = _numbers(numbers["text"], hierarchy, stated == WITH_ZEROS)
    numbers = numbers.join(read, on="text", maintain_order="left")
    zeros = pl.col("node").str.starts_with("0") & (pl.col("node") != pl.col("text"))
    longest = max(map(len, filter(str.isdecimal, hierarchy.nodes)), default=0)
    short = ~pl.col("known") & (pl.col("text").str.len_chars() < longest)
    lost, unknown = numbers.filter(zeros & short), numbers.filter(short)
    kept = bool(numbers["text"].str.starts_with("0").any())
    refused = lost.clear()
    if stated != WITH_ZEROS and (lost.is_empty() or kept or 2 * len(lost) < len(unknown)):
        numbers, refused = numbers.clear(), lost
    changed = numbers.filter(pl.col("node") != pl.col("label"))
    found = changed.select("label", "table", text="node", set="table")
    return found, () if stated else tuple(_told_of_zeros(numbers, refused, kept=kept))


def _numbers(texts: pl.Series, hierarchy: Hierarchy, zeros: bool) -> pl.DataFrame:
    """``text, node, several`` of numbers: the node that each is, else itself, and whether it may
    be several; with ``zeros`` one that begins with 0, if there is one."""
    nodes = [node for node in hierarchy.nodes if node.isdecimal()]
    longer = {node[:end] for node in nodes for end in range(1, len(node))}
    leaf = dict(zip(hierarchy.nodes, hierarchy.leaf.tolist(), strict=True))
    same: dict[str, dict[str, float]] = {}
    for node in nodes:
        likely = 1.0 if leaf[node] and node not in longer else _HEADING
        same.setdefault(node.lstrip("0"), {})[node] = likely
    found = []
    for text in texts.unique(maintain_order=True):
        may = same.get(text, {})
        if zeros:
            may = {one: part for one, part in may.items() if one != text} or may
        best = max(may, key=lambda one: may[one], default=text)
        sure = bool(may) and (zeros or may[best] >= _SURE * sum(may.values()))
        found.append((text, best if sure else text, bool(may) and not sure))
    return pl.DataFrame(found, ["text", "node", "several"], orient="row")


def _told_of_zeros(
    numbers: pl.DataFrame, refused: pl.DataFrame, *, kept: bool
) -> Iterator[Reading]:
    without = "without zeros in front they are no nodes"
    for rows, decision, evidence, option in (
        (
            numbers.filter(pl.col("node") != pl.col("label")),
            "labels are numbers that lost zeros in front",
            f"none begins with 0, and {without}",
            AS_WRITTEN,
        ),
        (
            numbers.filter("several"),
            "labels that are a node with zeros in front, and may be one without, are not changed",
            "neither node is nine times as likely as the other",
            WITH_ZEROS,
        ),
        (
            refused,
            "labels that are nodes only with zeros in front are refused",
            "other labels begin with 0" if kept else "most unknown ones are no nodes with them",
            WITH_ZEROS,
        ),
    ):
        if not rows.is_empty():
            cases = first_cases(rows["label"].sort())
            said = f"{decision}: {cases}"
            yield Reading(said, evidence, int(rows["rows"].sum()), f"--codes {option}")


def _begins_with_zero(node: str) -> bool:
    return node.isdecimal() and node[0] == "0" and node.strip("0") != ""


def _one_by_one(labels: pl.DataFrame, hierarchy: Hierarchy, integrity: Integrity) -> pl.DataFrame:
    """Labels with ``node, parent``, their places one by one, and ``several``: whether as it stands
    a label is a node of several code sets."""
    own = labels.select("label", "table").rows()
    places = [hierarchy.place(label, table) for label, table in own]
    codes = [integrity.readings(label, table) for label, table in own]
    several = [sum(code in hierarchy for code in some) > 1 for some in codes]
    return labels.with_columns(
        pl.Series("node", [place.node for place in places], pl.String),
        pl.Series("parent", [place.parent for place in places], pl.String),
        pl.Series("several", several, pl.Boolean),
    )


def _needs_reading(labels: pl.DataFrame, hierarchy: Hierarchy, integrity: Integrity) -> bool:
    """Whether labels are no codes as they stand, or may be codes of several sets.

    Where all are written as the nodes of one set are, most with dots, those without are complete
    codes of that set: none may be a code that lost its end, or its dot.
    """
    coded = labels.filter(pl.col("label").str.contains("[0-9]"))
    lacking = coded.filter(pl.col("node").is_null() | pl.col("parent").is_not_null())
    if coded.is_empty() or len(lacking) >= max(1, _FEW * len(coded)):
        return not coded.is_empty()
    if coded["label"].str.contains(r"^\s*[EVev]").all():
        return True
    known = coded.filter(pl.col("node").is_not_null(), pl.col("parent").is_null())
    text, dotted = known["label"].str.strip_chars(), known["label"].str.contains(".", literal=True)
    as_nodes = 2 * int(dotted.sum()) > len(known) and (text == known["node"]).all()
    if as_nodes and len(known) >= _MANY:
        whole = hierarchy.assignable[[*map(hierarchy.index, known["node"])]].all()
        return not whole or len({*map(integrity.table_of, known["node"])}) > 1
    return bool(coded["several"].any())


def _refuse_unclear(
    found: Sequence[ColumnReading], hierarchy: Hierarchy, rows: int, where: object
) -> None:
    """Raise InputError where labels may be no codes, or codes that another option names."""
    options: dict[str, Reading] = {}
    for one in found:
        option = _option(one, hierarchy)
        said = f"labels are {one.said}"
        options.setdefault(option, Reading(said, "", one.rows if one.sets else rows, option))
    if not found[0].sets:
        option = f"--codes {AS_WRITTEN}"
        options.setdefault(option, Reading("each label is the code as written", "", rows, option))
    if len(options) > 1:
        raise asked("it must be stated which codes the labels are", [*options.values()], where)


def _option(one: ColumnReading, hierarchy: Hierarchy) -> str:
    """What states a reading."""
    if not one.sets:
        return "--label COLUMN"
    if len(one.sets) > 1:
        return f"--codes {AS_WRITTEN}"
    holding, word = HOLDING[one.sets[0]], one.sets[0].split("-")[0]
    own = holding == hierarchy.name
    return f"--codes {word}" if own else f"--hierarchy {holding}"


def _joined(
    labels: pl.DataFrame, found: Sequence[ColumnReading], hierarchy: Hierarchy
) -> pl.DataFrame:
    """The labels that are codes in the first reading, and whether it changes what they are.

    None is sure that another reading, which the same option states, takes for another code.
    """
    codes = found[0].codes.rename({"table": "code_set"}).drop("rows")
    for other in found[1:]:
        codes = codes.with_columns(sure=pl.col("sure") & ~found[0].otherwise(other))
    own = [table for table, holding in HOLDING.items() if holding == hierarchy.name]
    lacking = (pl.col("code_set") == WHO) & pl.col("parent").is_not_null()
    otherwise = pl.col("node").ne_missing(pl.col("code")) | ~pl.col("code_set").is_in(own)
    return labels.join(codes, on="label").with_columns(changed=otherwise | lacking)


def _told(reading: ColumnReading, codes: pl.DataFrame, hierarchy: Hierarchy) -> Iterator[Reading]:
    touched = pl.col("changed") | (pl.col("several") & (pl.col("code") != pl.col("label")))
    rows = int(codes.filter("sure", touched)["rows"].sum())
    unsure = int(codes.filter(~pl.col("sure"))["rows"].sum())
    own = [one for one in TABLES if HOLDING[one] == hierarchy.name]
    others, several = [one for one in own if one not in reading.sets], len(reading.sets) > 1
    if rows:
        plain = reading.plain and not several and len(others) == 1
        yield Reading(
            f"labels are {reading.said}",
            "every other reading is at least 1,000 times less likely",
            rows,
            f"--codes {others[0] if plain else AS_WRITTEN}",
        )
    if unsure:
        first = f", as {' before '.join(own)}" * (len(own) > 1)
        yield Reading(
            f"labels that may be two codes are read as they stand{first}",
            "neither code is nine times as likely as the other",
            unsure,
            f"--codes {own[0] if own and several else AS_WRITTEN}",
        )


def versions_shown(labels: pl.Series, hierarchy: Hierarchy) -> pl.DataFrame:
    """``label, version`` of labels: ``own``, ``other``, ``both``; none if no record can decide."""
    integrity, asked = hierarchy.integrity, labels.unique()
    texts, shown = named(asked), pl.Series("version", dtype=pl.String)
    if integrity and integrity.other_version and any(map(integrity.other_version, texts)):
        shown = pl.Series("version", [_version(text, integrity) for text in texts], pl.String)
    if not {"other", "both"} <= {*shown}:
        asked, shown = asked.clear(), shown.clear()
    return pl.DataFrame({"label": asked, "version": shown})


def _version(label: str, integrity: Integrity) -> str | None:
    if integrity.other_version is not None and integrity.other_version(label):
        return "other"
    if not integrity.readings(label, None):
        return None
    return "both" if label.strip()[0] in "EVev" else "own"


def refuse_both_versions(labels: pl.DataFrame, hierarchy: Hierarchy, where: object) -> None:
    """Ask what codes of two versions are where records are not seen, of counts with nodes."""
    free = labels.filter(pl.col("table").is_null(), pl.col("node").is_not_null())
    shown = versions_shown(labels.filter(pl.col("table").is_null())["label"], hierarchy)
    rows = int(free.join(shown.filter(version="both"), on="label")["rows"].sum())
    if rows and "*" not in hierarchy.codes:
        by_records = Reading("the other codes of a record say it", "", rows, "--engine memory")
        option, said = f"--codes {AS_WRITTEN}", "all are codes of this hierarchy"
        own = Reading(said, "", rows, option)
        raise asked("the version of E and V codes must be known", [by_records, own], where)


def with_versions(
    rows: pl.DataFrame, hierarchy: Hierarchy
) -> tuple[pl.DataFrame, tuple[Reading, ...]]:
    """Rows of which those are refused whose code is of the other version by the rest of the record.

    A row with a table has a version already; what is stated of all labels decides too.
    """
    free = pl.all_horizontal(pl.col("table", "refused").is_null(), pl.col("label").is_not_null())
    shown = versions_shown(rows.filter(free)["label"], hierarchy)
    if shown.is_empty() or "*" in hierarchy.codes:
        return rows, ()
    told = rows.join(shown, on="label", how="left", maintain_order="left")
    version = pl.when(free).then("version")
    others = [(version == one).any().over("instance") for one in ("other", "own")]
    touched = told.select((version == "both") & others[0] & ~others[1]).to_series().fill_null(False)
    if not touched.any():
        return rows, ()
    found = rows.with_columns(
        refused=pl.when(touched).then(pl.lit("other_version")).otherwise("refused"),
        table=pl.when(touched).then(pl.lit(BESIDE)).otherwise("table"),
    )
    decision = "codes of two versions are of another one, where all others of their record are"
    evidence = "E and V codes are of ICD-9-CM and of ICD-10-CM"
    option = f"--codes {AS_WRITTEN}"
    return found, (Reading(decision, evidence, int(touched.sum()), option),)

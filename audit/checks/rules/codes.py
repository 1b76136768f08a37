"""unknown_code, malformed_code, wrong_table, mixed_versions: labels that are no code as written."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count, whole
from audit.checks.check import TOP_PARTS, first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.evidence import LABEL_PARTS, OF_ROWS_READ, OF_SOME_ROWS
from audit.checks.shared.label_findings import of_labels
from audit.checks.shared.labels_as_written import (
    FITS_ELSEWHERE_ALONE,
    LOOKED_UP,
    WRONG_TABLE,
    lines,
    looked_at,
    mapped,
    read_again,
    refused_for,
    unexplained,
    written,
)
from audit.checks.shared.proposals import near_codes, of_lines, proposals
from audit.hierarchies.coding import VERSIONS, Integrity
from audit.hierarchies.icd import icd9
from audit.hierarchies.icd.built_in import complete_codes
from audit.hierarchies.icd.icd10 import DIAGNOSES, WHO, dotted
from audit.measure.measure import Measurements
from audit.results.findings import Evidence, Part


def _unknown(measured: Measurements) -> Rows:
    """Report refused labels, codes added below a known node, and model classes left out or added.

    If the edition is known, `retired_code` reports the codes missing from it.
    """
    return Rows(looked_at(measured), LOOKED_UP, _unknown_rows(measured))


def _unknown_rows(measured: Measurements) -> Iterator[Row]:
    refused = refused_for(measured, "unknown_code")
    yield from of_labels(
        measured,
        refused,
        key="refused",
        severity="error",
        sentence="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
        "hierarchy lacks[, {mostly}]; {rows|it was|they were} refused.",
        curator="Correct these labels, or name the hierarchy and version they come from; a word "
        "that says that none applies is named by --missing.",
        data_user="Leave these rows out, and say so: not even their ancestors are known.",
        of=looked_at(measured),
        proposes=partial(near_codes, measured, refused),
    )
    yield from of_labels(
        measured,
        refused_for(measured, "bad_row").with_columns(pl.col("label").fill_null("no label")),
        key="bad_row",
        severity="error",
        sentence="{rows} of {of} rows ({share}) {rows|has|have} no id of an instance, or "
        "{rows|says|say} no version of {rows|its|their} code; {rows|it was|they were} refused.",
        curator="Give every row the id of its instance, and its version where there is a column.",
        data_user="Leave these rows out, and say so.",
    )
    labels = unexplained(measured).filter(pl.col("edition").is_null())
    yield from of_labels(
        measured,
        labels,
        key="hung",
        severity="warning",
        sentence="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
        "hierarchy lacks; {nodes_added} nodes {nodes_added|was|were} added for {labels|it|them}, "
        "{nodes_added|below|each below} the node that its digits name.",
        curator="Look the codes up in the edition that was valid when they were assigned, and name "
        "the hierarchy that has them.",
        data_user="Trust the nodes above these codes more than the codes. Counts of branches "
        "without these codes are not comparable.",
        of=looked_at(measured),
        more={"nodes_added": labels["label"].n_unique()},
    )
    if measured.model is not None:
        yield from _of_classes(measured)


def _of_classes(measured: Measurements) -> Iterator[Row]:
    """Classes of the predictions that were left out, and those that were added."""
    predictions = measured.predicted.predictions
    told, hung = predictions.ledger, sorted(predictions.ledger.hung_classes.values())
    nodes = [measured.hierarchy.index(node) for node in hung]
    as_hung = np.asarray(predictions.scores[:, nodes].sum(axis=1)).ravel() > 0
    lacking = "{labels} of {classes} classes of the predictions {labels|is|are} not in the "

    def about(key: str, names: tuple[str, ...], cases: IntArray, more: Evidence) -> partial[Row]:
        read = {"labels": len(names), "classes": told.classes_read, **more}
        return partial(
            Row,
            severity="warning",
            nodes=names[:TOP_PARTS],
            evidence={**read, "instances": len(cases), "predicted": len(predictions)},
            parts=tuple(Part((name,), {}) for name in names[:TOP_PARTS]),
            key=(key,),
            cases=lambda: cases,
        )

    if told.unknown_classes:
        yield about("classes", told.unknown_classes, np.sort(predictions.left_out), {})(
            sentence=lacking + "hierarchy; {labels|it was|they were} left out, scored above 0 on "
            "{instances} of {predicted} instances.",
            curator="Use the hierarchy's names for these classes, or give the hierarchy that the "
            "model was trained on.",
            data_user="Do not blame the model for all mistakes on these instances: part of its "
            "answer there was left out.",
        )
    if hung:
        added = {"nodes_added": len(hung)}
        yield about("classes hung", tuple(hung), np.asarray(predictions.rows[as_hung]), added)(
            sentence=lacking + "hierarchy; {nodes_added} nodes {nodes_added|was|were} added for "
            "{labels|it|them}, {nodes_added|below|each below} the node that its digits "
            "name, with scores above 0 on {instances} of {predicted} instances.",
            curator="Give the hierarchy that the model was trained on: this one lacks these "
            "classes.",
            data_user="Trust the nodes above these classes more than the classes: an answer can "
            "be right only where labels have such a code too.",
        )


def _malformed(measured: Measurements) -> Rows:
    """Report labels refused for their format, and codes refused because no edition has them.

    Not applicable without a code format.
    """
    looked, labels = looked_at(measured), refused_for(measured, "malformed_code")
    never, what = _of_no_edition(measured, labels)
    more = (
        ", for digits that are too many or exchanged, and for codes of another classification. A "
        "code of your own is kept if a dictionary given with --titles has it."
    )
    found = of_labels(
        measured,
        labels,
        key="refused",
        severity="error",
        sentence="{rows} of {of} rows ({share}) {rows|carries|carry} {labels} labels that "
        f"{what}; {{rows|the row was|the rows were}} refused.",
        curator="Correct these labels: look for cut digits, joined codes and free text"
        + (more if never else "."),
        data_user="Leave these rows out, and say so.",
        of=looked,
        more=never,
        proposes=partial(near_codes, measured, labels),
    )
    has_shape = (measured.hierarchy.coding, "this hierarchy has no rules for the shape of a label")
    return Rows(looked, LOOKED_UP, found, first_unmet(has_shape))


def _of_no_edition(measured: Measurements, labels: pl.DataFrame) -> tuple[dict[str, int], str]:
    """How many of the refused labels are shaped like a code, which no edition has, and how many
    of these are codes of the WHO; what the labels are, in words."""
    integrity = measured.hierarchy.integrity
    if integrity is None or not integrity.years:
        return {}, _SHAPELESS
    codes = [integrity.readings(*row) for row in labels.select("label", "table").rows()]
    never = sum(map(bool, codes))
    if not never:
        return {}, _SHAPELESS
    found = 0
    if DIAGNOSES in integrity.tables:
        found = sum(not complete_codes(WHO).isdisjoint(some) for some in codes)
    editions = " or ".join({*integrity.editions.values()})
    who = ", and {of_who} {of_who|is a code|are codes} of ICD-10 of the WHO"
    return {"never_valid": never} | ({"of_who": found} if found else {}), (
        "{labels|is no code|are no codes}; {never_valid} of them {never_valid|looks like one|look "
        f"like codes}}, but in no edition from {min(integrity.years.values())[:6]} to {editions}"
        f"{who if found else ''}"
    )


_SHAPELESS = "{labels|is|are} not shaped like a code"

_MOST = 0.5
"""Share of a table's misplaced rows above which the table is reported instead of its rows, and of
those shaped like codes that no edition has from which misplaced rows are no slips."""


def _misplaced(measured: Measurements) -> Rows:
    """Report labels that are a code of another table and not of theirs, or a whole table."""
    integrity = measured.hierarchy.integrity
    tables = () if integrity is None else integrity.tables
    by_table = {one: read_again(measured).filter(table=one) for one in tables}
    read = sum(int(own["rows"].sum()) for own in by_table.values())
    return Rows(
        read,
        "rows of a known table",
        (row for one in by_table.items() for row in _of_table(measured, *one)),
        first_unmet(
            (len(tables) >= 2, "codes of this hierarchy belong to one code set"),
            (read, "no row says which table it was found in"),
        ),
    )


def _of_table(measured: Measurements, table: str, labels: pl.DataFrame) -> Iterator[Row]:
    """A row on the whole table, or on some of its rows, aside where `malformed_code` reports all
    of them already.

    None where they are the fewer of those that it reports as shaped like a code of the table, and
    that no edition has: then they may be slips.
    """
    foreign, misplaced = labels.filter(FITS_ELSEWHERE_ALONE), labels.filter(WRONG_TABLE)
    read, bins = int(labels["rows"].sum()), measured.rounding.bins("rows")
    told, of = bins.at_worst(int(foreign["rows"].sum()), read)
    row = partial(of_labels, measured, of=read)
    if told > _MOST * of:
        yield from row(
            lines(measured, foreign, "elsewhere"),
            key=f"all {table}",
            severity="error",
            sentence=f"{{rows}} of {{of}} rows of {table} ({{share}}), with {{labels}} labels, "
            "{rows|is a valid code|are valid codes} of another table and not of this one: "
            "the table seems to hold the other code set.",
            curator="Check whether two tables were exchanged on export, and publish them again.",
            data_user="Leave the whole table out until it is exchanged.",
            proposes=partial(_looked_at, measured, foreign),
        )
        return
    integrity, malformed = measured.hierarchy.integrity, refused_for(measured, "malformed_code")
    known = bool(misplaced["line"].is_in(malformed["line"].implode()).all())
    slips = sum(
        number
        for label, number in malformed.filter(table=table).select("label", "rows").iter_rows()
        if integrity and integrity.readings(label, table)
    )
    rows, others = bins.at_worst(int(misplaced["rows"].sum()), slips)
    if known and rows < _MOST * others:
        return
    yield from row(
        lines(measured, misplaced, "elsewhere"),
        key=table,
        severity="warning",
        sentence=f"{{rows}} of {{of}} rows of {table} ({{share}}) {{rows|carries|carry}} "
        f"{{labels}} labels that {{labels|is no code|are no codes}} of {table} but "
        "{labels|a valid one|valid ones} of another table.",
        curator="Check how the tables were joined and exported, and put these rows where they "
        "belong.",
        data_user="Leave these rows out, and say so.",
        aside=known,
        proposes=partial(_looked_at, measured, misplaced),
    )


def _looked_at(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """A look at each label: which table it belongs to is no change of the label."""
    said = "it is a code of another table, and none of its own"
    found = of_lines(measured, labels.select("line", "label", "table"))
    return proposals(found, "review", "review", said)


def _versions(measured: Measurements) -> Rows:
    """Report rows marked as another version, and refused labels in its format."""
    integrity = measured.hierarchy.integrity
    asked = integrity is not None and integrity.other_version is not None
    return Rows(
        measured.ledger.rows_read,
        "rows",
        () if integrity is None else _of_versions(measured, integrity),
        first_unmet((asked, "no other version of this hierarchy is known")),
    )


def _of_versions(measured: Measurements, integrity: Integrity) -> Iterator[Row]:
    yield from of_labels(
        measured,
        _of_the_other(measured),
        key="contradicted",
        severity="warning",
        sentence="{rows} of {of} rows ({share}) {rows|is|are} marked with a version that "
        "lacks {rows|its|their} code, while the other version has it ({labels} labels).",
        curator="Correct the column of versions, or these codes.",
        data_user="Do not trust the version of these rows.",
    )
    refused, shape = written(measured).filter(pl.col("node").is_null()), integrity.other_version
    shaped = [shape is not None and shape(label) for label in refused["label"]]
    row = partial(
        of_labels,
        measured,
        severity="warning",
        curator="Publish the versions apart, or with a column that says which version a row is of.",
        data_user="Audit the rows of the other version with its own hierarchy; here they count "
        "nowhere.",
    )
    yield from row(
        refused_for(measured, "other_version"),
        key="marked",
        sentence="{rows} of {of} rows ({share}) {rows|is|are} of another version of the "
        "classification, as marked, with {labels} different "
        "labels; {rows|it was|they were} refused.",
    )
    yield from row(
        refused.filter(pl.Series(shaped, dtype=pl.Boolean)),
        key="shaped",
        sentence="{rows} of {of} rows ({share}) {rows|carries|carry} {labels} labels that "
        "{labels|is no code|are no codes} of this version but {labels|has|have} the "
        "shape of another version's codes; {rows|it was|they were} refused.",
    )


_SAID = {table: version for version, table in VERSIONS.items()}
_SAID |= dict.fromkeys(icd9.TABLES, "9") | {DIAGNOSES: "10"}
"""The version that a row says, by its table."""


def _of_the_other(measured: Measurements) -> pl.DataFrame:
    """Labels of rows whose version has no such code, while the other version has it."""
    columns = ("line", "label", "table", "rows", "instances")
    every = pl.concat([mapped(measured).select(columns), refused_for(measured).select(columns)])
    said = every["table"].replace_strict(_SAID, default=None, return_dtype=pl.String)
    if "10" not in said and not set(every["table"]) & {*VERSIONS.values()}:
        return every.clear()
    ninth = complete_codes("diagnoses") | complete_codes("procedures")
    tenth = complete_codes(DIAGNOSES)
    contradicted = []
    for label, version in zip(every["label"], said, strict=True):
        has = {"9": bool(ninth & {*icd9.readings(label or "", None)})}
        has["10"] = dotted(label or "") in tenth
        contradicted.append(version is not None and any(has.values()) and not has[version])
    return every.filter(pl.Series(contradicted, dtype=pl.Boolean))


UNKNOWN_CODE = check_of_rows(
    "unknown_code",
    "Is every label a node of the hierarchy?",
    _unknown,
    evidence=Columns(
        OF_SOME_ROWS,
        count("nodes_added", of=NONE),
        whole("classes"),
        count("instances predicted"),
    ),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=True,
)
MALFORMED_CODE = check_of_rows(
    "malformed_code",
    "Are there labels that are no code of any edition?",
    _malformed,
    evidence=Columns(OF_SOME_ROWS, count("never_valid of_who", of=NONE)),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=True,
)
IN_WRONG_TABLE = check_of_rows(
    "wrong_table",
    "Are codes in the wrong table, such as diagnoses among procedures?",
    _misplaced,
    evidence=Columns(OF_SOME_ROWS),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=True,
)
MIXED_VERSIONS = check_of_rows(
    "mixed_versions",
    "Are rows coded in another version of the classification?",
    _versions,
    evidence=Columns(OF_ROWS_READ),
    of_parts=LABEL_PARTS,
    denominator="rows",
)

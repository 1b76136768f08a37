"""unknown_code, malformed_code, wrong_table, mixed_versions: labels that are no code as written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np
import polars as pl

from audit.base.declared import NONE, Columns, count, whole
from audit.checks.check import TOP_PARTS, first_unmet
from audit.checks.rows import Row, Rows
from audit.checks.shared.label_findings import (
    OF_ROWS_READ,
    OF_SOME_ROWS,
    check_of_labels,
    of_labels,
    with_meanings,
)
from audit.checks.shared.proposals import near_codes
from audit.checks.shared.written_labels import (
    READ,
    UNEXPLAINED,
    WRONG,
    integrity_of,
    rows_of,
    written_labels,
)
from audit.hierarchies.coding import VERSIONS
from audit.hierarchies.icd import icd9
from audit.hierarchies.icd.built_in import complete_codes
from audit.hierarchies.icd.icd10 import DIAGNOSES, WHO, dotted
from audit.measure.measure import Measurements
from audit.results.findings import Part

LOOKED_UP = "rows whose codes can be looked up"


def _looked_at(measured: Measurements) -> int:
    """Number of rows whose codes can be looked up: neither version nor hierarchy is another one."""
    read, refused = measured.ledger.rows_read, measured.ledger.refused
    return read - refused.get("other_version", 0) - refused.get("no_hierarchy", 0)


def _refused(measured: Measurements, reason: str) -> pl.DataFrame:
    """The labels that are refused for a reason of the ledger, with their tables as stated."""
    return written_labels(measured).filter(reason=reason).with_columns(table="stated")


def _unknown(measured: Measurements) -> Rows:
    """Refused labels, codes added that no edition explains, and classes left out or added.

    A label without a node is *refused*. A hierarchy file is the authority: codes that it lacks are
    refused, and a dictionary adds none. With `--unlisted hang` (`unlisted_codes = "hang"`) they are
    *hung* below the nearest node that their digits name, if there is one, and told. A built-in
    classification hangs codes of other editions (`retired_code`) and refuses those of none
    (`malformed_code`). What a lost zero or the wrong table explains is told by `lost_zero` and
    `wrong_table`.

    A *class* of the predictions that is no node is treated likewise, and counted by instances with
    a score above 0 for it. Labels or classes left out stop an audit only if they are most of them.
    A row without an id, or without a version where a column has it, is a `bad_row`, a finding of
    its own.

    **Severity.** Error for refused labels and unread rows, warning for hung ones and classes.
    **Limits.** A file of another year refuses what is valid in this one. Hung nodes change the
    share of every branch above.
    """
    looked, editions = _looked_at(measured), integrity_of(measured).editions
    refused, unread = (_refused(measured, reason) for reason in ("unknown_code", "bad_row"))
    dated = pl.col("code_set").is_in([*editions]).fill_null(value=False)
    hung = written_labels(measured).filter(UNEXPLAINED & ~dated).with_columns(label="node")
    found = (
        of_labels(
            measured,
            refused,
            key="refused",
            severity="error",
            sentence="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
            "hierarchy lacks[, {mostly}]; {rows|it was|they were} refused.",
            curator="Correct these labels, or name the hierarchy and version they come from; a "
            "word that says that none applies is named by --missing.",
            data_user="Leave these rows out, and say so: not even their ancestors are known.",
            of=looked,
            proposes=partial(near_codes, measured, refused),
        ),
        of_labels(
            measured,
            unread.with_columns(pl.col("label").fill_null("no label")),
            key="bad_row",
            severity="error",
            sentence="{rows} of {of} rows ({share}) {rows|has|have} no id of an instance, or "
            "{rows|says|say} no version of {rows|its|their} code; {rows|it was|they were} refused.",
            curator="Give every row the id of its instance, and its version where there is a "
            "column.",
            data_user="Leave these rows out, and say so.",
        ),
        of_labels(
            measured,
            hung,
            key="hung",
            severity="warning",
            sentence="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
            "hierarchy lacks; {nodes_added} nodes {nodes_added|was|were} added for "
            "{labels|it|them}, {nodes_added|below|each below} the node that its digits name.",
            curator="Look the codes up in the edition that was valid when they were assigned, and "
            "name the hierarchy that has them.",
            data_user="Trust the nodes above these codes more than the codes. Counts of branches "
            "without these codes are not comparable.",
            of=looked,
            more={"nodes_added": hung["label"].n_unique()},
        ),
        () if measured.model is None else _of_classes(measured),
    )
    return Rows(looked, LOOKED_UP, chain(*found))


def _of_classes(measured: Measurements) -> Iterator[Row]:
    """Classes of the predictions that were left out, and those that were added."""
    predictions = measured.predicted.predictions
    told, hung = predictions.ledger, sorted(predictions.ledger.hung_classes.values())
    scores = predictions.scores[:, [*map(measured.hierarchy.index, hung)]]
    answered = np.asarray(predictions.rows[np.asarray(scores.sum(axis=1)).ravel() > 0])
    sentence = (
        "{labels} of {classes} classes of the predictions {labels|is|are} not in the hierarchy; "
        "%s {instances} of {predicted} instances."
    )
    for key, names, cases, what, curator, data_user in (
        (
            "classes",
            told.unknown_classes,
            np.sort(predictions.left_out),
            "{labels|it was|they were} left out, scored above 0 on",
            "Use the hierarchy's names for these classes, or give the hierarchy that the model was "
            "trained on.",
            "Do not blame the model for all mistakes on these instances: part of its answer there "
            "was left out.",
        ),
        (
            "classes hung",
            hung,
            answered,
            "{nodes_added} nodes {nodes_added|was|were} added for {labels|it|them}, "
            "{nodes_added|below|each below} the node that its digits name, with scores above 0 on",
            "Give the hierarchy that the model was trained on: this one lacks these classes.",
            "Trust the nodes above these classes more than the classes: an answer can be right "
            "only where labels have such a code too.",
        ),
    ):
        if names:
            counts = {"labels": len(names), "classes": told.classes_read}
            counts |= {"nodes_added": len(hung)} if names is hung else {}
            yield Row(
                severity="warning",
                nodes=tuple(names[:TOP_PARTS]),
                sentence=sentence % what,
                evidence={**counts, "instances": len(cases), "predicted": len(predictions)},
                curator=curator,
                data_user=data_user,
                parts=tuple(Part((name,), {}) for name in names[:TOP_PARTS]),
                key=(key,),
                cases=cases,
            )


def _malformed(measured: Measurements) -> Rows:
    """Labels refused for their format, and codes refused because no edition has them.

    - *Not shaped like a code.* ICD-9-CM: diagnoses `ddd`, `ddd.d`, `ddd.dd`; V codes `Vdd`,
      `Vdd.d`, `Vdd.dd`; E codes `Eddd`, `Eddd.d`; procedures `dd`, `dd.d`, `dd.dd`; with or without
      the dot.
    - *In no edition*: neither the loaded one, nor a dictionary (`--titles`), nor an earlier one. A
      code of an earlier edition is kept and told by `retired_code`; any other is refused, though
      its first digits name a category (250.99). Years are those of CMS and CDC: ICD-9-CM from
      FY1997, ICD-10-CM from 2014.

    Rows of another version, or of a classification that is not loaded, do not count. **Severity.**
    Error. **Limits.** Codes deleted before FY1997 are refused as never valid, and codes that leave
    ICD-10-CM after April 2026 are not known yet. A mistyped code that is another code is not found.
    Not applicable to hierarchies without rules of spelling.
    """
    looked, labels = _looked_at(measured), _refused(measured, "malformed_code")
    integrity, rows = integrity_of(measured), labels.select("label", "table").rows()
    codes = [own for row in rows if (own := integrity.readings(*row))]
    more, what, rest = dict[str, int](), "{labels|is|are} not shaped like a code", "."
    if integrity.years and codes:
        first, last = min(integrity.years.values())[:6], " or ".join({*integrity.editions.values()})
        what = (
            "{labels|is no code|are no codes}; {never_valid} of them {never_valid|looks like one|"
            f"look like codes}}, but in no edition from {first} to {last}"
        )
        rest = (
            ", for digits that are too many or exchanged, and for codes of another classification. "
            "A code of your own is kept if a dictionary given with --titles has it."
        )
        more["never_valid"] = len(codes)
        known = complete_codes(WHO) if DIAGNOSES in integrity.tables else frozenset()
        if of_who := sum(not known.isdisjoint(some) for some in codes):
            what += ", and {of_who} {of_who|is a code|are codes} of ICD-10 of the WHO"
            more["of_who"] = of_who
    found = of_labels(
        measured,
        labels,
        key="refused",
        severity="error",
        sentence="{rows} of {of} rows ({share}) {rows|carries|carry} {labels} labels that "
        f"{what}; {{rows|the row was|the rows were}} refused.",
        curator=f"Correct these labels: look for cut digits, joined codes and free text{rest}",
        data_user="Leave these rows out, and say so.",
        of=looked,
        more=more,
        proposes=partial(near_codes, measured, labels),
    )
    has_shape = (measured.hierarchy.coding, "this hierarchy has no rules for the shape of a label")
    return Rows(looked, LOOKED_UP, found, first_unmet(has_shape))


_MOST = 0.5
"""Share of a table's misplaced rows above which the table is reported instead of its rows, and of
those shaped like codes that no edition has from which misplaced rows are no slips."""


def _misplaced(measured: Measurements) -> Rows:
    """Labels that are a code of another table and not of theirs, or a whole table.

    Without their dots, diagnoses and procedures look alike: `3893` is 389.3 or 38.93. A row counts
    where its label is *not a code of its own table* (refused, or in no complete list) but *an
    assignable code of the other*. Where most rows of a table are valid codes of the other table and
    not valid in their own (headings do not count as valid), there is one finding for the table
    instead. Refused rows that are fewer than half of those that `malformed_code` reports as shaped
    like a code of no edition are left to it as slips; [told counts](methods/small_cells.md) decide.

    **Severity.** Warning for rows, below other warnings where all were refused. Error for a table,
    since its other rows were mapped to the wrong nodes. **Limits.** For a hierarchy file, its nodes
    are the list. Rows that are valid in both tables are never findings. Not applicable where no row
    names its table.
    """
    tables = integrity_of(measured).tables
    by_table = {one: written_labels(measured).filter(READ, table=one) for one in tables}
    read = sum(map(rows_of, by_table.values()))
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
    """A row on the whole table, or on its misplaced rows unless they are likely slips."""
    integrity, bins = integrity_of(measured), measured.rounding.bins("rows")
    foreign = labels.filter(~pl.col("may_be_valid"), pl.col("elsewhere").list.len() > 0)
    misplaced, refused = labels.filter(fault=WRONG), labels.filter(reason="malformed_code")
    shaped = [bool(integrity.readings(label, table)) for label in refused["label"]]
    slips = rows_of(refused.filter(pl.Series(shaped, dtype=pl.Boolean)))
    known = misplaced.join(refused, on="line", how="anti").is_empty()
    whole, of = bins.at_worst(rows_of(foreign), rows_of(labels))
    rows, others = bins.at_worst(rows_of(misplaced), slips)
    row = partial(of_labels, measured, of=rows_of(labels))
    if whole > _MOST * of:
        yield from row(
            with_meanings(measured, foreign, "elsewhere"),
            key=f"all {table}",
            severity="error",
            sentence=f"{{rows}} of {{of}} rows of {table} ({{share}}), with {{labels}} labels, "
            "{rows|is a valid code|are valid codes} of another table and not of this one: "
            "the table seems to hold the other code set.",
            curator="Check whether two tables were exchanged on export, and publish them again.",
            data_user="Leave the whole table out until it is exchanged.",
        )
    elif not known or rows >= _MOST * others:
        yield from row(
            with_meanings(measured, misplaced, "elsewhere"),
            key=table,
            severity="warning",
            sentence=f"{{rows}} of {{of}} rows of {table} ({{share}}) {{rows|carries|carry}} "
            f"{{labels}} labels that {{labels|is no code|are no codes}} of {table} but "
            "{labels|a valid one|valid ones} of another table.",
            curator="Check how the tables were joined and exported, and put these rows where they "
            "belong.",
            data_user="Leave these rows out, and say so.",
            aside=known,
        )


def _versions(measured: Measurements) -> Rows:
    """Rows that are coded in another version of the classification, in up to three findings.

    - *Marked*: rows that a column of their [layout](formats.md#layouts) marks as the other version,
      such as `icd_version`; refused as `other_version`.
    - *Contradicted*: the row says one version and only the other has the code: `E860` marked 9 is a
      code of ICD-10-CM.
    - *Shaped*: refused labels shaped like the other version alone: a letter other than V and E, a
      digit, a digit or A or B and up to four more, or E with its dot after two digits (ICD-10-CM);
      seven letters and digits without I and O, a digit first (ICD-10-PCS).

    **Severity.** Warning; shaped rows are errors of `malformed_code` besides. **Limits.** A
    mistyped code may fit. V and E codes of both versions are found only where a column says the
    version.
    """
    shape = integrity_of(measured).other_version
    why_not = "" if shape else "no other version of this hierarchy is known"
    found = () if shape is None else _of_versions(measured, shape)
    return Rows(measured.ledger.rows_read, "rows", found, why_not)


def _of_versions(measured: Measurements, shape: Callable[[str], bool]) -> Iterator[Row]:
    """Rows that contradict their version, are marked as the other, or have its ``shape``."""
    row = partial(of_labels, measured, severity="warning")
    yield from row(
        _of_the_other(measured),
        key="contradicted",
        sentence="{rows} of {of} rows ({share}) {rows|is|are} marked with a version that "
        "lacks {rows|its|their} code, while the other version has it ({labels} labels).",
        curator="Correct the column of versions, or these codes.",
        data_user="Do not trust the version of these rows.",
    )
    row = partial(
        row,
        curator="Publish the versions apart, or with a column that says which version a row is of.",
        data_user="Audit the rows of the other version with its own hierarchy; here they count "
        "nowhere.",
    )
    yield from row(
        _refused(measured, "other_version"),
        key="marked",
        sentence="{rows} of {of} rows ({share}) {rows|is|are} of another version of the "
        "classification, as marked, with {labels} different "
        "labels; {rows|it was|they were} refused.",
    )
    refused = written_labels(measured).filter(READ, pl.col("node").is_null())
    shaped = pl.Series([shape(label) for label in refused["label"]], dtype=pl.Boolean)
    yield from row(
        refused.filter(shaped),
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
    every = written_labels(measured)
    said = every["stated"].replace_strict(_SAID, default=None, return_dtype=pl.String)
    if "10" not in said and not set(every["stated"]) & {*VERSIONS.values()}:
        return every.clear()
    ninth = complete_codes("diagnoses") | complete_codes("procedures")
    tenth = complete_codes(DIAGNOSES)
    contradicted = []
    for label, version in zip(every["label"], said, strict=True):
        has = {"9": bool(ninth & {*icd9.readings(label or "", None)})}
        has["10"] = dotted(label or "") in tenth
        contradicted.append(version is not None and any(has.values()) and not has[version])
    return every.filter(pl.Series(contradicted, dtype=pl.Boolean))


UNKNOWN_CODE = check_of_labels(
    "unknown_code",
    "Is every label a node of the hierarchy?",
    _unknown,
    evidence=Columns(
        OF_SOME_ROWS,
        count("nodes_added", of=NONE),
        whole("classes"),
        count("instances predicted"),
    ),
)
MALFORMED_CODE = check_of_labels(
    "malformed_code",
    "Are there labels that are no code of any edition?",
    _malformed,
    evidence=Columns(OF_SOME_ROWS, count("never_valid of_who", of=NONE)),
)
IN_WRONG_TABLE = check_of_labels(
    "wrong_table",
    "Are codes in the wrong table, such as diagnoses among procedures?",
    _misplaced,
    evidence=Columns(OF_SOME_ROWS),
)
MIXED_VERSIONS = check_of_labels(
    "mixed_versions",
    "Are rows coded in another version of the classification?",
    _versions,
    evidence=Columns(OF_ROWS_READ),
)

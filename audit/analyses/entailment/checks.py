"""The checks of an entailment graph: rows of its tables as findings, and the tuples behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import ELEMENTS
from audit.analyses.entailment.declared import ALL
from audit.analyses.entailment.quality import SAME_KEY
from audit.analyses.entailment.votes import CARRYING
from audit.base.dag import IntArray
from audit.base.declared import NONE, Column, Columns, Mark, count, setting, share
from audit.checks.check import Check
from audit.checks.rows import Row, Rows, check_of_rows
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements

Case: TypeAlias = Mapping[str, Any]
Evidence: TypeAlias = dict[str, Any]


class Measured(NamedTuple):
    """What checks read: the tables, the tuples, the generation set, and the instances."""

    frames: Mapping[str, pl.DataFrame]
    tuples: pl.DataFrame
    positives: pl.DataFrame | None
    of: Measurements

    def of_relations(self, table: str) -> pl.DataFrame:
        """A table without the row of all relations."""
        return self.frames[table].filter(pl.col("relation") != ALL)

    def row(self, tuples: pl.DataFrame, evidence: Evidence, *key: str, **said: Any) -> Row:
        """A finding on a relation, the first part of its key, with the tuples behind it.

        Its strength is its share, if it has one, where nothing else is said.
        """

        def cases() -> IntArray:
            ids = self.of.loaded.dataset.instances["instance"]
            return np.flatnonzero(ids.is_in(tuples["id"].implode()).to_numpy()).astype(np.int64)

        own = {"key": key, "nodes": key[:1], "strength": evidence.get("share", 1.0)}
        evidence = {"instances": tuples.height, **evidence}
        return Row(cases=cases, evidence=evidence, **own | said)


def check(
    title: str,
    of: tuple[str, str, str, str],
    denominator: Literal["instances", "whole", "untold"],
    *evidence: Iterable[Column],
) -> Callable[[Callable[[Measured], Iterable[Row]]], Check]:
    """A check of the findings of a function, of its name.

    Args:
        of: What is examined: a table, its column that counts it, or none where each row is one;
            the unit; and why there may be none.
    """

    def checked(found: Callable[[Measured], Iterable[Row]]) -> Check:
        def table(measured: Measurements) -> Rows:
            given, (name, column, unit, why) = measured.of("entailment"), of
            tuples, positives = given.behind
            own = Measured(given.frames, tuples, positives, measured)
            total = int(own.of_relations(name)[column].sum()) if column else len(own.frames[name])
            rows = [*found(own)]
            return Rows(total, unit, rows, "" if total or rows else why)

        return check_of_rows(
            found.__name__,
            title,
            table,
            reads="entailment",
            nodes="Relation",
            evidence=Columns(*evidence),
            denominator=denominator,
        )

    return checked


LONGEST = 60
"""Characters of a text that a sentence quotes."""
BEFORE = 15
"""Characters that are quoted before the first difference of two long texts, and the word there."""
_PLAIN = str.maketrans("{}[]", "()()")


def quoted(text: str) -> str:
    """A text in quotation marks, cut if long, without characters that have a meaning in templates.

    >>> quoted("a {wild}  animal")
    '“a (wild) animal”'
    """
    plain = " ".join(text.translate(_PLAIN).split())
    return f"“{plain if len(plain) <= LONGEST else plain[: LONGEST - 1].rstrip() + '…'}”"


def quoted_apart(*texts: str) -> list[str]:
    """Two texts in quotation marks, cut if long so that their first difference is still there.

    Case is no difference.

    >>> quoted_apart("a very long text " * 4 + "ends", "a very long text " * 4 + "begins")
    ['“…very long text ends”', '“…very long text begins”']
    """
    plain = [" ".join(text.split()) for text in texts]
    start = 0
    if max(map(len, plain)) > LONGEST:
        pairs = enumerate(zip(*(text.lower() for text in plain), strict=False))
        first = next((place for place, (a, b) in pairs if a != b), min(map(len, plain)))
        start = plain[0].rfind(" ", 0, max(first - BEFORE, 0)) + 1
    return [quoted("…" * bool(start) + text[start:]) for text in plain]


def cases(rows: pl.DataFrame, said: Callable[[Case], str]) -> str:
    """The first three in words."""
    return "; ".join(said(row) for row in rows.head(3).iter_rows(named=True))


def arrows(*texts: str) -> str:
    """Texts along edges: ``“a” → “b”``."""
    return " → ".join(map(quoted, texts))


def edge(row: Case) -> str:
    """The edge of a row, in words."""
    return arrows(row["instance"], row["concept"])


def bounds(name: str, k: int, n: int) -> Evidence:
    """So many of n as evidence, with the share and its Wilson interval."""
    low, high = wilson(k, n)
    return {name: k, "of": n, "share": k / n if n else 0.0, "low": low, "high": high}


OF_TUPLES = (
    *share("share", "Share", of="tuples of", ends="low high", mark=Mark()),
    *count("tuples", "Tuples", among="of"),
    *count("instances of"),
)
_TUPLES = ("graph_relations", "tuples", "tuples", "")
_SPLITS = ("quality_shared_keys", "", "pairs of splits", "there are no two splits")
_SET = ("quality_generation_set", "valid", "valid tuples", "no generation set was given")
_VOTED = ("quality_weak", "tuples", "tuples with votes", "no tuple has votes")
_MISMATCHES = {
    "instance_not_head": "an instance that is not the head",
    "tail_not_concept": "a tail that is not the concept",
    "head_lacks_instance": "an instance that is not a word of the head",
    "tail_repeats_head": "a tail that repeats the head",
    "tail_differs": "a tail that is not the head with its instance replaced by the concept",
}


@check("Do the elements of each tuple fit each other?", _TUPLES, "instances", OF_TUPLES)
def tail_mismatch(found: Measured) -> Iterator[Row]:
    """Each fault of each relation."""
    heads = found.tuples.select("id", "head")
    unfit = found.frames["quality_mismatches"].join(heads, on="id", maintain_order="left")

    def case(row: Case) -> str:
        if row["proposed"] is None:
            return f"{quoted(row['value'])} in {quoted(row['head'])}"
        apart = quoted_apart(row["value"], row["proposed"])
        return f"{row['column']} {' and not '.join(apart)}"

    look = (
        "Look at a few, since the label was given for the text that annotators saw; then take the "
        "proposed text."
    )
    lacks = "Find out where the instance was taken from, and correct the head or the instance."
    for row in found.frames["quality_consistency"].filter(pl.col("faulty") > 0).to_dicts():
        relation, fault = row["relation"], row["fault"]
        own = unfit.filter(relation=relation, fault=fault)
        yield found.row(
            own,
            bounds("tuples", row["faulty"], row["tuples"]),
            relation,
            fault,
            severity="warning",
            sentence=f"{{tuples}} of {{of}} tuples of {relation} ({{share}}) {{tuples|has|have}} "
            f"{_MISMATCHES[fault]}: {cases(own, case)}.",
            curator=lacks if fault == "head_lacks_instance" else look,
            data_user="Leave these tuples out, or build the tail from the other elements: a model "
            "that reads the tail is asked about another text than the annotators were.",
        )


@check(
    "Is any head with the same instance in two splits?",
    _SPLITS,
    "whole",
    count("instances astray"),
    count("keys of", of=NONE),
    share("share", of="keys of", ends="low high"),
)
def head_in_two_splits(found: Measured) -> Iterator[Row]:
    """Pairs of splits that share a (head, instance)."""
    for row in found.frames["quality_shared_keys"].filter(pl.col("shared") > 0).to_dicts():
        split, other = row["split"], row["other"]
        own = found.frames["quality_misplaced"].filter(pl.col("split").is_in([split, other]))
        own = own.filter(pl.col("split").n_unique().over(SAME_KEY) > 1)
        said = cases(
            own.unique(SAME_KEY, maintain_order=True),
            lambda case: f"{quoted(case['head'])} with {quoted(case['instance'])}",
        )
        astray = own.filter(pl.col("split") != pl.col("home")).height
        yield found.row(
            own,
            {**bounds("keys", row["shared"], row["keys"]), "astray": astray},
            split,
            other,
            severity="error",
            sentence=f"{{keys}} of {{of}} heads with an instance in the {other} split ({{share}}) "
            f"{{keys|is|are}} in the {split} split too: {said}.",
            curator="Put all tuples of a head and an instance into the split that has most of "
            "them, or split anew by a hash of both.",
            data_user=f"Leave these tuples out of the {other} split before you report a number: a "
            "model has seen the other concepts of the same instance.",
        )


@check("Do tuples repeat others?", _TUPLES, "instances", OF_TUPLES, count("across"))
def duplicate_tuple(found: Measured) -> Iterator[Row]:
    """Relations with repeated tuples."""
    repeats = found.frames["quality_repeats"]
    for relation in repeats["relation"].unique().sort():
        own = repeats.filter(relation=relation)
        across = int((own["split"] != own["first_split"]).sum())
        said = cases(own, lambda case: f"{quoted(case['id'])} repeats {quoted(case['first'])}")
        n = found.tuples.filter(relation=relation).height
        yield found.row(
            own,
            {**bounds("tuples", len(own), n), "across": across},
            relation,
            severity="error" if across else "warning",
            sentence=f"{{tuples}} of {{of}} tuples of {relation} ({{share}}) "
            "{tuples|repeats|repeat} an earlier one in all elements and the label, {across} of "
            f"them from another split: {said}.",
            curator="Keep the first of each.",
            data_user="Drop the repeats before training: they count as if more people had given "
            "the label.",
        )


@check(
    "Does the generation set hold exactly the valid tuples of the detection set?",
    _SET,
    "instances",
    count("instances lacking of"),
    share("share", of="lacking of", ends="low high"),
    count("more", of=NONE),
)
def generation_mismatch(found: Measured) -> Iterator[Row]:
    """Relations whose generation set lacks valid tuples, or has others."""
    if found.positives is None:
        return
    valid, of_set = (of.filter("valid") for of in (found.tuples, found.positives))
    lacking = valid.join(of_set, on=ELEMENTS, how="anti", maintain_order="left")
    beyond = of_set.join(valid, on=ELEMENTS, how="anti", maintain_order="left")
    denied = found.tuples.filter(~pl.col("valid")).join(beyond, on=ELEMENTS, how="semi")
    for row in found.of_relations("quality_generation_set").to_dicts():
        relation, n, more = row["relation"], row["only_detection"], row["only_generation"]
        more += row["not_valid"]
        first = (
            f" The first that is {said}: {edge(case)} in {quoted(case['head'])}."
            for said, of in (("lacking", lacking), ("too much", beyond))
            for case in of.filter(relation=relation).head(1).to_dicts()
        )
        if n + more:
            yield found.row(
                pl.concat(of.filter(relation=relation) for of in (lacking, denied)),
                {"instances": n, **bounds("lacking", n, row["valid"]), "more": more},
                relation,
                severity="warning",
                sentence=f"The generation set lacks {{lacking}} of {{of}} valid tuples of "
                f"{relation} ({{share}}), and has {{more}} that are not valid tuples of the "
                f"detection set.{''.join(first)}",
                curator="Make the generation set anew from the valid tuples.",
                data_user="Take the references from the detection set, and leave out tuples that "
                "it does not have.",
                strength=(n + more) / max(row["valid"] + more, 1),
            )


@check(
    "Do at least four of five votes support each label?",
    _VOTED,
    "instances",
    OF_TUPLES,
    count("ties against"),
    setting("carrying"),
)
def weak_label(found: Measured) -> Iterator[Row]:
    """The weak labels of each relation."""
    texts = found.tuples.select("id", "instance", "concept")
    weak = found.frames["quality_weak_labels"].join(texts, on="id", maintain_order="left")
    weakest = weak.sort(pl.col("for_label") / pl.col("votes"), "row")

    def case(row: Case) -> str:
        label = "valid" if row["valid"] else "invalid"
        return f"{edge(row)} is {label} by {row['for_label']} of {row['votes']} votes"

    for row in found.of_relations("quality_weak").filter(pl.col("weak") > 0).to_dicts():
        own = weakest.filter(relation=row["relation"])
        kinds = {"ties": row["ties"], "against": row["against"], "carrying": CARRYING}
        yield found.row(
            own,
            bounds("tuples", row["weak"], row["tuples"]) | kinds,
            row["relation"],
            severity="error" if row["against"] else "warning",
            sentence=f"{{tuples}} of {{of}} tuples of {row['relation']} with votes ({{share}}) "
            "{tuples|has|have} less than four fifths of them for the label; {ties} of these "
            "{ties|is a tie|are ties}, and {against} {against|has|have} most votes against it: "
            f"{cases(own, case)}.",
            curator="Have these tuples judged again, and leave out those that stay split.",
            data_user="Leave these tuples out of test sets: a model cannot be right where "
            "annotators do not agree.",
        )

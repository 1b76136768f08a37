"""The checks of an entailment graph: rows of its tables as findings, and the tuples behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import polars as pl

from audit.analyses.entailment.dataset import ELEMENTS
from audit.analyses.entailment.elements import SAME_KEY
from audit.analyses.entailment.findings import (
    Case,
    Measured,
    arrows,
    bounds,
    check,
    edge,
    first_of,
    quoted,
)
from audit.analyses.entailment.graph import EDGE
from audit.analyses.entailment.quality import CARRYING
from audit.base.declared import NONE, Mark, count, setting, share
from audit.checks.rows import Row

ONE, ACROSS = "one context", "across contexts"
"""Last parts of the keys of findings that lie within one context, or need several."""
OF_TUPLES = (
    *share("share", "Share", of="tuples of", ends="low high", mark=Mark()),
    *count("tuples", "Tuples", among="of"),
    *count("instances of"),
)
OF_EDGES = (
    *share("share", "Share", of="edges of", ends="low high", mark=Mark()),
    *count("edges", "Edges", of=NONE, among="of"),
    *count("of", of=NONE),
    *count("instances", "Tuples"),
)
_MISMATCHES = {
    "instance_not_head": "an instance that is not the head",
    "tail_not_concept": "a tail that is not the concept",
    "head_lacks_instance": "an instance that is not a word of the head",
    "tail_repeats_head": "a tail that repeats the head",
    "tail_differs": "a tail that is not the head with its instance replaced by the concept",
}


@check(
    "Do the elements of each tuple fit each other?",
    ("graph_relations", "tuples", "tuples", ""),
    "instances",
    OF_TUPLES,
)
def tail_mismatch(found: Measured) -> Iterator[Row]:
    """Tuples whose elements do not fit each other, by relation and fault.

    In a relation about a part of the event, the head should contain the instance as whole words
    (else `head_lacks_instance`), and the tail should be the head with one mention of the instance,
    or all, replaced by the concept (`tail_repeats_head`, `tail_differs`); where the instance is a
    part of a word, as *dog* in *dogs*, *pets* is right too. In `Event-Entail`, and in pairs, the
    instance should be the head, and the tail the concept (`instance_not_head`, `tail_not_concept`).
    Texts are compared in lower case with single blanks, and *an* is as good as *a*. **Severity.**
    Warning. Corrections are in the run's restricted table of mismatches.
    """
    heads = found.tuples.select("id", "head")
    unfit = found.frames["quality_mismatches"].join(heads, on="id", maintain_order="left")

    def case(row: Case) -> str:
        if row["proposed"] is None:
            return f"{quoted(row['value'])} in {quoted(row['head'])}"
        return f"{row['column']} {quoted(row['value'])} and not {quoted(row['proposed'])}"

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
            f"{_MISMATCHES[fault]}: {first_of(own, case)}.",
            curator=lacks if fault == "head_lacks_instance" else look,
            data_user="Leave these tuples out, or build the tail from the other elements: a model "
            "that reads the tail is asked about another text than the annotators were.",
        )


@check(
    "Is any head with the same instance in two splits?",
    ("quality_shared_keys", "", "pairs of splits", "there are no two splits"),
    "whole",
    count("instances astray"),
    count("keys of", of=NONE),
    share("share", of="keys of", ends="low high"),
)
def head_in_two_splits(found: Measured) -> Iterator[Row]:
    """Pairs of splits that share a head and an instance, apart from case and blanks.

    The same head with another instance may be in another split. The share is that of the different
    heads with instances of the later split that are in the earlier one too, with its Wilson
    interval. `astray` counts the tuples not in the split with most tuples of their head and
    instance. **Severity.** Error, since the later split then measures a model on its training data.
    """
    for row in found.frames["quality_shared_keys"].filter(pl.col("shared") > 0).to_dicts():
        split, other = row["split"], row["other"]
        own = found.frames["quality_misplaced"].filter(pl.col("split").is_in([split, other]))
        own = own.filter(pl.col("split").n_unique().over(SAME_KEY) > 1)
        said = first_of(
            own.unique(SAME_KEY, maintain_order=True),
            lambda case: f"{quoted(case['head'])} with {quoted(case['instance'])}",
        )
        astray = own.filter(pl.col("split") != pl.col("home")).height
        yield found.row(
            own,
            {**bounds("keys", row["shared"], row["keys"]), "astray": astray},
            split,
            other,
            nodes=None,
            severity="error",
            sentence=f"{{keys}} of {{of}} heads with an instance in the {other} split ({{share}}) "
            f"{{keys|is|are}} in the {split} split too: {said}.",
            curator="Put all tuples of a head and an instance into the split that has most of "
            "them, or split anew by a hash of both.",
            data_user=f"Leave these tuples out of the {other} split before you report a number: a "
            "model has seen the other concepts of the same instance.",
        )


@check(
    "Does the generation set hold exactly the valid tuples of the detection set?",
    ("quality_generation_set", "valid", "valid tuples", "no generation set was given"),
    "instances",
    count("instances lacking of"),
    share("share", of="lacking of", ends="low high"),
    count("more", of=NONE),
)
def generation_mismatch(found: Measured) -> Iterator[Row]:
    """Relations whose generation set lacks valid tuples of the detection set, or has others.

    Different tuples are compared by relation, head, tail, instance and concept. `lacking` of `of`
    valid tuples are missing, `more` should not be there: they are not valid in the detection set,
    or marked as invalid. In *AbsPyramid* the two agree. It needs `--positives`. **Severity.**
    Warning. It is mended by making the set [anew](entailment.md#splits).
    """
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
    ("quality_weak", "tuples", "tuples with votes", "no tuple has votes"),
    "instances",
    OF_TUPLES,
    count("ties against"),
    setting("carrying"),
)
def weak_label(found: Measured) -> Iterator[Row]:
    """Labels that fewer than four fifths of the votes on their tuple are for, by relation.

    *AbsPyramid* keeps only tuples with four or five of five votes one way. Ties, and labels that
    most votes are against, are counted separately. **Severity.** Warning; error where most votes
    are against a label.
    """
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
            f"{first_of(own, case)}.",
            curator="Have these tuples judged again, and leave out those that stay split.",
            data_user="Leave these tuples out of test sets: a model cannot be right where "
            "annotators do not agree.",
        )


def _under(row: Case) -> str:
    """`` (under “head”)``; empty where several heads are needed, or the instance is the head."""
    return "" if row["head"] is None else f" (under {quoted(row['head'])})"


def _where_judged(row: Case) -> str:
    """Whether the edges of a finding were judged under one head, as the end of a clause."""
    if not row["one_context"]:
        return " under different heads, where a text may mean different things"
    return "" if row["head"] is None else " under the same head"


@check(
    "Do any texts entail each other in a cycle?",
    ("graph_relations", "valid_edges", "valid edges", "no tuple states a valid edge"),
    "untold",
    count("instances"),
    count("texts edges", of=NONE),
)
def cycle(found: Measured) -> Iterator[Row]:
    """Strongly connected components, of several texts, of the valid edges of a relation.

    Each is a finding, which spells out a shortest cycle that has an edge in one direction only,
    within a single context if there is one. **Severity.** Warning where a cycle is under one head,
    or in a relation whose instance is the whole head. Note where it needs several heads, and where
    each edge is valid in both directions: the texts are stated to be synonyms. **Limits.** One
    wrong edge can join two large sets: look at the cycle, not at the number of texts.
    """
    tuples = found.tuples.filter(pl.col("valid") & (pl.col("instance") != pl.col("concept")))
    for end in EDGE[1:]:
        members = found.frames["graph_members"].rename({"text": end, "first": f"{end}_first"})
        tuples = tuples.join(members, on=["relation", end])
    inside = tuples.filter(pl.col("instance_first") == pl.col("concept_first"))
    behind = inside.partition_by("relation", "instance_first", as_dict=True)
    for row in found.frames["graph_components"].to_dicts():
        relation, synonyms = row["relation"], " and ".join(map(quoted, row["cycle"][:2]))
        said = (
            f"{{texts}} texts of {relation} entail each other by {{edges}} valid edges"
            f"{_where_judged(row)}: {arrows(*row['cycle'])}{_under(row)}."
        )
        if row["synonyms"]:
            said = (
                f"{{texts}} texts of {relation}, {synonyms} among them, are stated to be synonyms: "
                "each of their {edges} valid edges is valid in both directions."
            )
        yield found.row(
            behind[relation, row["first"]],
            {"texts": row["texts"], "edges": row["edges"]},
            relation,
            row["first"],
            severity="warning" if row["one_context"] else "note",
            sentence=said,
            curator="If the texts say the same, give them one spelling; otherwise have the edges "
            "of the cycle judged again: at least one of them is wrong.",
            data_user="Merge these texts, or leave their edges out, before using the edges as a "
            "hierarchy.",
        )


def _edges(
    found: Measured, table: str, among: str, *steps: tuple[str, str], **others: str
) -> Iterator[tuple[pl.DataFrame, Case, Callable[..., Row]]]:
    """By relation, in one context and across: rows of ``table``, the first, `found.row` for it.

    The tuples behind state a step of a row, a pair of its columns. ``among`` and ``others`` name
    columns of counts of the relation: what the rows are a share of, and further evidence by name.
    """
    for own in found.frames[table].partition_by("relation", "one_context", maintain_order=True):
        first = own.row(0, named=True)
        relation, one = first["relation"], first["one_context"]
        (numbers,) = found.frames["graph_relations"].filter(relation=relation).to_dicts()
        edges = pl.concat(own.select("relation", instance=a, concept=b) for a, b in steps)
        tuples = found.tuples.join(edges, on=EDGE, how="semi")
        evidence = bounds("edges", len(own), numbers[among])
        evidence |= {name: numbers[column] for name, column in others.items()}
        key, severity = (relation, ONE if one else ACROSS), "warning" if one else "note"
        yield own, first, partial(found.row, tuples, evidence, *key, severity=severity)


@check(
    "Is any edge both valid and invalid?",
    ("graph_relations", "edges", "edges", "no tuple states an edge"),
    "untold",
    OF_EDGES,
)
def contradiction(found: Measured) -> Iterator[Row]:
    """Edges stated both as valid and as invalid: those under one head, and those across heads.

    An edge is a relation, an instance and a concept. One that is denied although valid edges lead
    in a cycle through both of its texts counts too. **Severity.** Warning under one head, or where
    the instance is the whole head: one answer is wrong. Note across heads, under which the text may
    mean different things.
    """

    def case(row: Case) -> str:
        cycle = "invalid, though both lie on a cycle of valid edges"
        said = "valid and invalid" if row["kind"] == "edge" else cycle
        return f"{edge(row)} is {said}{_under(row)}"

    steps = ("instance", "concept")
    for rows, first, told in _edges(found, "graph_contradictions", "edges", steps):
        yield told(
            sentence=f"{{edges}} of {{of}} edges of {first['relation']} ({{share}}) "
            "{edges|has|have} answers that contradict each other"
            f"{_where_judged(first)}: {first_of(rows, case)}.",
            curator="Have the tuples judged again side by side, and keep one answer where the text "
            "means the same under its heads.",
            data_user="Leave these tuples out of training and test sets, or let the model read the "
            "head: whatever it answers without is wrong on some.",
        )


@check(
    "Is any edge denied that follows from two valid ones?",
    (
        *("graph_relations", "chains", "chains of two valid edges"),
        "no valid edge begins where another ends",
    ),
    "untold",
    OF_EDGES,
    count("chains open", of=NONE),
)
def transitivity(found: Measured) -> Iterator[Row]:
    """Edges stated as invalid, and never as valid, that follow from two valid ones.

    a -> b and b -> c are valid, and a -> c is denied. If nobody judged a -> c the chain is open,
    and no violation. The share is that of the relation's denied edges, with its Wilson interval.
    **Severity.** Warning where all three edges were judged under one head, or the instance is the
    whole head. Note across heads.
    """

    def case(row: Case) -> str:
        path = arrows(row["instance"], row["through"], row["concept"])
        return f"{path} is valid step by step, and {edge(row)} is invalid{_under(row)}"

    steps = (("instance", "concept"), ("instance", "through"), ("through", "concept"))
    others = {"chains": "chains", "open": "chains_open"}
    for rows, first, told in _edges(found, "graph_violations", "denied_edges", *steps, **others):
        yield told(
            sentence=f"{{edges}} of {{of}} denied edges of {first['relation']} ({{share}}) "
            f"{{edges|follows|follow}} from two valid ones{_where_judged(first)}: "
            f"{first_of(rows, case)}. {{open}} of {{chains}} chains of two valid edges of the "
            "relation {open|is|are} open: nobody judged whether the first text entails the last.",
            curator="Have the three edges of each case judged again together: one of the three "
            "answers is wrong, or a text means different things in them.",
            data_user="Do not complete the graph by following its edges before these are settled.",
        )


CHECKS = (
    tail_mismatch,
    head_in_two_splits,
    generation_mismatch,
    weak_label,
    contradiction,
    cycle,
    transitivity,
)
"""The checks, in report order."""

"""Single instances: a list to query, and the tree of each with its attributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from starlette.requests import Request
from starlette.responses import Response

from audit.engine.statistics.intervals import wilson
from audit.explorer.links import address, instance_address
from audit.explorer.run.instance_list import SIDES, InstanceList, InstanceQuery
from audit.explorer.run.opened_run import nodes_named
from audit.explorer.run.paged_tables import Row
from audit.explorer.sheets import Column
from audit.explorer.site import NotThereError, Site, parameters, way_to
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.instances import at_or_below
from reports.words import percent, printable

DEEPEST = 100
"""Number of levels drawn inside each other; browsers flatten what is nested much deeper."""
TONES = {"hit": "pass", "miss": "error", "false": "warning"}
"""Tone of each mark, which its word says as well."""
STEPS = (0.1, 0.25, 0.5, 0.75)
"""Boundaries between the shades: size of a score over the largest of its text."""


def shade(size: float, largest: float) -> int:
    """The shade of a score, from 0 to 4.

    >>> [shade(size, 2.0) for size in (0.0, -0.3, 2.0)]
    [0, 1, 4]
    """
    return sum(abs(size) >= step * largest for step in STEPS) if largest > 0 else 0


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the tree, and how it opens and closes the lines around it."""

    line: Row
    tone: str
    opens: bool
    """Whether there are lines below it."""
    closes: int
    """How many branches end behind it."""


def branches(lines: Sequence[Row]) -> list[Branch]:
    """The lines down to the deepest level that is drawn, each with what it opens and closes.

    Args:
        lines: Each with its ``level``, 0 for the first; a line is at most one level below the one
            before it.
    """
    kept = [line for line in lines if line["level"] <= DEEPEST]
    levels = [*(line["level"] for line in kept), 0]
    return [
        Branch(line, TONES.get(line["mark"], "plain"), below > level, max(level - below, 0))
        for line, (level, below) in zip(kept, pairwise(levels), strict=True)
    ]


MOST = 10_000
"""Tokens that are shown; the table has all."""
CHOICES = {"target": "Label", "model": "Model", "method": "Method", "seed": "Seed"}
"""What an attribution is chosen by, each choice among those that the earlier ones leave."""
SCORES = (
    Column("token", "Token", "named"),
    Column("place", "Place", "count"),
    Column("score", "Score", "precise"),
)


def _marks(site: Site, request: Request, rows: Sequence[Row]) -> Row:
    """The attribution that an address asks for, on its text, and links to the others."""
    asked, switches = parameters(request), []
    kept = {name: value for name, value in asked.items() if name not in ("start", "csv")}
    for name, words in CHOICES.items():
        values = list(dict.fromkeys(row[name] for row in rows))
        chosen = asked[name] if asked.get(name) in values else values[0]
        rows = [row for row in rows if row[name] == chosen]
        to = [(one, address("/instance", **kept | {name: one}) * (one != chosen)) for one in values]
        switches += [(words, to)] * (len(values) > 1)
    scored = [*zip(rows[0]["tokens"], rows[0]["scores"], strict=True)]
    scores = [
        {"token": token, "place": place, "score": score}
        for place, (token, score) in enumerate(scored, start=1)
    ]
    scores.sort(key=lambda row: -abs(row["score"]))
    caption = f"Scores of {len(scores):,} tokens, the largest first"
    largest = abs(scores[0]["score"])
    return {
        "shown": rows[0],
        "switches": switches,
        "tokens": [(token, shade(score, largest), score < 0) for token, score in scored[:MOST]],
        "further": max(len(scored) - MOST, 0),
        "sheet": site.sheet(request, "scores", caption, SCORES, scores),
    }


LABELLED = (
    Column("instance", "Instance", "instance"),
    Column("labels", "Labels", "count"),
)
PREDICTED = (
    Column("predicted", "Answers", "count"),
    Column("hits", "Labels answered", "count"),
    Column("misses", "Labels missed", "count"),
    Column("false", "False answers", "count"),
)
OUTCOMES = {
    "": "any",
    "right": "every label answered, and nothing else",
    "missed": "a label missed",
    "false": "a false answer",
    "right_branch": "the right branch, the wrong node",
}
ORDERS = {"id": "id", "labels": "most labels", "misaligned": "most mistakes"}


def show_list(site: Site, request: Request) -> Response:
    """The instances of a query."""
    instances, query = _shown(site), query_of(parameters(request))
    asked = query_parameters(query)
    columns = (*LABELLED, *(PREDICTED if site.run.has_model else ()))
    sheet = site.sheet(
        request,
        "instances",
        "Instances",
        columns,
        lambda span: instances.page(query, span).each(
            lambda row: {**row, "address": instance_address(row["instance"], **asked)}
        ),
        ORDERS if site.run.has_model else {"id": "id", "labels": "most labels"},
        query.order,
    )
    return site.page(
        request,
        "instances",
        "Instances",
        sheet=sheet,
        query=query,
        asked=asked,
        outcomes=OUTCOMES,
        behaviours=site.run.view["overview"]["behaviours"],
    )


def show_preference(site: Site, request: Request) -> Response:
    """Which of two subgraphs the model prefers (equation 3), and the instances on each side."""
    instances, query = _shown(site), query_of(parameters(request))
    if not site.run.has_model:
        raise NotThereError("The run has no model.")
    for node in (*query.first, *query.second):
        if not site.run.has_node(node):
            raise NotThereError(f"The hierarchy has no node {node}.")
    kept = {"first": ", ".join(query.first), "second": ", ".join(query.second)}
    told = []
    if query.first and query.second:
        sides = instances.preferred(query.first, query.second)
        told = [
            (words, int((sides == at).sum()), address("/instances", **kept, side=SIDES[at]))
            for at, words in enumerate(PREFERRED)
        ]
    return site.page(
        request,
        "subgraphs",
        "Which subgraph it prefers",
        crumbs=[("Model", "/model")],
        query=query,
        sides=told,
        left_out=int((sides < 0).sum()) if told else 0,
        share=_preferred(told[0][1], sum(n for _, n, _ in told)) if told else "",
    )


PREFERRED = ("The first is higher", "The second is higher", "Tied")
"""What is counted of two subgraphs, in the order of `SIDES`."""


def _preferred(won: int, n: int) -> str:
    """The share that prefers the first, with its interval; empty where none is compared."""
    if not n:
        return ""
    low, high = wilson(won, n)
    share, *ends = (percent(float(one), None, None) for one in (won / n, low, high))
    return f"{share} ({' to '.join(ends)}, 95% interval)"


def show_one(site: Site, request: Request) -> Response:
    """The tree of one instance."""
    instances, asked = _shown(site), parameters(request)
    wanted = asked.get("id", "")
    found = instances.view(wanted)
    if found is None:
        raise NotThereError(f"The run keeps no labels and no predictions of an instance {wanted}.")
    explained = site.run.attributions_of(wanted)
    query = query_of(asked)
    before, after = instances.neighbours(wanted, query)
    kept = query_parameters(query)
    behind = site.run.finding(query.finding)
    named = nodes_named(behind) if behind else []
    view = printable(_marked(found, named, instances.hierarchy))
    return site.page(
        request,
        "instance",
        f"Instance {wanted}",
        crumbs=[
            *(way_to(behind) if behind else []),
            ("Instances", address("/instances", **kept)),
        ],
        view=view,
        branches=branches(view["lines"]),
        deeper=sum(line["level"] > DEEPEST for line in view["lines"]),
        deepest=DEEPEST,
        tones=TONES,
        before=instance_address(before, **kept) if before is not None else "",
        after=instance_address(after, **kept) if after is not None else "",
        marked=_marks(site, request, explained) if explained else None,
        findings=[finding for id in found["findings"] if (finding := site.run.finding(id))],
    )


def _marked(view: Row, named: Sequence[str], hierarchy: Hierarchy) -> Row:
    """The tree with the nodes of the finding that led here marked, and what is used below them."""
    below = at_or_below(named, hierarchy)
    lines = [
        {
            **line,
            "behind": line["node"] in named
            or bool((line["own_label"] or line["own_score"]) and line["node"] in below),
        }
        for line in view["lines"]
    ]
    return {**view, "lines": lines}


def query_of(asked: dict[str, str]) -> InstanceQuery:
    """The query that an address states; what it does not know is any."""
    outcome, order = asked.get("outcome", ""), asked.get("order", "id")
    return InstanceQuery(
        finding=asked.get("finding", ""),
        nodes=_listed(asked.get("nodes", "")),
        predicted=_listed(asked.get("predicted", "")),
        outcome=outcome if outcome in OUTCOMES else "",
        order=order if order in ORDERS else "id",
        behaviour=asked.get("behaviour", ""),
        mass=_listed(asked.get("mass", "")),
        least=_share(asked.get("least", "")),
        first=_listed(asked.get("first", "")),
        second=_listed(asked.get("second", "")),
        side=side if (side := asked.get("side", "")) in SIDES else "",
    )


def _share(text: str) -> float:
    """The share that an address states; `NotThereError` if it is none."""
    if not text:
        return InstanceQuery().least
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise NotThereError(f"A share is above 0 and at most 1, such as 0.1; found {text}.")
    return share


def query_parameters(query: InstanceQuery) -> dict[str, str]:
    """The parameters of an address that state a query."""
    stated = {
        "finding": query.finding,
        "nodes": ", ".join(query.nodes),
        "predicted": ", ".join(query.predicted),
        "outcome": query.outcome,
        "behaviour": query.behaviour,
        "mass": ", ".join(query.mass),
        "least": f"{query.least:g}" if query.mass else "",
        "first": ", ".join(query.first),
        "second": ", ".join(query.second),
        "side": query.side,
        "order": "" if query.order == "id" else query.order,
    }
    return {name: value for name, value in stated.items() if value}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _shown(site: Site) -> InstanceList:
    if site.run.instances is None:
        raise NotThereError(
            "Single instances are shown only where the run was made with --keep-instances and "
            "audit explore was started with --show-instances."
        )
    return site.run.instances


PAGES = {
    "/subgraphs": show_preference,
    "/instances": show_list,
    "/instance": show_one,
}

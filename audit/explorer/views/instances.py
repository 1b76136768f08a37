"""Single instances: a list to query, and the tree of each."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from audit.explorer.links import address, instance_address
from audit.explorer.pictures import Picture
from audit.explorer.run.instance_list import InstanceList, InstanceQuery
from audit.explorer.run.vocabulary import Row
from audit.explorer.sheets import Column
from audit.explorer.site import NotThereError, Site, parameters, way_to
from audit.explorer.views.media import marks, shown_media
from reports.chapters.report import printable_view
from reports.instance import DEEPEST, TONES, branches, tree_drawing

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
        lambda span: instances.page(query, span).each(lambda row: _with_link(row, asked)),
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
    )


def show_one(site: Site, request: Request) -> Response:
    """The tree of one instance."""
    instances, media, asked = _shown(site), site.run.media, parameters(request)
    wanted = asked.get("id", "")
    found = instances.view(wanted)
    if found is None:
        raise NotThereError(f"The run keeps no labels and no predictions of an instance {wanted}.")
    explained = media.attributions(wanted) if media else ()
    marked = marks(site, request, explained) if explained else None
    query = query_of(asked)
    before, after = instances.neighbours(wanted, query)
    kept = query_parameters(query)
    view = printable_view(found)
    behind = site.run.finding(query.finding)
    return site.page(
        request,
        "instance",
        f"Instance {wanted}",
        crumbs=[
            *(way_to(behind) if behind else []),
            ("Instances", address("/instances", **kept)),
        ],
        view=view,
        tree_file=site.picture_file(request, "tree", lambda: _tree(wanted, view)),
        branches=branches(view["lines"]),
        deeper=sum(line["level"] > DEEPEST for line in view["lines"]),
        deepest=DEEPEST,
        tones=TONES,
        before=instance_address(before, **kept) if before is not None else "",
        after=instance_address(after, **kept) if after is not None else "",
        shown=shown_media(media, wanted) if media else None,
        marked=marked,
        findings=[finding for id in found["findings"] if (finding := site.run.finding(id))],
    )


def _tree(instance: str, view: Row) -> Picture:
    return Picture(
        title=f"Instance {instance}",
        in_words="The labels of one instance as a tree; the bar of a node is within that of the "
        "node above.",
        drawing=tree_drawing(view, view["lines"]),
    )


def query_of(asked: dict[str, str]) -> InstanceQuery:
    """The query that an address states; what it does not know is any."""
    outcome, order = asked.get("outcome", ""), asked.get("order", "id")
    return InstanceQuery(
        finding=asked.get("finding", ""),
        nodes=_listed(asked.get("nodes", "")),
        predicted=_listed(asked.get("predicted", "")),
        outcome=outcome if outcome in OUTCOMES else "",
        order=order if order in ORDERS else "id",
    )


def query_parameters(query: InstanceQuery) -> dict[str, str]:
    """The parameters of an address that state a query."""
    stated = {
        "finding": query.finding,
        "nodes": ", ".join(query.nodes),
        "predicted": ", ".join(query.predicted),
        "outcome": query.outcome,
        "order": "" if query.order == "id" else query.order,
    }
    return {name: value for name, value in stated.items() if value}


def _with_link(row: Row, asked: dict[str, str]) -> Row:
    return {**row, "address": instance_address(row["instance"], **asked)}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _shown(site: Site) -> InstanceList:
    if site.run.instances is None:
        raise NotThereError(
            "Single instances are shown only where the run was made with --keep-instances and "
            "audit explore was started with --show-instances."
        )
    return site.run.instances


PAGES = {"/instances": show_list, "/instance": show_one}

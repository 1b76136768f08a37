"""Two releases of one hierarchy: the nodes that both have, and edits from one to the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import Sparse
from audit.base.declared import schema
from audit.results.result import AuditResult

SIDES = ("old", "new")
EDITS = {
    "added": "added",
    "removed": "removed",
    "moved": "moved",
    "retitled": "retitled",
    "assignable_changed": "allowed or no longer allowed as labels",
}
"""What can be edited, in order, and in words."""
EDIT_COLUMNS = schema(
    ("edit node title", pl.String),
    ("old new counted_at", pl.List(pl.String)),
    ("from_labels", pl.Boolean),
    ("support_old support_new", pl.Int64),
)
_OF_NODES = ("title", "assignable", "direct", "height", "support", "group_sum", "group_squares")


def beside(sides: Iterable[pl.DataFrame], on: Sequence[str], how: Any) -> pl.DataFrame:
    """The tables of both releases, joined; all other columns end with their side."""
    old, new = (
        table.rename({name: f"{name}_{side}" for name in table.columns if name not in on})
        for side, table in zip(SIDES, sides, strict=True)
    )
    return old.join(new, on=on, how=how, coalesce=True, maintain_order="left")


@dataclass(frozen=True, eq=False)
class Release:
    """The hierarchy of one run, and of how many independent instances its labels are."""

    run: AuditResult

    @cached_property
    def parents(self) -> dict[str, list[str]]:
        """Parents of each node that has some, in code-point order."""
        edges = self.run.edges.sort("child", "parent")
        return dict(edges.group_by("child", maintain_order=True).agg("parent").iter_rows())

    def nearest(self, among: Collection[str]) -> dict[str, list[str]]:
        """The nearest ancestors of each node that are among some, in code-point order."""
        found: dict[str, list[str]] = {}
        for node in self.run.nodes.sort("depth")["node"]:
            above = ([one] if one in among else found[one] for one in self.parents.get(node, ()))
            found[node] = sorted({one for some in above for one in some})
        return found

    def placed(self, among: Collection[str]) -> pl.DataFrame:
        """The run's nodes with their parents, and their nearest ancestors among some."""
        nodes, nearest = self.run.nodes["node"], self.nearest(among)
        lists = {
            "parents": [self.parents.get(node, []) for node in nodes],
            "nearest": [nearest[node] for node in nodes],
        }
        kinds = dict.fromkeys(lists, pl.List(pl.String))
        return self.run.nodes.select("node", *_OF_NODES).hstack(pl.DataFrame(lists, kinds))

    def within(self, nodes: Sequence[str]) -> Sparse:
        """1 where the node of the column is that of the row or above it, shape (nodes, nodes)."""
        hierarchy = self.run.hierarchy
        kept = np.array([hierarchy.index(node) for node in nodes], np.int64)
        within: Sparse = hierarchy.closure[kept][:, kept]
        return within

    @cached_property
    def root(self) -> Mapping[str, Any]:
        """The row of the root, which every instance with a label carries."""
        rows = self.run.nodes.iter_rows(named=True)
        return next(row for row in rows if row["node"] not in self.parents)

    @property
    def groups(self) -> int:
        """Number of groups with labelled instances; of these instances if none has several."""
        return round(float(self.root["group_sum"]))

    @property
    def labelled(self) -> int:
        """Number of instances with labels."""
        return int(self.root["support"])

    @property
    def grouped(self) -> bool:
        """Whether some group has several instances with labels."""
        return self.groups != self.labelled


@dataclass(frozen=True, eq=False)
class Releases:
    """Two releases of one hierarchy."""

    old: Release
    new: Release

    def __iter__(self) -> Iterator[Release]:
        return iter((self.old, self.new))

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of instances of OLD and of NEW."""
        return self.old.run.size, self.new.run.size

    @property
    def same_data(self) -> bool:
        """Whether both runs counted the same data, so that no difference of labels is chance."""
        return self.old.run.data_sha256 == self.new.run.data_sha256

    @property
    def grouped(self) -> bool:
        """Whether groups of either have several instances."""
        return self.old.grouped or self.new.grouped

    @cached_property
    def common(self) -> pl.DataFrame:
        """The nodes that both hierarchies have, in code-point order, with counts of both.

        ``alike`` says whether the same of them are below a node in both: its support then means the
        same, since nodes of only one hierarchy are rolled up to it.
        """
        counted = ("node", "support", "group_sum", "group_squares")
        table = beside((one.run.nodes.select(counted) for one in self), ["node"], "inner")
        old, new = (one.within(table["node"].to_list()) for one in self)
        alike = np.asarray(abs(old - new).sum(axis=0)).ravel() == 0
        told = self.new.run.nodes.select("node", "title", "depth", "branch")
        return table.join(told, on="node", maintain_order="left").with_columns(alike=alike)

    @cached_property
    def edits(self) -> pl.DataFrame:
        """All edits of the hierarchy: one row per edit, columns `EDIT_COLUMNS`.

        ``old`` and ``new`` hold the parents of a moved node, the titles of a retitled one, or
        whether the node may be a label. A node counts as moved if its nearest ancestors among the
        common nodes differ, so inserting or removing an intermediate node moves nothing. A title
        that one run lacks is not an edit, since titles can come from separate files.
        ``from_labels`` marks nodes that were not in the hierarchy's list but were created for
        labels by their digits; they are last.
        """
        common = {*self.common["node"]}
        nodes = beside((one.placed(common) for one in self), ["node"], "full")
        absent = {side: pl.col(f"height_{side}").is_null() for side in SIDES}
        words = {True: "may be a label", False: "may not be a label"}
        titles = [pl.col(f"title_{side}") for side in SIDES]
        differing = {
            "moved": ("nearest", [pl.col(f"parents_{side}") for side in SIDES]),
            "retitled": ("title", [pl.concat_list(one) for one in titles]),
            "assignable_changed": (
                "assignable",
                [
                    pl.concat_list(pl.col(f"assignable_{side}").replace_strict(words))
                    for side in SIDES
                ],
            ),
        }
        known = pl.when(absent["new"]).then(titles[0]).otherwise(titles[1])
        told = [
            nodes.filter(absent[other]).select(
                "node",
                "^support_.*$",
                edit=pl.lit(edit),
                title=known,
                counted_at=f"nearest_{side}",
                from_labels=self._made_for_labels(side),
            )
            for edit, side, other in (("removed", "old", "new"), ("added", "new", "old"))
        ]
        both = nodes.filter(pl.col("node").is_in([*common]))
        for edit, (name, (was, now)) in differing.items():
            apart = pl.col(f"{name}_old") != pl.col(f"{name}_new")
            if name == "title":
                apart &= (titles[0] != "") & (titles[1] != "")
            told.append(
                both.filter(apart).select(
                    "node", "^support_.*$", edit=pl.lit(edit), title=known, old=was, new=now
                )
            )
        rows = pl.concat([pl.DataFrame(schema=EDIT_COLUMNS), *told], how="diagonal")
        lists = pl.col("old", "new", "counted_at").fill_null([])
        return edits_in_order(
            rows.with_columns(lists, pl.col("from_labels").fill_null(value=False))
        )

    def _made_for_labels(self, side: str) -> pl.Expr:
        """Whether nodes of one release alone are codes that its labels alone name."""
        release = self.old if side == "old" else self.new
        coded = release.run.identity["normaliser"] is not None
        title, direct, height = (pl.col(f"{n}_{side}") for n in ("title", "direct", "height"))
        return pl.lit(coded) & title.is_null() & (direct > 0) & (height == 0)


def edits_in_order(edits: pl.DataFrame) -> pl.DataFrame:
    """Edits by kind, those that touch most instances first; all ``from_labels`` are last."""
    order = pl.col("edit").replace_strict(list(EDITS), range(len(EDITS)), return_dtype=pl.Int64)
    touched = pl.max_horizontal("support_old", "support_new").fill_null(0)
    return edits.sort("from_labels", order, -touched, "node")

"""Hierarchy: an immutable directed acyclic graph of nodes with one root."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from scipy.sparse import csr_array, eye_array

from audit.base import dag
from audit.base.dag import (
    EDGE_SCHEMA,
    NODE_SCHEMA,
    SYNTHETIC_ROOT,
    BoolArray,
    IntArray,
    Sparse,
    declared_nodes,
    end_indices,
    graph_tables,
    refuse_cycle,
    rooted,
    shortest_cycle,
)
from audit.base.errors import SchemaError
from audit.base.limits import refuse_pairs
from audit.base.plurals import counted, title_and_code
from audit.base.readings import Reading
from audit.base.settings import Unlisted
from audit.base.table import list_column
from audit.hierarchies.coding import Companions, Exclusions, Integrity, Placement, RetiredIds
from audit.hierarchies.icd.icd9 import ICD9Coding

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A directed acyclic graph of concepts with one root.

    Node order is the code-point order of ids, everywhere. Build one with `Hierarchy.build`,
    `audit.load_hierarchy` or `Hierarchy.from_networkx`.

    >>> import audit
    >>> tree = audit.load_hierarchy({"animal": {"pet": {"cat": {}, "dog": {}}, "fox": {}}})
    >>> tree
    Hierarchy('given': 5 nodes, 3 leaves, 2 branches, depth 2)
    >>> tree.ancestors("cat"), tree.descendants("pet")
    (('animal', 'pet'), ('cat', 'dog'))
    """

    name: str
    """What reports call it."""
    nodes: tuple[str, ...]
    """Ids in code-point order."""
    titles: tuple[str, ...]
    """Title of each node; an empty string if it has none."""
    edges: Sparse
    """``edges[child, parent] = 1``, shape (n, n)."""
    assignable: BoolArray
    """Whether a node may be a label, shape (n,)."""
    labelled_ancestors: Literal["fault", "allowed"] = "allowed"
    """Whether it is a coding fault to label an instance with a node and its ancestor."""
    coding: ICD9Coding | RetiredIds | None = None
    """Rules that turn labels as written into ids; None: labels are ids."""
    repeated_edges: int = 0
    """Number of edges that the source states more than once; each counts once."""
    complete_tables: frozenset[str] = frozenset()
    """Names of the code sets whose valid codes are all nodes."""
    exclusions: Exclusions | None = None
    """Notes on codes that exclude each other; None if the classification has none."""
    companions: Companions | None = None
    """Notes that require a second code; None if the classification has none."""
    related: tuple[tuple[str, str], ...] = ()
    """Nodes that its file relates otherwise, such as part and whole; no part of its digest."""
    unlisted: Unlisted | None = None
    """Treatment of labels that its file lacks; None: it has none, labels and titles add nodes."""
    further_titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of codes that are not nodes, used if such a code is added as a node."""
    two_titles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Titles of each node, or code as written, for which one dictionary has several."""
    readings: tuple[Reading, ...] = ()
    """What the file was taken to mean; no part of its digest."""
    levels: tuple[str, ...] = ()
    """Columns of its file that are its levels, from the top down."""

    @classmethod
    def build(
        cls, edges: pl.DataFrame, nodes: pl.DataFrame | None = None, *, name: str, **stated: Any
    ) -> Hierarchy:
        """Build a hierarchy from edges and, where the format declares them, nodes.

        Args:
            edges: Columns ``child, parent``. A repeated edge counts once.
            nodes: Columns ``node`` and, if known, ``title`` and ``assignable`` (null: assignable if
                a leaf). If given, an edge to an id that it does not declare is dangling; otherwise
                ids are declared by occurring in ``edges``.
            name: Name of the hierarchy in reports.
            stated: Further fields, such as ``coding``.

        Raises:
            HierarchyError: On a cycle (a shortest one is shown), or no node.
            DanglingError: On a dangling edge.
            SchemaError: On an empty id, or a node declared twice.

        Several tops are put under one synthetic root; a single top is the root.
        """
        edges = edges.select("child", "parent")
        declared, unique = rooted(declared_nodes(edges, nodes), edges.unique())
        ids = declared["node"].to_list()
        child, parent = end_indices(unique, ids)
        matrix = dag.edge_matrix(child, parent, len(ids))
        refuse_cycle([ids[index] for index in shortest_cycle(matrix)])
        leaf = np.bincount(parent, minlength=len(ids)) == 0
        return cls(
            name=name,
            nodes=tuple(ids),
            titles=tuple(declared["title"].fill_null("")),
            edges=matrix,
            assignable=declared["assignable"].fill_null(pl.Series(leaf)).to_numpy().copy(),
            repeated_edges=len(edges) - edges.n_unique(),
            **stated,
        )

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph[Any], *, name: str) -> Hierarchy:
        """Build from a graph whose edges point child -> parent.

        Nodes may have the attributes ``title`` (else ``name``) and ``assignable``. Raises as
        `build` does, and SchemaError where two nodes may have several edges.
        """
        return cls.build(*graph_tables(graph), name=name)

    def to_networkx(self) -> nx.DiGraph[str]:
        """A graph whose edges point child -> parent; nodes have ``title`` and ``assignable``."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        for node, title, assignable in zip(self.nodes, self.titles, self.assignable, strict=True):
            graph.add_node(node, title=title, assignable=bool(assignable))
        graph.add_edges_from(self.edge_frame().iter_rows())
        return graph

    def extend(self, edges: pl.DataFrame, nodes: pl.DataFrame) -> Hierarchy:
        """The same hierarchy with more edges, ``child, parent``, and nodes, as in `build`."""
        own = {"node": self.nodes, "title": self.titles, "assignable": self.assignable}
        every = pl.concat([pl.DataFrame(own, NODE_SCHEMA), nodes.select(*NODE_SCHEMA)])
        built = Hierarchy.build(
            pl.concat([self.edge_frame(), edges.select(*EDGE_SCHEMA)]), every, name=self.name
        )
        changed = ("nodes", "titles", "edges", "assignable")
        return replace(self, **{name: getattr(built, name) for name in changed})

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._index

    def index(self, node: str) -> int:
        """Position of a node in node order; raises SchemaError for an unknown one."""
        if node not in self._index:
            raise SchemaError(f"a node of the hierarchy {self.name} is required", found=repr(node))
        return self._index[node]

    def parents(self, node: str) -> tuple[str, ...]:
        """Parents in node order; empty for the root."""
        return self._names(dag.row(self.edges, self.index(node)))

    def children(self, node: str) -> tuple[str, ...]:
        """Children in node order; empty for a leaf."""
        return self._names(dag.row(self.child_matrix, self.index(node)))

    def ancestors(self, node: str, *, with_self: bool = False) -> tuple[str, ...]:
        """Nodes above, in node order; strict unless ``with_self``."""
        return self._names(dag.row(self.closure, self.index(node)), None if with_self else node)

    def descendants(self, node: str, *, with_self: bool = False) -> tuple[str, ...]:
        """Nodes below, in node order; strict unless ``with_self``."""
        return self._names(dag.row(self.below, self.index(node)), None if with_self else node)

    def place(self, label: str, table: str | None) -> Placement:
        """Which node a label of a code set (None: unknown) is, or would be added as, or why not."""
        if self.coding is not None:
            return self.coding.place(label, table, self)
        return Placement(label) if label in self else Placement(reason="unknown_code")

    def describe(self, index: int) -> str:
        """A node as sentences name it: title, then code; else code and the nearest title above."""
        node, title = self.nodes[index], self.titles[index]
        if title:
            return title_and_code(node, title)
        from scipy.sparse.csgraph import breadth_first_order

        above = breadth_first_order(self.edges, index, return_predecessors=False)
        titled = [i for i in sorted(above) if self.titles[i] and i != self.root]
        if not titled:
            return node
        nearest = max(titled, key=lambda i: int(self.depth[i]))
        return f"{node} (below {self.titles[nearest]}, {self.nodes[nearest]})"

    @property
    def integrity(self) -> Integrity | None:
        """Properties by which checks know damaged codes; None where ids have no shape."""
        return None if self.coding is None else self.coding.integrity

    @cached_property
    def closure(self) -> Sparse:
        """``closure[i, a] = 1`` where a is i or an ancestor of i; shape (n, n), int64.

        Raises:
            InputError: If the hierarchy is so deep that this would exhaust memory.
        """
        refuse_pairs(int(self.depth.sum()), f"the hierarchy {self.name}")
        return dag.closure(self.edges)

    @cached_property
    def strict_closure(self) -> Sparse:
        """The closure without its diagonal: 1 where a is an ancestor of i."""
        strict = csr_array(self.closure - eye_array(len(self), dtype=np.int64, format="csr"))
        strict.eliminate_zeros()
        return strict

    @cached_property
    def below(self) -> Sparse:
        """The transposed closure: row i holds i and its descendants."""
        return csr_array(self.closure.T)

    @cached_property
    def child_matrix(self) -> Sparse:
        """The transposed edges: row i holds the children of i."""
        return csr_array(self.edges.T)

    @cached_property
    def root(self) -> int:
        """Index of the root."""
        return int(np.flatnonzero(np.diff(self.edges.indptr) == 0)[0])

    @cached_property
    def depth(self) -> IntArray:
        """Longest path from the root, shape (n,); the root has 0."""
        return dag.longest_from_top(self.edges)

    @cached_property
    def height(self) -> IntArray:
        """Longest path to a leaf, shape (n,); a leaf has 0."""
        return dag.longest_from_top(csr_array(self.edges.T))

    @cached_property
    def level(self) -> IntArray:
        """Number of nodes on the shortest path to a leaf, shape (n,); a leaf has 1."""
        return dag.shortest_to_leaf(self.edges)

    @cached_property
    def leaf(self) -> BoolArray:
        """Whether a node has no children, shape (n,)."""
        return np.asarray(np.diff(self.child_matrix.indptr) == 0)

    @cached_property
    def uninformative(self) -> BoolArray:
        """Whether a node with children carries almost no information as a label, shape (n,).

        It is the root, or more than half of all leaves are below it: less than one bit. Of several
        tops those are that leave more open than they say: k of n leaves are below one, and n < k^2.
        """
        below, leaves = np.asarray(self.below @ self.leaf.astype(np.int64)), self.leaf.sum()
        wide = 2 * below > leaves
        wide[self.root] = True
        if self.nodes[self.root] == SYNTHETIC_ROOT:
            wide[self.branches] |= below[self.branches] ** 2 > leaves
        return np.asarray(wide & ~self.leaf)

    @cached_property
    def branches(self) -> IntArray:
        """Indices of the root's children, in node order."""
        return dag.row(self.child_matrix, self.root).astype(np.int64)

    @cached_property
    def first_branch(self) -> IntArray:
        """Index of the first branch that each node is in, shape (n,); -1 for the root."""
        found = np.full(len(self), -1, np.int64)
        for branch in self.branches[::-1]:
            found[dag.row(self.below, branch)] = branch
        return found

    def node_frame(self) -> pl.DataFrame:
        """A row a node: ``node, title, depth, height, level, branch, branches, assignable``.

        ``branch`` is the first of ``branches`` in node order; null for the root.
        """
        above, names = self.closure[:, self.branches], self._names(self.branches)
        every = pl.Series(names, dtype=pl.String).gather(above.indices)
        branches = list_column(every, above.indptr)
        return pl.DataFrame(
            {
                "node": self.nodes,
                "title": [title or None for title in self.titles],
                "depth": self.depth,
                "height": self.height,
                "level": self.level,
                "branch": branches.list.first(),
                "branches": branches,
                "assignable": self.assignable,
            },
            schema_overrides={"title": pl.String, "branch": pl.String, "branches": branches.dtype},
        )

    def edge_frame(self) -> pl.DataFrame:
        """Table of all edges, ``child, parent``, in node order."""
        ids, coo = np.array(self.nodes, object), self.edges.tocoo()
        return pl.DataFrame(
            {"child": ids[coo.row].tolist(), "parent": ids[coo.col].tolist()}, schema=EDGE_SCHEMA
        )

    @cached_property
    def sha256(self) -> str:
        """Digest of nodes, titles, assignability and edges; equal for equal hierarchies."""
        ids, coo = self.nodes, self.edges.tocoo()
        nodes = zip(ids, self.titles, self.assignable.tolist(), strict=True)
        told = [f"{node}\0{title}\0{int(may)}\n" for node, title, may in nodes]
        edges = zip(coo.row.tolist(), coo.col.tolist(), strict=True)
        told += [f"{ids[child]}\0{ids[parent]}\n" for child, parent in edges]
        return hashlib.sha256("".join(told).encode()).hexdigest()

    def __repr__(self) -> str:
        return (
            f"Hierarchy({self.name!r}: {counted(len(self), 'nodes')}, "
            f"{counted(int(self.leaf.sum()), 'leaves')}, "
            f"{counted(len(self.branches), 'branches')}, depth {int(self.depth.max())})"
        )

    @cached_property
    def _index(self) -> dict[str, int]:
        return {node: i for i, node in enumerate(self.nodes)}

    def _names(self, indices: IntArray, without: str | None = None) -> tuple[str, ...]:
        return tuple(name for i in indices if (name := self.nodes[i]) != without)

"""What a window onto a run reads and writes: protocols that keep pages apart from run folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from audit.explorer.run.drift_view import DriftView

if TYPE_CHECKING:
    from audit.explorer.run.explored_tables import ExploredTable

Row: TypeAlias = Mapping[str, Any]
"""One row of a table by column; nothing in it is suppressed if the run is read in full."""
Source: TypeAlias = Literal["data", "model"]
"""Whether labels or predictions were counted."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a longer table, and how many it has."""

    rows: Sequence[Row]
    total: int


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows of a table are wanted: ``limit`` of them after the first ``offset``."""

    offset: int = 0
    limit: int | None = None

    def of(self, rows: Sequence[Row]) -> Page:
        """These rows of a table that is held as a whole."""
        end = None if self.limit is None else self.offset + self.limit
        return Page(rows[self.offset : end], len(rows))


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node in its place.

    Args:
        node: ``node, title, depth, height, level, branch, assignable, direct, support, residual,
            residual_rule`` as in the run's table of nodes.
        paths: Rows ``node, title``: all nodes above it, the root first.
        parents: Rows ``node, title, support``.
        children: Rows ``node, title, support, direct, residual, below, parents``, the most frequent
            first; ``below`` is the number of their own children.
        siblings: The same of all children of its parents, itself included.
        residual_use: Row of the table of residual shares; None if the node has none.
        model: ``name, value, low, high, n``: metrics of the node alone.
        drift: Its use by the columns that the policy compares; empty without any.
    """

    node: Row
    paths: Sequence[Row]
    parents: Sequence[Row]
    children: Sequence[Row]
    siblings: Sequence[Row]
    residual_use: Row | None = None
    model: Sequence[Row] = ()
    drift: Sequence[DriftView] = ()


@dataclass(frozen=True, slots=True)
class PairView:
    """Two nodes beside each other.

    Args:
        a, b: Rows of the table of nodes.
        relation: How they are related.
        lca: Row ``node, title`` of their lowest common ancestor.
        data: What the table of pairs says of both: ``support_a, support_b, joint,
            joint_entailed, confusion, expected, lift, expected_length, ratio, ratio_low,
            ratio_high, explained, shrunk_ratio, q_value``; None if no instance carries both.
        model: The same of the predictions; None without predictions, or if there is none.
        drawn: Rows ``node, title, parents``: both nodes and what lies between them and their
            lowest common ancestor, parents among these alone.
        carriers: Rows ``a, b, title_a, title_b, joint``: labels at or below both, by frequency.
        findings: Ids of findings on both.
    """

    a: Row
    b: Row
    relation: str
    lca: Row
    data: Row | None
    model: Row | None
    drawn: Sequence[Row]
    carriers: Page = field(default_factory=lambda: Page((), 0))
    findings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it lies on the disk.

    Args:
        content: Its bytes.
        media_type: What they are, such as ``image/png``.
    """

    content: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Attribution:
    """How much each token of an instance speaks for a label, or against it, as one method says.

    Args:
        target: The label.
        model: The model that is explained.
        method: The method.
        seed: The model's run.
        tokens: The text as the model has it.
        scores: A score a token.
    """

    target: str
    model: str
    method: str
    seed: str
    tokens: Sequence[str]
    scores: Sequence[float]


class Media(Protocol):
    """Texts and pictures of instances, and what explanations mark in them."""

    @property
    def notes(self) -> Sequence[str]:
        """What was read and what was not, as sentences for the one who opens the window."""

    def text(self, instance: str) -> str | None:
        """The text of an instance; None if it has none."""

    def picture(self, instance: str) -> Picture | None:
        """The picture of an instance; None if it has none.

        Raises:
            InputError: If one is named that may not be shown, or cannot be.
        """

    def attributions(self, instance: str) -> Sequence[Attribution]:
        """Attributions of an instance by label, model, method and seed; none without any."""


class ExploredRun(Protocol):
    """A run that is looked at. Nodes, findings and instances that it lacks give None."""

    @property
    def name(self) -> str:
        """Title of the run, or the name of its folder."""

    @property
    def folder(self) -> str:
        """Its folder, as named by the user."""

    @property
    def day(self) -> date | None:
        """Day that the run was made or judged; None if it is not known."""

    @property
    def judged_with(self) -> Sequence[str]:
        """Options besides the policy that `audit judge` needs to judge it again as it was."""

    @property
    def shared(self) -> Mapping[str, Any]:
        """The content of ``result.json``."""

    @property
    def in_full(self) -> bool:
        """Whether the restricted tables are there, so that counts are shown unsuppressed."""

    @property
    def shows_instances(self) -> bool:
        """Whether single instances were asked for, and the run keeps them."""

    @property
    def media(self) -> Media | None:
        """Texts and pictures of its instances; None where none were named."""

    @property
    def has_model(self) -> bool:
        """Whether the run has predictions."""

    @property
    def root(self) -> str:
        """The root of the hierarchy; empty if no node can be looked at."""

    def findings(self) -> Sequence[Row]:
        """All findings in report order.

        Each has the fields of a finding of ``result.json``, and ``check``, ``folded`` (ids of the
        findings that explain it), ``branches`` (of its nodes) and ``cases`` (number of instances
        behind it, None if unknown). In full, numbers are exact.
        """

    def cases(self, finding: str, span: Span) -> Page:
        """Rows ``instance``: the instances behind a finding."""

    def has_node(self, node: str) -> bool:
        """Whether a node of this id has a page; labels that are refused have none."""

    def node(self, node: str) -> NodeView | None:
        """A node in its place; None if the run lacks it, or is not there in full."""

    def top_branch(self, node: str) -> int | None:
        """Number of the top branch that a node is in, from 0; None for none, or several.

        Top branches are the nodes right below the root; instead of one that alone has more than
        half of all leaves below it, on two levels or more, those right below that, and so on.
        """

    def children(self, node: str) -> Sequence[Row]:
        """The children of a node as `NodeView` has them; empty if it is unknown or has none."""

    def partners(
        self, node: str, source: Source, relation: str | None, order: str, span: Span
    ) -> Page:
        """All rows of the table of pairs with a node at either end, seen from it.

        Rows ``node, title, relation, support, joint, expected, lift, expected_length, ratio``;
        ``node`` is the other end.

        Args:
            node: Id of the node.
            source: Labels or predictions.
            relation: Only partners of this relation, or `APART`; None for all.
            order: One of `PARTNER_ORDERS`; ties by id.
            span: Which rows.
        """

    def pair(self, a: str, b: str) -> PairView | None:
        """Two nodes beside each other; None if one is unknown, or they are the same."""

    def branches(self, node: str, source: Source) -> Sequence[Row]:
        """Rows ``a, b, joint, expected, expected_length, ratio``: pairs of children of a node."""

    def search(self, text: str, span: Span) -> Page:
        """Rows ``node, title, depth, support``: nodes whose id or title holds a text.

        Ids that are equal come first, then ids that begin with it, then by frequency.
        """

    def title(self, node: str) -> str:
        """Title of a node; empty if it has none, or cannot be looked at."""

    def tables(self, part: str) -> Mapping[str, ExploredTable]:
        """Restricted tables of a part of the run by name, such as those of ``explanations``.

        Empty if the run lacks the part, or its restricted tables.
        """

    def metrics(self) -> Sequence[Row]:
        """Rows ``name, scope, title, value, low, high, n, parameters`` of the model."""

    def instances(self, query: InstanceQuery, span: Span) -> Page:
        """Rows ``instance, labels, predicted, hits, misses, false``, ordered by the query."""

    def instance(self, instance: str) -> Row | None:
        """The tree of an instance, as `reports.write_instance` takes it."""

    def neighbours(self, instance: str, query: InstanceQuery) -> tuple[str | None, str | None]:
        """The instances before and after one in the order of a query."""


APART = "apart"
"""The relations of pairs of which neither node is above the other."""
PARTNER_ORDERS: Mapping[str, tuple[str, bool]] = {
    "together": ("joint", True),
    "ratio": ("ratio", True),
    "lift": ("lift", True),
    "frequency": ("support", True),
    "node": ("node", False),
}
"""Column that partners are ordered by, and whether the largest comes first."""


@dataclass(frozen=True, slots=True)
class InstanceQuery:
    """Which instances, and in which order.

    Args:
        finding: Behind this finding.
        nodes: That carry all of these nodes, or labels below them.
        predicted: That the model predicts all of these for, or nodes below them.
        outcome: ``right`` (all hits), ``missed`` (a label not predicted), ``false`` (a prediction
            that is not a label), ``right_branch`` (a missed and a false node in one branch); empty
            for any.
        order: ``id``, ``labels`` (most first), ``misaligned`` (most misses and false answers
            first).
    """

    finding: str = ""
    nodes: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    outcome: str = ""
    order: str = "id"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided on a finding in the window.

    Args:
        finding: Its id.
        verdict: ``accept`` (right as it is, until the day), ``waive`` (not to be counted until the
            day), ``fix`` (to be mended by the day) or ``open`` (earlier ones are taken back).
        owner: Who answers for it.
        reason: Why.
        expires: ISO date.
    """

    finding: str
    verdict: str
    owner: str = ""
    reason: str = ""
    expires: str = ""


class PolicyEditor(Protocol):
    """The policy file that decisions are written to."""

    @property
    def path(self) -> str:
        """Where it lies, as named by the user."""

    def propose(self, decision: Decision) -> tuple[str, str]:
        """The changed file as a unified diff, and the digest of the file that was read.

        Raises:
            InputError: If the decision lacks something, or the file is no policy.
        """

    def write(self, decision: Decision, digest: str) -> None:
        """Write a proposed change, only if the file is still the one that was read.

        Raises:
            InputError: As `propose`, or if the file has changed since.
            OutputError: If it cannot be written.
        """

    def decided(self) -> Mapping[str, Row]:
        """``verdict, owner, reason, expires`` of each waiver of one finding, by finding id.

        Raises:
            InputError: If the file is no policy.
        """

    def judged(self, identity: Mapping[str, Any]) -> bool:
        """Whether a run of this identity was judged by what the file states now.

        A file that is not there states nothing, and one that cannot be judged by has judged none.
        """


class RunsBeside(Protocol):
    """Several runs of one hierarchy that are looked at beside each other."""

    @property
    def runs(self) -> Sequence[ExploredRun]:
        """The runs, the one that the window is of first."""

    @property
    def names(self) -> Sequence[str]:
        """What each is called beside the others."""

    @property
    def history(self) -> Mapping[str, Any]:
        """The content of ``history.json`` of all of them."""

    @property
    def comparisons(self) -> Sequence[str]:
        """Commands that compare each other run with the first, the earlier run first."""

    @property
    def history_command(self) -> str:
        """Command that writes the history as files."""

    def difference(self, place: int, node: str) -> Row | None:
        """How much larger the share of instances with a node is than in the first run.

        Args:
            place: Place of another run; the first has place 0, and no difference.
            node: Id of the node.

        Returns:
            ``difference, low, high, q_value, changed`` as ``audit compare`` has them, null where
            the hierarchy was edited so that shares cannot be compared, and ``q_value`` null too
            where there is too little to test; ``same_data``, whether both runs counted the same
            data; ``restated``, the instances of the earlier run under the later hierarchy where
            these are others than were counted. None where a run does not have the node or its
            exact counts.
        """

"""The view of a result that may be published: nothing in it discloses a small cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from audit.disclosure import (
    AT_MOST,
    BESIDE,
    DENOMINATOR,
    Cell,
    Known,
    NumberId,
    Protection,
    Quantity,
    Shown,
    Told,
    carried,
    left_possible,
    protect,
    shown,
)
from audit.results.coverage import coverage
from audit.results.drift_lines import named_nodes
from audit.results.findings import CheckResult, Finding, Place, values_of
from audit.results.mended import mended
from audit.results.model_overview import confused, confused_counts, model_overview
from audit.results.order import as_shown, shared_in_order, tells_a_number
from audit.results.overview import Pictured, overview, pictured
from audit.results.parts import OTHERS, DriftPart, ModelPart, ValueCells
from audit.results.pictured_pairs import Published
from audit.results.published_cells import (
    UNEXPECTED_PAIR,
    analysis_counts,
    depth_counts,
    depths_shown,
    known_counts,
    pair_cells,
    reference_cells,
    scope_counts,
    uninformative_counts,
    whole_cells,
)
from audit.results.record import Record
from audit.results.reference_changes import SHALLOWER, depth_loss, since_reference, told_since
from audit.results.shared_findings import (
    cells_of,
    counts_of,
    in_steps,
    numbers_of,
    shared_denominator,
    shared_finding,
    withhold_ranks,
    without_residuals,
)
from audit.results.shared_metrics import Scopes
from audit.results.shared_tables import lineage
from audit.results.shared_values import SHIFTS, shown_by_values

SCHEMA_VERSION = "4.0"


class SharedView:
    """Builder of the shared view of a run, and of what its readers can infer from it."""

    def __init__(self, run: Record) -> None:
        self.run = run

    def as_dict(self) -> dict[str, Any]:
        """The view as plain data, the content of ``result.json``; see `AuditResult.shared`."""
        places, unseen = dict[str, Place](), set[str]()
        shared = [self._shared_check(check, places, unseen) for check in self.run.checks]
        checks, first = shared_in_order(shared, places, unseen)
        overview = self._overview
        return {
            "schema_version": SCHEMA_VERSION,
            "identity": dict(self.run.identity),
            "ledger": dict(self.run.ledger),
            "readings": [dict(reading) for reading in self.run.readings],
            "policy": dict(self.run.policy),
            "status": self.run.status,
            "worst": first,
            "checks": checks,
            "since_reference": self._since_reference(checks),
            **self._of_parts,
            "waivers": [dict(waiver) for waiver in self.run.waivers],
            "overview": {
                **overview,
                "lineage": lineage(checks, overview["tree"], self.run.edges, self.run.titles),
            },
        }

    def as_earlier_of(self, later: SharedView) -> tuple[Known, ...]:
        """What readers of a later release know of this one, of the same hierarchy, and before it.

        If the residual nodes differ, counts of residual use have another meaning and are left out.
        """
        if len({view.run.identity["hierarchy"]["sha256"] for view in (self, later)}) > 1:
            return ()
        own = replace(self._read.beside(self.run.known), numbers={}, earlier=())
        known = own, *self.run.known.earlier
        same = self.run.release.residual == later.run.release.residual
        return known if same else tuple(map(without_residuals, known))

    def as_other_view(self) -> Known:
        """What readers of another view of the same data know of it from this one.

        That is also what they know from the views that this one is protected with.
        """
        own = replace(self._read.renamed(self.run.release), numbers=self._numbers)
        return replace(self.run.known, earlier=()).beside(own)

    def tells(self) -> dict[Any, Shown]:
        """Each count that is protected beside others, as it is shown, by cell or place."""
        numbers = {of: shown for of, (_, shown) in self._numbers.items()}
        return {**self._published, **self._beside_values[0], **numbers}

    @cached_property
    def _numbers(self) -> dict[NumberId, tuple[int, Shown]]:
        """The counts that no program protects, by their place."""
        numbers = dict[NumberId, tuple[int, Shown]]()
        views = {view["name"]: view for view in self.as_dict()["checks"]}
        for check in self.run.checks:
            shared = views[check.name]
            numbers[check.name, (), DENOMINATOR] = check.denominator, shared["denominator"]
            findings = {finding.id: finding for finding in check.standing}
            for one in shared["findings"]:
                finding = findings[one["id"]]
                numbers |= numbers_of(finding, one, cells_of(self.run.release, finding)[0])
        return numbers

    @cached_property
    def _read(self) -> Known:
        """The counts of nodes and pairs, with what the published ones leave possible."""
        release = self.run.release
        published = self._published if self.run.min_cell > 1 else self._counts
        ranges = left_possible(published, release, self.run.min_cell, self._shares)
        counts = dict(known_counts(self.run)) | self._counts
        return Known(release.labelled, release.assertions, counts, ranges)

    def _since_reference(self, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        if self.run.reference is None:
            return None
        ids = {check.name: check.ids for check in self.run.checks}
        return since_reference(self.run.reference, checks, ids, self._depths[1])

    @property
    def _depths(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Labels by depth, kept of the reference and now; empty without one of this hierarchy."""
        before, identity = self.run.reference, self.run.identity
        if before is None or before["hierarchy"] != identity["hierarchy"]["sha256"]:
            return [], []
        return before["depths"], self._overview["coverage"]["depths"]

    @property
    def _of_parts(self) -> dict[str, Any]:
        model, min_cell = self.run.model, self.run.min_cell
        entries = dict(ModelPart.absent())
        if model is not None:
            entries = dict(model.shared(min_cell, self._scopes_of(model)))
        entries |= mended(self.run)
        others: dict[str, Any] = {}
        for part in self.run.analyses:
            own = part.shared(min_cell, self._by_node)
            entries["metrics"] = [*entries["metrics"], *part.metrics(own)]
            (entries if part.listed else others)[part.name] = own
        return {**entries, OTHERS: others} if others else entries

    def _scopes_of(self, model: ModelPart) -> Scopes:
        """How the scopes of a model's metrics lie, with the supports that are shown."""
        release, named, told = self.run.release, model.scopes, self._published
        return Scopes(
            above={one: (release.at_or_above(one) & named) - {one} for one in named},
            apart=release.assertions == release.labelled
            and all(len(above) < 2 for above in release.parents.values()),
            supports={one: n for one in named if isinstance(n := told.get(carried(one)), int)},
        )

    @cached_property
    def _overview(self) -> dict[str, Any]:
        explained = self._explained if self.run.min_cell > 1 else None
        drift, min_cell = self.run.part(DriftPart), self.run.min_cell
        use = coverage(self.run.nodes, drift, min_cell=min_cell, told=self._beside_values[0])
        return {
            **overview(self._pictured, self.run, self._published, explained),
            **model_overview(self.run, self._confused, self._published),
            "coverage": {**use, "depths": depths_shown(use["depths"], self._published)},
        }

    @cached_property
    def _by_node(self) -> Mapping[str, Shown]:
        return {cell.meets[0][1]: self._published[cell] for cell in self._of_analyses}

    @property
    def _earlier(self) -> list[Mapping[str, Any]]:
        return [one for one in (self.run.reference, *self.run.before) if one is not None]

    @cached_property
    def _beside_values(self) -> tuple[Told, Collection[Cell]]:
        """As `shown_by_values`; empty without any."""
        if (part := self.run.part(ValueCells)) is None:
            return {}, ()
        its = part, self.run.part(DriftPart), self.run.min_cell, self._earlier, self.tree
        return shown_by_values(self._shifts, *its)

    @cached_property
    def _pictured(self) -> Pictured:
        return pictured(self.run)

    @cached_property
    def _confused(self) -> list[dict[str, Any]]:
        return confused(self.run)

    @cached_property
    def _published(self) -> Published:
        """Every published count of nodes and pairs, as it may be shown beside all the others."""
        tree = self.tree
        return tree.told(self._counts, self._beside_values[1]) if tree else self._drawn_counts

    @cached_property
    def tree(self) -> Protection | None:
        """What is decided of counts of nodes and pairs; None where every count may be shown."""
        if self.run.min_cell <= 1:
            return None
        return protect(
            self._counts,
            self.run.release,
            self.run.min_cell,
            self.run.known,
            shares=self._shares,
            beside=[(cell, quantity.totals) for cell, quantity in self._of_findings],
            in_steps=self._of_analyses.keys() - self._told.keys(),
            before=self.run.decided,
        )

    @cached_property
    def _counts(self) -> dict[Cell, int]:
        """The same as they are."""
        return self._of_analyses | self._told

    @cached_property
    def _told(self) -> dict[Cell, int]:
        """Those that are told exactly where they may be."""
        of_findings = {cell: int(quantity.value or 0) for cell, quantity in self._of_findings}
        drawn = self._drawn_counts | self._of_drift
        return drawn | dict(uninformative_counts(self.run)) | of_findings

    @cached_property
    def _of_drift(self) -> dict[Cell, int]:
        """Those of nodes that drift names, of a value and of all others."""
        supports = self.run.release.supports
        nodes = named_nodes(self.run.part(DriftPart), self._shifts, self.run.min_cell)
        return {carried(node): supports[node] for node in sorted(nodes & supports.keys())}

    @cached_property
    def _shifts(self) -> list[Finding]:
        return [one for its in self.run.checks if its.name in SHIFTS for one in self._kept(its)]

    @cached_property
    def _of_analyses(self) -> dict[Cell, int]:
        return dict(analysis_counts(self.run))

    @cached_property
    def _drawn_counts(self) -> dict[Cell, int]:
        """Those of the pictures, and of the nodes that a model is measured in."""
        return {
            **dict(self._pictured.counts()),
            **dict(confused_counts(self._confused)),
            **dict(depth_counts(self.run.nodes)),
            **dict(scope_counts(self.run)),
        }

    @cached_property
    def _shares(self) -> list[tuple[Cell, Cell]]:
        """Counts that no line shows beside their share."""
        found = {cell for cell, _ in self._of_findings}
        return [share for share in self._pictured.shares() if found.isdisjoint(share)]

    @cached_property
    def _of_findings(self) -> list[tuple[Cell, Quantity]]:
        kept = (finding for check in self.run.checks for finding in self._kept(check))
        return [pair for finding in kept for pair in counts_of(self.run.release, finding)]

    def _kept(self, check: CheckResult) -> tuple[Finding, ...]:
        """The findings that are shown, chosen by what each tells alone."""
        most, min_cell = int(self.run.policy["max_findings"]), self.run.min_cell

        def alone(finding: Finding) -> Place:
            return as_shown(finding, shown(finding.evidence, min_cell), finding.strength)

        return tuple(sorted(check.standing, key=alone)[:most])

    def _published_evidence(self, finding: Finding) -> Sequence[Mapping[str, Shown]]:
        known: list[dict[str, Shown]] = [{} for _ in (finding, *finding.parts)]
        if self.run.min_cell > 1:
            beside: Shown = 0 if all(self._tells(pair) for pair in finding.beside) else None
            known = [
                {BESIDE: beside, **{name: self._published[cell] for name, cell in cells.items()}}
                for cells in cells_of(self.run.release, finding)
            ]
            for part, line in zip(finding.parts, known[1:], strict=True):
                line[AT_MOST] = self._most(whole_cells(finding.check, part.nodes))
        known[0] |= self._of_reference(finding)
        if (finding.check, finding.key) == SHALLOWER:
            known[0] |= depth_loss(finding.evidence, *self._depths)
        known[0] |= in_steps(finding, self._by_node, self.run.min_cell)
        parts = [(part.nodes, values_of(part.evidence)) for part in finding.parts]
        before = [one[finding.id] for one in self._before if finding.id in one]
        since = told_since(before, values_of(finding.evidence), parts, self.run.min_cell)
        own = {of[1]: n for of, n in self._beside_values[0].items() if of[0] == finding.id}
        since[0] = own | since[0]
        return [{**one, **own} for one, own in zip(since, known, strict=True)]

    def _most(self, cells: Sequence[Cell]) -> Shown:
        """The least of those counts that are shown as they are."""
        published = (self._published.get(cell) for cell in cells)
        return min((count for count in published if isinstance(count, int)), default=None)

    def _of_reference(self, finding: Finding) -> dict[str, Shown]:
        """Counts of the reference, where it shows them itself and is the one that was compared."""
        cells = reference_cells(finding.check, finding.key)
        given = next(iter(self.run.known.earlier), None)
        if given is None or any(
            given.counted(cell) != finding.evidence[name].value for name, cell in cells.items()
        ):
            return dict.fromkeys(cells)
        return {name: given.exact(cell) for name, cell in cells.items()}

    def _tells(self, pair: tuple[str, str]) -> bool:
        """Whether both supports of a pair, and its instances, are shown as they are."""
        cells = pair_cells(self.run.release, *pair).values()
        return all(isinstance(self._published.get(cell), int) for cell in cells)

    @cached_property
    def _explained(self) -> frozenset[tuple[str, str]]:
        """Reported pairs of which it may be shown what other finds explain."""
        pairs = set[tuple[str, ...]]()
        for check in self.run.checks:
            for finding in self._kept(check) if check.name == UNEXPECTED_PAIR else ():
                own = {part.nodes for part in finding.parts} if finding.key else {finding.nodes}
                if all(self._tells((a, b)) for a, b in (*own, *finding.beside)):
                    pairs |= own
        return frozenset((min(pair), max(pair)) for pair in pairs)

    @cached_property
    def _before(self) -> list[dict[str, Mapping[str, Any]]]:
        """What is kept of the findings of each earlier release, by their ids."""
        return [
            {finding["id"]: finding for check in one["checks"] for finding in check["findings"]}
            for one in self._earlier
        ]

    def _shared_check(
        self, check: CheckResult, places: dict[str, Place], unseen: set[str]
    ) -> dict[str, Any]:
        """What is shared of a check; adds places of its findings, and ids of those unseen."""
        kept, run, totals = self._kept(check), self.run, self._totals
        published = [(finding, self._shared_finding(finding)) for finding in kept]
        published.sort(key=lambda one: as_shown(one[0], one[1]["evidence"], one[0].strength))
        unseen |= {one.id for one, view in published if not tells_a_number(one, view["evidence"])}
        places |= {one.id: as_shown(one, view["evidence"], one.beyond) for one, view in published}
        total = shared_denominator(check, published, totals, run.min_cell, run.known)
        return {
            "name": check.name,
            "title": check.title,
            "status": check.status,
            "reason": check.not_applicable or check.crashed or None,
            "denominator": total,
            "denominator_unit": check.denominator_unit,
            "total": len(check.standing) + check.folded,
            "folded": check.folded,
            "not_shown": len(check.standing) - len(kept),
            "columns": [
                {name: said for name, said in asdict(column).items() if said}
                for column in check.columns
            ],
            "findings": withhold_ranks([finding for _, finding in published]),
        }

    def _shared_finding(self, finding: Finding) -> dict[str, Any]:
        return shared_finding(
            finding,
            self.run.min_cell,
            self.run.titles,
            self._published_evidence(finding),
            self._totals,
            self.run.known,
            int(self.run.nodes["direct"].sum()) - self._totals[1],
        )

    @property
    def _totals(self) -> tuple[int, int]:
        """Numbers of all instances, and of those with labels, which the ledger tells."""
        return self.run.size, self.run.release.labelled

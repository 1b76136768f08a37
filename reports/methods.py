"""Numbers that no policy sets: each with its unit and its reason, for the chapter on methods."""

from __future__ import annotations

from dataclasses import dataclass

from reports.parts import Table, column
from reports.words import number


@dataclass(frozen=True, slots=True)
class Fixed:
    """A threshold that is part of a method.

    Args:
        where: What it belongs to.
        value: The number.
        unit: What it is a number of.
        reason: Why there is such a limit.
        source: Where the computation has it: its module and name.
    """

    where: str
    value: float
    unit: str
    reason: str
    source: str


REPLICATES = Fixed(
    "Intervals by resampling",
    200,
    "resamples",
    "Enough for a standard deviation; more would change little.",
    "audit.engine.resampling.REPLICATES",
)
"""Those of what was counted alone are not by resampling."""
FIXED = (
    Fixed("Intervals", 0.95, "coverage", "What readers expect of an interval.",
          "audit.engine.intervals.LEVEL"),
    Fixed("Fair expectation", 20, "numbers of labels that are strata of their own, or quantiles",
          "Records of the same length are compared; more strata would hold too few of them.",
          "audit.engine.strata.QUANTILES"),
    Fixed("Fair expectation", 2, "labels of an instance, at least",
          "An instance with one label cannot carry two nodes through different labels.",
          "audit.engine.strata.LEAST_LABELS"),
    Fixed("Fair expectation", 5, "expected instances in each of the four cells",
          "With fewer the normal approximation is too rough, and the Poisson tail is taken.",
          "audit.engine.association.LEAST_CELL"),
    REPLICATES,
    Fixed("Residual share", 10, "parents, at least",
          "From fewer no distribution of shares can be fitted, and each share stands alone.",
          "audit.engine.shrinkage.LEAST_SHARES"),
    Fixed("Residual shares compared", 5, "effective instances expected on each side",
          "With fewer the test of two shares does not hold.",
          "audit.residual_differences.LEAST_EXPECTED"),
    Fixed("Drift", 5, "instances expected in each of the four cells",
          "With fewer the test of two shares does not hold.", "audit.drift.LEAST_EXPECTED"),
    Fixed("Drift", 10, "groups there, and elsewhere", "The variance is taken over groups.",
          "audit.drift.LEAST_GROUPS"),
    Fixed("duplicate_instance", 5, "different labels, at least",
          "Two short records of one group may be equal by coincidence.",
          "audit.checks.duplicate_instance.LEAST_LABELS"),
    Fixed("group_confined", 10, "instances or groups with the node, at least",
          "Fewer may lie in one value by chance.", "audit.checks.group_confined.LEAST_UNITS"),
    Fixed("record_cap", 3, "labels, at least",
          "Two shorter lengths must tell what to expect.",
          "audit.checks.record_cap.LEAST_LENGTH"),
    Fixed("record_cap", 20, "instances at a length, at least",
          "Fewer are no pile.", "audit.checks.record_cap.LEAST_INSTANCES"),
    Fixed("record_cap", 1.5, "times the instances expected, at least",
          "A smaller pile can be sure and still not matter.",
          "audit.checks.record_cap.LEAST_RATIO"),
    Fixed("record_cap", 0.01, "longer instances, as a share of those at the length, at most",
          "A cap lets through few strays.", "audit.checks.record_cap.MOST_LONGER"),
    Fixed("record_cap", 0.95, "share of the instances at one length, at most",
          "Above it the length is the form of the data, not a cap.",
          "audit.checks.record_cap.ONE_LENGTH"),
    Fixed("wrong_table", 0.5, "share of a table’s rows",
          "Above it the table itself is wrong, not its rows.", "audit.checks.wrong_table._MOST"),
)  # fmt: skip

OF_MODELS = (
    Fixed("Metrics below a node", 30, "instances labelled at or below it, at least",
          "On fewer, intervals are too wide to compare nodes.",
          "audit.metrics.measure.SCOPE_INSTANCES"),
    Fixed("Metrics below a node", 50, "nodes at most", "Those with the most instances are told.",
          "audit.metrics.measure.MAX_SCOPES"),
    Fixed("Behaviour", 0.9, "share of the mass", "From it, the mass lies in one place.",
          "audit.metrics.queries.CONFIDENT"),
    Fixed("Behaviour", 0.05, "share of the mass", "From it, a parent was considered.",
          "audit.metrics.queries.NOTICED"),
    Fixed("Behaviour", 0.3, "share of the mass", "From it, a branch is one of two rivals.",
          "audit.metrics.queries.SPLIT"),
)  # fmt: skip
"""Those that only the chapters on a model rely on."""


def fixed_table(*, model: bool, resampled: bool) -> Table:
    """Every fixed threshold that the report relies on.

    Args:
        model: Whether it has chapters on a model.
        resampled: Whether its intervals are by resampling.
    """
    relied_on = (*FIXED, *(OF_MODELS if model else ()))
    return Table(
        id="fixed-table",
        caption="Thresholds that are part of a method",
        columns=column("Of", "Value", "Unit", "Reason", numeric=" n"),
        rows=tuple(
            (fixed.where, number(fixed.value), fixed.unit, fixed.reason)
            for fixed in relied_on
            if resampled or fixed is not REPLICATES
        ),
    )

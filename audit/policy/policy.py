"""Policy: the thresholds with their units and reasons, and the rules that an audit judges by."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator

from audit.base.errors import PolicyError, first_cases
from audit.base.settings import WITH_POLICY, Aggregation, Levels
from audit.policy.rules import (
    BehaviourQuery,
    Companion,
    Exclusive,
    Expected,
    Frozen,
    Person,
    PersonRule,
    Severity,
    Subgraph,
)
from audit.policy.statements import (
    ANY_CHECK,
    BranchRule,
    CodeDates,
    Lifelong,
    Threshold,
    Waiver,
)

MIN_CELL_OF_PERSONS = 11
"""The smallest count about persons that the CMS cell-size rule lets be published."""

KEYS_OF_COLUMNS = "strata, drift, coding_columns, day, code_dates and person"
"""Keys of a policy that name columns of the instances."""

_NAMING_NODES = (
    *("branch_rules", "residual_nodes", "specific_nodes", "waivers", "exclusive", "expected"),
    *("companions", "person_rules", "lifelong", "subgraphs"),
)
_KEYS = {"subgraphs": "name", "queries": "name", "lifelong": "condition"}
"""What tells records apart that have no ``key``."""


class Policy(Frozen):
    """The rules that an audit judges by. Every field has a default, which a TOML file can override.

    Args:
        name: What the policy is called in reports.
        title: What the report calls the audited release.
        base: The built-in classification whose policy supplies what is not stated, where the
            hierarchy is a file; rules on nodes that the file lacks are left out and counted.
        min_cell: One more than the width of the bins that counts are told in, 1 for exact counts;
            None: 11 for persons' records, else 1.
        max_findings: Findings shown per check; all are in the run's restricted tables.
        labelled_ancestors: Whether a label beside its own ancestor is a fault; None: the hierarchy
            decides.
        residual_share: Residual share of a parent above which it is reported.
        residual_instances: Instances below a parent from which its residual share is judged.
        residual_difference: Difference of a residual share from that of other instances, or of
            the reference, above which it is reported.
        depth_loss: Loss of mean depth of the labels since the reference above which it is reported.
        least_joint: Instances that must carry each node of a pair for it to be judged, and that
            must carry both for it to be reported.
        excess_ratio: Ratio of joint instances to those expected from record length and other
            findings, from which a pair is reported.
        redundant_jaccard: Lower bound of the share of instances with both of two nodes, among those
            with either, from which the two count as used as one label.
        false_discovery_rate: Share of the findings of a statistical check that may be chance.
        leading_zero_share: Least share of the rows that is expected to start with 0, in a code set
            whose codes may.
        leading_zero_rows: Number of rows expected to start with 0, or of headings that are codes
            with zeros before them, from which it counts as evidence of lost zeros that none does.
        residual_nodes: Nodes that are residual whatever their titles say.
        specific_nodes: Nodes that are not residual whatever their titles say.
        residual_words: Further words that make a title a catch-all where the rest of it says no
            more than its parent's, in hierarchies whose titles nobody has reviewed; what they find
            is a note.
        strata: Further columns of the instances, such as newborn or adult, site, period, coder.
        drift: Columns of the instances, such as period or site, over which the use of nodes is
            compared.
        coding_columns: Columns of who coded the instances, such as site, coder or year, never of
            whom they are about: over them the use of siblings is compared.
        branch_rules: The first rule that matches decides; a pair of branches without one is not
            judged.
        confusion_threshold: Score from which a node takes part in confusion, joint and rate of a
            model's pairs.
        decision_threshold: Score from which a node is predicted, where an instance may have
            several.
        unlisted_codes: Whether labels that the hierarchy lacks are refused, or hung where their
            digits place them; None: a file refuses them, a built-in classification hangs them.
        unmatched_instances: Whether instances with a prediction and no labels, or with labels and
            no prediction, are refused, or counted and left out.
        error_share: Share of the rows, or instances, looked at from which an error counts as an
            error; below it, it counts as a warning.
        severities: Severity of all findings of a check, in place of the check's own.
        waivers: Findings that somebody answers for: waived, accepted or to be fixed.
        ratchet: Whether a finding counts as a note where the reference run has it too and it is no
            worse; `mended`: and as an error where it was mended, and is there again.
        exclusive: Nodes of which an instance should carry at most one.
        expected: Pairs of nodes that are known to go together, and the source that says so.
        companions: Nodes that need another one on the same instance; such pairs are known too.
        person: The columns of the instances with the sex and the age of the person; None: codes
            are not compared with either.
        person_rules: Nodes that belong to persons of one sex, or of some ages.
        day: The column of the instances with the day of each, by which the instances of a group are
            in order, also where all days of a group are shifted alike; none: that of `code_dates`.
        lifelong: Conditions that a person does not lose again.
        code_dates: From when to when each code was valid, and the column with the true day of
            coding; None: codes are not judged by their day.
        aggregation: What a node's aggregated value is: each descendant once, each path, or the
            rule of the released code for MIMIC-III.
        levels: The levels that a model's metrics compare: depths from the root, or the paper's
            levels from the leaves.
        subgraphs: Named parts of the hierarchy; a model's preference is measured between every two.
        queries: Further kinds of a model's behaviour, each with a count of its instances.

    >>> import audit
    >>> policy = audit.Policy(min_cell=5, severities={"cross_branch": "note"})
    >>> policy.min_cell, policy.residual_share.value
    (5, 0.5)
    """

    name: str = "default"
    title: str = ""
    base: Literal["icd9cm", "icd10cm"] | None = None
    min_cell: int | None = Field(default=None, ge=1, le=10**9)
    max_findings: int = Field(default=20, ge=1)
    labelled_ancestors: Literal["fault", "allowed"] | None = None
    residual_share: Threshold = Threshold(
        value=0.5,
        reason="Above one half, the catch-all nodes say less about most instances than the "
        "hierarchy allows.",
    )
    residual_instances: Threshold = Threshold(
        value=30, reason="Below thirty instances a share is too uncertain to be judged."
    )
    residual_difference: Threshold = Threshold(
        value=0.1, reason="Two shares that differ by less than ten points are read alike."
    )
    depth_loss: Threshold = Threshold(
        value=0.25, reason="As if one label in four had moved to its parent."
    )
    least_joint: Threshold = Threshold(
        value=5, reason="Fewer joint instances can be one person's, or one typing error repeated."
    )
    excess_ratio: Threshold = Threshold(
        value=1.5, reason="A smaller excess can be sure in a large release and still not matter."
    )
    redundant_jaccard: Threshold = Threshold(
        value=0.5,
        reason="Where less than half of the records with either node have both, most have one "
        "alone, and somebody tells the two apart.",
    )
    false_discovery_rate: Threshold = Threshold(
        value=0.05, reason="One finding in twenty may be chance."
    )
    leading_zero_share: Threshold = Threshold(
        value=0.02,
        reason="In the MIMIC-III demo, 71 of 1,761 diagnosis rows (4.0%) and 34 of 506 procedure "
        "rows (6.7%) start with 0; half of the smaller share leaves room for other hospitals.",
    )
    leading_zero_rows: Threshold = Threshold(
        value=20, reason="Where twenty are expected and rows are independent, none is no accident."
    )
    residual_nodes: tuple[str, ...] = Field(default=(), strict=False)
    specific_nodes: tuple[str, ...] = Field(default=(), strict=False)
    residual_words: tuple[str, ...] = Field(default=(), strict=False)
    strata: tuple[str, ...] = Field(default=(), strict=False)
    drift: tuple[str, ...] = Field(default=(), strict=False)
    coding_columns: tuple[str, ...] = Field(default=(), strict=False)
    branch_rules: tuple[BranchRule, ...] = Field(default=(), strict=False)
    confusion_threshold: Threshold = Threshold(
        value=1e-5, reason="Below it a score is noise of the model's arithmetic, not a confusion."
    )
    decision_threshold: Threshold = Threshold(
        value=0.5, reason="From one half, a calibrated model holds a node for likelier than not."
    )
    unlisted_codes: Literal["refuse", "hang"] | None = None
    unmatched_instances: Literal["refuse", "count"] = "count"
    error_share: Threshold = Threshold(
        value=0.001, reason="One stray row in a large release is no reason to stop it."
    )
    severities: dict[str, Severity] = Field(default_factory=dict)
    waivers: tuple[Waiver, ...] = Field(default=(), strict=False)
    ratchet: bool | Literal["mended"] = False
    exclusive: tuple[Exclusive, ...] = Field(default=(), strict=False)
    expected: tuple[Expected, ...] = Field(default=(), strict=False)
    companions: tuple[Companion, ...] = Field(default=(), strict=False)
    person: Person | None = None
    person_rules: tuple[PersonRule, ...] = Field(default=(), strict=False)
    day: str = ""
    lifelong: tuple[Lifelong, ...] = Field(default=(), strict=False)
    code_dates: CodeDates | None = None
    aggregation: Aggregation = "descendants"
    levels: Levels = "depth"
    subgraphs: tuple[Subgraph, ...] = Field(default=(), strict=False)
    queries: tuple[BehaviourQuery, ...] = Field(default=(), strict=False)

    @field_validator("*")
    @classmethod
    def _threshold_within_range(cls, value: Any, info: ValidationInfo) -> Any:
        _, low, high = THRESHOLDS.get(info.field_name or "", ("", -math.inf, math.inf))
        if isinstance(value, Threshold) and not low <= value.value <= high:
            between = f"between {low:g} and {high:g}, not {value.value:g}"
            raise ValueError(f"{info.field_name} must be {between}")
        return value

    @field_validator("waivers", "companions", "person_rules", *_KEYS)
    @classmethod
    def _each_once(cls, rules: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        keys = [getattr(rule, _KEYS.get(str(info.field_name), "key")) for rule in rules]
        if twice := [str(n + 1) for n, key in enumerate(keys) if key in keys[:n]]:
            raise ValueError(f"entry {', '.join(twice)} repeats an earlier one")
        return rules

    def nodes_by_key(self) -> Iterator[tuple[str, str]]:
        """Key and id of every node that the policy names."""
        for key in _NAMING_NODES:
            for rule in getattr(self, key):
                named = (rule,) if isinstance(rule, str) else rule.nodes_named
                yield from ((key, node) for node in named)

    def checks_named(self) -> Iterator[tuple[str, str]]:
        """Key and name of every check that the policy names."""
        yield from (("severities", check) for check in self.severities)
        yield from (("waivers", w.check) for w in self.waivers if w.check != ANY_CHECK)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the instances that the policy names, each once: of strata, drift, who coded,
        days, and the sex and age of the person."""
        of_person = self.person.columns if self.person else ()
        divided = (*self.strata, *self.drift, *self.coding_columns)
        return tuple(dict.fromkeys((*divided, *self._columns_of_days, *of_person)))

    @property
    def columns_of_values(self) -> frozenset[str]:
        """Columns of days and ages that are not also columns of strata, drift or who coded."""
        ages = (self.person.age,) if self.person else ()
        return frozenset((*self._columns_of_days, *ages)).difference(
            self.strata, self.drift, self.coding_columns
        )

    @property
    def _columns_of_days(self) -> tuple[str, ...]:
        """Column of days by ``day``, then that of ``code_dates``, each once; empty: neither."""
        named = (self.day, self.code_dates.column if self.code_dates else "")
        return tuple(dict.fromkeys(filter(None, named)))

    @property
    def ordered_by(self) -> str:
        """The column of days by which the instances of a group are in order; empty: none."""
        return next(iter(self._columns_of_days), "")

    def rule_for(self, a: str, b: str) -> BranchRule | None:
        """The first rule that matches two branches; None if there is none."""
        return next((rule for rule in self.branch_rules if rule.fits(a, b)), None)

    def asks(self, check: str, key: Sequence[str]) -> bool:
        """Whether a rule of the policy asks for the finding of a check that has this key."""
        if check == "cross_branch":
            rule = self.rule_for(*key[:2])
            if rule is None or rule.rule == "expected":
                return False
            return len(key) == 2 or bool(rule.alone_or_first)
        rules: Mapping[str, Sequence[Exclusive | Companion | PersonRule]] = {
            "sibling_exclusive": self.exclusive,
            "missing_companion": self.companions,
            "sex_age_conflict": self.person_rules,
        }
        return any(tuple(key[: len(one.key)]) == one.key for one in rules.get(check, ()))

    def thresholds(self) -> Iterator[dict[str, object]]:
        """Name, value, unit and reason of every threshold."""
        for name, (unit, _, _) in THRESHOLDS.items():
            threshold: Threshold = getattr(self, name)
            yield {"name": name, "value": threshold.value, "unit": unit, "reason": threshold.reason}

    def min_cell_for(self, persons: bool) -> int:
        """``min_cell``; where it is None, 11 if instances are records of persons, else 1."""
        if self.min_cell is not None:
            return self.min_cell
        return MIN_CELL_OF_PERSONS if persons else 1

    @property
    def sha256(self) -> str:
        """SHA-256 digest of everything that the policy states."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def over(self, base: Self) -> Self:
        """This policy, with everything that it does not state itself taken from ``base``."""
        return base.model_copy(update={name: getattr(self, name) for name in self.model_fields_set})


THRESHOLDS = {
    "residual_share": ("share of the instances labelled below a parent", 0.0, 1.0),
    "residual_instances": ("instances labelled below a parent", 1.0, float("inf")),
    "residual_difference": ("difference of two shares", 0.0, 1.0),
    "depth_loss": ("mean depth of the labels", 0.0, float("inf")),
    "leading_zero_share": ("share of the rows of a code set", 0.0, 1.0),
    "leading_zero_rows": ("rows of a code set", 1.0, float("inf")),
    "confusion_threshold": ("aggregated score", 0.0, 1.0),
    "decision_threshold": ("aggregated score", 0.0, 1.0),
    "least_joint": ("instances", 2.0, float("inf")),
    "excess_ratio": ("times the number expected from length and other findings", 1.0, float("inf")),
    "redundant_jaccard": ("share of the instances with either node", 0.0, 1.0),
    "false_discovery_rate": ("share of the findings", 0.0, 1.0),
    "error_share": ("share of the rows or instances looked at", 0.0, 1.0),
}
"""Unit, least value and greatest value of each threshold."""


def refuse_unknown_nodes(policy: Policy, nodes: Collection[str], hierarchy: str) -> None:
    """Raise PolicyError if a policy names a node that the hierarchy does not have."""
    unknown = [f"{key}: {node}" for key, node in policy.nodes_by_key() if node not in nodes]
    if unknown:
        raise PolicyError(
            f"every node that the policy names must be in {hierarchy}",
            found=first_cases(unknown),
            hint="a node's id is what `audit run` writes into restricted/nodes.parquet"
            if hierarchy not in WITH_POLICY
            else f"the built-in policy needs the whole {hierarchy}; give a part of that hierarchy "
            "another name",
        )

"""Policy: every threshold with its unit and reason, and what each pair of branches may do."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from audit.errors import PolicyError, first_cases
from audit.files import read_text

MIN_CELL_OF_PERSONS = 11
"""The smallest count that the CMS cell-size rule lets out about persons."""

ANY_BRANCH = "*"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Threshold(_Frozen):
    """A limit, with why it is what it is; its unit stands with its default."""

    value: float
    reason: str


class BranchRule(_Frozen):
    """What it means that instances carry nodes of two branches.

    Args:
        branches: Two branch ids; ``*`` stands for any other branch.
        rule: ``expected`` is silent, ``watch`` is told once, ``disjoint`` is a fault.
        reason: Why, as the report prints it.
        alone_or_first: Nodes that should stand alone or in first place on such an instance.
        break_down_depth: Depth of the nodes of the first branch that the finding is broken down
            by; None: it is broken down by pairs of labels.
    """

    branches: tuple[str, str] = Field(strict=False)
    rule: Literal["expected", "watch", "disjoint"]
    reason: str
    alone_or_first: tuple[str, ...] = Field(default=(), strict=False)
    break_down_depth: int | None = None

    def fits(self, a: str, b: str) -> bool:
        """Whether the rule speaks about these two branches, in either order."""
        return self.fits_in_order(a, b) or self.fits_in_order(b, a)

    def fits_in_order(self, a: str, b: str) -> bool:
        """Whether the rule speaks about these two branches in this order."""
        first, second = self.branches
        return first in (a, ANY_BRANCH) and second in (b, ANY_BRANCH)


class Policy(_Frozen):
    """What an audit judges by. Every field has a default; a TOML file overrules them.

    Args:
        name: What the policy is called in reports.
        title: What the report calls the audited release.
        min_cell: Smallest count shown; None: 11 for persons' records, else 1.
        max_findings: Findings shown a check; all stand in the run's restricted tables.
        labelled_ancestors: Whether a label beside its own ancestor is a fault; None: as the
            hierarchy says.
        residual_share: Residual share of a parent above which it is reported.
        residual_instances: Instances below a parent from which its residual share is judged.
        exchanged_share: Share of the instances labelled with one of two nodes for which the other
            is predicted, above which the pair is reported.
        exchanged_ratio: Times chance from which such a pair is reported.
        false_discovery_rate: Share of the findings of a statistical check that may be chance.
        residual_nodes: Nodes that are residual whatever their titles say.
        specific_nodes: Nodes that are not residual whatever their titles say.
        branch_rules: First match decides; a pair of branches without a match is watched.
        confusion_threshold: Score from which a node takes part in confusion, joint and rate of a
            model's pairs.
        decision_threshold: Score from which a node is predicted, where an instance may have
            several.
        unknown_classes: Whether columns of a prediction file without a node are refused, or
            counted and left out.
        unmatched_instances: Whether instances with a prediction and no labels, or with labels and
            no prediction, are refused, or counted and left out.
    """

    name: str = "default"
    title: str = ""
    min_cell: int | None = Field(default=None, ge=1)
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
    exchanged_share: Threshold = Threshold(
        value=0.02, reason="Rarer exchanges are mistakes, not a confusion of two nodes."
    )
    exchanged_ratio: Threshold = Threshold(
        value=1.5, reason="Closer to chance, an exchange says nothing about the pair."
    )
    false_discovery_rate: Threshold = Threshold(
        value=0.05, reason="One finding in twenty may be chance."
    )
    residual_nodes: tuple[str, ...] = Field(default=(), strict=False)
    specific_nodes: tuple[str, ...] = Field(default=(), strict=False)
    branch_rules: tuple[BranchRule, ...] = Field(default=(), strict=False)
    confusion_threshold: Threshold = Threshold(
        value=1e-5, reason="Below it a score is noise of the model's arithmetic, not a confusion."
    )
    decision_threshold: Threshold = Threshold(
        value=0.5, reason="From one half, a calibrated model holds a node for likelier than not."
    )
    unknown_classes: Literal["refuse", "count"] = "refuse"
    unmatched_instances: Literal["refuse", "count"] = "count"

    @model_validator(mode="after")
    def _within_range(self) -> Self:
        for name, (_, low, high) in _THRESHOLDS.items():
            value = getattr(self, name).value
            if not low <= value <= high:
                raise ValueError(f"{name} must lie between {low:g} and {high:g}, not {value:g}")
        return self

    def nodes_named(self) -> Iterator[tuple[str, str]]:
        """Key and id of every node that the policy names."""
        for rule in self.branch_rules:
            yield from (("branch_rules", node) for node in rule.branches if node != ANY_BRANCH)
            yield from (("branch_rules", node) for node in rule.alone_or_first)
        yield from (("residual_nodes", node) for node in self.residual_nodes)
        yield from (("specific_nodes", node) for node in self.specific_nodes)

    def rule_for(self, a: str, b: str) -> BranchRule:
        """The first rule that fits two branches; a watching one where none does."""
        for rule in self.branch_rules:
            if rule.fits(a, b):
                return rule
        return BranchRule(
            branches=(a, b),
            rule="watch",
            reason="No rule of the policy speaks about these two branches.",
        )

    def thresholds(self) -> Iterator[dict[str, object]]:
        """Name, value, unit and reason of every threshold."""
        for name, (unit, _, _) in _THRESHOLDS.items():
            threshold: Threshold = getattr(self, name)
            yield {"name": name, "value": threshold.value, "unit": unit, "reason": threshold.reason}

    def min_cell_for(self, persons: bool) -> int:
        """Smallest count shown where instances are, or are not, persons' records."""
        if self.min_cell is not None:
            return self.min_cell
        return MIN_CELL_OF_PERSONS if persons else 1

    @property
    def sha256(self) -> str:
        """Digest of everything that the policy says."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def over(self, base: Self) -> Self:
        """This policy, with ``base`` deciding all that it does not say itself."""
        return base.model_copy(update={name: getattr(self, name) for name in self.model_fields_set})


_THRESHOLDS = {
    "residual_share": ("share of the instances labelled below a parent", 0.0, 1.0),
    "residual_instances": ("instances labelled below a parent", 1.0, float("inf")),
    "confusion_threshold": ("aggregated score", 0.0, 1.0),
    "decision_threshold": ("aggregated score", 0.0, 1.0),
    "exchanged_share": ("share of the instances labelled with one of two nodes", 0.0, 1.0),
    "exchanged_ratio": ("times chance", 1.0, float("inf")),
    "false_discovery_rate": ("share of the findings", 0.0, 1.0),
}
"""Unit, least and greatest value of each threshold."""


def load_policy(path: str | Path) -> Policy:
    """A policy from a TOML file.

    Raises:
        PolicyError: On broken TOML, an unknown key, a wrong type or a value outside its range;
            names the key.
    """
    path = Path(path)
    try:
        stated = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PolicyError("a TOML file is required", found=str(error), where=path) from None
    try:
        return Policy.model_validate({"name": path.stem, **stated})
    except ValidationError as error:
        wrong = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}" for e in error.errors()]
        raise PolicyError(
            "every key and value of the policy must be known",
            found=first_cases(wrong),
            where=path,
            hint=f"keys: {', '.join(Policy.model_fields)}",
        ) from None


_V_CODES = "V01-V91"
_DISEASES = "001-999"
_PROCEDURES = "00-99"
_E_CODES = "E000-E999"

ICD9CM_POLICY = Policy(
    name="icd9cm",
    branch_rules=(
        BranchRule(
            branches=(_PROCEDURES, ANY_BRANCH),
            rule="expected",
            reason="A stay has diagnoses and procedures: the two code sets describe it together.",
        ),
        BranchRule(
            branches=(_E_CODES, _DISEASES),
            rule="expected",
            reason="E codes give the external cause of an injury or adverse effect beside it.",
        ),
        BranchRule(
            branches=(_E_CODES, _V_CODES),
            rule="expected",
            reason="An external cause may be given beside a circumstance of the encounter.",
        ),
        BranchRule(
            branches=(_V_CODES, _DISEASES),
            rule="watch",
            reason="The paper Abstraction Alignment (4.3) reads V codes as meant for occasions "
            "other than a disease or injury. The ICD-9-CM Official Guidelines ask for history, "
            "status and long-term drug V codes beside the disease.",
            alone_or_first=("V20", "V21", "V22", "V70", "V71", "V72"),
            break_down_depth=3,
        ),
    ),
)

BUILT_IN: dict[str, Policy] = {"icd9cm": ICD9CM_POLICY}
"""Policies that come with a built-in hierarchy, by its name."""


def policy_for(hierarchy_name: str, stated: Policy | None = None) -> Policy:
    """The built-in policy of a hierarchy, overruled by what the user's policy states."""
    base = BUILT_IN.get(hierarchy_name, Policy())
    return base if stated is None else stated.over(base)

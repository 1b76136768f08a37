"""Policy: every threshold with its unit and reason, and what each pair of branches may do."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from audit.base.errors import PolicyError, first_cases
from audit.base.files import read_text
from audit.policy.code_dates import Spell, read_code_dates
from audit.policy.guidelines import (
    ICD9CM_COMPANIONS,
    ICD9CM_EXCLUSIVE,
    ICD9CM_PERSON_RULES,
)
from audit.policy.rules import Companion, Exclusive, Expected, Frozen, Person, PersonRule, Severity

MIN_CELL_OF_PERSONS = 11
"""The smallest count that the CMS cell-size rule lets out about persons."""

ANY_BRANCH = "*"
ANY_CHECK = "*"


_Rule = TypeVar("_Rule", Companion, PersonRule)


class Threshold(Frozen):
    """A limit, with why it is what it is; its unit stands with its default."""

    value: float
    reason: str


class BranchRule(Frozen):
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


class Waiver(Frozen):
    """Findings that somebody answers for, until a day: they are told and do not count.

    Args:
        check: The check whose findings are waived; ``*`` stands for any.
        node: Only findings about this node.
        subtree: Only findings about nodes at or below this one.
        pair: Only the finding about these two nodes, in either order.
        owner: Who answers for it.
        reason: Why, as the report prints it.
        expires: The last day on which it holds.
        added: The day on which it was agreed.
    """

    check: str
    node: str | None = None
    subtree: str | None = None
    pair: Annotated[tuple[str, str], Field(strict=False)] | None = None
    owner: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    expires: date
    added: date | None = None

    @field_validator("added")
    @classmethod
    def _in_order(cls, added: date | None, info: ValidationInfo) -> date | None:
        expires = info.data.get("expires")
        if added is not None and expires is not None and added > expires:
            raise ValueError(f"added {added} must not lie after expires {expires}")
        return added

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if len(self.place) > 1:
            raise ValueError(f"one of {', '.join(self.place)} may be given")
        return self

    @property
    def place(self) -> dict[str, str | tuple[str, str]]:
        """``node``, ``subtree`` or ``pair`` with what it names; empty: the whole check."""
        named = {"node": self.node, "subtree": self.subtree, "pair": self.pair}
        return {kind: what for kind, what in named.items() if what is not None}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node it names."""
        return self.pair or tuple(node for node in (self.node, self.subtree) if node is not None)

    def expired(self, today: date) -> bool:
        """Whether its last day has passed."""
        return self.expires < today


class CodeDates(Frozen):
    """When each code could be assigned, and which column says when it was.

    Args:
        column: Column of the instances that holds the true day of coding, as the user states.
        file: Table of ``code, first, last``; its place is seen from the policy file.
        spells: What the table says. A policy file cannot state them: they are read.
    """

    column: str = Field(min_length=1)
    file: str = Field(min_length=1)
    spells: SkipJsonSchema[tuple[Spell, ...]] = ()

    def read(self, folder: Path) -> Self:
        """The same with the spells of its table.

        Raises:
            InputError: If the table cannot be read, or is not as required.
        """
        return self.model_copy(update={"spells": read_code_dates(folder / self.file)})


class Policy(Frozen):
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
        residual_difference: Difference of a residual share from that of other instances, or of
            the reference, above which it is reported.
        habit_ratio: Instances predicted with both nodes of a pair over those labelled so, from
            which the model is said to have made the data's habit stronger.
        least_joint: Instances that must carry each node of a pair for it to be judged, and both
            for it to be reported.
        excess_ratio: Joint instances over those that record length and other findings let expect,
            from which a pair is reported.
        redundant_jaccard: Share, for sure, of the instances with either of two nodes that carry
            both, from which the two are used as one label.
        false_discovery_rate: Share of the findings of a statistical check that may be chance.
        leading_zero_share: Share of the rows of a code set that start with 0 at the least, where
            its codes may.
        leading_zero_rows: Rows expected to start with 0 from which it tells that none does.
        residual_nodes: Nodes that are residual whatever their titles say.
        specific_nodes: Nodes that are not residual whatever their titles say.
        strata: Further columns of the instances, such as newborn or adult, site, period, coder.
        drift: Columns of the instances, such as period or site, over which the use of nodes is
            compared.
        branch_rules: First match decides; a pair of branches without a match is not judged.
        confusion_threshold: Score from which a node takes part in confusion, joint and rate of a
            model's pairs.
        decision_threshold: Score from which a node is predicted, where an instance may have
            several.
        unlisted_codes: Whether labels that the hierarchy lacks are refused, or hung where their
            digits place them; None: a file refuses them, a built-in classification hangs them.
        unmatched_instances: Whether instances with a prediction and no labels, or with labels and
            no prediction, are refused, or counted and left out.
        error_share: Share of the rows, or instances, looked at from which an error counts as one;
            below it, it counts as a warning.
        severities: Severity of all findings of a check, in place of the check's own.
        waivers: Findings that are told and do not count.
        ratchet: Whether a finding that the reference run has too, and no worse, counts as a note.
        exclusive: Nodes of which an instance should carry one at most.
        expected: Pairs of nodes that are known to go together, with where that is known from.
        companions: Nodes that ask for another one beside them; such pairs are known too.
        person: The columns of the instances that tell the sex and the age of their person; None:
            neither is judged.
        person_rules: Nodes that belong to persons of one sex, or of some ages.
        code_dates: From when to when each code was valid, and the column with the true day of
            coding; None: whether a code was valid on its day is not judged.
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
    residual_difference: Threshold = Threshold(
        value=0.1, reason="Below ten points, two shares call for the same reading."
    )
    habit_ratio: Threshold = Threshold(
        value=1.5, reason="A model that has a pair hardly more often repeats the data's habit."
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
        reason="In the MIMIC-III demo 71 of 1,761 diagnosis rows (4.0%) and 34 of 506 procedure "
        "rows (6.7%) start with 0; half of the smaller share leaves room for other hospitals.",
    )
    leading_zero_rows: Threshold = Threshold(
        value=20, reason="Where twenty are expected and rows are independent, none is no accident."
    )
    residual_nodes: tuple[str, ...] = Field(default=(), strict=False)
    specific_nodes: tuple[str, ...] = Field(default=(), strict=False)
    strata: tuple[str, ...] = Field(default=(), strict=False)
    drift: tuple[str, ...] = Field(default=(), strict=False)
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
    ratchet: bool = False
    exclusive: tuple[Exclusive, ...] = Field(default=(), strict=False)
    expected: tuple[Expected, ...] = Field(default=(), strict=False)
    companions: tuple[Companion, ...] = Field(default=(), strict=False)
    person: Person | None = None
    person_rules: tuple[PersonRule, ...] = Field(default=(), strict=False)
    code_dates: CodeDates | None = None

    @field_validator("*")
    @classmethod
    def _within_range(cls, value: Any, info: ValidationInfo) -> Any:
        _, low, high = _THRESHOLDS.get(info.field_name or "", ("", -math.inf, math.inf))
        if isinstance(value, Threshold) and not low <= value.value <= high:
            between = f"between {low:g} and {high:g}, not {value.value:g}"
            raise ValueError(f"{info.field_name} must lie {between}")
        return value

    @field_validator("companions", "person_rules")
    @classmethod
    def _each_once(cls, rules: tuple[_Rule, ...]) -> tuple[_Rule, ...]:
        keys = [rule.key for rule in rules]
        repeated = [str(number + 1) for number, key in enumerate(keys) if key in keys[:number]]
        if repeated:
            raise ValueError(f"rule {', '.join(repeated)} repeats an earlier one")
        return rules

    @field_validator("waivers")
    @classmethod
    def _once(cls, waivers: tuple[Waiver, ...]) -> tuple[Waiver, ...]:
        for number, waiver in enumerate(waivers):
            if any((w.check, w.place) == (waiver.check, waiver.place) for w in waivers[:number]):
                raise ValueError(f"waiver {number + 1} repeats an earlier one of {waiver.check}")
        return waivers

    def nodes_named(self) -> Iterator[tuple[str, str]]:
        """Key and id of every node that the policy names."""
        for rule in self.branch_rules:
            yield from (("branch_rules", node) for node in rule.branches if node != ANY_BRANCH)
            yield from (("branch_rules", node) for node in rule.alone_or_first)
        yield from (("residual_nodes", node) for node in self.residual_nodes)
        yield from (("specific_nodes", node) for node in self.specific_nodes)
        yield from (("waivers", node) for waiver in self.waivers for node in waiver.nodes)
        for group in self.exclusive:
            yield from (("exclusive", node) for side in group.sides for node in side)
        yield from (("expected", node) for pair in self.expected for node in pair.nodes)
        yield from (("companions", node) for rule in self.companions for node in rule.nodes_named)
        yield from (("person_rules", node) for one in self.person_rules for node in one.nodes_named)

    def checks_named(self) -> Iterator[tuple[str, str]]:
        """Key and name of every check that the policy names."""
        yield from (("severities", check) for check in self.severities)
        yield from (("waivers", w.check) for w in self.waivers if w.check != ANY_CHECK)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the instances that the policy names, each once.

        Those of `strata` and `drift`, the day of coding, and the sex and age of the person.
        """
        of_person = self.person.columns if self.person else ()
        return tuple(dict.fromkeys((*self.strata, *self.drift, *self._days, *of_person)))

    @property
    def columns_of_values(self) -> frozenset[str]:
        """Columns of days and ages, read for these alone: no instances are compared by them."""
        ages = (self.person.age,) if self.person else ()
        return frozenset((*self._days, *ages)).difference(self.strata, self.drift)

    @property
    def _days(self) -> tuple[str, ...]:
        return (self.code_dates.column,) if self.code_dates else ()

    def rule_for(self, a: str, b: str) -> BranchRule | None:
        """The first rule that fits two branches; None where none does."""
        return next((rule for rule in self.branch_rules if rule.fits(a, b)), None)

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
    "residual_difference": ("difference of two shares", 0.0, 1.0),
    "leading_zero_share": ("share of the rows of a code set", 0.0, 1.0),
    "leading_zero_rows": ("rows of a code set", 1.0, float("inf")),
    "confusion_threshold": ("aggregated score", 0.0, 1.0),
    "decision_threshold": ("aggregated score", 0.0, 1.0),
    "habit_ratio": ("times the instances labelled with both nodes", 1.0, float("inf")),
    "least_joint": ("instances", 2.0, float("inf")),
    "excess_ratio": ("times what length and other findings let expect", 1.0, float("inf")),
    "redundant_jaccard": ("share of the instances with either node", 0.0, 1.0),
    "false_discovery_rate": ("share of the findings", 0.0, 1.0),
    "error_share": ("share of the rows or instances looked at", 0.0, 1.0),
}
"""Unit, least and greatest value of each threshold."""


def load_policy(path: str | Path) -> Policy:
    """A policy from a TOML file, and from the table of code dates that it names.

    Raises:
        PolicyError: On broken TOML, an unknown key, a wrong type or a value outside its range;
            names the key.
        InputError: If the table of code dates cannot be read, or is not as required.
    """
    path = Path(path)
    text = read_text(path)
    try:
        stated = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError("a TOML file is required", found=str(error), where=path) from None
    try:
        policy = Policy.model_validate({"name": path.stem, **stated})
    except ValidationError as error:
        unknown = any(e["type"] == "extra_forbidden" and len(e["loc"]) == 1 for e in error.errors())
        keys = f"keys: {', '.join(Policy.model_fields)}"
        raise PolicyError(
            "every key of the policy must be known, and every value be allowed",
            found=first_cases(_told(e["loc"], e["msg"], text) for e in error.errors()),
            where=path,
            hint=keys if unknown else "docs/policy.md lists what each key may be",
        ) from None
    if policy.code_dates is None:
        return policy
    return policy.model_copy(update={"code_dates": policy.code_dates.read(path.parent)})


def _told(key: Sequence[str | int], message: str, text: str) -> str:
    line = line_of(key, text)
    place = f" (line {line})" if line else ""
    return f"{'.'.join(str(part) for part in key)}{place}: {message.removeprefix('Value error, ')}"


def line_of(key: Sequence[str | int], text: str) -> int | None:
    """Line, from 1, of the longest beginning of a key's path that a TOML text writes out.

    A number in the path counts the tables ``[[name]]`` of the name before it. None where the text
    has not even the first part.
    """
    lines = text.splitlines()
    at, end, found = 0, len(lines), None
    for before, part in zip(("", *key), key, strict=False):
        if isinstance(part, int):
            places = _matching(lines, rf"\s*\[\[\s*{re.escape(str(before))}\s*\]\]", 0, len(lines))
        else:
            places = _matching(lines, rf"[\s\[]*[\"']?{re.escape(part)}[\"']?\s*[=.\]]", at, end)
        wanted = part if isinstance(part, int) else 0
        if wanted >= len(places):
            break
        at = found = places[wanted]
        if lines[at].lstrip().startswith("["):
            end = min(_matching(lines, r"\s*\[", at + 1, len(lines)), default=len(lines))
    return None if found is None else found + 1


def _matching(lines: Sequence[str], pattern: str, start: int, end: int) -> list[int]:
    return [i for i in range(start, end) if re.match(pattern, lines[i])]


def policy_schema() -> dict[str, Any]:
    """JSON schema of a policy file, with the range and unit of every threshold."""
    schema = Policy.model_json_schema()
    for name, (unit, low, high) in _THRESHOLDS.items():
        value = {"type": "number", "minimum": low} | ({} if math.isinf(high) else {"maximum": high})
        schema["properties"][name] |= {"description": unit, "properties": {"value": value}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


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
    exclusive=ICD9CM_EXCLUSIVE,
    companions=ICD9CM_COMPANIONS,
    person_rules=ICD9CM_PERSON_RULES,
)

ICD10CM_POLICY = Policy(
    name="icd10cm",
    branch_rules=(
        BranchRule(
            branches=(ANY_BRANCH, ANY_BRANCH),
            rule="expected",
            reason="Chapters of ICD-10-CM are parts of the body, causes and circumstances; a stay "
            "may have several. What excludes each other, Excludes1 notes say.",
        ),
    ),
)

BUILT_IN: dict[str, Policy] = {"icd9cm": ICD9CM_POLICY, "icd10cm": ICD10CM_POLICY}
"""Policies that come with a built-in hierarchy, by its name."""


def policy_for(hierarchy_name: str, stated: Policy | None = None) -> Policy:
    """The built-in policy of a hierarchy, overruled by what the user's policy states."""
    base = BUILT_IN.get(hierarchy_name, Policy())
    return base if stated is None else stated.over(base)


def refuse_unknown_nodes(policy: Policy, nodes: Collection[str], hierarchy: str) -> None:
    """Raise PolicyError where a policy names a node that is none.

    Args:
        policy: As applied.
        nodes: Ids of the hierarchy's nodes.
        hierarchy: Its name, for the message.
    """
    unknown = [f"{key}: {node}" for key, node in policy.nodes_named() if node not in nodes]
    if unknown:
        raise PolicyError(
            f"every node that the policy names must be in {hierarchy}",
            found=first_cases(unknown),
            hint="a node's id is what `audit run` writes into restricted/nodes.parquet",
        )

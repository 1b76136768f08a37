"""The built-in policies of the built-in classifications."""

from __future__ import annotations

from audit.policy.guidelines import (
    ICD9CM_COMPANIONS,
    ICD9CM_EXCLUSIVE,
    ICD9CM_PERSON_RULES,
)
from audit.policy.policy import Policy
from audit.policy.statements import ANY_BRANCH, BranchRule

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
"""Built-in policies by the name of their hierarchy."""


def policy_for(hierarchy_name: str, stated: Policy | None = None) -> Policy:
    """The built-in policy of a hierarchy; what the user's policy states takes precedence."""
    base = BUILT_IN.get(hierarchy_name, Policy())
    return base if stated is None else stated.over(base)

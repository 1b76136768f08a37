"""Judging the findings of a run by a policy, without recounting."""

from audit.checks.judging.earlier import beside_earlier
from audit.checks.judging.judging import judged, policy_as_applied, rejudged
from audit.checks.judging.limits import FREE, main_effect
from audit.checks.judging.names import refuse_reference, refuse_unknown_checks, refuse_unknown_names

__all__ = [
    "FREE",
    "beside_earlier",
    "judged",
    "main_effect",
    "policy_as_applied",
    "refuse_reference",
    "refuse_unknown_checks",
    "refuse_unknown_names",
    "rejudged",
]

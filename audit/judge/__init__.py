"""What a policy makes of the findings of a run, without counting anything again."""

from audit.judge.judging import judged, judging_date, policy_as_applied, rejudged
from audit.judge.limits import FREE
from audit.judge.names import refuse_reference, refuse_unknown_checks, refuse_unknown_names
from audit.judge.ratchet import main_effect

__all__ = [
    "FREE",
    "judged",
    "judging_date",
    "main_effect",
    "policy_as_applied",
    "refuse_reference",
    "refuse_unknown_checks",
    "refuse_unknown_names",
    "rejudged",
]

"""Which answers a language model prefers: specific or general ones, correct or merely related."""

from audit.analyses.preference.measure import PreferenceResult, PreferenceRow
from audit.analyses.preference.run import run_preference

__all__ = ["PreferenceResult", "PreferenceRow", "run_preference"]

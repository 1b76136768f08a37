"""Which answers a language model prefers: specific or general ones, correct or merely related."""

from audit.alignment.preference.measure import PreferenceResult, PreferenceRow
from audit.alignment.preference.run import run_preference

__all__ = ["PreferenceResult", "PreferenceRow", "run_preference"]

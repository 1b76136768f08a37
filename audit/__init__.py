"""Audit whether a dataset uses a label hierarchy the way its authors meant it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from audit import metrics as metrics
    from audit.analyses.explanations.from_model import attributions
    from audit.base.errors import AuditError
    from audit.base.limits import limits
    from audit.data.dataset import LabelDataset, load_labels
    from audit.data.predictions import Predictions, load_predictions
    from audit.data.weighted_dag import WeightedDag
    from audit.hierarchies.hierarchy import Hierarchy
    from audit.hierarchies.reading import load_hierarchy
    from audit.policy.policy import Policy
    from audit.policy.reading import load_policy
    from audit.results.findings import CheckResult, Finding
    from audit.results.result import AuditResult
    from audit.runs.audit import run_audit
    from audit.runs.compare.comparison import Comparison, compare_runs
    from audit.runs.folder import write_run
    from audit.runs.read import read_run
    from audit.runs.verify import verify_run

    __version__: str
__all__ = [
    "AuditError",
    "AuditResult",
    "CheckResult",
    "Comparison",
    "Finding",
    "Hierarchy",
    "LabelDataset",
    "Policy",
    "Predictions",
    "WeightedDag",
    "attributions",
    "compare_runs",
    "limits",
    "load_hierarchy",
    "load_labels",
    "load_policy",
    "load_predictions",
    "read_run",
    "run_audit",
    "verify_run",
    "write_run",
]

_HOME = {
    "AuditError": "audit.base.errors",
    "AuditResult": "audit.results.result",
    "CheckResult": "audit.results.findings",
    "Comparison": "audit.runs.compare.comparison",
    "Finding": "audit.results.findings",
    "Hierarchy": "audit.hierarchies.hierarchy",
    "LabelDataset": "audit.data.dataset",
    "Policy": "audit.policy.policy",
    "Predictions": "audit.data.predictions",
    "WeightedDag": "audit.data.weighted_dag",
    "attributions": "audit.analyses.explanations.from_model",
    "compare_runs": "audit.runs.compare.comparison",
    "limits": "audit.base.limits",
    "load_hierarchy": "audit.hierarchies.reading",
    "load_labels": "audit.data.dataset",
    "load_policy": "audit.policy.reading",
    "load_predictions": "audit.data.predictions",
    "read_run": "audit.runs.read",
    "run_audit": "audit.runs.audit",
    "verify_run": "audit.runs.verify",
    "write_run": "audit.runs.folder",
}


if not TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        """Import a public name on first use, so that ``import audit`` stays light."""
        if name == "metrics":
            return import_module("audit.metrics")
        if name == "__version__":
            return import_module("importlib.metadata").version("hierarchy-audit")
        if name not in _HOME:
            raise AttributeError(f"module 'audit' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

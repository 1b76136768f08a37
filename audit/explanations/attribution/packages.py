"""Packages that attributions need beyond those of the audit."""

from __future__ import annotations

from importlib.util import find_spec

from audit.base.errors import InputError

EXTRAS = {"torch": "model", "captum": "explain", "shap": "explain", "sklearn": "explain"}
"""The extra that installs each package."""


def require_package(package: str, purpose: str) -> None:
    """Raise InputError, which names the extra to install, if a package is not installed.

    Args:
        package: A key of `EXTRAS`.
        purpose: What the package is needed for, as "to compute LIME".
    """
    if find_spec(package) is None:
        raise InputError(
            f"the package {package} is required {purpose}",
            found="it is not installed",
            hint=f"pip install 'hierarchy-audit[{EXTRAS[package]}]'",
        )

"""Columns of files of attributions: a row is one explained label of one instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REQUIRED = ("id", "target", "tokens", "scores")
"""Columns that attributions must have."""
DEFAULTS: Mapping[str, Any] = {"method": "attribution", "model": "model", "seed": 0}
"""Defaults for columns or values that are missing."""

"""A path that is stored as an absolute one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import PlainSerializer

StoredPath: TypeAlias = Annotated[Path, PlainSerializer(lambda path: str(path.absolute()))]
"""A path as typed; serialised as an absolute path."""

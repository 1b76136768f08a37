"""What was decided of counts that are told together, to be taken over where nothing changed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from audit.disclosure.cells import Release


def digest_of(release: Release, *asked: Any) -> str:
    """Digest of all that decides: a release, what is asked of it, and the code of this room.

    Sets come sorted, since their order differs from process to process. Takes milliseconds.
    """
    parts = [release.labelled, release.assertions, release.parents, release.supports]
    parts += [release.labels, release.direct, sorted(release.residual), *asked]
    parts += [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(repr(parts).encode()).hexdigest()

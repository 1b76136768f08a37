"""Settings of a test of concepts in representations."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from audit.base.stored_path import StoredPath


class Testing(BaseModel):
    """The settings for testing concepts in representations.

    Args:
        representations: File of representations.
        facets: Table of facets; None to take the ancestors at `depths`, or titles.
        depths: Depths of the hierarchy whose nodes are nested dimensions beside the others.
        titles: Whether words that recur in titles are crossed dimensions.
        layer: The layer that tests are about; None for the last.
        baseline: Representations of the same instances by an untrained network; None without.
        seeds: Number of resampled splits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    representations: StoredPath
    facets: StoredPath | None = None
    depths: tuple[int, ...] = ()
    titles: bool = False
    layer: str | None = None
    baseline: StoredPath | None = None
    seeds: int = 5

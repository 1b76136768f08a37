"""Settings of an audit: everything that determines its numbers, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializeAsAny,
    field_serializer,
    field_validator,
)

from audit.base.dag import Aggregation
from audit.base.stored_path import StoredPath
from audit.data.scores import Transform
from audit.data.sources import Source, source_of
from audit.hierarchies.building import Dangling
from audit.hierarchies.coding import Unlisted
from audit.hierarchies.reading import built_in_named
from audit.measure.labels_alone import FLAT
from audit.policy.model_questions import Levels

_Dataset: TypeAlias = Annotated[
    str,
    BeforeValidator(str),
    PlainSerializer(lambda name: str(Path(name).absolute()) if Path(name).exists() else name),
]
"""A path as typed, serialised as an absolute one if it is there; or the name of a table."""

Engine: TypeAlias = Literal["memory", "stream", "spark"]


class Settings(BaseModel):
    """The settings of an audit, kept in the manifest of its run so that it can be made again.

    Args:
        dataset: File or folder of labels, or the name of a table that Spark knows.
        hierarchy: Name of a built-in hierarchy, or a path.
        format: Format of the dataset; None to detect it.
        id: Column of the instance id; this and the next three as in `load_labels`.
        label: Column of the label.
        group: Column of the group.
        split: Column of the split.
        strata: Columns that stratify the instances, in addition to those of the policy.
        titles: Dictionaries of code titles.
        relations: OBO relations that count as edges besides ``is_a``.
        anyway: Whether to continue if most labels, or classes, are not nodes of the hierarchy.
        unlisted: Treatment of labels that the hierarchy lacks; overrides the policy.
        dangling: Treatment of edges with an end that is not a node; None: as the policy says.
        classes: File with the names of a matrix's columns.
        predictions: File of predictions; None without a model.
        transform: Transform of predictions into scores.
        single_label: Whether each instance has a single answer.
        device: PyTorch device that counts pairs of scores; None to count with NumPy.
        policy: Policy file; None for the hierarchy's own policy.
        min_cell: Smallest count shown; overrides the policy.
        title: Title of the reports; None for the policy's, or the name of the dataset.
        reference: Folder of an earlier run.
        protected_with: Folders of runs of the same data whose shared views readers may have too.
        seed: Seed of the bootstrap behind intervals.
        today: The day that decides whether waivers have expired.
        engine: How to count: in memory, in batches of a file, or on Apache Spark.
        memory: Bytes that a count in batches may use; None for `audit.counting.plan.MEMORY`.
        master: URL of the Spark master; None for Spark's own settings.
        limits: Limits on unusual input by name, where they are not the usual ones.
        add_to: Folder of a run to whose counts those of the dataset are added.
        levels: The cuts that a model's metrics move between; overrides the policy.
        aggregation: What an aggregated value is; overrides the policy.
        subgraphs: Parts of the hierarchy as ``--subgraph`` states them, beside those of the policy.
        queries: Kinds of behaviour as ``--query`` states them, beside those of the policy.
        analyses: The settings of each analysis that is made, by its name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: _Dataset
    hierarchy: str
    format: str | None = None
    id: str | None = None
    label: str | None = None
    group: str | None = None
    split: str | None = None
    strata: tuple[str, ...] = ()
    titles: tuple[StoredPath, ...] = ()
    relations: tuple[str, ...] = ()
    unlisted: Unlisted | None = None
    dangling: Dangling | None = None
    anyway: bool = False
    classes: StoredPath | None = None
    predictions: StoredPath | None = None
    transform: Transform | None = None
    single_label: bool = False
    device: str | None = None
    policy: StoredPath | None = None
    min_cell: int | None = None
    title: str | None = None
    reference: StoredPath | None = None
    protected_with: tuple[StoredPath, ...] = ()
    seed: int = 0
    today: date
    engine: Engine = "memory"
    memory: int | None = None
    master: str | None = None
    limits: dict[str, int] = {}
    add_to: StoredPath | None = None
    levels: Levels | None = None
    aggregation: Aggregation | None = None
    subgraphs: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    analyses: dict[str, SerializeAsAny[BaseModel]] = {}

    @field_validator("analyses", mode="before")
    @classmethod
    def _read_back(cls, stated: Mapping[str, Any]) -> dict[str, BaseModel]:
        from audit.runs.analyses import ANALYSES

        kinds = {kind.name: kind.stated_by for kind in ANALYSES}
        if unknown := [name for name in stated if name not in kinds]:
            raise ValueError(f"there is no analysis {unknown[0]}")
        return {name: kinds[name].model_validate(one) for name, one in stated.items()}

    @property
    def source(self) -> Source:
        """What the dataset names; raises InputError if Spark shall read it and nothing is there."""
        if self.engine != "spark":
            return source_of(self.dataset)
        from audit.data.sources.spark import spark_source

        return spark_source(self.dataset)

    @field_serializer("hierarchy")
    def _stored(self, hierarchy: str) -> str:
        built_in = built_in_named(hierarchy)
        if built_in is not None:
            return built_in.name
        return hierarchy if hierarchy == FLAT else str(Path(hierarchy).absolute())


class Judging(BaseModel):
    """The settings for judging an existing run.

    Args:
        policy: Policy file.
        reference: Folder of an earlier run.
        today: The day that decides whether waivers have expired.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: StoredPath
    reference: StoredPath | None = None
    today: date


def is_built_in(hierarchy: str) -> bool:
    """Whether the text is the name of a built-in hierarchy rather than a path."""
    return built_in_named(hierarchy) is not None

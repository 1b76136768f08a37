"""Settings of an audit: everything that determines its numbers, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from audit.base.disk import judging_date
from audit.base.errors import InputError
from audit.base.settings import (
    FIRST,
    HIERARCHY,
    INPUT,
    LARGE_DATA,
    MODEL,
    OUTPUT,
    POLICY,
    Argument,
    Engine,
    HierarchyShape,
    Option,
    Stored,
    Transform,
    Unlisted,
    apart,
    located,
    told_place,
)

if TYPE_CHECKING:
    from audit.base.tables import TextShape
    from audit.data.columns import Columns

InstanceColumn: TypeAlias = Annotated[
    tuple[str, ...],
    Option(
        "Column of the id, or several: A,B; `row` if each row is an instance.",
        FIRST,
        metavar="COL",
        typed=str,
        parse=apart,
    ),
]
LabelColumn: TypeAlias = Annotated[
    tuple[str, ...],
    Option("Column of labels; 'DX#' for DX1, DX2 ...; may be repeated.", FIRST, metavar="COL"),
]
TitleFiles: TypeAlias = Annotated[
    tuple[Path, ...], Option("Dictionary of code titles; may be repeated.", HIERARCHY)
]
Relations: TypeAlias = Annotated[
    tuple[str, ...], Option("OBO relations that count in addition to is_a.", HIERARCHY)
]
PredictionsFile: TypeAlias = Annotated[
    Path | None, Option("A model's predictions of the same instances.", FIRST)
]
PolicyFile: TypeAlias = Annotated[
    Path | None,
    Option("Policy file (TOML), or icd9cm or icd10cm.", FIRST),
]
ReferenceRun: TypeAlias = Annotated[
    Path | None,
    Option("Earlier run; findings already in it are marked as known.", POLICY, metavar="RUN"),
]
MinCell: TypeAlias = Annotated[
    int | None,
    Option(
        "One more than the width of the bins that counts are told in, 1 for exact counts; by "
        "default 11 for records of persons, else 1.",
        POLICY,
        metavar="N",
        least=1,
        most=10**9,
    ),
]
Seed: TypeAlias = Annotated[
    int, Option("Seed of the resampling behind intervals.", POLICY, metavar="N", least=0)
]
Title: TypeAlias = Annotated[
    str | None,
    Option(
        "What the reports call the data; by default the policy's title, or the file's name.",
        OUTPUT,
        metavar="TEXT",
    ),
]


class _OfAnalyses:
    """Written beside the type of a field: settings of analyses are read as those of each."""

    def __get_pydantic_core_schema__(self, kind: Any, schema_of: Callable[[Any], Any]) -> Any:
        from pydantic_core.core_schema import no_info_plain_validator_function

        return no_info_plain_validator_function(self._read)

    def _read(self, stated: Mapping[str, Any]) -> dict[str, Stored]:
        if not stated:
            return {}
        from audit.runs.analyses import settings_of

        return {name: settings_of(name, one) for name, one in stated.items()}


@dataclass(frozen=True, kw_only=True)
class Settings(HierarchyShape):
    """The settings of an audit, kept in the manifest of its run so that it can be made again.

    Fields with an `Option` are the options of ``audit run``. Beside them are the day that decides
    whether waivers have expired, the settings of each analysis that is made, by its name, and the
    name of the one whose own file holds the labels.
    """

    dataset: Annotated[
        str,
        Argument("File or folder of labels, or address of a database.", typed=str, parse=located),
    ]
    hierarchy: Annotated[
        str,
        Option(
            "A file or a built-in one; or the data hold it.",
            FIRST,
        ),
    ] = ""
    sql: Annotated[str | None, Option("Query whose rows are read.", INPUT)] = None
    table: Annotated[str | None, Option("Table of the database, instead of a query.", INPUT)] = None
    id: InstanceColumn = ()
    label: LabelColumn = ()
    sep: Annotated[
        str | None, Option("What joins several labels in a cell.", FIRST, metavar="TEXT")
    ] = None
    take: Annotated[
        str | None,
        Option("Labels are what is found in cells: icd9, icd10 or a regular expression.", INPUT),
    ] = None
    flags: Annotated[
        bool, Option("Columns that are called as nodes hold 0 and 1.", INPUT, flag="--flags")
    ] = False
    group: Annotated[str | None, Option("Column of the group, e.g. patient.", FIRST)] = None
    split: Annotated[str | None, Option("Column of the split, e.g. train/test.", FIRST)] = None
    strata: Annotated[
        tuple[str, ...],
        Option(
            "Column whose values divide the instances into strata; may be repeated.",
            INPUT,
            metavar="COL",
        ),
    ] = ()
    codes: Annotated[
        tuple[str, ...],
        Option(
            "diagnoses, procedures or as-written; or what labels begin with: 'ICD9CM/*'.",
            FIRST,
            metavar="SET",
        ),
    ] = ()
    where: Annotated[
        tuple[str, ...], Option("Count only rows with COLUMN=VALUE, or COLUMN!=VALUE.", INPUT)
    ] = ()
    missing: Annotated[
        tuple[str, ...], Option("A word that means no code; may be repeated.", INPUT)
    ] = ()
    strip: Annotated[
        tuple[str, ...], Option("Text to take off at an end of labels that are no nodes.", INPUT)
    ] = ()
    by_title: Annotated[
        bool, Option("Labels are titles of nodes, or their names in other letters.", INPUT)
    ] = False
    encoding: Annotated[
        str | None, Option("Encoding of a text file that is not UTF-8, e.g. cp1252.", INPUT)
    ] = None
    skip_rows: Annotated[int, Option("Lines before the table.", INPUT, metavar="N", least=0)] = 0
    header: Annotated[
        bool, Option("Whether the first row names the columns.", INPUT, flag="--header/--no-header")
    ] = True
    titles: TitleFiles = ()
    relations: Relations = ()
    unlisted: Annotated[
        Unlisted | None,
        Option(
            "Refuse labels that the hierarchy lacks (default for a file), or hang them into it.",
            HIERARCHY,
        ),
    ] = None
    classes: Annotated[Path | None, Option("Names of a matrix's columns, one per line.", INPUT)] = (
        None
    )
    predictions: PredictionsFile = None
    instances: Annotated[Path | None, Option("Ids of a matrix's rows, one per line.", MODEL)] = None
    transform: Annotated[
        Transform | None,
        Option(
            "Predictions are logits over classes that exclude each other.", MODEL, sets="softmax"
        ),
        Option("Predictions are logits, one independent answer per node.", MODEL, sets="sigmoid"),
    ] = None
    single_label: Annotated[
        bool | None,
        Option(
            "Each instance has one answer, or any number; by default as the sums of scores say.",
            MODEL,
            flag="--single-label/--multi-label",
        ),
    ] = None
    by_order: Annotated[bool, Option("Labels and predictions are in the same order.", MODEL)] = (
        False
    )
    device: Annotated[
        Literal["cpu", "cuda"] | None,
        Option("Count pairs of scores with PyTorch on this device.", MODEL),
    ] = None
    policy: PolicyFile = None
    reference: ReferenceRun = None
    changes: Annotated[
        Path | None,
        Option(
            "Log of `audit apply`, if the data are the copy that it wrote of the reference's: the "
            "reports say what was mended, and what became of it.",
            POLICY,
            metavar="LOG",
        ),
    ] = None
    min_cell: MinCell = None
    seed: Seed = 0
    title: Title = None
    engine: Annotated[
        Engine, Option("Whether this process counts, or Apache Spark.", LARGE_DATA)
    ] = "local"
    master: Annotated[
        str | None,
        Option("Where Spark runs; by default as Spark is set up.", LARGE_DATA, metavar="URL"),
    ] = None
    today: date = field(default_factory=judging_date)
    labels_of: str = ""
    analyses: Annotated[Mapping[str, Stored], _OfAnalyses()] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the data for the hierarchy, where none is named and they hold one."""
        if self.hierarchy:
            return
        from audit.hierarchies.reading import holds_hierarchy

        own = self.hierarchy_levels or holds_hierarchy(self.dataset)
        if self.sql or self.table or not own:
            raise InputError(
                "a hierarchy is required",
                found="none, and these data hold none, unlike those of COCO and OMOP",
                where=self.dataset,
                hint="--hierarchy FILE names one, --hierarchy icd9cm one that is built in",
            )
        object.__setattr__(self, "hierarchy", self.dataset)

    @property
    def columns(self) -> Columns:
        """What is stated of the columns, rows and labels of a file."""
        from audit.data.columns import Columns

        stated = self.arguments(Columns).items()
        return Columns(**{name: one for name, one in stated if one is not None})

    @property
    def text(self) -> TextShape:
        """Encoding, lines to skip and header, as stated of text files of the dataset."""
        from audit.base.tables import TextShape

        return TextShape(encoding=self.encoding or "", skip_rows=self.skip_rows, header=self.header)

    def stored(self) -> dict[str, Any]:
        """The settings as JSON; files are named by absolute paths, what is none by its name."""
        from audit.hierarchies.reading import built_in_named
        from audit.measure.labels_alone import FLAT

        hierarchy = built_in_named(self.hierarchy)
        named = FLAT if self.hierarchy == FLAT else told_place(self.hierarchy)
        return super().stored() | {
            "dataset": told_place(self.dataset),
            "hierarchy": named if hierarchy is None else hierarchy.name,
        }


@dataclass(frozen=True, kw_only=True)
class Judging(Stored):
    """The settings for judging an existing run, and the day of it."""

    policy: Annotated[Path | None, Option("Judge the run again by this policy (TOML).")] = None
    reference: ReferenceRun = None
    today: date = field(default_factory=judging_date)

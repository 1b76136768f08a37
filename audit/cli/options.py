"""Command line options shared by commands: name, type and help heading of each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from audit.base.limits import LIMITS

INPUT, MODEL, POLICY, OUTPUT, LARGE_DATA = "Input", "Model", "Policy", "Output", "Large data"
LIMITED = "Limits"
"""Headings of ``audit run --help``."""


class FailOn(StrEnum):
    """Least severity of findings that gives exit status 1."""

    never = "never"
    error = "error"
    warning = "warning"


class Device(StrEnum):
    """Device that PyTorch counts on."""

    cpu = "cpu"
    cuda = "cuda"


class Engine(StrEnum):
    """How to count: in memory, in batches, or on Spark."""

    memory = "memory"
    stream = "stream"
    spark = "spark"


class Levels(StrEnum):
    """Cuts that a model's metrics move between."""

    depth = "depth"
    paper = "paper"


class Aggregation(StrEnum):
    """What a node's aggregated value is."""

    descendants = "descendants"
    paths = "paths"
    mimic = "mimic"


class Unlisted(StrEnum):
    """Treatment of labels that the hierarchy lacks."""

    refuse = "refuse"
    hang = "hang"


class Dangling(StrEnum):
    """Treatment of edges of a hierarchy with an end that is not a node."""

    refuse = "refuse"
    drop = "drop"


DatasetPath: TypeAlias = Annotated[Path, typer.Argument(help="File or folder of labels.")]
HierarchyName: TypeAlias = Annotated[
    str,
    typer.Option(help="Name of a built-in hierarchy, or a hierarchy file.", rich_help_panel=INPUT),
]
FormatName: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Format of the dataset; recognised if not given.", rich_help_panel=INPUT),
]
InstanceColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of the instance id.", rich_help_panel=INPUT)
]
LabelColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Column of the label, or a pattern of several: 'DX*'.", rich_help_panel=INPUT
    ),
]
GroupColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of the group, e.g. patient.", rich_help_panel=INPUT)
]
SplitColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of the split, e.g. train/test.", rich_help_panel=INPUT)
]
StrataColumns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="Column whose values divide the instances into strata; may be repeated.",
        rich_help_panel=INPUT,
    ),
]
TitleFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(help="Dictionary of code titles; may be repeated.", rich_help_panel=INPUT),
]
Relations: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="OBO relations that count in addition to is_a.", rich_help_panel=INPUT),
]
UnlistedLabels: TypeAlias = Annotated[
    Unlisted | None,
    typer.Option(
        help="Refuse labels that the hierarchy lacks (default for a file), or hang them into it.",
        rich_help_panel=INPUT,
    ),
]
DanglingEdges: TypeAlias = Annotated[
    Dangling | None,
    typer.Option(
        help="Refuse edges to a parent that is not a node (default), or drop and count them.",
        rich_help_panel=INPUT,
    ),
]
Anyway: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--anyway", help="Continue even if most labels are not nodes.", rich_help_panel=INPUT
    ),
]
ClassesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Names of a matrix's columns, one per line.", rich_help_panel=INPUT),
]
PredictionsPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="A model's predictions of the same instances.", rich_help_panel=MODEL),
]
Softmax: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--softmax",
        help="Predictions are logits over classes that exclude each other.",
        rich_help_panel=MODEL,
    ),
]
Sigmoid: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--sigmoid",
        help="Predictions are logits, one independent answer per node.",
        rich_help_panel=MODEL,
    ),
]
SingleLabel: TypeAlias = Annotated[
    bool,
    typer.Option("--single-label", help="Each instance has one answer.", rich_help_panel=MODEL),
]
LevelsOfMetrics: TypeAlias = Annotated[
    Levels | None,
    typer.Option(
        help="Compare depths from the root (default), or the paper's levels from the leaves.",
        rich_help_panel=MODEL,
    ),
]
AggregationName: TypeAlias = Annotated[
    Aggregation | None,
    typer.Option(
        help="A value counts once (default), once per path, or by the released MIMIC rule.",
        rich_help_panel=MODEL,
    ),
]
Subgraphs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--subgraph",
        metavar="NAME=NODE,NODE",
        help="Part of the hierarchy to compare with others; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
Queries: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--query",
        metavar="NAME[=CONDITION:VALUE,...]",
        help="Kind of behaviour to count: confident, split, or one of your own; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
ScoresDevice: TypeAlias = Annotated[
    Device | None,
    typer.Option(help="Count pairs of scores with PyTorch on this device.", rich_help_panel=MODEL),
]
PolicyFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="Policy file (TOML).", rich_help_panel=POLICY)
]
ReferenceRun: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Earlier run; findings already in it are marked as known.",
        rich_help_panel=POLICY,
    ),
]
ProtectedWith: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="RUN",
        help="Run of the same data whose readers may have this one too; may be repeated.",
        rich_help_panel=POLICY,
    ),
]
OutFolder: TypeAlias = Annotated[
    Path, typer.Option(help="Folder of the run.", rich_help_panel=OUTPUT)
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace an earlier run.", rich_help_panel=OUTPUT)
]
WritePdf: TypeAlias = Annotated[
    bool, typer.Option("--pdf/--no-pdf", help="Write report.pdf.", rich_help_panel=OUTPUT)
]
MinCell: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Smallest count shown; by default 11 for records of persons, else 1.",
        rich_help_panel=POLICY,
    ),
]
Title: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Title of the reports; by default the policy's, or the name of the file or folder.",
        rich_help_panel=OUTPUT,
    ),
]
KeepInstances: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--keep-instances", help="Keep each instance, for `audit show`.", rich_help_panel=OUTPUT
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(help="Seed of the resampling behind intervals.", rich_help_panel=POLICY)
]
CountingEngine: TypeAlias = Annotated[
    Engine | None,
    typer.Option(
        help="How to count: all in memory, in batches of a file, or on Spark.",
        rich_help_panel=LARGE_DATA,
    ),
]
MemorySize: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Count in batches within this much memory, e.g. 4GB.",
        rich_help_panel=LARGE_DATA,
    ),
]
Resume: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue a count in batches that was interrupted.",
        rich_help_panel=LARGE_DATA,
    ),
]
AddTo: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Counted run to add the dataset's counts to.",
        rich_help_panel=LARGE_DATA,
    ),
]
Limits: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=NUMBER",
        help=f"Read more, or less, of unusual input: {', '.join(one.name for one in LIMITS)}; "
        "`audit list limits` explains. May be repeated.",
        rich_help_panel=LIMITED,
    ),
]
SparkMaster: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where Spark runs; by default as Spark is set up.",
        rich_help_panel=LARGE_DATA,
    ),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1, help="Threads to count with; by default one per core.", rich_help_panel=LARGE_DATA
    ),
]
FailOnSeverity: TypeAlias = Annotated[
    FailOn,
    typer.Option(help="Exit 1 on findings of this severity or above.", rich_help_panel=POLICY),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print a machine-readable summary.", rich_help_panel=OUTPUT)
]
JUnitFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Also write a JUnit file, with a test case for each check.",
        rich_help_panel=OUTPUT,
    ),
]
SealKeyFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--seal-key",
        metavar="FILE",
        help="File with the key for digests of data, of 16 bytes or more.",
        rich_help_panel=OUTPUT,
    ),
]
Force: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force", help="Continue with a run that is not as it was sealed.", rich_help_panel=OUTPUT
    ),
]
RunFolder: TypeAlias = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]

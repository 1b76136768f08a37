"""The run folder: what it keeps, written whole or not at all, sealed by its manifests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from audit.base.arrays import give_back_pages
from audit.base.disk import exchange, on_disk, working_beside
from audit.base.errors import InputError, OutputError
from audit.base.files import read_json
from audit.base.machine import give_back_freed_memory
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.manifest import (
    MANIFEST,
    RESTRICTED,
    RESULT,
    listing_of,
    public_inputs,
    seal,
    write_manifest,
)

HTML, PDF = "report.html", "report.pdf"
EXACT = "exact"
"""Name of the reports with exact numbers, among the restricted files, before their endings."""


class Kept(NamedTuple):
    """A restricted file that a run keeps, and what of its result that is.

    Args:
        of: The field of the result, or the method that gives it.
        needed: Whether every run has it; of others the field may be None.
        judged: Whether another judgement changes it.
    """

    file: str
    of: str
    needed: bool = True
    judged: bool = False


RECORD = Kept("record.json", "as_record", judged=True)
POLICY = Kept("policy.json", "counted_with")
INSTANCES = Kept("instances.parquet", "instances", needed=False)
REFUSED = Kept("refused_labels.parquet", "refused", needed=False)
KEPT = (
    *(RECORD, POLICY, Kept("reference.json", "reference", needed=False, judged=True)),
    *(Kept(f"{name}.parquet", name) for name in ("nodes", "edges", "residuals")),
    Kept("findings.parquet", "findings", judged=True),
    *(Kept(f"{name}.parquet", name, needed=False) for name in ("cases", "proposals")),
    *(INSTANCES, REFUSED),
)
"""What a run keeps; beside it are the tables of pairs and of what else was measured."""
ROWS_OF_GROUP = 131_072
"""Number of pairs that are written, and read, at a time."""


@dataclass(frozen=True, slots=True)
class FolderKind:
    """Kind of a sealed folder: its name in messages, and the content file that identifies it.

    Args:
        reports: The other files that may be shared.
    """

    name: str
    content: str
    reports: tuple[str, ...] = ()


RUN = FolderKind("run", RESULT, (HTML, PDF))
COMPARISON = FolderKind("comparison", "comparison.json", ("comparison.html",))
COMPARISON_VERSION = "6.0"
"""Version of the schema of ``comparison.json``."""


@contextmanager
def writing_run(out: Path, *, overwrite: bool = False, kind: FolderKind = RUN) -> Iterator[Path]:
    """Yield a temporary folder that replaces ``out`` when the block ends without an error.

    ``out`` is locked against other audits during the block.

    Raises:
        OutputError: If ``out`` exists, at the beginning or at the end, and is not of this kind, or
            is and ``overwrite`` is False; or if another audit is writing to it.
    """
    refuse_occupied(out, overwrite=overwrite, kind=kind)
    out = out.resolve()
    with working_beside(out) as folder:
        yield folder
        with on_disk(out):
            _put_in_place(folder, out, overwrite=overwrite, kind=kind)


def _put_in_place(folder: Path, out: Path, *, overwrite: bool, kind: FolderKind) -> None:
    """Rename a whole folder to ``out``; what appeared there meanwhile, and is to stay, stays."""
    refuse_occupied(out, overwrite=overwrite, kind=kind)
    if is_sealed(out, kind):
        exchange(folder, out)
        if is_sealed(folder, kind):
            return
        exchange(folder, out)
    else:
        with suppress(OSError):
            if out.is_dir():
                out.rmdir()
            folder.rename(out)
            return
    refuse_occupied(out, overwrite=False, kind=kind)
    folder.rename(out)


def refuse_occupied(out: Path, *, overwrite: bool, kind: FolderKind = RUN) -> None:
    """Raise OutputError if ``out`` exists and is not of this kind, or ``overwrite`` is False."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not is_sealed(out, kind):
        raise OutputError(
            f"the output must be a new folder or an earlier {kind.name}",
            found=f"something that is not a {kind.name}",
            where=out,
            hint="choose another place with --out",
        )
    if not overwrite:
        raise OutputError(
            f"an earlier {kind.name} is replaced only when asked",
            found=f"a {kind.name}",
            where=out,
            hint="add --overwrite, or choose another place with --out",
        )


def no_run(folder: Path) -> InputError:
    """The error for a folder that is not a run."""
    return InputError(
        "the folder of a run is required",
        found=f"no {MANIFEST} and {RESULT} in it" if folder.exists() else "nothing there",
        where=folder,
        hint="a run is a folder that `audit run` writes",
    )


def refuse_no_run(folder: Path) -> None:
    """Raise InputError if a folder is not a run."""
    if not is_sealed(folder, RUN):
        raise no_run(folder)


def is_sealed(folder: Path, kind: FolderKind) -> bool:
    """Whether a folder holds a manifest and the content file of a kind."""
    return (folder / MANIFEST).is_file() and (folder / kind.content).is_file()


@contextmanager
def rewriting_run(run: Path) -> Iterator[Path]:
    """Yield a folder that replaces a run when the block ends without an error, as `writing_run`."""
    refuse_no_run(run)
    with writing_run(run, overwrite=True) as folder:
        yield folder


def seal_reports(run: Path, folder: Path) -> None:
    """Copy what a folder of new reports lacks of a run; write the one manifest that lists these."""
    exact = (folder / RESTRICTED).is_dir()
    name = f"{RESTRICTED}/{MANIFEST}" if exact else MANIFEST
    _fill(run, folder, {name})
    write_manifest(folder, read_json(run / name), restricted=exact)


def _fill(run: Path, folder: Path, left: Collection[str]) -> None:
    """Copy the files that a folder lacks, but for those ``left``, and for a killed process's.

    They get a second name where the disk allows it, so that no large table is copied.
    """
    if (run / RESTRICTED).is_dir():
        _restricted(folder)
    for path in run.rglob("*"):
        name = path.relative_to(run)
        there = folder / name
        left_over = name.parts[0].startswith(".report-")
        if path.is_dir() or there.exists() or left_over or name.as_posix() in left:
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, there)
        except OSError:
            shutil.copy2(path, there)


def write_judged_tables(run: Path, result: AuditResult, folder: Path) -> None:
    """Copy a run's tables to a folder, and write the files that a new judgement changes.

    The run's reports are not copied, since they show the earlier judgement.
    """
    judged = [one for one in KEPT if one.judged]
    old = (MANIFEST, f"{EXACT}.html", f"{EXACT}.pdf", *(one.file for one in judged))
    _fill(run, folder, {RESULT, HTML, PDF, MANIFEST, *(f"{RESTRICTED}/{name}" for name in old)})
    _write(result, folder, judged)


def seal_judged(
    run: Path,
    folder: Path,
    result: AuditResult,
    *,
    command: Sequence[str],
    judging: Mapping[str, Any],
) -> None:
    """Seal the files of `write_judged_tables` and their reports; ``judging``: how it was judged."""
    manifest = read_json(run / MANIFEST)
    judged = {"identity": dict(result.identity), "judged": list(command), "judging": judging}
    write_manifest(folder, listing_of(result), restricted=True)
    inputs = public_inputs(result.inputs)
    write_manifest(folder, {**manifest, **judged, "inputs": inputs})


def write_run(result: AuditResult, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a run without reports, for use from Python; the command line adds HTML and PDF.

    Args:
        result: What an audit measured and found.
        out: The folder to write; nothing of it is there until all is written.
        overwrite: Whether a run that is there is replaced.

    Returns:
        The folder.

    Raises:
        OutputError: If ``out`` exists and is not a run, or is a run and ``overwrite`` is False.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> run = audit.write_run(audit.run_audit(labels), "run")
    >>> sorted(path.name for path in run.iterdir())
    ['manifest.json', 'restricted', 'result.json']
    """
    out, started = Path(out), datetime.now(UTC)
    with writing_run(out, overwrite=overwrite) as folder:
        write_tables(result, folder)
        seal(folder, result, command=[], started=started)
    return out


def _restricted(folder: Path) -> Path:
    """The folder of restricted tables in a run folder, made where it is not there."""
    restricted = folder / RESTRICTED
    restricted.mkdir(mode=0o700, exist_ok=True)
    return restricted


def write_tables(result: AuditResult, folder: Path) -> None:
    """Write ``result.json`` and the restricted tables to a run folder."""
    _write(result, folder, KEPT)
    for part in (result.pair_table, *result.parts):
        for name, table in part.tables().items():
            file = folder / RESTRICTED / f"{name}.parquet"
            if isinstance(table, pl.LazyFrame):
                _write_pairs(table, file)
            else:
                table.write_parquet(file)


def _write(result: AuditResult, folder: Path, kept: Iterable[Kept]) -> None:
    """Write ``result.json``, and those of the ``kept`` files that the result has content for."""
    (folder / RESULT).write_bytes(to_json_bytes(result.shared()))
    give_back_freed_memory()
    for one in kept:
        content, file = getattr(result, one.of), _restricted(folder) / one.file
        if isinstance(content, pl.LazyFrame):
            content.sink_parquet(file)
        elif isinstance(content, pl.DataFrame):
            content.write_parquet(file)
        elif content is not None:
            file.write_bytes(to_json_bytes(content() if callable(content) else content))


def _write_pairs(pairs: pl.LazyFrame, path: Path) -> None:
    """Write pairs some rows at a time, each column in the encoding that makes it smallest."""
    import pyarrow.parquet as pq

    kinds = pairs.collect_schema()
    whole = {name: "BYTE_STREAM_SPLIT" for name, kind in kinds.items() if kind.is_integer()}
    whole |= dict.fromkeys(whole.keys() & {"a", "b"}, "DELTA_BINARY_PACKED")
    how = {"compression": "zstd", "compression_level": 4, "column_encoding": whole}
    repeated, schema = [*(kinds.keys() - whole.keys() - {"p_value"})], kinds.to_arrow()
    with pq.ParquetWriter(path, schema, use_dictionary=repeated, **how) as writer:
        for rows in pairs.collect_batches(chunk_size=ROWS_OF_GROUP, maintain_order=True):
            writer.write_table(rows.to_arrow().cast(schema))
            give_back_pages()

"""Verify a run: that it is unchanged since sealing, is consistent, and can be recomputed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import ValidationError

from audit.base.errors import AuditError, first_cases
from audit.base.files import read_table, sha256_of
from audit.base.plurals import counted
from audit.policy.policy import Policy
from audit.results.result import AuditResult, to_json_bytes
from audit.results.shared_view import SCHEMA_VERSION
from audit.runs.consistency import comparable, disagreements, one_way, read_html, read_pdf
from audit.runs.folder import FINDINGS, HISTORY, HTML, PDF, POLICY, RUN
from audit.runs.inputs import judge_again, stated_policy
from audit.runs.make import audited
from audit.runs.manifest import MANIFEST, RESTRICTED, RESULT, SealKey, with_keyed_data
from audit.runs.read import read_run
from audit.runs.sealed_run import LISTING, NO_RESTRICTED, Input, SealedRun
from audit.runs.settings import Judging, Settings

Outcome: TypeAlias = Literal["holds", "does not hold", "not checked"]

HOLDS: Outcome = "holds"
FAILS: Outcome = "does not hold"
UNCHECKED: Outcome = "not checked"

AGREE = "nodes, pairs, residual use and findings agree with each other"
ATTACHMENT = RESULT
"""Name of the PDF's attachment with the bytes of ``result.json``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one verification step.

    Args:
        name: Name of the step.
        outcome: ``holds``, ``does not hold``, or ``not checked``, which is not a failure.
        detail: What was examined, what is wrong, or why it was not checked.
    """

    name: str
    outcome: Outcome
    detail: str


def verify_run(
    folder: str | Path,
    *,
    recompute: bool = False,
    data: str | Path | None = None,
    key: SealKey | None = None,
) -> tuple[Verdict, ...]:
    """Verify a run: seal, files, schema, consistency of its parts, and recomputation.

    A part is compared with others only if its file is unchanged since sealing.

    Args:
        folder: Folder of the run, of a comparison or of a history.
        recompute: Whether to recompute the audit from its inputs with the recorded settings.
        data: Current path of the dataset; None for the recorded one.
        key: Key that the run was sealed with; without a key, keyed digests are not checked.

    Returns:
        A verdict for each of ``manifest, files, restricted, schema, tables, counts, report.html,
        report.pdf, inputs, recomputation``, in this order; for a comparison, only the first three,
        and for a history, which has no restricted files, only the first two.

    Raises:
        InputError: If the folder is none of them, or has another schema version.

    Takes the time of hashing and reading the run; recomputation takes the time of the audit.
    """
    run = SealedRun(Path(folder))
    if run.kind is HISTORY:
        return _manifest(run), _files(run)
    if run.kind is not RUN:
        return _manifest(run), _files(run), of_restricted(run, key)
    return (
        _manifest(run),
        _files(run),
        of_restricted(run, key),
        _schema(run),
        *_tables(run),
        _html(run),
        _pdf(run),
        *_verdict_of_recomputation(run, None if data is None else Path(data), key, asked=recompute),
    )


def _manifest(run: SealedRun) -> Verdict:
    if run.manifest and run.manifest.forced:
        forced = f"{MANIFEST} was sealed in spite of: {'; '.join(run.manifest.forced)}"
        return Verdict("manifest", FAILS, forced)
    if run.manifest:
        return Verdict("manifest", HOLDS, f"sealed as {run.manifest.seal}")
    return Verdict("manifest", FAILS, *run.faults(restricted=False))


def _files(run: SealedRun) -> Verdict:
    if not run.manifest:
        return Verdict("files", UNCHECKED, "no intact manifest lists them")
    if faults := run.faults(restricted=False):
        return Verdict("files", FAILS, "; ".join(faults))
    listed = len(run.manifest.outputs)
    return Verdict("files", HOLDS, f"{listed} files with their digests, and no other")


def of_restricted(run: SealedRun, key: SealKey | None) -> Verdict:
    """Verify the restricted files, which are sealed only if there is a key."""
    if not run.has_restricted:
        return Verdict("restricted", UNCHECKED, NO_RESTRICTED)
    if faults := run.faults(restricted=True):
        return Verdict("restricted", FAILS, "; ".join(faults))
    if key and run.keyed and not run.keyed_as(key):
        return Verdict("restricted", FAILS, f"{LISTING} is not what this key sealed")
    listed = f"{len(run.listing.outputs) if run.listing else 0} files as {LISTING} lists them"
    if key and run.keyed:
        return Verdict("restricted", HOLDS, f"{listed}, sealed with the key")
    why = "add --seal-key" if run.keyed else f"no key seals {LISTING}"
    return Verdict("restricted", UNCHECKED, f"{listed}; {why}")


def _schema(run: SealedRun) -> Verdict:
    if not run.intact(RESULT):
        return Verdict("schema", UNCHECKED, run.blocked)
    if run.schema_errors:
        return Verdict("schema", FAILS, f"{RESULT}: {first_cases(run.schema_errors)}")
    return Verdict("schema", HOLDS, f"{RESULT} validates against schema {SCHEMA_VERSION}")


def _tables(run: SealedRun) -> tuple[Verdict, Verdict]:
    """Whether the tables give the result, and agree with each other."""

    def neither(outcome: Outcome, detail: str) -> tuple[Verdict, Verdict]:
        return Verdict("tables", outcome, detail), Verdict("counts", UNCHECKED, detail)

    tables = [name for name in run.outputs if name.startswith(f"{RESTRICTED}/")]
    torn = [name for name in tables if not run.intact(name)]
    blocked = run.blocked or (f"not as sealed: {first_cases(torn)}" if torn else "")
    if not run.listing:
        blocked = blocked or run.faults(restricted=True)[0]
    if blocked or not tables:
        return neither(UNCHECKED, blocked or f"{RESTRICTED}/ has no tables")
    try:
        result = read_run(run.folder, unsealed=True)
        given, apart = to_json_bytes(result.shared()), list(disagreements(result))
        as_recorded = result.findings.equals(read_table(run.folder / RESTRICTED / FINDINGS))
    except Exception as error:  # tables that somebody made can be wrong in every way
        reason = f"{type(error).__name__}: {_first_line(error)}"
        return neither(FAILS, f"{RESTRICTED}/ cannot be read as tables of a run: {reason}")
    counts = Verdict("counts", FAILS if apart else HOLDS, "; ".join(apart) or AGREE)
    if given != run.content(RESULT):
        other = f"{RESTRICTED}/ gives another {RESULT}: {_differing_parts(run, given)}"
        return Verdict("tables", FAILS, other), counts
    if not as_recorded:
        told = f"{RESTRICTED}/{FINDINGS} has rows that are not as their column record"
        return Verdict("tables", FAILS, told), counts
    return Verdict("tables", HOLDS, f"{RESTRICTED}/ gives the bytes of {RESULT}"), counts


def _html(run: SealedRun) -> Verdict:
    if unready := _unready(run, HTML):
        return Verdict(HTML, UNCHECKED, unready)
    try:
        report = read_html(run.folder / HTML)
    except UnicodeDecodeError:
        return Verdict(HTML, FAILS, "it is not UTF-8")
    statements = {finding.id: comparable(finding.sentences) for finding in report.findings}
    ids = Counter(finding.id for finding in report.findings)
    faults = {
        "lacks": [one for one in run.statements if one not in statements],
        "words otherwise": [
            one
            for one, statement in run.statements.items()
            if one in statements and not statements[one].startswith(comparable(statement))
        ],
        "has beside": [one for one in statements if one not in run.statements],
        "has twice": [one for one, times in ids.items() if times > 1],
    }
    return _parity(run, HTML, faults, digest_told=run.digest in report.codes)


def _pdf(run: SealedRun) -> Verdict:
    if unready := _unready(run, PDF):
        return Verdict(PDF, UNCHECKED, unready)
    try:
        report = read_pdf(run.folder / PDF)
    except ImportError:
        return Verdict(PDF, UNCHECKED, "needs pypdfium2: pip install 'hierarchy-audit[verify]'")
    except RuntimeError as error:
        return Verdict(PDF, FAILS, f"it cannot be read: {_first_line(error)}")
    if report.attachments.get(ATTACHMENT) != run.content(RESULT):
        attached = "another" if ATTACHMENT in report.attachments else "no"
        return Verdict(PDF, FAILS, f"{attached} {ATTACHMENT} is attached")
    text = comparable(report.text)
    lacking = [one for one in run.statements if one_way(one) and comparable(one) not in text]
    return _parity(run, PDF, {"lacks": lacking}, digest_told=run.digest in text)


def _unready(run: SealedRun, report: str) -> str:
    """Why a report cannot be compared with ``result.json``; empty: it can."""
    if report not in run.outputs:
        return f"the run has no {report}" if run.manifest else "no intact manifest lists it"
    return run.blocked or ("" if run.intact(report) else "it is not as it was sealed")


def _parity(
    run: SealedRun, report: str, faults: Mapping[str, Iterable[str]], *, digest_told: bool
) -> Verdict:
    differences = [f"{word} {first_cases(ids)}" for word, ids in faults.items() if ids]
    differences += [] if digest_told else [f"does not state the digest of {RESULT}"]
    if differences:
        return Verdict(report, FAILS, "; ".join(differences))
    return Verdict(report, HOLDS, f"states the {len(run.statements)} findings of {RESULT}")


def _verdict_of_recomputation(
    run: SealedRun, data: Path | None, key: SealKey | None, *, asked: bool
) -> tuple[Verdict, Verdict]:
    """Whether the inputs are as they were, and give the same result."""

    def neither(detail: str) -> tuple[Verdict, Verdict]:
        return Verdict("inputs", UNCHECKED, detail), Verdict("recomputation", UNCHECKED, detail)

    if not asked:
        return neither("not asked for; add --recompute")
    if run.manifest is None or run.blocked:
        return neither(run.blocked)
    settings = run.manifest.settings
    if settings is None:
        return neither("the run was made from Python, which records no settings")
    moved = settings if data is None else replace(settings, dataset=str(data.absolute()))
    faults = list(_changed_inputs(run.inputs, Path(settings.dataset), Path(moved.dataset)))
    if faults:
        return (
            Verdict("inputs", FAILS, first_cases(faults)),
            Verdict("recomputation", UNCHECKED, "the inputs are not those of the run"),
        )
    return _inputs(run, key), _recomputed(run, moved, run.manifest.judging, key)


def _inputs(run: SealedRun, key: SealKey | None) -> Verdict:
    """Of inputs that are there, and as they were as far as digests show."""
    unknown = sum(recorded.sha256 is None for recorded in run.inputs)
    if unknown:
        detail = f"no intact {LISTING} has the digests of {counted(unknown, 'files')} of data"
        return Verdict("inputs", UNCHECKED, detail)
    detail = f"{counted(len(run.inputs), 'files')} with their digests"
    if key and run.keyed_as(key):
        return Verdict("inputs", HOLDS, detail)
    return Verdict(
        "inputs", UNCHECKED, f"{detail}, but no key here seals {LISTING}, which has them"
    )


def _changed_inputs(inputs: Iterable[Input], old: Path, new: Path) -> Iterator[str]:
    """Describe inputs that have changed or are missing; a dataset that moved is looked up there."""
    for recorded in inputs:
        path = recorded.path
        if path.is_relative_to(old):
            path = new / path.relative_to(old)
        if not path.is_file():
            yield f"{recorded.role} is not there: {path}"
        elif recorded.sha256 not in (None, sha256_of(path)):
            yield f"{recorded.role} changed: {path}"


def _recomputed(
    run: SealedRun, settings: Settings, judging: Judging | None, key: SealKey | None
) -> Verdict:
    try:
        result = (
            _judged_again(run, settings, judging)
            if judging
            else audited(settings, stated_policy(settings)).result
        )
        given = to_json_bytes(_keyed_as_before(run, with_keyed_data(result, key), key).shared())
    except (AuditError, OSError, ValidationError) as error:
        return Verdict("recomputation", FAILS, f"it ended in an error: {_first_line(error)}")
    if given != run.content(RESULT):
        return Verdict(
            "recomputation", FAILS, f"gives another {RESULT}: {_differing_parts(run, given)}"
        )
    return Verdict("recomputation", HOLDS, f"the inputs give the bytes of {RESULT}")


def _keyed_as_before(run: SealedRun, result: AuditResult, key: SealKey | None) -> AuditResult:
    """A result with the keyed digest that the run has, where no key is given to make it."""
    if key:
        return result
    kept = json.loads(run.content(RESULT))["identity"]["data"]["hmac_sha256"]
    data = {**result.identity["data"], "hmac_sha256": kept}
    return replace(result, identity={**result.identity, "data": data})


def _judged_again(run: SealedRun, settings: Settings, judging: Judging) -> AuditResult:
    """Counted by the policy that the run keeps, then judged as it was judged last."""
    counted = Policy.model_validate_json(run.content(f"{RESTRICTED}/{POLICY}"))
    alone = counted.model_copy(update={"ratchet": False})
    return judge_again(judging, audited(settings, alone).result, counted)


def _differing_parts(run: SealedRun, given: bytes) -> str:
    """The parts in which another result differs, and the version where that differs too."""
    kept, made = json.loads(run.content(RESULT)), json.loads(given)
    parts = [name for name in kept | made if kept.get(name) != made.get(name)]
    tools = [shared["identity"]["tool"]["version"] for shared in (kept, made)]
    versions = "" if tools[0] == tools[1] else f" (written by {tools[0]}, checked by {tools[1]})"
    return f"other {', '.join(parts) or 'bytes'}{versions}"


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]

"""Verify a run: that it is unchanged since sealing, is consistent, and can be recomputed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from audit.base.errors import AuditError, first_cases
from audit.base.files import read_table
from audit.base.plurals import counted
from audit.base.remote import address_of, allowing
from audit.policy.policy import Policy
from audit.policy.reading import load_policy
from audit.results.result import AuditResult, to_json_bytes
from audit.results.shared_view import SCHEMA_VERSION
from audit.runs.consistency import (
    active_in,
    comparable,
    disagreements,
    not_following,
    one_way,
    read_html,
    read_pdf,
)
from audit.runs.folder import FINDINGS, HISTORY, HTML, PDF, POLICY, RUN
from audit.runs.inputs import at_place, judge_again, stated_policy
from audit.runs.make import audited
from audit.runs.manifest import (
    MANIFEST,
    RESTRICTED,
    RESULT,
    SealKey,
    public_inputs,
    versions,
    with_keyed_data,
)
from audit.runs.read import read_run
from audit.runs.sealed_run import LISTING, NO_RESTRICTED, SealedRun
from audit.runs.settings import Judging, Settings

Render: TypeAlias = Callable[[str, Mapping[str, Any], Mapping[str, Any], datetime | None], bytes]
"""Gives a report again: of a name, of what ``result.json`` and the manifest say, of a moment."""
Outcome: TypeAlias = Literal["holds", "does not hold", "not checked"]
HOLDS: Outcome = "holds"
FAILS: Outcome = "does not hold"
UNCHECKED: Outcome = "not checked"
_OTHER_ROWS = "the query gives other rows"
AGREE = "nodes, pairs, residual use and findings agree with each other"
_ACTING = "has what no report has:"
ATTACHMENT = RESULT
"""Name of the PDF's attachment with the bytes of ``result.json``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one verification step.

    Args:
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
    allow_network: bool = False,
    key: SealKey | None = None,
    render: Render | None = None,
) -> tuple[Verdict, ...]:
    """Verify a run: seal, files, schema, consistency of its parts, and recomputation.

    Parts are compared where their files are as sealed. Recomputation takes as long as the audit.

    Args:
        folder: Folder of the run, of a comparison or of a history.
        recompute: Whether to recompute the audit from its inputs with the recorded settings.
        data: Current path of the dataset, or address of its database; None for the recorded one.
        allow_network: Whether inputs at addresses are read there, to recompute the audit.
        key: Key that sealed the run, else nothing holds; without one, no keyed digest is checked.
        render: What renders reports again, to compare them; None: they are only read back.

    Returns:
        A verdict for each step, in order; of a comparison the first three, of a history two.

    Raises:
        InputError: If the folder is none of them, or has another schema version.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> run = audit.write_run(audit.run_audit(labels), "run")
    >>> [one.name for one in audit.verify_run(run) if one.outcome == "holds"]
    ['manifest', 'files', 'schema', 'tables', 'counts']
    """
    network, render = (allow_network, render) if recompute else (None, None)
    run = SealedRun(Path(folder))
    if key and run.manifest and (fault := run.not_keyed_as(key)):
        others = (Verdict(name, UNCHECKED, fault) for name in _STEPS[1 : _steps_of(run)])
        return Verdict("manifest", FAILS, fault), *others
    verdicts = _manifest(run, key), _files(run), of_restricted(run, key)
    if run.kind is not RUN:
        return verdicts[: _steps_of(run)]
    return (
        *verdicts,
        _schema(run),
        *_tables(run),
        _html(run, render),
        _pdf(run, render),
        *_verdict_of_recomputation(run, str(data) if data else None, key, network),
    )


_STEPS = (
    *("manifest", "files", "restricted", "schema", "tables", "counts"),
    *(HTML, PDF, "inputs", "recomputation"),
)


def _steps_of(run: SealedRun) -> int:
    """How many of the steps there are for a folder; a history has no restricted files."""
    return len(_STEPS) if run.kind is RUN else 2 if run.kind is HISTORY else 3


def _manifest(run: SealedRun, key: SealKey | None) -> Verdict:
    if not run.manifest:
        return Verdict("manifest", FAILS, *run.faults(restricted=False))
    if run.manifest.forced:
        forced = f"{MANIFEST} was sealed in spite of: {'; '.join(run.manifest.forced)}"
        return Verdict("manifest", FAILS, forced)
    if run.kind is RUN and not run.blocked and (fault := _other_identity(run)):
        return Verdict("manifest", FAILS, fault)
    by = ", by the key" if key else ""
    return Verdict("manifest", HOLDS, f"sealed as {run.manifest.seal}{by}")


def _other_identity(run: SealedRun) -> str:
    """What the manifest says of the run that its other parts do not; empty if all agree."""
    if run.stated.get("identity") != run.shared["identity"]:
        return f"its identity is not that of {RESULT}"
    listed = run.listed.get("inputs") if run.listing else None
    if listed is not None and run.stated["inputs"] != public_inputs(listed):
        return f"its inputs are not those of {LISTING}"
    keyed = run.shared["identity"]["data"]["hmac_sha256"] is not None
    return "" if keyed == run.keyed else "only one of the data and the run is sealed with a key"


def _files(run: SealedRun) -> Verdict:
    if not run.manifest:
        return Verdict("files", UNCHECKED, "no intact manifest lists them")
    if faults := run.faults(restricted=False):
        return Verdict("files", FAILS, "; ".join(faults))
    detail = f"{len(run.manifest.outputs)} files with their digests, and no other"
    return Verdict("files", HOLDS, detail)


def of_restricted(run: SealedRun, key: SealKey | None) -> Verdict:
    """Verify the restricted files, which are sealed only if there is a key."""
    if not run.has_restricted:
        return Verdict("restricted", UNCHECKED, NO_RESTRICTED)
    if faults := run.faults(restricted=True):
        return Verdict("restricted", FAILS, "; ".join(faults))
    listed = f"{len(run.listing.outputs) if run.listing else 0} files as {LISTING} lists them"
    if key:
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
    blocked = blocked or ("" if run.listing else run.faults(restricted=True)[0])
    if blocked or not tables:
        return neither(UNCHECKED, blocked or f"{RESTRICTED}/ has no tables")
    try:
        result = read_run(run.folder, unsealed=True)
        given, apart = to_json_bytes(result.shared()), list(disagreements(result))
        listed = run.listing.outputs if run.listing else {}
        wrong = [*not_following(result, listed, judged="judging" in run.stated)]
        as_recorded = result.findings.equals(read_table(run.folder / RESTRICTED / FINDINGS))
    except Exception as error:  # tables that somebody made can be wrong in every way
        reason = f"{type(error).__name__}: {_first_line(error)}"
        return neither(FAILS, f"{RESTRICTED}/ cannot be read as tables of a run: {reason}")
    counts = Verdict("counts", FAILS if apart else HOLDS, "; ".join(apart) or AGREE)
    if given != run.content(RESULT):
        wrong = [f"{RESTRICTED}/ gives another {RESULT}: {_differing_parts(run, given)}"]
    elif not as_recorded:
        wrong = [f"{RESTRICTED}/{FINDINGS} has rows that are not as their column record"]
    if wrong:
        return Verdict("tables", FAILS, "; ".join(wrong)), counts
    return Verdict("tables", HOLDS, f"{RESTRICTED}/ gives the bytes of {RESULT}"), counts


def _html(run: SealedRun, render: Render | None) -> Verdict:
    if unready := _unready(run, HTML):
        return Verdict(HTML, UNCHECKED, unready)
    try:
        report = read_html(run.content(HTML))
    except UnicodeDecodeError:
        return Verdict(HTML, FAILS, "it is not UTF-8")
    statements = {finding.id: comparable(finding.sentences) for finding in report.findings}
    ids = Counter(finding.id for finding in report.findings)
    faults = {
        _ACTING: [*dict.fromkeys(report.active)],
        "lacks": [one for one in run.statements if one not in statements],
        "has another sentence for": [
            one
            for one, statement in run.statements.items()
            if one in statements and not statements[one].startswith(comparable(statement))
        ],
        "has in addition": [one for one in statements if one not in run.statements],
        "has twice": [one for one, times in ids.items() if times > 1],
    }
    verdict = _parity(run, HTML, faults, digest_told=run.digest in report.codes)
    return _rendered(run, verdict, render, None, lambda content: read_html(content).text)


def _pdf(run: SealedRun, render: Render | None) -> Verdict:
    if unready := _unready(run, PDF):
        return Verdict(PDF, UNCHECKED, unready)
    active = active_in(run.content(PDF), run.content(RESULT))
    try:
        report = read_pdf(run.content(PDF))
    except ImportError:
        needed = Verdict(PDF, UNCHECKED, "needs pypdfium2: pip install 'hierarchy-audit[verify]'")
        return _parity(run, PDF, {_ACTING: active}, digest_told=True) if active else needed
    except RuntimeError as error:
        return Verdict(PDF, FAILS, f"it cannot be read: {_first_line(error)}")
    if report.attachments.get(ATTACHMENT) != run.content(RESULT):
        attached = "another" if ATTACHMENT in report.attachments else "no"
        return Verdict(PDF, FAILS, f"{attached} {ATTACHMENT} is attached")
    text = comparable(report.text)
    lacking = [one for one in run.statements if one_way(one) and comparable(one) not in text]
    faults = {"lacks": lacking, _ACTING: active}
    verdict = _parity(run, PDF, faults, digest_told=run.digest in text)
    return _rendered(run, verdict, render, report.made, _text_of_pdf)


def _text_of_pdf(content: bytes) -> str:
    """All its text, without hyphens, which other versions set at other places."""
    return comparable(read_pdf(content).text).replace("-", "")


def _rendered(
    run: SealedRun,
    verdict: Verdict,
    render: Render | None,
    moment: datetime | None,
    text_of: Callable[[bytes], str],
) -> Verdict:
    """Whether a report that holds so far is what ``result.json`` gives: in bytes, or in texts."""
    if render is None or verdict.outcome != HOLDS:
        return verdict
    kept = run.content(verdict.name)
    try:
        made = render(verdict.name, run.shared, run.stated, moment)
    except (AuditError, ValueError, TypeError) as error:
        told = f"{verdict.detail}; not rendered again: {_first_line(error)}"
        return replace(verdict, outcome=UNCHECKED, detail=told)
    if made == kept:
        return replace(verdict, detail=f"{verdict.detail}, and is rendered from it byte for byte")
    stated = run.stated.get("versions") or {}
    others = [name for name, version in versions().items() if stated.get(name) != version]
    if not others:
        return replace(verdict, outcome=FAILS, detail=f"{RESULT} gives other bytes")
    by = f"rendered by other {', '.join(others)}"
    if text_of(made) == text_of(kept):
        return replace(verdict, detail=f"{verdict.detail}, and its texts and numbers alone; {by}")
    return replace(verdict, outcome=FAILS, detail=f"{RESULT} gives other texts or numbers; {by}")


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
    states = f"states the {len(run.statements)} findings of {RESULT}"
    return Verdict(report, FAILS if differences else HOLDS, "; ".join(differences) or states)


def _verdict_of_recomputation(
    run: SealedRun, data: str | None, key: SealKey | None, network: bool | None
) -> tuple[Verdict, Verdict]:
    """Whether the inputs are as they were, and give the same result."""

    def neither(detail: str) -> tuple[Verdict, Verdict]:
        return Verdict("inputs", UNCHECKED, detail), Verdict("recomputation", UNCHECKED, detail)

    if network is None:
        return neither("not asked for; add --recompute")
    if run.manifest is None or run.blocked:
        return neither(run.blocked)
    if (settings := run.manifest.settings) is None:
        return neither("the run was made from Python, which records no settings")
    given = data or settings.dataset
    place = given if "://" in given else str(Path(given).absolute())
    others = (one.path for one in run.inputs if one.path != Path(settings.dataset))
    if not network and any(map(address_of, (place, *others))):
        return neither("inputs are at addresses; add --allow-network")
    moved = replace(at_place(settings, place), allow_network=network)
    with allowing(network):
        if faults := list(run.changed_inputs(Path(settings.dataset), Path(moved.dataset))):
            _, again = neither("the inputs are not those of the run")
            return Verdict("inputs", FAILS, first_cases(faults)), again
        again = _recomputed(run, moved, run.manifest.judging, key)
    unknown = again.outcome == UNCHECKED or again.detail.startswith(_OTHER_ROWS)
    return (replace(again, name="inputs") if unknown else _inputs(run, key)), again


def _inputs(run: SealedRun, key: SealKey | None) -> Verdict:
    """Of inputs that are there, and as they were as far as digests show."""
    if unknown := sum(recorded.sha256 is None for recorded in run.inputs):
        detail = f"no intact {LISTING} has the digests of {counted(unknown, 'files')} of data"
        return Verdict("inputs", UNCHECKED, detail)
    detail = f"{counted(len(run.inputs), 'files')} with their digests"
    unsealed = "" if key else f", but no key here seals {LISTING}, which has them"
    return Verdict("inputs", HOLDS if key else UNCHECKED, detail + unsealed)


def _recomputed(
    run: SealedRun, settings: Settings, judging: Judging | None, key: SealKey | None
) -> Verdict:
    queries = [one for one in run.inputs if one.query is not None]
    try:
        result = _judged_again(run, settings, judging)
        keyed = with_keyed_data(result, key) if key else _keyed_as_before(run, result)
        given = to_json_bytes(keyed.shared())
    except (AuditError, OSError, ValidationError) as error:
        needed = "the database is needed, --data names it" if queries else "it ended in an error"
        detail = f"{needed}: {_first_line(error)}"
        return Verdict("recomputation", UNCHECKED if queries else FAILS, detail)
    made = {one.get("query"): one["sha256"] for one in result.inputs}
    if other := [one.query for one in queries if one.sha256 not in (None, made.get(one.query))]:
        return Verdict("recomputation", FAILS, f"{_OTHER_ROWS}: {first_cases(other)}")
    if given != run.content(RESULT):
        apart = _differing_parts(run, given)
        return Verdict("recomputation", FAILS, f"gives another {RESULT}: {apart}")
    return Verdict("recomputation", HOLDS, f"the inputs give the bytes of {RESULT}")


def _keyed_as_before(run: SealedRun, result: AuditResult) -> AuditResult:
    """A result with the keyed digest that the run has, where no key is given to make it."""
    data = result.identity["data"] | {"hmac_sha256": run.shared["identity"]["data"]["hmac_sha256"]}
    return replace(result, identity={**result.identity, "data": data})


def _judged_again(run: SealedRun, settings: Settings, judging: Judging | None) -> AuditResult:
    """The result; of a judged run by the policy that it keeps, then as it was judged last."""
    if judging is None:
        return audited(settings, stated_policy(settings)).result
    counted = Policy.model_validate_json(run.content(f"{RESTRICTED}/{POLICY}"))
    alone, policy = counted.model_copy(update={"ratchet": False}), load_policy(judging.policy)
    return judge_again(judging, policy, audited(settings, alone).result, counted)


def _differing_parts(run: SealedRun, given: bytes) -> str:
    """The parts in which another result differs, and the version where that differs too."""
    kept, made = run.shared, json.loads(given)
    parts = [name for name in kept | made if kept.get(name) != made.get(name)]
    tools = [shared["identity"]["tool"]["version"] for shared in (kept, made)]
    versions = "" if tools[0] == tools[1] else f" (written by {tools[0]}, checked by {tools[1]})"
    return f"other {', '.join(parts) or 'bytes'}{versions}"


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]

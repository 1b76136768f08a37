"""Verify a run: its files are as they were sealed, give what is shared, and can be made again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from audit.base.errors import AuditError, first_cases
from audit.base.plurals import counted
from audit.base.remote import address_of, allowing
from audit.policy.policy import Policy
from audit.policy.reading import load_policy
from audit.results.result import DIGEST, AuditResult, to_json_bytes
from audit.runs.folder import HTML, PDF, POLICY, RUN
from audit.runs.inputs import judge_again, stated_policy, with_dataset_at
from audit.runs.make import audited
from audit.runs.manifest import RESTRICTED, RESULT, public_inputs, versions
from audit.runs.read import read_run
from audit.runs.sealed_run import LISTING, NO_RESTRICTED, Manifest, SealedRun
from audit.runs.settings import Judging, Settings

Render: TypeAlias = Callable[[str, Mapping[str, Any], Mapping[str, Any], bytes], bytes]
"""Gives a report again: of a name, of what ``result.json`` and the manifest say, of its bytes."""
Outcome: TypeAlias = Literal["holds", "does not hold", "not checked"]
HOLDS: Outcome = "holds"
FAILS: Outcome = "does not hold"
UNCHECKED: Outcome = "not checked"
_OTHER_ROWS = "the query gives other rows"


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
    render: Render | None = None,
) -> tuple[Verdict, ...]:
    """Verify a run: digests of its files, what its tables give, and recomputation.

    Recomputation takes as long as the audit.

    Args:
        folder: Folder of the run, or of a comparison.
        recompute: Whether to make everything again from the inputs, with the recorded settings.
        data: Current path of the dataset, or address of its database; None for the recorded one.
        allow_network: Whether inputs at addresses are read there, to recompute the audit.
        render: What renders reports again, to compare their bytes; None: they are not compared.

    Returns:
        A verdict for each step, in order; of a comparison the first two.

    Raises:
        InputError: If the folder is neither, or has another schema version.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> run = audit.write_run(audit.run_audit(labels), "run")
    >>> [one.name for one in audit.verify_run(run) if one.outcome == "holds"]
    ['files', 'restricted', 'tables']
    """
    run = SealedRun(Path(folder))
    verdicts = (*_files(run),)
    if run.kind is not RUN:
        return verdicts
    if not recompute:
        steps, unasked = ("inputs", "recomputation", "reports"), "not asked for; add --recompute"
        return (*verdicts, _tables(run), *(Verdict(name, UNCHECKED, unasked) for name in steps))
    again = _recomputation(run, str(data) if data else None, allow_network)
    return (*verdicts, _tables(run), *again, _reports(run, render))


def _files(run: SealedRun) -> Iterator[Verdict]:
    """Verdicts on the files that may be shared, and on the restricted ones, by their manifests."""
    faults = [*run.faults(restricted=False)]
    if run.manifest and run.kind is RUN and not run.blocked:
        faults += _other_identity(run)
    digest = f"{run.kind.content} {run.outputs.get(run.kind.content, '')[:DIGEST]}"
    said = f"files with their digests, and no other; {digest}, sealed as {run.stated.get('seal')}"
    yield _verdict_on("files", faults, run.manifest, said)
    if run.has_restricted:
        faults = [*run.faults(restricted=True)]
        yield _verdict_on("restricted", faults, run.listing, f"files as {LISTING} lists them")
    else:
        yield Verdict("restricted", UNCHECKED, NO_RESTRICTED)


def _verdict_on(name: str, faults: Sequence[str], manifest: Manifest | None, said: str) -> Verdict:
    """Fails with the faults, or without a manifest; else holds, with its number of files."""
    if faults or manifest is None:
        return Verdict(name, FAILS, "; ".join(faults))
    return Verdict(name, HOLDS, f"{len(manifest.outputs)} {said}")


def _other_identity(run: SealedRun) -> Iterator[str]:
    """What the manifest says of the run that its other parts do not."""
    if run.stated.get("identity") != run.shared["identity"]:
        yield f"the identity of the manifest is not that of {RESULT}"
    listed = run.json_of(LISTING).get("inputs") if run.listing else None
    if listed is not None and run.stated["inputs"] != public_inputs(listed):
        yield f"the inputs of the manifest are not those of {LISTING}"


def _tables(run: SealedRun) -> Verdict:
    """Whether what is shared, made again from the tables, has the same bytes."""
    tables = [name for name in run.outputs if name.startswith(f"{RESTRICTED}/")]
    torn = [name for name in tables if not run.intact(name)]
    blocked = run.blocked or (f"not as sealed: {first_cases(torn)}" if torn else "")
    blocked = blocked or ("" if run.listing else run.faults(restricted=True)[0])
    if blocked or not tables:
        return Verdict("tables", UNCHECKED, blocked or f"{RESTRICTED}/ has no tables")
    try:
        given = to_json_bytes(read_run(run.folder, unsealed=True).shared())
    except Exception as error:  # tables that somebody made can be wrong in every way
        reason = f"{type(error).__name__}: {_first_line(error)}"
        told = f"{RESTRICTED}/ cannot be read as tables of a run: {reason}"
        return Verdict("tables", FAILS, told)
    if given != run.content(RESULT):
        told = f"{RESTRICTED}/ gives another {RESULT}: {_differing_parts(run, given)}"
        return Verdict("tables", FAILS, told)
    return Verdict("tables", HOLDS, f"{RESTRICTED}/ gives the bytes of {RESULT}")


def _recomputation(run: SealedRun, data: str | None, network: bool) -> tuple[Verdict, Verdict]:
    """Whether the inputs are as they were, and give the same result."""

    def neither(detail: str) -> tuple[Verdict, Verdict]:
        return Verdict("inputs", UNCHECKED, detail), Verdict("recomputation", UNCHECKED, detail)

    if run.manifest is None or run.blocked:
        return neither(run.blocked)
    if (settings := run.manifest.settings) is None:
        return neither("the run was made from Python, which records no settings")
    given = data or settings.dataset
    place = given if "://" in given else str(Path(given).absolute())
    others = (one.path for one in run.inputs if one.path != Path(settings.dataset))
    if not network and any(map(address_of, (place, *others))):
        return neither("inputs are at addresses; add --allow-network")
    moved = replace(with_dataset_at(settings, place), allow_network=network)
    with allowing(network):
        if faults := list(run.changed_inputs(Path(settings.dataset), Path(moved.dataset))):
            _, again = neither("the inputs are not those of the run")
            return Verdict("inputs", FAILS, first_cases(faults)), again
        again = _recomputed(run, moved, run.manifest.judging)
    unknown = again.outcome == UNCHECKED or again.detail.startswith(_OTHER_ROWS)
    return (replace(again, name="inputs") if unknown else _unchanged_inputs(run)), again


def _unchanged_inputs(run: SealedRun) -> Verdict:
    """The verdict on inputs that are known not to differ: not checked where a digest is lacking."""
    if unknown := sum(recorded.sha256 is None for recorded in run.inputs):
        detail = f"no intact {LISTING} has the digests of {counted(unknown, 'files')} of data"
        return Verdict("inputs", UNCHECKED, detail)
    return Verdict("inputs", HOLDS, f"{counted(len(run.inputs), 'files')} with their digests")


def _recomputed(run: SealedRun, settings: Settings, judging: Judging | None) -> Verdict:
    """Whether the audit made again gives the same result; not checked where queries fail."""
    queries = [one for one in run.inputs if one.query is not None]
    try:
        result = _judged_again(run, settings, judging)
        given = to_json_bytes(result.shared())
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


def _judged_again(run: SealedRun, settings: Settings, judging: Judging | None) -> AuditResult:
    """The audit made again; a judged run by the policy that it keeps, then as judged last."""
    if judging is None or judging.policy is None:
        return audited(settings, stated_policy(settings)).result
    counted = Policy.model_validate_json(run.content(f"{RESTRICTED}/{POLICY.file}"))
    alone, policy = counted.model_copy(update={"ratchet": False}), load_policy(judging.policy)
    return judge_again(judging, policy, audited(settings, alone).result, counted)


def _reports(run: SealedRun, render: Render | None) -> Verdict:
    """Whether ``result.json`` gives the bytes of the reports, by the same versions."""
    names = [name for name in (HTML, PDF) if name in run.outputs]
    if run.manifest is None or run.blocked or not names or render is None:
        reason = run.blocked or ("the run has no reports" if render else "nothing renders them")
        return Verdict("reports", UNCHECKED, reason)
    stated = run.stated.get("versions") or {}
    if others := [name for name, version in versions().items() if stated.get(name) != version]:
        return Verdict("reports", UNCHECKED, f"rendered by other {', '.join(others)}")
    other = []
    for name in names:
        kept = run.content(name)
        try:
            made = render(name, run.shared, run.stated, kept)
        except (AuditError, ValueError, TypeError) as error:
            return Verdict("reports", UNCHECKED, f"{name}: {_first_line(error)}")
        other += [] if made == kept else [name]
    if other:
        return Verdict("reports", FAILS, f"{RESULT} gives other bytes of {' and '.join(other)}")
    return Verdict("reports", HOLDS, f"{RESULT} gives the bytes of {' and '.join(names)}")


def _differing_parts(run: SealedRun, given: bytes) -> str:
    """The parts in which another result differs, and the version where that differs too."""
    kept, made = run.shared, json.loads(given)
    parts = [name for name in kept | made if kept.get(name) != made.get(name)]
    tools = [shared["identity"]["tool"]["version"] for shared in (kept, made)]
    written = "" if tools[0] == tools[1] else f" (written by {tools[0]}, checked by {tools[1]})"
    return f"other {', '.join(parts) or 'bytes'}{written}"


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]

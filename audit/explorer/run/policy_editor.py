"""The policy file that decisions are written to: first shown as a difference, then written."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from audit.base.disk import alone_in, judging_date, written_whole
from audit.base.errors import AuditError, InputError, OutputError, first_cases
from audit.checks.limits import refuse_unknown_checks
from audit.explorer.run.paged_tables import Row
from audit.policy.policy import Policy
from audit.policy.reading import judged_by, load_policy, policy_of, text_with, text_without
from audit.policy.statements import ANY_CHECK, Waiver
from audit.policy.statements import Decision as Decided
from audit.runs.analyses import CHECK_NAMES

_DECIDED: Mapping[str, Decided] = {"accept": "accepted", "waive": "waived", "fix": "to_fix"}
_VERDICTS = {decided: verdict for verdict, decided in _DECIDED.items()}
_MARK = "\ufeff"
_FIRST_LINE = "# What this run is judged by: `audit report RUN --policy` reads this file.\n"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided on a finding in the window.

    Args:
        verdict: ``accept`` (right as it is, until the day), ``waive`` (not to be counted until the
            day), ``fix`` (to be mended by the day) or ``open`` (earlier ones are taken back).
    """

    finding: str
    verdict: str
    owner: str = ""
    reason: str = ""
    expires: str = ""


@dataclass(frozen=True, slots=True)
class EditedPolicy:
    """A policy file that is edited one decision at a time.

    Args:
        today: The day of a decision; None for `judging_date`.
    """

    path: Path
    today: date | None = None
    checks: frozenset[str] = CHECK_NAMES

    def propose(self, decision: Decision) -> tuple[str, str]:
        """The changed file as a unified diff, and the digest of the file that was read."""
        content = self._content()
        text = _text(content, self.path)
        return _difference(text, self._edited(text, decision), str(self.path)), _digest(content)

    def write(self, decision: Decision, digest: str) -> None:
        """Write a proposed change, only if the file is still the one that was read.

        The file is replaced whole, under a lock of its folder, where the disk has locks.

        Raises:
            InputError: As `propose`, or if the file has changed since.
            OutputError: If it cannot be written.
        """
        file = self.path.resolve()
        with alone_in(file.parent):
            content = self._content()
            if _digest(content) != digest:
                raise InputError(
                    "the policy file must still be the one that was shown",
                    found="a file that has been changed since, or in another window",
                    where=self.path,
                    hint="look at the change again, and confirm it then",
                )
            text = _text(content, self.path)
            _replace(file, self._edited(text, decision).encode())

    def decided(self) -> Mapping[str, Row]:
        """``verdict, owner, reason, expires`` of each waiver of one finding, by finding id."""
        text = _text(self._content(), self.path)
        return {
            waiver.finding: {
                "verdict": _VERDICTS[waiver.decision],
                "owner": waiver.owner,
                "reason": waiver.reason,
                "expires": waiver.expires.isoformat(),
            }
            for waiver in policy_of(text.removeprefix(_MARK), self.path).waivers
            if waiver.finding is not None
        }

    def judged(self, identity: Mapping[str, Any], made_with: Policy) -> bool:
        """Whether a run of this identity, made with a policy, is judged by what the file says now.

        A file that is not there states nothing, and one that cannot be judged by has judged none.
        """
        try:
            stated = load_policy(self.path) if self.path.exists() else Policy()
        except AuditError:
            return False
        policy = judged_by(stated, made_with)
        return bool(policy.sha256 == identity["policy"]["sha256"])

    def _content(self) -> bytes:
        """The file's bytes; none where there is no file."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise InputError(
                "a policy file that can be read is required",
                found=error.strerror or str(error),
                where=self.path,
            ) from None

    def _edited(self, text: str, decision: Decision) -> str:
        mark, said = text[: text.startswith(_MARK)], text.removeprefix(_MARK)
        policy = policy_of(said, self.path)
        if decision.verdict == "open":
            _refuse_without_waiver(policy, decision.finding, self.path)
            return mark + text_without(said, decision.finding)
        waiver = self._waiver(decision)
        edited = text_with(said if said.strip() else said + _FIRST_LINE, waiver)
        waived = {one.check for one in policy.waivers}
        refuse_unknown_checks(policy_of(edited, self.path), self.checks | waived)
        return mark + edited

    def _waiver(self, decision: Decision) -> Waiver:
        if decision.verdict not in _DECIDED:
            raise InputError(
                f"a decision is one of {', '.join(_DECIDED)} and open", found=decision.verdict
            )
        for text in (decision.finding, decision.owner, decision.reason):
            _refuse_half_characters(text)
        today = self.today or judging_date()
        return Waiver(
            check=decision.finding.split(":")[0],
            finding=decision.finding,
            decision=_DECIDED[decision.verdict],
            owner=_stated(decision.owner, "who answers for it"),
            reason=_stated(decision.reason, "why"),
            added=today,
            expires=_last_day(decision.expires, today),
        )


def _refuse_half_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "a decision must be text of whole characters", found=ascii(text[error.start])
        ) from None


def _stated(text: str, what: str) -> str:
    if not text.strip():
        raise InputError(f"a decision must say {what}", found="nothing")
    return text.strip()


def _last_day(text: str, today: date) -> date:
    """The last day of a decision; InputError if it is none, or has passed."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            "a decision must say until which day it holds",
            found=repr(text) if text.strip() else "nothing",
            hint=f"a day is written as {today.isoformat()}",
        ) from None
    if day < today:
        raise InputError(
            "the day until which a decision holds must not have passed",
            found=f"{day}, before {today}",
        )
    return day


def _refuse_without_waiver(policy: Policy, finding: str, path: Path) -> None:
    """InputError if no waiver names a finding alone, with those that name it among others."""
    if any(waiver.finding == finding for waiver in policy.waivers):
        return
    wider = [_described(waiver) for waiver in policy.waivers if _may_cover(waiver, finding)]
    raise InputError(
        "a decision that is taken back must be in the policy file and be on this finding alone",
        found=f"waivers that may cover more than it: {first_cases(wider)}" if wider else "none",
        where=path,
        hint="change such a waiver in the file by hand" if wider else "",
    )


def _may_cover(waiver: Waiver, finding: str) -> bool:
    """Whether a waiver may cover a finding; what is below a node is not known here."""
    check, *nodes = (unquote(part) for part in finding.split(":"))
    if waiver.finding is not None or waiver.check not in (ANY_CHECK, check):
        return False
    return waiver.subtree is not None or set(waiver.nodes) <= set(nodes)


def _described(waiver: Waiver) -> str:
    place = "; ".join(
        f"{kind} {what if isinstance(what, str) else ', '.join(what)}"
        for kind, what in waiver.place.items()
    )
    return f"check {waiver.check}{f', {place}' if place else ''}, by {waiver.owner}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            "a policy file must be text in UTF-8",
            found=f"the byte 0x{content[error.start]:02x}",
            where=path,
        ) from None


def _difference(before: str, after: str, name: str) -> str:
    """Unified diff of two texts; lines end where TOML's do."""
    lines = difflib.unified_diff(
        list(_lines(before)), list(_lines(after)), name if before else "/dev/null", name
    )
    unended = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + unended for line in lines)


def _lines(text: str) -> Iterator[str]:
    *ended, last = text.split("\n")
    yield from (f"{line}\n" for line in ended)
    if last:
        yield last


def _replace(file: Path, content: bytes) -> None:
    """Write a file whole; its rights stay as they were."""
    there = file.exists()
    if there and not os.access(file, os.W_OK):
        raise OutputError(
            "a policy file that may be written is required",
            found="one that may only be read",
            where=file,
        )
    with written_whole(file, lasting=True) as begun:
        begun.write_bytes(content)
        if there:
            shutil.copymode(file, begun)

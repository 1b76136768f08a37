"""Decisions are shown as a difference, written whole, and only over the file that was read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError, OutputError, PolicyError
from audit.explorer.run.policy_editor import Decision, EditedPolicy
from audit.policy.reading import load_policy
from audit.policy.statements import Decision as Decided
from audit.policy.statements import Waiver
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, tree

TODAY = date(2030, 6, 1)
FINDING = "residual_overuse:285"
FIX = Decision(FINDING, "fix", "Ward 7", "Ask the coders.", "2030-12-31")
OURS = (
    b"# ours\r\n[[waivers]]\r\ncheck = 'residual_overuse'\r\nsubtree = \"280-289\"\r\n"
    b"owner = 'Office'\r\nreason = 'So.'\r\nexpires = 2031-01-01"
)


def editor(path: Path) -> EditedPolicy:
    return EditedPolicy(path, TODAY)


def decide(path: Path, decision: Decision) -> None:
    _, digest = editor(path).propose(decision)
    editor(path).write(decision, digest)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_bytes(OURS)
    return path


@pytest.mark.parametrize(
    ("verdict", "decided"), [("accept", "accepted"), ("waive", "waived"), ("fix", "to_fix")]
)
def test_what_was_decided_is_what_the_policy_says(
    file: Path, verdict: str, decided: Decided
) -> None:
    decide(file, Decision(FINDING, verdict, " Ward 7 ", "Ask\nthem.", "2030-12-31"))

    earlier, own = load_policy(file).waivers
    assert earlier.subtree == "280-289"
    assert own == Waiver(
        check="residual_overuse", finding=FINDING, decision=decided, owner="Ward 7",
        reason="Ask\nthem.", added=TODAY, expires=date(2030, 12, 31),
    )  # fmt: skip
    assert editor(file).decided() == {
        FINDING: {
            "verdict": verdict, "owner": "Ward 7", "reason": "Ask\nthem.", "expires": "2030-12-31",
        }
    }  # fmt: skip


def test_taking_back_leaves_the_same_bytes(file: Path) -> None:
    decide(file, FIX)
    assert file.read_bytes() != OURS
    decide(file, Decision(FINDING, "open"))
    assert file.read_bytes() == OURS


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf# marked\n", OURS])
def test_taking_back_keeps_a_byte_order_mark_and_a_policy_that_can_be_read(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    decide(path, FIX)
    load_policy(path)
    decide(path, Decision(FINDING, "open"))
    load_policy(path)
    assert path.read_bytes().startswith(content)


def test_nothing_is_written_until_it_is_confirmed(file: Path) -> None:
    editor(file).propose(FIX)
    assert file.read_bytes() == OURS


def test_a_missing_file_is_proposed_as_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "policy.toml"
    shown, digest = editor(path).propose(FIX)

    assert shown.startswith(f"--- /dev/null\n+++ {path}\n")
    assert not path.parent.exists()
    editor(path).write(FIX, digest)
    assert load_policy(path).waivers[0].finding == FINDING


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the command patch")
@given(st.text(st.characters(codec="utf-8"), max_size=30), st.sampled_from([b"", b"\n", b"\n#"]))
def test_the_difference_makes_one_file_of_the_other(
    tmp_path_factory: pytest.TempPathFactory, reason: str, end: bytes
) -> None:
    path = tmp_path_factory.mktemp("difference") / "policy.toml"
    path.write_bytes(OURS.replace(b"\r", b"") + end)
    decision = Decision(FINDING, "waive", "Ward 7", f"So {reason}.", "2030-12-31")
    shown, digest = editor(path).propose(decision)
    patched = path.with_name("patched")
    command = ["patch", "--quiet", "--output", str(patched), str(path)]
    subprocess.run(command, input=shown.encode(), check=True)
    editor(path).write(decision, digest)

    assert patched.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"owner": " "}, "must say who answers for it"),
        ({"reason": ""}, "must say why"),
        ({"expires": ""}, "must say until which day"),
        ({"expires": "soon"}, "Found: 'soon'"),
        ({"expires": "2030-05-31"}, "2030-05-31, before 2030-06-01"),
        ({"verdict": "forget"}, "accept, waive, fix and open"),
        ({"finding": "no_such:a"}, "waivers: no_such"),
        ({"finding": "waiver_expired:a"}, "findings about waivers cannot be waived"),
        ({"finding": ""}, "every check that the policy names"),
        ({"reason": "half \ud800"}, "whole characters"),
        ({"finding": "residual_overuse:\ud800"}, "whole characters"),
    ],
)
def test_a_decision_that_lacks_something_is_refused(
    file: Path, changed: dict[str, str], told: str
) -> None:
    fields = {name: getattr(FIX, name) for name in Decision.__slots__} | changed
    with pytest.raises(InputError, match=told):
        editor(file).propose(Decision(**fields))


def test_a_decision_holds_on_its_day(file: Path) -> None:
    decide(file, Decision(FINDING, "waive", "A", "B", TODAY.isoformat()))
    assert not load_policy(file).waivers[1].expired(TODAY)


@pytest.mark.parametrize(
    ("place", "covers"),
    [
        ("subtree = '280-289'", True),
        ("node = '285'", True),
        ("", True),
        ("node = '286'", False),
        ("pair = ['285', '286']", False),
        ("finding = 'residual_overuse:286'", False),
    ],
)
def test_a_waiver_that_covers_more_is_named_and_not_touched(
    tmp_path: Path, place: str, covers: bool
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        f"[[waivers]]\ncheck = 'residual_overuse'\n{place}\nowner = 'Office'\nreason = 'B'\n"
        "expires = 2031-01-01\n"
    )
    with pytest.raises(InputError) as refused:
        editor(path).propose(Decision(FINDING, "open"))
    assert ("may cover more than it" in str(refused.value)) is covers
    assert ("by Office" in str(refused.value)) is covers


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a = ", "a TOML file is required"),
        (b"colour = 'red'", "colour"),
        (b"title = '\xff'", "0xff"),
        (b"waivers = []", "must be tables"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=told):
        editor(path).propose(FIX)
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can be read"):
        editor(tmp_path).propose(FIX)
    with pytest.raises(InputError, match="can be read"):
        editor(tmp_path).decided()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that nobody may write to")
def test_a_file_that_cannot_be_written_is_an_error_of_output() -> None:
    path = Path("/proc/policy.toml")
    _, digest = editor(path).propose(FIX)
    with pytest.raises(OutputError):
        editor(path).write(FIX, digest)


def test_a_run_is_judged_by_a_file_only_while_that_states_the_same(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("[residual_share]\nvalue = 0.4\nreason = 'Ours.'\n")
    dataset = labelled(tree("a b < root"), {"one": ["a"]})
    ours, default = (run_audit(dataset, policy) for policy in (load_policy(path), None))

    def judged(run: AuditResult) -> bool:
        return editor(path).judged(run.identity, run.made_with)

    assert judged(ours)
    assert not judged(default)
    decide(path, FIX)
    assert not judged(ours)
    decide(path, Decision(FINDING, "open"))
    assert judged(ours)
    path.write_text("colour = 'red'")
    assert not judged(ours)
    path.unlink()
    assert judged(ours)
    assert judged(default)


def test_a_file_that_has_changed_is_not_written_over(file: Path) -> None:
    _, digest = editor(file).propose(FIX)
    file.write_bytes(OURS + b"\n# mine\n")
    with pytest.raises(InputError, match="changed since"):
        editor(file).write(FIX, digest)
    assert file.read_bytes() == OURS + b"\n# mine\n"


def test_links_and_rights_stay(file: Path) -> None:
    file.chmod(0o640)
    link = file.with_name("link.toml")
    link.symlink_to(file)
    decide(link, FIX)

    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert FINDING in editor(file).decided()


def test_of_windows_that_write_at_once_one_wins(tmp_path: Path) -> None:
    for turn in range(20):
        path = tmp_path / f"{turn}.toml"
        path.write_bytes(OURS)
        decisions = [
            Decision(f"residual_overuse:{n}", "fix", "A", "B", "2031-01-01") for n in "1234"
        ]
        digest = editor(path).propose(FIX)[1]
        won = _written_at_once(path, decisions, digest)

        assert len(won) == 1
        assert list(editor(path).decided()) == won


def _written_at_once(path: Path, decisions: list[Decision], digest: str) -> list[str]:
    """Findings whose decisions were written, all of them at the same time."""
    won: list[str] = []
    start = threading.Barrier(len(decisions))

    def write(decision: Decision) -> None:
        start.wait()
        try:
            editor(path).write(decision, digest)
        except (InputError, OutputError):
            return
        won.append(decision.finding)

    threads = [threading.Thread(target=write, args=(decision,)) for decision in decisions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_an_error_in_the_policy_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("# one\ntitle = 3\n")
    with pytest.raises(PolicyError, match="line 2"):
        editor(path).decided()

"""Verification finds what was done to a run, and nothing where nothing was."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reports
from audit.base.errors import InputError
from audit.results.result import AuditResult
from audit.results.shared_view import SCHEMA_VERSION
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs, write_comparison
from audit.runs.consistency import comparable
from audit.runs.folder import write_tables, writing_run
from audit.runs.manifest import seal
from audit.runs.read import read_run
from audit.runs.sealed_run import schema
from audit.runs.verify import Verdict, verify_run
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree
from fixtures.sealed_files import reseal, write_manifest

TITLES = {
    "other_0": "Other “well-known” diseases <of> the {heart} & its far-away, long-named vessels "
    "that are-in-need-of more-than-one line, 100 % or not",
    "other_1": "Other 🫀 ﬁne offices\x00\u202e",
    "other_2": "Other מחלות",
}
PARENTS = 12
"""More than lead in a report, so that a PDF tells some as cards and some in tables."""


def result() -> AuditResult:
    """Twelve parents whose labels are all residual."""
    edges = [f"p{n} < root" for n in range(PARENTS)]
    edges += [f"other_{n} other_too_{n} fine_{n} < p{n}" for n in range(PARENTS)]
    titles = {f"other_{n}": f"Other diseases of kind {n}" for n in range(PARENTS)}
    parents = {f"p{n}": TITLES.get(f"other_{n}", f"Kind {n}") for n in range(PARENTS)}
    hierarchy = tree(*edges, titles=titles | TITLES | parents)
    counts = [(35 + n, [f"other_{n}"]) for n in range(PARENTS)]
    return run_audit(
        labelled(hierarchy, repeated([*counts, (3, ["fine_0"]), (2, ["elf"])])), anyway=True
    )


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run with both reports; tests copy it before they touch it."""
    out, audited = tmp_path_factory.mktemp("verify") / "run", result()
    with writing_run(out) as folder:
        write_tables(audited, folder)
        reports.write_html(audited, folder / "report.html")
        reports.write_pdf(audited, folder / "report.pdf")
        seal(folder, audited, command=[], started=datetime.now(UTC))
    return out


@pytest.fixture
def run(rendered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rendered, tmp_path / "run"))


def outcomes(run: Path) -> dict[str, str]:
    return {verdict.name: verdict.outcome for verdict in verify_run(run)}


def told(run: Path, name: str) -> str:
    """The detail of what does not hold."""
    (verdict,) = [verdict for verdict in verify_run(run) if verdict.name == name]
    assert verdict.outcome == "does not hold", verdict
    return verdict.detail


def fails(verdicts: tuple[Verdict, ...]) -> bool:
    return any(verdict.outcome == "does not hold" for verdict in verdicts)


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_link_to_the_right_bytes_is_no_file_of_the_run(run: Path, tmp_path: Path) -> None:
    (run / "report.html").rename(tmp_path / "elsewhere.html")
    (run / "report.html").symlink_to(tmp_path / "elsewhere.html")

    assert "changed: 'report.html'" in told(run, "files")


# --- nothing was done -------------------------------------------------------------------------


def test_a_run_as_written_holds(rendered: Path) -> None:
    assert outcomes(rendered) == {
        "manifest": "holds",
        "files": "holds",
        "restricted": "not checked",
        "schema": "holds",
        "tables": "holds",
        "counts": "holds",
        "report.html": "holds",
        "report.pdf": "holds",
        "inputs": "not checked",
        "recomputation": "not checked",
    }


def test_the_fixture_tells_findings_as_cards_and_in_tables(rendered: Path) -> None:
    checks = json.loads((rendered / "result.json").read_bytes())["checks"]
    (residual,) = [check for check in checks if check["name"] == "residual_overuse"]
    assert len(residual["findings"]) == PARENTS
    assert any("“well-known”" in finding["statement"] for finding in residual["findings"])


def test_a_run_that_was_copied_holds(run: Path) -> None:
    assert not fails(verify_run(run))


def test_the_seal_is_told_so_that_it_can_be_kept_elsewhere(run: Path) -> None:
    first, *_ = verify_run(run)
    manifest = json.loads((run / "manifest.json").read_bytes())

    assert first.detail == f"sealed as {manifest['seal']}"


def test_a_run_without_reports_is_no_failure(run: Path) -> None:
    (run / "report.html").unlink()
    (run / "report.pdf").unlink()
    reseal(run)

    assert not fails(verify_run(run))
    assert outcomes(run)["report.pdf"] == "not checked"


def test_a_run_from_python_cannot_be_made_again(run: Path) -> None:
    *_, last = verify_run(run, recompute=True)

    assert last.outcome == "not checked"
    assert "from Python" in last.detail


# --- what each line says ----------------------------------------------------------------------


def details(run: Path, **asked: Any) -> dict[str, str]:
    return {verdict.name: verdict.detail for verdict in verify_run(run, **asked)}


def test_each_line_says_what_was_examined(rendered: Path) -> None:
    manifest = json.loads((rendered / "manifest.json").read_bytes())
    listing = json.loads((rendered / "restricted" / "manifest.json").read_bytes())
    listed = f"{len(listing['outputs'])} files as restricted/manifest.json lists them"
    told = f"states the {PARENTS + 2} findings of result.json"

    assert details(rendered) == {
        "manifest": f"sealed as {manifest['seal']}",
        "files": "3 files with their digests, and no other",
        "restricted": f"{listed}; no key seals restricted/manifest.json",
        "schema": f"result.json validates against schema {SCHEMA_VERSION}",
        "tables": "restricted/ gives the bytes of result.json",
        "counts": "nodes, pairs, residual use and findings agree with each other",
        "report.html": told,
        "report.pdf": told,
        "inputs": "not asked for; add --recompute",
        "recomputation": "not asked for; add --recompute",
    }


def test_a_run_without_what_is_restricted_says_so(run: Path) -> None:
    shutil.rmtree(run / "restricted")
    told = details(run)

    assert not fails(verify_run(run))
    for step in ("restricted", "tables", "counts"):
        assert told[step] == "the run has no restricted/: only what may be shared is here"


def test_a_run_that_lists_no_tables_says_so(run: Path) -> None:
    for path in (run / "restricted").iterdir():
        if path.name != "manifest.json":
            path.unlink()
    reseal(run)

    assert details(run)["tables"] == "restricted/ has no tables"


@pytest.mark.parametrize(
    ("name", "blocked", "why"),
    [
        (
            "result.json",
            ("schema", "tables", "counts", "report.html", "report.pdf", "inputs"),
            "result.json is not as it was sealed",
        ),
        ("restricted/nodes.parquet", ("tables", "counts"), "not as sealed: 'restricted/nodes"),
        ("report.html", ("report.html",), "it is not as it was sealed"),
        ("report.pdf", ("report.pdf",), "it is not as it was sealed"),
        (
            "restricted/manifest.json",
            ("tables", "counts"),
            "restricted/manifest.json is not as it was sealed",
        ),
        ("manifest.json", ("report.html", "report.pdf"), "no intact manifest lists it"),
        ("manifest.json", ("files",), "no intact manifest lists them"),
    ],
)
def test_what_has_changed_is_compared_with_nothing(
    run: Path, name: str, blocked: tuple[str, ...], why: str
) -> None:
    with (run / name).open("ab") as file:
        file.write(b"x")
    verdicts = {one.name: one for one in verify_run(run, recompute=True)}

    for line in blocked:
        assert verdicts[line].outcome == "not checked"
        assert verdicts[line].detail.startswith(why), line


def test_tables_hold_beside_a_report_that_has_changed(run: Path) -> None:
    with (run / "report.html").open("ab") as report:
        report.write(b"x")
    found = outcomes(run)

    assert found["files"] == "does not hold"
    assert {found[name] for name in ("restricted", "report.html")} == {"not checked"}
    assert {found[name] for name in ("tables", "counts", "report.pdf")} == {"holds"}


@pytest.mark.parametrize("name", ["report.html", "report.pdf"])
def test_a_report_that_was_not_written_is_told(run: Path, name: str) -> None:
    (run / name).unlink()
    reseal(run)

    assert details(run)[name] == f"the run has no {name}"


@pytest.mark.parametrize(
    ("old", "new", "other_version", "outcome", "told"),
    [
        ("", "", False, "holds", "and is rendered from it byte for byte"),
        ("</main>", "</main >", False, "does not hold", "gives other bytes"),
        (
            "</main>",
            "</main >",
            True,
            "holds",
            "and its texts and numbers alone; rendered by other",
        ),
        ("</main>", "?</main>", True, "does not hold", "gives other texts or numbers; rendered by"),
        ("</main>", None, False, "not checked", "not rendered again: no words"),
    ],
)
def test_a_report_is_what_its_result_gives_in_bytes_or_by_another_version_in_texts(
    run: Path, old: str, new: str | None, other_version: bool, outcome: str, told: str
) -> None:
    def render(name: str, *_: object) -> bytes:
        if new is None:
            raise ValueError("no words")
        return (run / name).read_bytes().replace(old.encode(), new.encode())

    if other_version:
        manifest = json.loads((run / "manifest.json").read_bytes())
        manifest["versions"]["polars"] = "0.0"
        write_manifest(run / "manifest.json", manifest)
    verdicts = {one.name: one for one in verify_run(run, recompute=True, render=render)}

    assert verdicts["report.html"].outcome == outcome
    assert told in verdicts["report.html"].detail


# --- bytes were changed -----------------------------------------------------------------------


@pytest.mark.slow
@given(data=st.data())
@settings(examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_changed_byte_is_found(run: Path, data: st.DataObject) -> None:
    paths = sorted(path for path in run.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(paths))
    before = path.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    flipped = bytes([before[place] ^ data.draw(st.integers(1, 255))])
    path.write_bytes(before[:place] + flipped + before[place + 1 :])
    try:
        assert found_out(run), (path.name, place, flipped)
    finally:
        path.write_bytes(before)


def found_out(run: Path) -> bool:
    """Whether a run does not hold, or claims to be of another version."""
    try:
        return fails(verify_run(run))
    except InputError as error:
        return "schema version" in str(error)


@pytest.mark.parametrize("old", ['"host": "', '"python": "', '"command', "\n", ",", "}\n"])
def test_every_part_of_the_manifest_is_sealed(run: Path, old: str) -> None:
    text = (run / "manifest.json").read_text("utf-8")
    (run / "manifest.json").write_text(text.replace(old, f"{old} ", 1), "utf-8")

    assert "not as it was sealed" in told(run, "manifest")


NAMES = ["manifest.json", "result.json", "report.html", "report.pdf", "restricted/pairs.parquet"]


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_file_is_found(run: Path, name: str) -> None:
    (run / name).unlink()

    of_restricted = name.startswith("restricted/")
    listing = "manifest" if name == "manifest.json" else "files"
    assert name in told(run, "restricted" if of_restricted else listing)


@pytest.mark.parametrize("name", [".hidden", "restricted/manifests.json", "restricted/x/y.csv"])
def test_a_file_beside_is_found(run: Path, name: str) -> None:
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).touch()

    assert name in told(run, "restricted" if name.startswith("restricted/") else "files")


def test_a_link_in_place_of_a_folder_is_found(run: Path, tmp_path: Path) -> None:
    (run / "more").symlink_to(tmp_path)

    assert "more" in told(run, "files")


def test_a_digest_of_a_file_outside_the_run_is_never_made(run: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("x")
    manifest = json.loads((run / "manifest.json").read_bytes())
    manifest["outputs"]["../outside"] = "0" * 64
    write_manifest(run / "manifest.json", manifest)

    assert "missing: '../outside'" in told(run, "files")


@pytest.mark.parametrize("text", ["", "[]", "{", "{}", "1", '{"outputs": {}}', "[" * 100_000])
def test_a_manifest_that_is_none_does_not_hold(run: Path, text: str) -> None:
    (run / "manifest.json").write_text(text)

    assert outcomes(run)["manifest"] == "does not hold"
    assert outcomes(run)["files"] == "not checked"


@pytest.mark.parametrize(
    ("name", "line"),
    [("manifest.json", "manifest"), ("restricted/manifest.json", "restricted")],
)
def test_a_pipe_in_place_of_a_manifest_is_not_waited_for(run: Path, name: str, line: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    found: list[str] = []
    waiting = Thread(target=lambda: found.append(told(run, line)), daemon=True)
    waiting.start()
    waiting.join(60)

    assert found == [f"{name} is not as it was sealed"]


# --- somebody sealed the run again ------------------------------------------------------------


def finding(run: Path) -> tuple[str, str]:
    """Id and statement of one finding."""
    checks = json.loads((run / "result.json").read_bytes())["checks"]
    found = next(f for c in checks for f in c["findings"] if c["name"] == "residual_overuse")
    return found["id"], found["statement"]


def edit_statement(run: Path) -> None:
    replaced(run / "result.json", "45 of 45", "44 of 45")


def edit_evidence(run: Path) -> None:
    replaced(run / "result.json", '"instances": 45', '"instances": 44')


def drop_finding(run: Path) -> None:
    shared = json.loads((run / "result.json").read_bytes())
    (check,) = [check for check in shared["checks"] if check["name"] == "residual_overuse"]
    check["findings"].pop()
    text = json.dumps(shared, ensure_ascii=False, indent=1) + "\n"
    (run / "result.json").write_text(text, "utf-8")


@pytest.mark.parametrize("edit", [edit_statement, edit_evidence, drop_finding])
def test_a_result_edited_and_sealed_again_is_found(run: Path, edit: Callable[[Path], None]) -> None:
    edit(run)
    reseal(run)

    found = outcomes(run)
    assert (found["manifest"], found["files"], found["schema"]) == ("holds",) * 3
    assert {found[name] for name in ("tables", "report.html", "report.pdf")} == {"does not hold"}
    assert "other checks" in told(run, "tables")


def test_an_edited_statement_names_its_finding(run: Path) -> None:
    edit_statement(run)
    reseal(run)

    assert "has another sentence for 'residual_overuse:p10'" in told(run, "report.html")


def test_a_result_that_does_not_validate_is_found(run: Path) -> None:
    replaced(run / "result.json", '"status": ', '"standing": ')
    reseal(run)

    assert "'status' is a required property" in told(run, "schema")
    assert outcomes(run)["tables"] == "not checked"


def test_a_result_that_is_no_json_is_found(run: Path) -> None:
    (run / "result.json").write_text("{")
    reseal(run)

    assert "no JSON" in told(run, "schema")


def test_a_finding_worded_otherwise_in_html_is_found(run: Path) -> None:
    id_, statement = finding(run)
    (counted,) = re.findall(r"\d+ of \d+ instances", statement)
    replaced(run / "report.html", counted, f"1{counted}")
    reseal(run)

    assert f"has another sentence for '{id_}'" in told(run, "report.html")
    assert outcomes(run)["report.pdf"] == "holds"


def test_a_finding_beside_in_html_is_found(run: Path) -> None:
    replaced(
        run / "report.html",
        "</main>",
        '<article><h3>All is well.</h3><p class="card-id">Finding <code>x:y</code></p></article>'
        "</main>",
    )
    reseal(run)

    assert "has in addition 'x:y'" in told(run, "report.html")


def test_a_finding_told_twice_in_html_is_found(run: Path) -> None:
    text = (run / "report.html").read_text("utf-8")
    article = text[text.index("<article") : text.index("</article>") + len("</article>")]
    (run / "report.html").write_text(text.replace("</main>", f"{article}</main>"), "utf-8")
    reseal(run)

    assert "has twice" in told(run, "report.html")


def test_a_finding_hidden_in_a_comment_is_not_told(run: Path) -> None:
    text = (run / "report.html").read_text("utf-8")
    start, end = text.index("<article"), text.index("</article>") + len("</article>")
    hidden = f"{text[:start]}<!-- {text[start:end]} -->{text[end:]}"
    (run / "report.html").write_text(hidden, "utf-8")
    reseal(run)

    assert "lacks" in told(run, "report.html")


def test_reports_of_another_result_are_found(run: Path, tmp_path: Path) -> None:
    digest = json.loads((run / "manifest.json").read_bytes())["outputs"]["result.json"]
    replaced(run / "report.html", digest, "0" * 64)
    reseal(run)

    assert "does not state the digest" in told(run, "report.html")


def test_a_pdf_without_its_attachment_is_found(run: Path) -> None:
    import pikepdf

    with pikepdf.open(run / "report.pdf", allow_overwriting_input=True) as pdf:
        del pdf.attachments["result.json"]
        pdf.save()
    reseal(run)

    assert told(run, "report.pdf") == "no result.json is attached"


def test_a_pdf_with_another_attachment_is_found(run: Path) -> None:
    import pikepdf

    with pikepdf.open(run / "report.pdf", allow_overwriting_input=True) as pdf:
        pdf.attachments["result.json"] = pikepdf.AttachedFileSpec(
            pdf,
            b"{}",
            filename="result.json",
            description="",
            mime_type="",
            creation_date="",
            mod_date="",
        )
        pdf.save()
    reseal(run)

    assert told(run, "report.pdf") == "another result.json is attached"


def test_a_pdf_that_lost_a_page_is_found(run: Path) -> None:
    import pikepdf

    with pikepdf.open(run / "report.pdf", allow_overwriting_input=True) as pdf:
        del pdf.pages[1:3]
        pdf.save()
    reseal(run)

    assert told(run, "report.pdf").startswith("lacks '")


def test_a_file_that_is_no_pdf_is_found(run: Path) -> None:
    (run / "report.pdf").write_text("PDF")
    reseal(run)

    assert "cannot be read" in told(run, "report.pdf")


def test_without_the_reader_of_pdf_that_is_told(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    (verdict,) = [verdict for verdict in verify_run(run) if verdict.name == "report.pdf"]

    assert verdict.outcome == "not checked"
    assert "hierarchy-audit[verify]" in verdict.detail


@pytest.mark.parametrize("name", ["nodes", "findings", "pairs", "edges", "residuals"])
def test_tables_that_are_none_are_found(run: Path, name: str) -> None:
    (run / "restricted" / f"{name}.parquet").write_bytes(b"PAR1 nothing PAR1")
    reseal(run)

    assert "cannot be read as tables of a run" in told(run, "tables")


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (pl.col("record").str.replace("instances", "records"), "gives another result.json"),
        (pl.col("sentence").str.replace("instances", "records"), "not as their column record"),
        (pl.col("share") / 2, "not as their column record"),
        (pl.col("evidence").struct.with_fields(of=pl.field("of") + 1), "not as their column"),
    ],
)
def test_an_edited_table_is_found(run: Path, edit: pl.Expr, found: str) -> None:
    path = run / "restricted" / "findings.parquet"
    frame = pl.read_parquet(path)
    assert not frame.with_columns(edit).equals(frame)
    frame.with_columns(edit).write_parquet(path)
    reseal(run)

    assert found in told(run, "tables")


# --- a comparison of two runs -----------------------------------------------------------------


def test_a_comparison_is_verified_by_its_seal_and_its_files(rendered: Path, tmp_path: Path) -> None:
    run = read_run(rendered)
    folder = write_comparison(compare_runs(run, run), tmp_path / "comparison")

    assert outcomes(folder) == {
        "manifest": "holds",
        "files": "holds",
        "restricted": "not checked",
    }
    (folder / "comparison.json").write_text("{}")
    assert "changed: 'comparison.json'" in told(folder, "files")


# --- another version, no run ------------------------------------------------------------------


# --- what a page changes ----------------------------------------------------------------------


@given(st.text())
def test_comparable_text_has_no_spaces(text: str) -> None:
    assert not any(character.isspace() for character in comparable(text))


def test_comparable_text_keeps_what_can_be_read() -> None:
    assert comparable("a < b,\n “c”\x00 ﬁn −1.5") == "a<b,“c”fin−1.5"


def test_the_published_schema_is_the_one_that_is_shipped() -> None:
    published = Path(__file__).parents[3] / "docs" / "result.schema.json"

    assert json.loads(published.read_text("utf-8")) == schema()

"""Changes to a run whose seals somebody made anew without the key, and what tells of each."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pikepdf
import polars as pl
import pytest
from typer.testing import CliRunner

from audit.base.errors import RenderError
from audit.cli.app import app
from audit.cli.rendering import rendered_again
from audit.runs.consistency import active_in
from audit.runs.manifest import SealKey, keyed_seal, read_key
from audit.runs.verify import verify_run
from fixtures.sealed_files import reseal, write_manifest
from fixtures.toy import EDGES

PAGE = Path(__file__).parents[3] / "docs" / "verify.md"
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs, keys, a keyed run with both reports, and one of other data without a key."""
    place = tmp_path_factory.mktemp("desk")
    edges = "".join(f"{child},{parent}\n" for child, parent in (*EDGES, ("misc", "mammal")))
    (place / "toy.csv").write_text(f"child,parent\n{edges}")
    (place / "key").write_bytes(bytes(range(32)))
    (place / "policy.toml").write_text('residual_nodes = ["misc"]\n')
    for name, more in (("labels", 0), ("others", 3)):
        labels = ["misc"] * (40 + more) + ["cow"] * 9 + ["bird"] * 4 + ["dog"] * 8
        rows = "".join(f"i{n},{label}\ni{n},{label}\n" for n, label in enumerate(labels))
        (place / f"{name}.csv").write_text(f"instance,label\n{rows}i0,elf\n")
    given = ("--keep-instances", f"--hierarchy={place}/toy.csv", f"--policy={place}/policy.toml")
    for name, keyed in (("labels", [f"--seal-key={place}/key"]), ("others", [])):
        out = f"--out={place}/run of {name}"
        done = CliRunner().invoke(app, ["run", f"{place}/{name}.csv", *given, *keyed, out])
        assert done.exit_code == 0, done.output
    return place


def shared(change: Callable[[dict[str, Any]], object], *files: str) -> Change:
    """A change to JSON: of ``result.json``, unless files are named."""

    def changed(run: Path) -> None:
        for name in files or ("result.json",):
            content = json.loads((run / name).read_bytes())
            change(content)
            text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
            (run / name).write_text(text, "utf-8")

    return changed


def put(value: object, *path: str | int) -> Callable[[Any], None]:
    def changed(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return changed


def text(old: str, new: str, name: str = "report.html") -> Change:
    """A change to the first text that an expression finds in a file."""

    def changed(run: Path) -> None:
        before = (run / name).read_text("utf-8")
        after = re.sub(old, new, before, count=1, flags=re.DOTALL)
        assert after != before
        (run / name).write_text(after, "utf-8")

    return changed


def pdf(change: Callable[[pikepdf.Pdf], object]) -> Change:
    def changed(run: Path) -> None:
        with pikepdf.open(run / "report.pdf", allow_overwriting_input=True) as document:
            change(document)
            document.save(object_stream_mode=pikepdf.ObjectStreamMode.disable)

    return changed


def action(kind: str, **entries: object) -> pikepdf.Dictionary:
    return pikepdf.Dictionary(S=pikepdf.Name(f"/{kind}"), **entries)


def linked(document: pikepdf.Pdf) -> None:
    note = {"Type": pikepdf.Name.Annot, "Subtype": pikepdf.Name.Link, "Rect": [0, 0, 99, 99]}
    made = pikepdf.Dictionary(**note, A=action("URI", URI="https://example.org"))
    document.pages[0].Annots = pikepdf.Array([document.make_indirect(made)])


def covered(document: pikepdf.Pdf) -> None:
    document.pages[1].contents_add(b"q 1 1 1 rg 0 300 600 200 re f Q")


def drop(name: str) -> Change:
    return lambda run: (run / name).unlink()


def column(name: str, *changes: pl.Expr) -> Change:
    def changed(run: Path) -> None:
        path = run / "restricted" / f"{name}.parquet"
        pl.read_parquet(path).with_columns(*changes).write_parquet(path)

    return changed


def of_others(*names: str) -> Change:
    """Parts of a run of other data in place of this one's."""

    def changed(run: Path) -> None:
        for name in names:
            whole = run.parent.parent / "others" / name
            if whole.is_dir():
                shutil.rmtree(run / name)
                shutil.copytree(whole, run / name)
            else:
                shutil.copy(whole, run / name)

    return changed


def beside(name: str) -> Change:
    return lambda run: (run / name).write_text("Nothing was found.")


LISTING, MANIFEST, PUBLIC = (
    "restricted/manifest.json",
    "manifest.json",
    ("result.json", "manifest.json"),
)
IDENTITY = ("identity", "hierarchy", "sha256")


def without_key(run: Path) -> None:
    shared(put(None, "hmac_sha256"), MANIFEST)(run)
    shared(put(None, "restricted"), MANIFEST)(run)


CHANGES: Mapping[str, Change] = {
    "a count of the ledger": shared(put(7, "ledger", "rows_read")),
    "a statement of a finding": text("40 of", "4 of", "result.json"),
    "a finding left out": shared(lambda r: [c["findings"].clear() for c in r["checks"]]),
    "the status": shared(put("pass", "status")),
    "the title of the data": shared(put("Other", "identity", "data", "title")),
    "a limit of the policy": shared(put(2, "policy", "min_cell")),
    "the overview": shared(lambda r: r["overview"]["tree"][0].update(support=1)),
    "the version of the tool, in the result": shared(put("9.9", "identity", "tool", "version")),
    "the version of the tool, throughout": shared(
        put("9.9", "identity", "tool", "version"), *PUBLIC
    ),
    "the digest of the hierarchy, throughout": shared(put("0" * 64, *IDENTITY), *PUBLIC),
    "the digest of the policy, throughout": shared(
        put("0" * 64, "identity", "policy", "sha256"), *PUBLIC
    ),
    "the keyed digest of the data, throughout": shared(
        put("0" * 64, "identity", "data", "hmac_sha256"), *PUBLIC
    ),
    "`result.json` removed": drop("result.json"),
    "a statement in `report.html`": text(r"\b40 of (?=[^<]*</)", "4 of "),
    "a number in a table of `report.html`": text(r"(<td[^>]*>)\d+(</td>)", r"\g<1>77\2"),
    "a bar of a chart in `report.html`": text(r'(<path d="M[\d.]+),', r"\g<1>9,"),
    "a finding left out of `report.html`": text(r"<article.*?</article>", ""),
    "a sentence in `report.html`": text("</main>", "<p>All is well.</p></main>"),
    "a script in `report.html`": text("</main>", "<script>0</script></main>"),
    "a handler in `report.html`": text("<main", '<main onclick="0"'),
    "a link to another place in `report.html`": text(
        "</main>", '<a href="https://example.org">More</a></main>'
    ),
    "another script of `report.html`": text(r"use strict", "use  strict"),
    "`report.html` removed": drop("report.html"),
    "`report.html` of other data": of_others("report.html"),
    "a white box on a page of `report.pdf`": pdf(covered),
    "a page left out of `report.pdf`": pdf(lambda d: d.pages.__delitem__(1)),
    "JavaScript in `report.pdf`": pdf(
        lambda d: setattr(d.Root, "OpenAction", action("JavaScript", JS="app.alert(1)"))
    ),
    "an action of `report.pdf`": pdf(
        lambda d: setattr(d.pages[0], "AA", pikepdf.Dictionary(O=action("Launch", F="x")))
    ),
    "a link to another place in `report.pdf`": pdf(linked),
    "a further attachment of `report.pdf`": pdf(
        lambda d: d.attachments.__setitem__("more.txt", b"More.")
    ),
    "`report.pdf` removed": drop("report.pdf"),
    "`report.pdf` of other data": of_others("report.pdf"),
    "the command": shared(put(["audit", "run", "of others"], "command"), MANIFEST),
    "a setting": shared(put(50, "settings", "min_cell"), MANIFEST),
    "the title in the settings": shared(put("Other", "settings", "title"), MANIFEST),
    "the name of the machine": shared(put("other", "host"), MANIFEST),
    "when it began": shared(put("2001-01-01T00:00:00+00:00", "started"), MANIFEST),
    "a version": shared(put("1.0", "versions", "polars"), MANIFEST),
    "the identity, in the manifest": shared(put("x", "identity", "normaliser"), MANIFEST),
    "the path of an input": shared(put("/x", "inputs", 0, "path"), MANIFEST),
    "the digest of an input, throughout": shared(
        lambda m: [
            one.update(sha256="0" * 64) for one in m["inputs"] if one["role"] == "hierarchy"
        ],
        MANIFEST,
        LISTING,
    ),
    "the keyed seal": shared(put("0" * 64, "hmac_sha256"), MANIFEST),
    "the keyed seal, of another key": lambda run: signed(run, SealKey(b"of somebody else")),
    "no keyed seal": without_key,
    "a count of a node": column("nodes", pl.col("support") + 1),
    "a count of a pair": column("pairs", pl.col("joint") + 1),
    "a column of the findings": column("findings", pl.col("touched") + 1),
    "the policy that it was counted with": shared(put(9, "max_findings"), "restricted/policy.json"),
    "an instance's node": column("instances", pl.lit("cow").alias("node")),
    "the digest of a data file": shared(put("0" * 64, "inputs", 0, "sha256"), LISTING),
    "the digest of the data": shared(put("0" * 64, "data_sha256"), LISTING),
    "a table removed": drop("restricted/cases.parquet"),
    "all tables of other data": of_others("restricted"),
    "a file beside": beside("README.txt"),
    "a file beside the tables": beside("restricted/notes.txt"),
    "a run of other data in its place": of_others(
        *("restricted", "result.json", "report.html", "report.pdf", "manifest.json")
    ),
}


def signed(run: Path, key: SealKey) -> None:
    """Both keyed digests of another key."""
    manifest = json.loads((run / MANIFEST).read_bytes())
    manifest["restricted"]["hmac_sha256"] = key.digest("restricted", (run / LISTING).read_bytes())
    manifest["hmac_sha256"] = keyed_seal(manifest, key)
    write_manifest(run / MANIFEST, manifest)


def failing(run: Path, key: SealKey | None = None, *, recompute: bool = False) -> str:
    """What does not hold of a run."""
    verdicts = verify_run(run, recompute=recompute, key=key, render=rendered_again)
    told = [verdict.name for verdict in verdicts if verdict.outcome == "does not hold"]
    if key:
        assert "holds" not in {verdict.outcome for verdict in verdicts}
    return ", ".join(told)


@pytest.mark.slow
def test_the_run_itself_holds(desk: Path) -> None:
    run, key = desk / "run of labels", read_key(desk / "key")
    verdicts = verify_run(run, recompute=True, key=key, render=rendered_again)

    assert {verdict.outcome for verdict in verdicts} == {"holds"}, verdicts


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (b"\x9f/EF\x81", ()),
        (b"/EFG 1 0 R /F", ()),
        *(
            (more, ("a further attachment",))
            for more in (b"/EF<</F 1 0 R>>", b"/E#46\n7 0 R", b"/EF%")
        ),
    ],
)
def test_a_second_attachment_has_a_value_and_packed_bytes_have_none(
    more: bytes, told: tuple[str, ...]
) -> None:
    assert active_in(b"<</EF <</F 1 0 R>>>>" + more, b"") == told


def shown_by_the_page() -> dict[str, tuple[str, str]]:
    """What shows each change, at once and with ``--recompute``."""
    table = PAGE.read_text("utf-8").split("| changed |\n|---|---|---|\n")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    return {name: (at_once, again) for at_once, again, names in rows for name in names.split("; ")}


def test_the_table_has_these_changes_alone() -> None:
    assert shown_by_the_page().keys() == CHANGES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_the_key_refuses_each_change_and_the_page_says_what_shows_it_without(
    desk: Path, tmp_path: Path, name: str
) -> None:
    run = tmp_path / "all" / "run"
    shutil.copytree(desk / "run of labels", run)
    shutil.copytree(desk / "run of others", tmp_path / "others")
    if "pdf" not in name:
        (run / "report.pdf").unlink()
        reseal(run)
        signed(run, read_key(desk / "key"))
    CHANGES[name](run)
    if "report" not in name:
        with suppress(RenderError, FileNotFoundError):
            stated = [json.loads((run / name).read_bytes()) for name in PUBLIC]
            (run / "report.html").write_bytes(rendered_again("report.html", *stated, None))
    if "keyed seal" not in name:
        reseal(run)
    else:
        manifest = json.loads((run / MANIFEST).read_bytes())
        write_manifest(run / MANIFEST, manifest)

    assert failing(run, read_key(desk / "key")) == "manifest"
    at_once = failing(run)
    again = "" if at_once else failing(run, recompute=True)
    shown = (at_once or "nothing", at_once or again or "nothing")
    assert shown_by_the_page()[name] == shown

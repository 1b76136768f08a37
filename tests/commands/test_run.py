"""``audit run``: what it leaves, what it says of its inputs and settings, and how it ends."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import audit
from fixtures.doors import command, made, refused
from fixtures.held import held, read_json, sha256
from fixtures.small_release import NODES, TITLES, above, labels_of, options, rows

FAILS = "does not hold"
TABLES = {
    *("cases", "edges", "findings", "instances", "judged_pairs", "nodes"),
    *("pair_margins", "pair_strata", "pairs", "proposals", "refused_labels", "residuals"),
}
"""Tables that a run of labels alone has which keeps its instances."""


def test_the_files_of_a_run(small: Path) -> None:
    files = held(small / "first")
    restricted = {name.removeprefix("restricted/") for name in files if "/" in name}

    assert {name for name in files if "/" not in name} == {
        *("manifest.json", "report.html", "result.json")
    }
    assert {f"{name}.parquet" for name in TABLES} <= restricted
    assert restricted - {f"{name}.parquet" for name in TABLES} == {
        *("manifest.json", "policy.json", "record.json")
    }
    assert (small / "first" / "restricted").stat().st_mode & 0o777 == 0o700


def test_both_manifests_have_the_digest_of_each_file_that_is_there(small: Path) -> None:
    files = held(small / "second_modelled")
    digests = {name: sha256(content) for name, content in files.items()}
    shared, restricted = (json.loads(files[f"{at}manifest.json"]) for at in ("", "restricted/"))

    assert {**shared["outputs"], **restricted["outputs"]} == {
        name: digest for name, digest in digests.items() if not name.endswith("manifest.json")
    }
    assert not any(name.startswith("restricted/") for name in shared["outputs"])


def test_inputs_are_named_with_their_roles_and_digests(small: Path) -> None:
    run = small / "second_modelled"
    names = ("second.csv", "second_scores.csv", "tree.csv", "policy.toml")
    roles = dict(zip(("data", "predictions", "hierarchy", "policy"), names, strict=True))
    files = {(role, str(small / name), sha256((small / name).read_bytes()))
             for role, name in roles.items()}  # fmt: skip
    listed = read_json(run / "restricted" / "manifest.json")["inputs"]
    shared = read_json(run / "manifest.json")["inputs"]

    assert {(one["role"], one["path"], one["sha256"]) for one in listed} == files
    assert [*audit.read_run(run).inputs] == listed
    assert [one | {"sha256": ""} for one in shared] == [one | {"sha256": ""} for one in listed]
    assert {one["role"] for one in shared if "sha256" in one} == {"hierarchy", "policy"}


def test_the_digest_of_the_data_is_of_the_digests_of_their_files(small: Path) -> None:
    file = sha256((small / "first.csv").read_bytes())

    assert audit.read_run(small / "first").data_sha256 == sha256(bytes.fromhex(file))


def test_the_identity_of_a_run(small: Path) -> None:
    identity = read_json(small / "first" / "result.json")["identity"]
    hierarchy = audit.load_hierarchy(small / "tree.csv")

    assert identity["data"]["format"] == "table"
    hierarchy_of = identity["hierarchy"]
    assert [hierarchy_of[name] for name in ("name", "nodes", "depth")] == ["tree", len(NODES), 3]
    assert identity["hierarchy"]["sha256"] == hierarchy.sha256
    assert identity["policy"]["name"] == "policy"
    assert identity["tool"] == {"name": "hierarchy-audit", "version": audit.__version__}
    assert identity["reference"] is None
    assert read_json(small / "first" / "manifest.json")["identity"] == identity


def test_a_reference_is_part_of_the_identity(small: Path) -> None:
    referred = read_json(small / "second_referred" / "result.json")["identity"]["reference"]

    assert referred == {"sha256": sha256((small / "first" / "result.json").read_bytes())}


def test_the_ledger_counts_rows_and_instances(small: Path) -> None:
    for release in ("first", "third"):
        own = rows(release)
        mapped = [row for row in own if row[1] in TITLES]
        ledger = audit.read_run(small / release).ledger

        assert ledger["rows_read"] == len(own)
        assert ledger["rows_mapped"] == len(mapped)
        assert ledger["refused"] == {"unknown_code": len(own) - len(mapped)}
        assert ledger["instances"] == len({row[0] for row in own})
        assert ledger["instances_without_labels"] == len(
            {row[0] for row in own} - {row[0] for row in mapped}
        )
        assert (ledger["groups"], ledger["predictions"]) == (None, None)
    assert audit.read_run(small / "first_grouped").ledger["groups"] == 100


def test_every_node_has_the_instances_that_carry_it(small: Path) -> None:
    direct = Counter(label for own in labels_of("second").values() for label in own)
    carried = Counter(
        node for own in labels_of("second").values() for node in set[str]().union(*map(above, own))
    )
    counted = audit.read_run(small / "second").nodes.select("node", "title", "direct", "support")

    assert counted.rows() == [(node, TITLES[node], direct[node], carried[node]) for node in NODES]


def test_instances_are_kept_as_they_were_read(small: Path) -> None:
    kept = audit.read_run(small / "second").instances
    assert kept is not None
    table = kept.filter(pl.col("label") > 0).select("instance", "node").collect()

    direct = {(one, label) for one, own in labels_of("second").items() for label in own}
    assert direct <= {*table.rows()}
    refused_labels = pl.read_parquet(small / "second" / "restricted" / "refused_labels.parquet")
    assert sorted(refused_labels.rows()) == [
        *(("i007", "unicorn"), ("i019", "unicorn"), ("i020", "dgo"), ("i021", "tre"))
    ]


def test_without_the_option_no_instances_are_kept(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()  # an empty folder is a place for a run
    assert made("run", small / "first.csv", *options(small, out, "--quiet")) == ""

    names = {Path(name).name for name in held(out)}
    assert not names & {"instances.parquet", "refused_labels.parquet"}
    assert audit.read_run(out).instances is None


def test_settings_are_written_down_as_they_were_given(small: Path, tmp_path: Path) -> None:
    given = ("--group", "person", "--strata", "site", "--seed", "7", "--fail-on", "error")
    said = made("run", small / "first.csv", *options(small, tmp_path / "run", *given))
    assert str(tmp_path / "run" / "report.html") in said.replace("\n", "")
    manifest = read_json(tmp_path / "run" / "manifest.json")
    paths = {"dataset": "first.csv", "hierarchy": "tree.csv", "policy": "policy.toml"}
    stated: dict[str, object] = {name: str(small / file) for name, file in paths.items()}
    stated |= {"group": "person", "strata": ["site"], "seed": 7, "id": [], "predictions": None}
    assert {name: manifest["settings"][name] for name in stated} == stated
    assert manifest["command"][0] == "audit"
    assert manifest["started"] <= manifest["finished"]
    assert manifest["versions"]["polars"] == pl.__version__


def test_settings_of_an_earlier_run_are_taken_over(small: Path, tmp_path: Path) -> None:
    made("run", small / "second.csv", "--like", small / "first_grouped", "--no-pdf",
         "--keep-instances", "--out", tmp_path / "run")  # fmt: skip

    again, straight = (held(run) for run in (tmp_path / "run", small / "second_grouped"))
    assert again["result.json"] == straight["result.json"]
    assert again["restricted/nodes.parquet"] == straight["restricted/nodes.parquet"]


def test_settings_of_a_file_are_those_of_the_options(small: Path, tmp_path: Path) -> None:
    config = tmp_path / "audit.toml"
    config.write_text(
        f'dataset = "{small}/first.csv"\nhierarchy = "{small}/tree.csv"\n'
        f'policy = "{small}/policy.toml"\ngroup = "person"\nstrata = ["site"]\npdf = false\n'
    )
    made("run", "--config", config, "--out", tmp_path / "run")

    result = (tmp_path / "run" / "result.json").read_bytes()
    assert result == (small / "first_grouped" / "result.json").read_bytes()


def test_the_command_line_overrides_the_file_and_both_the_run(small: Path, tmp_path: Path) -> None:
    config = tmp_path / "audit.toml"
    config.write_text(f'dataset = "{small}/second.csv"\nseed = 5\nmin_cell = 2\nmissing = "NA"\n')
    words = ("--config", config, "--like", small / "first_grouped", "--min-cell", 4, "--no-pdf")
    made("run", *words, "--out", tmp_path / "run")
    stated = read_json(tmp_path / "run" / "manifest.json")["settings"]

    told = {name: stated[name] for name in ("dataset", "group", "seed", "min_cell", "missing")}
    assert told == {"dataset": f"{small}/second.csv", "group": "person", "seed": 5, "min_cell": 4,
                    "missing": ["NA"]}  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("seed = 1\nmin_sell = 3", "audit.toml:2"),
        ("min_sell = 3", "did you mean min-cell?"),
        ("seed = 'x'", "audit.toml:1"),
        ("config = 'other.toml'", "config"),
        ("min-cell = true", "min-cell"),
        ("softmax = true\nsigmoid = true", "both"),
        ("seed = [", "audit.toml"),
    ],
)
def test_what_is_no_option_is_refused_with_its_line(
    small: Path, tmp_path: Path, stated: str, told: str
) -> None:
    config = tmp_path / "audit.toml"
    config.write_text(stated)
    words = ("run", small / "first.csv", "--hierarchy", small / "tree.csv", "--config", config)

    assert told in refused(*words, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_same_command_writes_the_same_bytes(small: Path, tmp_path: Path) -> None:
    model = ("--predictions", small / "second_scores.csv", "--keep-instances")
    made("run", small / "second.csv", *options(small, tmp_path / "run", *model))
    own = {"manifest.json", "report.html"}
    again, before = (
        {name: content for name, content in held(run).items() if name not in own}
        for run in (tmp_path / "run", small / "second_modelled")
    )
    assert again == before


def test_parts_of_the_policy_may_be_options(small: Path, tmp_path: Path) -> None:
    given = ("--strata", "site", "--min-cell", "3")
    made("run", small / "second.csv", *options(small, tmp_path / "run", *given))
    run, plain = (audit.read_run(one) for one in (tmp_path / "run", small / "second"))

    assert run.policy["min_cell"] == 3
    assert plain.policy["min_cell"] == 1
    assert (*run.made_with.strata, *plain.made_with.strata) == ("site",)
    assert run.identity["policy"]["sha256"] != plain.identity["policy"]["sha256"]
    assert run.policy["thresholds"] == plain.policy["thresholds"]


@pytest.mark.slow
def test_a_finding_of_the_reference_does_not_end_with_1_if_the_policy_ratchets(
    small: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("ratchet = true\n" + (small / "policy.toml").read_text())
    given = ("--hierarchy", small / "tree.csv", "--policy", policy, "--no-pdf")
    known = ("--reference", small / "first", "--fail-on", "warning")

    made("run", small / "first.csv", *given, *known, "--out", tmp_path / "known")
    made("run", small / "third.csv", *given, *known, "--out", tmp_path / "worse", status=1)
    refused("run", small / "first.csv", *given, *known[2:], "--out", tmp_path / "alone")


def test_findings_of_the_reference_are_known(small: Path) -> None:
    before, now = (
        {one.id: one.judgement.known for check in run.checks for one in check.findings}
        for run in map(audit.read_run, (small / "first", small / "second_referred"))
    )
    worse = [name for name in now if name.startswith("missing_companion")]

    assert not any(before.values())
    assert now.keys() - before.keys() == {"unexpected_pair:bird:cow"}
    assert [one for one, known in now.items() if not known] == [*worse, "unexpected_pair:bird:cow"]


def test_a_summary_and_a_file_of_test_cases_for_machines(small: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "run", tmp_path / "run.xml"
    given = options(small, out, "--json", "--junit", file, "--fail-on", "warning")
    summary = json.loads(made("run", small / "first.csv", *given, status=1))
    run = audit.read_run(out)
    birds = sum("bird" in own for own in labels_of("first").values())
    columns = ("status", "denominator", "total", "folded")
    told = {one["name"]: tuple(one[name] for name in columns) for one in summary["checks"]}
    statuses = {check.name: check.status for check in run.checks}
    (suite,) = ET.parse(file).getroot()
    cases = {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}
    skipped = [name for name, status in statuses.items() if status == "not_applicable"]

    assert (summary["run"], summary["status"], summary["not_written"]) == (str(out), "warn", [])
    assert (summary["ledger"], summary["readings"]) == (dict(run.ledger), [*run.readings])
    assert {name: one[0] for name, one in told.items()} == statuses
    assert told["unknown_code"] == ("warn", len(rows("first")), 1, 0)
    assert told["missing_companion"] == ("warn", birds, 1, 0)
    assert cases == {
        name: {"warn": ["failure"], "not_applicable": ["skipped"]}.get(status, [])
        for name, status in statuses.items()
    }
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        *map(str, (len(statuses), 4, 0, len(skipped)))
    ]


REFUSED = {
    "no such data": ("absent.csv", "--hierarchy", "tree.csv"),
    "no hierarchy": ("first.csv",),
    "no such hierarchy": ("first.csv", "--hierarchy", "absent.csv"),
    "an unknown option": ("first.csv", "--hierarchy", "tree.csv", "--unknown"),
    "a value that is none": ("first.csv", "--hierarchy", "tree.csv", "--fail-on", "sometimes"),
    "a number out of range": ("first.csv", "--hierarchy", "tree.csv", "--min-cell", "0"),
    "no such column": ("first.csv", "--hierarchy", "tree.csv", "--group", "absent"),
    "no such policy": ("first.csv", "--hierarchy", "tree.csv", "--policy", "absent.toml"),
    "no such format": ("first.csv", "--hierarchy", "tree.csv", "--hierarchy-format", "absent"),
    "no such reference": ("first.csv", "--hierarchy", "tree.csv", "--reference", "absent"),
    "a reference that is no run": ("first.csv", "--hierarchy", "tree.csv", "--reference", "empty"),
    "no such scores": ("first.csv", "--hierarchy", "tree.csv", "--predictions", "absent.csv"),
    "scores of nobody": ("first.csv", "--hierarchy", "tree.csv", "--predictions", "others.csv"),
    "labels of nothing": ("other_labels.csv", "--hierarchy", "tree.csv"),
    "an empty file": ("empty.csv", "--hierarchy", "tree.csv"),
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=[*REFUSED])
def test_a_refusal_is_one_message_and_leaves_nothing(
    small: Path, tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first.csv", "tree.csv"):
        shutil.copy(small / name, tmp_path)
    (tmp_path / "others.csv").write_text("instance,dog\nz1,0.5\nz2,0.25\n")
    (tmp_path / "other_labels.csv").write_text("instance,label\na,x1\nb,x2\nc,dog\n")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    before = held(tmp_path)

    told = command("run", *words, "--no-pdf", "--out", "out/run")

    assert told.exit_code == 2
    assert told.stdout == ""
    assert told.stderr.count("rror") >= 1
    assert "Traceback" not in told.stderr
    assert held(tmp_path) == before
    assert not (tmp_path / "out" / "run").exists()


def test_a_run_is_replaced_only_if_that_is_asked(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(small / "first", out)
    before = held(out)

    assert str(out) in refused("run", small / "second.csv", *options(small, out))
    assert held(out) == before
    made("run", small / "second.csv", *options(small, out, "--overwrite", "--keep-instances"))
    assert held(out)["result.json"] == held(small / "second")["result.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_is_no_run_is_never_replaced(small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = held(tmp_path)

    for name in ("mine", "file"):
        refused("run", small / "first.csv", *options(small, tmp_path / name, "--overwrite"))
    assert held(tmp_path) == before

"""Files at addresses: read as they are on this machine, only where that is allowed, and whole."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import audit
from audit import AuditError
from fixtures.doors import command
from fixtures.leaving import Change, data_of, write_corrected
from fixtures.remote_servers import KEY, SECRET, Served, serving

ROWS = "id,label\n" + "".join(f"i{n},{('cat', 'owl')[n % 3 == 0]}\n" for n in range(3_000))
TREE = "child,parent\ncat,animal\nowl,animal\n"
SCORES = "id,cat,owl\n" + "".join(f"i{n},0.9,0.1\n" for n in range(3_000))
FILES = {"rows.csv": ROWS, "tree.csv": TREE, "scores.csv": SCORES}
SECRETS = ("me", SECRET, "signature", KEY)

pytest.importorskip("obstore")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture(autouse=True)
def known(
    server: Served,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.address(""))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    server.files = {f"{at}{n}": t.encode() for n, t in FILES.items() for at in ("/", "/bucket/")}
    server.files |= {f"/open/{name}": text.encode() for name, text in FILES.items()}
    server.status, server.cut, server.asked = {}, set(), []


def at(server: Served, scheme: str, name: str) -> str:
    places = {"https": server.address("/"), "s3": "s3://bucket/"}
    return places[scheme] + name


def run(*arguments: object) -> tuple[int, str]:
    done = command(*arguments)
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done.exit_code, done.output


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["https", "s3"])
def test_they_are_read_as_files_here(server: Served, scheme: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    own = audit.load_labels("rows.csv", "tree.csv")
    far = audit.load_labels(
        at(server, scheme, "rows.csv"), at(server, scheme, "tree.csv"), allow_network=True
    )
    scores = audit.load_predictions(at(server, scheme, "scores.csv"), far, allow_network=True)

    assert far.hierarchy.nodes == own.hierarchy.nodes
    assert far.instances.equals(own.instances)
    assert far.assertions.equals(own.assertions)
    assert np.array_equal(
        scores.scores.toarray(), audit.load_predictions("scores.csv", own).scores.toarray()
    )
    (one, *_) = audit.run_audit(far).inputs
    assert one["path"] == at(server, scheme, "rows.csv")
    assert one["sha256"] == audit.run_audit(own).inputs[0]["sha256"]


def test_a_run_names_the_address_and_is_made_again(server: Served, tmp_path: Path) -> None:
    address = f"{at(server, 'https', 'rows.csv')}?signature=abc"
    tree = at(server, "s3", "tree.csv")
    given = ("--hierarchy", tree, "--allow-network", "--out", "run", "--no-pdf")
    status, said = run("run", address, *given)
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_bytes())
    places = {one["role"]: one["path"] for one in manifest["inputs"]}

    assert status == 0, said
    assert places == {"data": at(server, "https", "rows.csv"), "hierarchy": tree}
    assert manifest["settings"]["dataset"] == places["data"]
    assert manifest["settings"]["hierarchy"] == tree
    for text in (said, *(path.read_bytes().decode("latin1") for path in files)):
        assert [one for one in SECRETS[1:] if one in text] == []
        assert tempfile.gettempdir() + "/audit-remote-" not in text
    server.asked.clear()
    alone, refused = run("verify", "run", "--recompute")
    assert (alone, server.asked) == (0, [])
    assert "--allow-network" in refused
    again = run("verify", "run", "--recompute", "--allow-network", "--data", address)
    assert "the inputs give the bytes" in again[1]
    server.files["/rows.csv"] = ROWS.replace("owl", "cat", 1).encode()
    changed = run("verify", "run", "--recompute", "--allow-network")
    assert (changed[0], "data changed" in changed[1]) == (1, True)


def test_data_here_are_copied_and_data_there_get_a_list_of_corrections(
    server: Served, tmp_path: Path
) -> None:
    (tmp_path / "here.csv").write_text(ROWS + "i0,animal\n")
    tree = ("--hierarchy", at(server, "https", "tree.csv"), "--allow-network", "--no-pdf")
    assert run("run", "here.csv", *tree, "--out", "near")[0] == 0
    assert run("run", at(server, "https", "rows.csv"), *tree, "--out", "far")[0] == 0
    changes = [Change("i1", "replace", "cat", "owl"), Change("i0", "remove", "animal")]
    near, far = tmp_path / "near", tmp_path / "far"

    copy = write_corrected(near, *data_of(near), changes, tmp_path / "copy.csv")
    listed = write_corrected(far, *data_of(far), changes[:1], tmp_path / "listed.csv")

    assert copy.out.read_text() == ROWS.replace("i1,cat", "i1,owl")
    assert listed.files == ()
    assert "i1,cat,owl" in listed.out.read_text()


def test_nothing_is_asked_unless_it_is_allowed(server: Served) -> None:
    for scheme in ("https", "s3"):
        status, said = run("run", at(server, scheme, "rows.csv"), "--hierarchy", "icd9cm")
        assert (status, "--allow-network" in said) == (2, True), said
        status, said = run("lint", at(server, scheme, "tree.csv"))
        assert (status, "--allow-network" in said) == (2, True), said
    assert server.asked == []
    assert run("lint", at(server, "s3", "tree.csv"), "--allow-network")[0] == 0


def test_nothing_is_asked_without_the_extra(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.base.machine.find_spec", lambda name: None)
    with pytest.raises(AuditError, match=r"pip install 'hierarchy-audit\[formats\]'"):
        audit.load_hierarchy(at(server, "https", "tree.csv"), allow_network=True)
    assert server.asked == []


BROKEN = {
    "gone": (("/rows.csv", 404), "status code: 404"),
    "forbidden": (("/rows.csv", 403), "status code: 403"),
    "asking": (("/rows.csv", 401), "status code: 401"),
    "failing": (("/rows.csv", 503), "an answer of the server, status code: 503"),
    "gone in a store": (("/bucket/rows.csv", 404), "status code: 404"),
    "forbidden in a store": (("/bucket/rows.csv", 403), "status code: 403"),
}


def test_a_redirect_is_followed_to_what_is_encrypted(server: Served) -> None:
    server.status["/rows.csv"] = "/open/rows.csv?token=a"
    address = at(server, "https", "rows.csv")
    labels = audit.load_labels(address, {"cat": "animal", "owl": "animal"}, allow_network=True)
    assert audit.run_audit(labels).inputs[0]["path"] == address
    server.status["/rows.csv"] = server.address("/open/rows.csv", "http")
    with pytest.raises(AuditError, match="no connection"):
        audit.load_labels(address, {"cat": "animal"}, allow_network=True)


def refused(server: Served, address: str, tmp_path: Path) -> str:
    given = ("--hierarchy", at(server, "https", "tree.csv"), "--allow-network", "--out", "run")
    status, said = run("run", address, *given)

    assert status == 2, said
    assert not (tmp_path / "run").exists()
    assert list(Path(tempfile.gettempdir()).glob("audit-remote-*")) == []
    assert [one for one in SECRETS if one in said.replace("some", "").split("?")] == []
    assert "Traceback" not in said
    assert "signature" not in said
    assert "token=" not in said
    return said


@pytest.mark.parametrize(("broken", "found"), BROKEN.values(), ids=BROKEN)
def test_what_a_server_does_not_give_is_one_sentence(
    server: Served, tmp_path: Path, broken: tuple[str, int | str], found: str
) -> None:
    path, status = broken
    server.status[path] = status
    store = path.startswith("/bucket")
    address = "s3://bucket/rows.csv" if store else server.address(f"{path}?signature=abc")
    with pytest.raises(AuditError, match=f"(?m){found}"):
        audit.load_labels(address, {"cat": "animal"}, allow_network=True)
    refused(server, address, tmp_path)


@pytest.mark.parametrize("scheme", ["https", "s3"])
def test_what_is_cut_or_changes_is_refused(server: Served, tmp_path: Path, scheme: str) -> None:
    address, path = at(server, scheme, "rows.csv"), {"https": "/", "s3": "/bucket/"}[scheme]
    server.cut.add(f"{path}rows.csv")
    assert "cut" in refused(server, address, tmp_path)
    server.cut.clear()
    for other in (ROWS.encode() + b"more,cat\n", ROWS.replace("owl", "cat", 1).encode()):
        server.files[f"{path}rows.csv"] = (ROWS.encode(), other)
        assert "stays as it is" in refused(server, address, tmp_path)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("http://localhost/rows.csv", "encrypted"),
        (f"https://me:{SECRET}@localhost/rows.csv", "without a user and password"),
        ("https://localhost/", "the address of one file"),
        ("s3://bucket", "the address of one file"),
        ("https://localhost:1/rows.csv", "no connection"),
        ("{}/unsized/rows.csv", "Content-Length"),
    ],
)
def test_addresses_of_other_kinds_are_refused(
    server: Served, tmp_path: Path, address: str, found: str
) -> None:
    server.files["/unsized/rows.csv"] = ROWS.encode()
    assert found in refused(server, address.format(server.address("")), tmp_path)


def test_a_certificate_that_nobody_trusts_is_refused(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    for scheme in ("https", "s3"):
        with pytest.raises(AuditError, match="certificate that this machine trusts"):
            audit.load_hierarchy(at(server, scheme, "tree.csv"), allow_network=True)


def test_what_is_wrong_in_a_file_is_told_by_its_address(server: Served, tmp_path: Path) -> None:
    server.files["/rows.csv"] = b"id,label\na,cat,owl\n"
    address = at(server, "https", "rows.csv")
    assert f"{address}:2: " in refused(server, address, tmp_path)
    server.files["/rows.csv"] = b"<!DOCTYPE html><html>"
    assert "a page of HTML" in refused(server, address, tmp_path)


@pytest.mark.slow
def test_a_store_of_others_gives_what_was_put_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of moto shares no line with ours, and says itself how keys are escaped."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    boto3 = pytest.importorskip("boto3")
    server.start()
    try:
        place = "http://{}:{}".format(*server.get_host_and_port())
        monkeypatch.setenv("AWS_ENDPOINT_URL", place)
        store = boto3.client("s3", endpoint_url=place)
        store.create_bucket(Bucket="hospital")
        rows = "id,label\n" + "".join(f"i{n},cat\n" for n in range(100_000))
        for key, text in {"år 2/rows+1.csv": rows, "tree.csv": TREE}.items():
            store.put_object(Bucket="hospital", Key=key, Body=text.encode())
        given = ("--hierarchy", "s3://hospital/tree.csv", "--allow-network", "--no-pdf")
        address = "s3://hospital/år 2/rows+1.csv"
        assert "an encrypted" in run("run", address, *given)[1]
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")

        status, said = run("run", address, *given, "--out", "run")

        assert status == 0, said
        ledger = json.loads((tmp_path / "run" / "result.json").read_bytes())["ledger"]
        assert (ledger["rows_mapped"], ledger["instances"]) == (100_000, 100_000)
        for gone in ("s3://hospital/rows.csv", "s3://nowhere/rows.csv"):
            status, said = run("run", gone, *given, "--out", "other")
            assert status == 2
            assert "status code: 404" in said
    finally:
        server.stop()

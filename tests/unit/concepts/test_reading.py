"""Representations and facet tables from files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.facets import read_facets
from audit.analyses.concepts.representation_files import read_representations, write_representations
from audit.analyses.concepts.representations import Representations, representations_of
from audit.base.errors import AuditError, FormatError, InputError, OutputError, SchemaError
from audit.base.limits import limits
from fixtures.broken import Trap
from fixtures.made_up_encoders import symbolic
from fixtures.prediction_files import with_length
from fixtures.representation_files import SUFFIXES, representations, same, written

MATRIX = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
LABELS = ["401.1", "401.9", "401.9"]
SOUND: dict[str, Any] = {"layer:last": MATRIX, "labels": np.array(LABELS)}


def npz(folder: Path, **arrays: Any) -> Path:
    path = folder / "arrays.npz"
    with path.open("wb") as stream:
        np.savez(stream, **arrays)
    return path


def safetensors(folder: Path, metadata: dict[str, str], dtype: str = "F64") -> Path:
    path = folder / "tensors.safetensors"
    layer = {"dtype": dtype, "shape": [3, 2], "data_offsets": [0, 48]}
    header = json.dumps({"__metadata__": metadata, "layer:last": layer})
    path.write_bytes(with_length(header.encode()) + MATRIX.tobytes())
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(data=st.data())
def test_what_is_written_is_read_again(
    suffix: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = data.draw(representations())
    path = tmp_path_factory.mktemp("round") / f"file{suffix}"

    written(one, path)
    first = path.read_bytes()
    written(one, path)

    assert same(read_representations(path), one)
    assert path.read_bytes() == first


@given(representations())
def test_formats_hold_the_same(
    tmp_path_factory: pytest.TempPathFactory, one: Representations
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    for suffix in SUFFIXES:
        written(one, folder / f"file{suffix}")

    read = [read_representations(folder / f"file{suffix}") for suffix in SUFFIXES]

    assert all(same(first, read[0]) for first in read)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_each_cut_of_a_file_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{suffix}"
    written(symbolic(per_class=1), path)
    whole = path.read_bytes()

    for end in range(0, len(whole), max(1, len(whole) // 97)):
        path.write_bytes(whole[:end])
        with pytest.raises(AuditError):
            read_representations(path)


class TestArchives:
    def test_names_of_instances_are_row_numbers_unless_given(self, tmp_path: Path) -> None:
        assert read_representations(npz(tmp_path, **SOUND)).instances["id"].to_list() == [*"012"]

    def test_whole_numbers_are_names(self, tmp_path: Path) -> None:
        path = npz(tmp_path, **(SOUND | {"id": np.array([7, 5, 9]), "labels": np.array([1, 2, 2])}))
        read = read_representations(path).instances

        assert read["id"].to_list() == ["7", "5", "9"]
        assert read["labels"].to_list() == [["1"], ["2"], ["2"]]

    def test_blanks_fill_rows_of_labels(self, tmp_path: Path) -> None:
        labels = np.array([["a", ""], ["a", "b"], ["", ""]])
        read = read_representations(npz(tmp_path, **(SOUND | {"labels": labels})))

        assert read.instances["labels"].to_list() == [["a"], ["a", "b"], []]

    def test_stated_order_of_layers(self, tmp_path: Path) -> None:
        arrays = SOUND | {"layer:first": MATRIX, "layers": np.array(["first", "last"])}
        assert list(read_representations(npz(tmp_path, **arrays)).layers) == ["first", "last"]

    def test_half_precision_becomes_single(self, tmp_path: Path) -> None:
        read = read_representations(
            npz(tmp_path, **(SOUND | {"layer:last": MATRIX.astype(np.float16)}))
        )
        assert read.layers["last"].dtype == np.float32
        assert np.array_equal(read.layers["last"], MATRIX)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                {"layer:last": np.zeros((3, 2))},
                r"'last' must differ(.|\n)*2 constant features of 3",
            ),
            ({"layer:last": MATRIX[:0]}, "must have instances and features"),
            ({"layer:last": MATRIX[0]}, r"'last' must be numbers(.|\n)*\(2,\)"),
            ({"layer:last": MATRIX.astype(complex)}, "must be numbers"),
            ({"layer:last": np.array([["a"], ["b"], ["c"]])}, "must be numbers"),
            ({"layer: ": MATRIX}, "must have a name"),
            ({"layer:\x1b[2J": MATRIX}, "without control characters"),
            ({"layer:x": MATRIX[:2]}, r"same instances(.|\n)*x: 2 instances"),
            (
                {"labels": np.array(["a", "b"])},
                r"of labels is required for each of the 3(.|\n)*2 v",
            ),
            ({"labels": np.array(["", "", ""])}, "an instance with a label"),
            ({"labels": np.array([0.5, 1, 1])}, "labels must be a one-dimensional array of text"),
            ({"id": np.array(["a", "b", "a"])}, r"each instance may occur once(.|\n)*'a'"),
            ({"id": np.array(["a", " ", "b"])}, r"must have an id(.|\n)*row 1"),
            ({"pair": np.array(["a"])}, "of pair is required"),
            ({"prediction": np.array([["a"]] * 3)}, "prediction must be a one-dimensional"),
            ({"predictions": np.array(LABELS)}, r"arrays must be a layer:NAME(.|\n)*'predictions'"),
            ({"layers": np.array(["first"])}, r"must name each layer once(.|\n)*'first'"),
            ({"head_weight": MATRIX}, "a head must have head_weight, head_bias, head_classes"),
        ],
    )
    def test_what_does_not_fit_is_refused(
        self, change: dict[str, Any], message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(SchemaError, match=message):
            read_representations(npz(tmp_path, **(SOUND | change)))

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_numbers_that_are_not_finite_are_counted_with_their_place(
        self, value: float, tmp_path: Path
    ) -> None:
        matrix = MATRIX.copy()
        matrix[1:, 1] = value
        arrays = SOUND | {"layer:last": matrix, "id": np.array(["x", "y", "z"])}
        with pytest.raises(SchemaError, match=f"'{value} in feature 1 of y', '{value} in feat"):
            read_representations(npz(tmp_path, **arrays))

    def test_one_constant_feature_among_others_is_kept(self, tmp_path: Path) -> None:
        matrix = np.column_stack([MATRIX, np.zeros(3)])
        read = read_representations(npz(tmp_path, **(SOUND | {"layer:last": matrix})))
        assert np.array_equal(read.layers["last"], matrix)

    def test_labels_and_layers_are_required(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaError, match="labels of the instances are required"):
            read_representations(npz(tmp_path, **{"layer:last": MATRIX}))
        with pytest.raises(SchemaError, match="begin the name with layer:"):
            read_representations(npz(tmp_path, labels=np.array(LABELS)))

    @pytest.mark.parametrize(
        ("weight", "bias", "classes", "message"),
        [
            (MATRIX, np.zeros(3), ["a", "b", "a"], "each class of the head may occur once"),
            (MATRIX[:, :1], np.zeros(3), ["a", "b", "c"], r"'last': 3 x 2(.|\n)*\(3, 1\)"),
            (MATRIX, np.zeros(2), ["a", "b", "c"], r"biases of shape \(2,\)"),
            (MATRIX * np.nan, np.zeros(3), ["a", "b", "c"], r"must be finite(.|\n)*a in row 0"),
            (MATRIX, np.zeros(3), ["a", "", "c"], "a head must have"),
            (MATRIX.astype(int), np.zeros(3), ["a", "b", "c"], "a head must have"),
        ],
    )
    def test_a_head_that_does_not_fit_is_refused(
        self, weight: Any, bias: Any, classes: list[str], message: str, tmp_path: Path
    ) -> None:
        head = {"head_weight": weight, "head_bias": bias, "head_classes": np.array(classes)}
        with pytest.raises(SchemaError, match=message):
            read_representations(npz(tmp_path, **SOUND, **head))

    def test_pickled_objects_are_refused_and_not_run(self, tmp_path: Path) -> None:
        ran = tmp_path / "ran"
        trap = np.array([Trap(ran)] * 3, dtype=object)
        with pytest.raises(InputError, match="pickled objects, which could run code"):
            read_representations(npz(tmp_path, **(SOUND | {"labels": trap})))
        assert not ran.exists()

    def test_an_archive_that_unpacks_beyond_the_limit_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "bomb.npz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("layer:last.npy", bytes(10**6))
        with limits(unpacked=10**5), pytest.raises(InputError, match="at most 100,000 bytes"):
            read_representations(path)


class TestSafetensors:
    def test_labels_stand_among_the_metadata(self, tmp_path: Path) -> None:
        texts = {"labels": json.dumps(["a", ["a", "b"], []]), "pair": '["p", "p", null]', "of": "x"}
        read = read_representations(safetensors(tmp_path, texts)).instances

        assert read["labels"].to_list() == [["a"], ["a", "b"], []]
        assert read["pair"].to_list() == ["p", "p", None]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ("a, b, c", "must be a list in JSON"),
            ('{"a": 1}', "must be a list in JSON"),
            ("[1.5, 2, 3]", r"texts or whole numbers(.|\n)*1.5"),
            ('["a", true, "b"]', r"texts or whole numbers(.|\n)*True"),
            ('["a", {"b": 1}, "b"]', "texts or whole numbers"),
            (r'["\ud800", "a", "b"]', "must be Unicode"),
            ("[]", "labels is required for each of the 3"),
        ],
    )
    def test_labels_of_another_form_are_refused(
        self, labels: str, message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(SchemaError, match=message):
            read_representations(safetensors(tmp_path, {"labels": labels}))

    def test_a_type_that_is_not_read_is_told(self, tmp_path: Path) -> None:
        path = safetensors(tmp_path, {"labels": json.dumps(LABELS)}, dtype="F8_E4M3")
        with pytest.raises(SchemaError, match=r"of a type that is read(.|\n)*'layer:last'"):
            read_representations(path)

    @pytest.mark.parametrize("shape", [[0, 2**70], [0] * 70, [2**40, 2**40, 0]])
    def test_shapes_beyond_numpy_are_refused(self, shape: list[int], tmp_path: Path) -> None:
        layer = {"dtype": "F64", "shape": shape, "data_offsets": [0, 0]}
        path = tmp_path / "x.safetensors"
        path.write_bytes(with_length(json.dumps({"layer:a": layer}).encode()))
        with pytest.raises(InputError, match="a whole safetensors file"):
            read_representations(path)


class TestFiles:
    @pytest.mark.parametrize("name", ["file.csv", "file", "file.npy"])
    def test_other_suffixes_are_refused(self, name: str, tmp_path: Path) -> None:
        (tmp_path / name).write_text("x")
        with pytest.raises(FormatError, match=r"read from \.npz, \.safetensors"):
            read_representations(tmp_path / name)
        with pytest.raises(InputError, match="representations are written as"):
            write_representations(symbolic(per_class=1), tmp_path / name)

    def test_a_pickle_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "model.pt").write_bytes(b"PK\x03\x04")
        with pytest.raises(InputError, match="pickled objects"):
            read_representations(tmp_path / "model.pt")

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_files_that_are_not_there_or_empty(self, suffix: str, tmp_path: Path) -> None:
        with pytest.raises(InputError):
            read_representations(tmp_path / f"missing{suffix}")
        (tmp_path / f"empty{suffix}").touch()
        with pytest.raises(InputError):
            read_representations(tmp_path / f"empty{suffix}")

    def test_a_folder_that_is_a_file_cannot_be_written_to(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="writable folder"):
            write_representations(symbolic(per_class=1), tmp_path / "file" / "x.npz")


def test_values_that_are_no_texts_are_refused() -> None:
    with pytest.raises(SchemaError, match="must be texts"):
        representations_of({"last": MATRIX}, [401, 402, 403])  # type: ignore[list-item]
    with pytest.raises(SchemaError, match="at least one layer"):
        representations_of({}, [])


class TestFacetTables:
    def test_dimensions_stand_in_order_of_first_occurrence(self, tmp_path: Path) -> None:
        path = tmp_path / "facets.csv"
        path.write_text("Node,dimension,concept\n001,b,x\n001,a,y\n 002 ,b,z\n001,b,x\n002,a,w\n")

        facets = read_facets(path)

        assert facets.table.rows() == [
            ("001", "b", "x"), ("002", "b", "z"), ("001", "a", "y"), ("002", "a", "w"),
        ]  # fmt: skip
        assert facets.kinds == {"b": "crossed", "a": "crossed"}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("node,dimension\na,b\n", "'concept' is required"),
            ("node,dimension,concept\n", "with rows is required"),
            ("node,dimension,concept\na,b,c\na,,c\n", r"a blank in 'row 2'"),
            (
                "node,dimension,concept\na,b,c\na,b,d\n",
                r"facets\.csv: a node must have one concept(.|\n)*a in b",
            ),
            ("node,dimension,concept\na,b,c\nd,b,c\n", r"two concepts(.|\n)*one concept in 'b'"),
            ("node,dimension,concept\na,b\n", "every row must have the 3 fields"),
        ],
    )
    def test_tables_of_another_form_are_refused(
        self, text: str, message: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "facets.csv"
        path.write_text(text)
        with pytest.raises(SchemaError, match=message):
            read_facets(path)

"""Every reading that is stated, or asked: its option is followed, and gives the other reading."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdflib import OWL, RDFS, SKOS

import audit
from audit import AuditError, Policy
from fixtures.doors import AskedError, read_attributions, read_entailment
from fixtures.plugins import install, installed
from fixtures.registered import WITH_IDS

ROOT = Path(audit.__file__).parent
TREE = {"dog": "animal", "cat": "animal", "oak": "plant", "rose": "plant"}
CLASSES, ABCD = [*TREE], [*"abcd"]
LABELLED = {"id": ABCD, "label": CLASSES}
Found = tuple[Any, Sequence[Any]]
"""What was read, in a form that is equal for equal readings, and what is told of it."""
Read = Callable[..., Found]


def at(folder: Path, data: Any) -> Any:
    """Data, or the path of a file that is written, given as its name and text."""
    if not isinstance(data, tuple):
        return data
    (folder / data[0]).write_text(data[1], "utf-8")
    return folder / data[0]


def of_labels(data: Any, hierarchy: Any = TREE, **always: Any) -> Read:
    def read(folder: Path, **options: Any) -> Found:
        found = audit.load_labels(at(folder, data), hierarchy, **{**always, **options})
        return (found.mappings.rows(), found.assertions.rows(), found.ledger), found.readings

    return read


def of_scores(data: Any, labels: Any = LABELLED, **always: Any) -> Read:
    def read(folder: Path, *, id: str | None = None, **options: Any) -> Found:
        dataset = audit.load_labels(labels, TREE, id=id)
        found = audit.load_predictions(at(folder, data), dataset, **{**always, **options})
        numbers = found.scores.toarray().tolist()
        return (found.instances, numbers, found.single_label), found.readings

    return read


def of_hierarchy(name: str, text: str, **always: Any) -> Read:
    def read(folder: Path, **options: Any) -> Found:
        found = audit.load_hierarchy(at(folder, (name, text)), **{**always, **options})
        return (found.nodes, found.titles, found.edge_frame().rows()), found.readings

    return read


def of_either(read: Callable[..., Read], one: Any, other: Any) -> Read:
    """What one file is read as; or another one, which says what the option does."""
    return lambda folder, otherwise=False: read(other if otherwise else one)(folder)


def of_parquet(folder: Path, **options: Any) -> Found:
    said = {"info": {"features": {"label": {"names": CLASSES, "_type": "ClassLabel"}}}}
    rows = pa.table({"id": ABCD, "label": range(4)})
    rows = rows.replace_schema_metadata({"huggingface": json.dumps(said)})
    pq.write_table(rows, folder / "labels.parquet")
    read = of_scores({"id": ABCD, "pred": [0, 1, 2, 3]}, folder / "labels.parquet")
    return read(folder, **options)


def of_plugin(folder: Path, plugins: Sequence[str] | None = None) -> Found:
    name = install(folder)
    with installed(folder):
        found = audit.run_audit(
            audit.load_labels(LABELLED, TREE), plugins=[name] if plugins is None else plugins
        )
    return len(found.checks), [SimpleNamespace(**one) for one in found.readings]


def of_premises(folder: Path, **options: Any) -> Found:
    path = at(folder, ("rte.csv", "premise,hypothesis,label\na,b,0\nc,d,1\n"))
    found = read_entailment(path, "premises", **options)
    return found.tuples.rows(), found.readings


def of_attributions(folder: Path, **options: Any) -> Found:
    row = {"id": "n", "target": "x", "text": "ab", "tokens": ["<go>", "ab"], "scores": [0.5, 0.1],
           "offsets": [[0, 0], [0, 2]]}  # fmt: skip
    found = read_attributions(at(folder, ("a.jsonl", json.dumps(row) + "\n")), **options)
    return found.rows["scores"].to_list(), found.readings


def of_evidence(folder: Path, named: tuple[tuple[str, str], ...] = ()) -> Found:
    """Marks of two texts by their ids; with ids and targets, the other way round."""
    rows = [{"id": f"{n}", "target": "x", "tokens": ["a", "b"], "scores": [n, 1]} for n in (1, 2)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    told = [{"id": one, "target": to} for one, to in named] or [{"id": "1"}, {"id": "2"}]
    lines = "".join(json.dumps(row | {"marks": [n, 1]}) + "\n" for n, row in enumerate(told))
    found = read_attributions(at(folder, ("a.jsonl", text)), at(folder, ("e.jsonl", lines)))
    return found.rows["marks"].to_list(), found.readings


def of_positions(folder: Path, second: str = "next") -> Found:
    rows = f"ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n1,1,9,1,4019\n2,1,9,{second},4280\n"
    at(folder, ("DIAGNOSES_ICD.csv", rows))
    return of_labels(folder, "icd9cm")(folder)


def of_based(folder: Path, base: str | None = "icd9cm") -> Found:
    edges = "child,parent\nh,all\n401.0,h\n401.1,h\n401.9,all\n"
    hierarchy = audit.load_hierarchy(at(folder, ("h.csv", edges)))
    labels = audit.load_labels({"id": ["a"], "label": ["401.9"]}, hierarchy)
    found = audit.run_audit(labels, Policy.model_validate({"base": base}))
    return found.policy["exclusive"], [SimpleNamespace(**one) for one in found.readings]


def of_files(*files: tuple[str, str], **always: Any) -> Read:
    def read(folder: Path, **options: Any) -> Found:
        (folder / "in").mkdir(exist_ok=True)
        for file in files:
            at(folder / "in", file)
        return of_labels(folder / "in", **always)(folder, **options)

    return read


def of_meds(folder: Path, **options: Any) -> Found:
    for name in ("data", "metadata"):
        (folder / "m" / name).mkdir(parents=True, exist_ok=True)
    rows = {
        "subject_id": [1, 2, 3],
        "time": [datetime(2020, 1, 1)] * 3,
        "code": ["x/dog", "y/cat", "x/cat"],
        "visit_id": ["a", "b", None],
    }
    shard = pl.DataFrame(rows)
    shard.write_parquet(folder / "m" / "data" / "0.parquet")
    shard.write_parquet(folder / "m" / "metadata" / "codes.parquet")
    return of_labels(folder / "m", codes="x/*")(folder, **options)


def of_vocabulary(folder: Path, **options: Any) -> Found:
    entries = "".join(f"{n},N,{n},{'AB'[n > 3]},,\n" for n in range(1, 6))
    named = "concept_id,concept_name,concept_code,vocabulary_id,concept_class_id,invalid_reason\n"
    at(folder, ("concept.csv", named + entries))
    ends = "concept_id_1,concept_id_2,relationship_id,invalid_reason\n"
    links = "1,2,Is a,\n3,2,Is a,\n3,4,Is a,\n4,5,Is a,\n"
    at(folder, ("concept_relationship.csv", ends + links))
    found = audit.load_hierarchy(folder, **options)
    return found.nodes, found.readings


def of_first_vocabulary(folder: Path, vocabulary: str = "A") -> Found:
    return of_vocabulary(folder, vocabulary=vocabulary)


def coded(*codes: tuple[str, str, str, str]) -> str:
    """Lines of FHIR: the type, the system, the code and the encounter of each resource."""
    return "".join(
        json.dumps({
            "resourceType": kind, "code": {"coding": [{"system": system, "code": code}]},
            "subject": {"reference": "Patient/1"}, "recordedDate": "2020-01-01",
            **({"encounter": {"reference": f"Encounter/{visit}"}} if visit else {}),
        }) + "\n"
        for kind, system, code, visit in codes
    )  # fmt: skip


RELATED = "child,parent,relation\ndog,animal,is_a\ncat,animal,is_a\ndog,tail,part_of\n"


def of_joined(folder: Path, row: str = "", **options: Any) -> Found:
    return of_hierarchy("h.csv", f"id,parents\na,\nb,\nc,a;b\n{row}")(folder, **options)


class Told(NamedTuple):
    """A reading by the place that states it, a word of it, how its option is typed, and meant."""

    place: str
    word: str
    typed: str
    read: Read
    option: dict[str, Any]


ROUNDED = {"id": ABCD, **{one: [0.333, 0.5, 0.2, 0.1] for one in ("dog", "cat")},
           "oak": [0.333, 0.0, 0.6, 0.8]}  # fmt: skip
SURE = {"id": ABCD, "prediction": CLASSES[::-1], "score": [0.4, 0.9, 0.8, 0.7]}
BESIDE = {"id": ABCD, "dog": [0.2, 0.6, 0.3, 0.1], "background": [0.8, 0.4, 0.7, 0.9]}
OPEN = {"id": ABCD, "dog": [0.9, 0.2, 0.4, 0.8], "cat": [0.7, 0.1, 0.3, 0.9]}
RESULTS = {"id": ABCD, "y_pred": CLASSES[::-1], **{f"p_{one}": [0.25] * 4 for one in CLASSES}}
IMAGES = {"id": [*"0123"], "image": ["20", "10", "30", "40"], "label": CLASSES}
SCORES = np.eye(4)[::-1] * 0.6 + 0.1
FAMILIES = {"id": range(12), "label": CLASSES * 3, "b1": CLASSES[::-1] * 3}
HOT = {"id": ABCD, "label": [[1, 0, 0, 0], [0, 1, 0, 1]] * 2, "more": [[0, 1], [2], [3], []]}
ODD = {"id": range(10), "label": [*CLASSES * 2, "z1 rose", "q2 oak"]}
SCORED = {"id": ABCD, "prediction": CLASSES[::-1], "conf": [0.4, 0.9, 0.8, 0.7]}
ALL = {"id": [*"aabbccdd"], "label": ["dog", "animal", "cat", "animal", *("oak", "plant") * 2]}
ALIKE = "child,parent\njoy,joy\nlove,joy\nanger,anger\nannoyance,anger\n"
PLACES = "l1,l2\na,x\na,other\nb,other\n"

CLASSED = f"@prefix : <http://a/> . @prefix owl: <{OWL}> . :a a owl:Class . :b a owl:Class ."
SPOKEN = (f"@prefix : <http://a/> . @prefix s: <{SKOS}> . :K a <{OWL.Class}> . :b s:broader :a ; "
          "s:prefLabel 'dog'@en, 'Hund'@de .")  # fmt: skip

FOUND = {"key": range(100, 112), "thing": CLASSES * 3}

LOOSE = ("c.ndjson", coded(("Condition", "s", "dog", "1"), ("Condition", "s", "cat", "")))
SYSTEMS = ("c.ndjson", coded(("Condition", "s", "dog", "1"), ("Condition", "t", "cat", "2")))
STATUS = '"verificationStatus": {"coding": [{"code": "provisional"}]}, "subject"'
UNSURE = ("c.ndjson", LOOSE[1].replace('"subject"', STATUS, 1))
OCCURRENCES = (
    "condition_occurrence.csv",
    "person_id,condition_start_date,visit_occurrence_id,"
    "condition_concept_id,condition_source_concept_id,condition_source_value,"
    "condition_type_concept_id\n1,2020-01-01,7,1,0,x,0\n1,2020-01-01,,2,0,x,0\n",
)
ENTRIES = ("concept.csv", "concept_id,concept_code,vocabulary_id,valid_start_date,valid_end_date\n"
           "1,dog,V,20000101,20991231\n2,cat,V,20000101,20991231\n")  # fmt: skip
SIDES = (OCCURRENCES[0], OCCURRENCES[1].replace(",1,0,x", ",1,2,x"))
OTHERS = (ENTRIES[0], ENTRIES[1].replace("cat,V", "cat,W"))

TOLD = [
    Told("data.published.fhir._told", "of the system", "--system with a pattern",
         of_files(SYSTEMS, system="s"), {"system": "*"}),
    Told("data.published.wanted.Wanted", "on one day", "--id encounter",
         of_files(LOOSE), {"id": "encounter"}),
    Told("data.published.fhir._told", "provisional", "--where verification=confirmed",
         of_files(UNSURE), {"where": ["verification=confirmed"]}),
    Told("data.published.wanted.Wanted", "on one day", "--id visit_occurrence_id",
         of_files(OCCURRENCES, ENTRIES), {"id": "visit_occurrence_id"}),
    Told("data.published.omop._told", "other vocabularies", "another --vocabulary",
         of_files(OCCURRENCES, OTHERS, vocabulary="V"), {"vocabulary": "W"}),
    Told("data.published.meds.meds_of", "other codes", "--codes '*'", of_meds, {"codes": "*"}),
    Told("data.published.wanted.Wanted", "on one day", "--id visit_id",
         of_meds, {"id": "visit_id"}),
    Told("data.loading.Read", "order", "numbers in 'SEQ_NUM'", of_positions, {"second": "2"}),
    Told("data.resolving.Request", "holds the labels", "--label COLUMN",
         of_labels(FOUND), {"label": "key"}),
    Told("data.resolving.Request", "is the id", "--id COLUMN", of_labels(FOUND), {"id": "row"}),
    Told("data.resolving.Request", "not read: 'b1'", "--label b1",
         of_labels(FAMILIES), {"label": "b1"}),
    Told("data.resolving.Request", "of each class", "--label COLUMN",
         of_labels(HOT, classes=CLASSES), {"label": "more"}),
    Told("data.placing._asked", "are refused", "--strip TEXT",
         of_labels(ODD), {"strip": ["z1", "q2"]}),
    Told("data.joining.joined", "same order", "--id",
         of_scores(SCORES, IMAGES, classes=CLASSES), {"id": "image"}),
    Told("data.joining.joined", "same id", "--by-order",
         of_scores({**OPEN, "id": [*"abcx"]}), {"by_order": True}),
    Told("data.prediction_tables.PredictionTable", "not read: 'a'",
         "call the answers prediction and their scores score",
         of_either(of_scores, {"id": ABCD, "prediction": CLASSES, "a": CLASSES[::-1]},
                   {"id": ABCD, "other": CLASSES, "prediction": CLASSES[::-1]}),
         {"otherwise": True}),
    Told("data.prediction_tables.PredictionTable", "'conf'", "call the column of scores score",
         of_either(of_scores, SCORED, {**SCORED, "score": [0.1] * 4}), {"otherwise": True}),
    Told("data.predictions.load_predictions", "numbers of classes", "--classes FILE",
         of_parquet, {"classes": CLASSES[::-1]}),
    Told("data.predictions._alike", "all their ancestors", "write labels without ancestors",
         of_either(lambda labels: of_scores({"id": ABCD, "prediction": CLASSES}, labels),
                   ALL, LABELLED), {"otherwise": True}),
    Told("data.raw_predictions._one_answer", "one answer", "--multi-label",
         of_scores(ROUNDED), {"single_label": False}),
    Told("data.raw_predictions._one_answer", "one answer", "--multi-label",
         of_scores(SURE), {"single_label": False}),
    Told("data.raw_predictions.answered", "none of the nodes", "--multi-label",
         of_scores(BESIDE), {"single_label": False}),
    Told("data.raw_predictions.answered", "decision threshold", "--single-label",
         of_scores(OPEN), {"single_label": True}),
    Told("data.raw_predictions.as_scores", "shares of one answer", "--sigmoid",
         of_scores(9 * SCORES, {"id": [*"aabcd"], "label": [CLASSES[1], *CLASSES]},
                   classes=CLASSES, transform="softmax", by_order=True),
         {"transform": "sigmoid"}),
    Told("analyses.entailment.reading._readings", "entails", "--classes FILE",
         of_premises, {"classes": ["entailment", "not_entailment"]}),
    Told("analyses.explanations.reading._special_tokens", "'<go>'", "--special-tokens all",
         of_attributions, {"special": "all"}),
    Told("analyses.explanations.reading.read_attributions", "each label of its text",
         "a column target", of_evidence, {"named": (("2", "x"), ("1", "x"))}),
    Told("hierarchies.formats.edges.keyed", "'name'", "--hierarchy-child COL",
         of_hierarchy("h.csv", "id,name,parent\n1,a,\n2,b,a\n3,c,a\n"), {"child": "id"}),
    Told("hierarchies.formats.edges.keyed", "without a row", "give each a row",
         of_either(lambda row: of_hierarchy("h.csv", f"id,parent\na,\nb,a\nc,x\n{row}"),
                   "", "x,a\n"), {"otherwise": True}),
    Told("hierarchies.formats.paths.of_levels", "between others", "--hierarchy-levels COL",
         of_hierarchy("h.csv", "l1,l2,l3\na,a1,x\na,,y\n"), {"levels": ("l3",)}),
    Told("hierarchies.formats.published._read_open_images", "parts of a class",
         "--relations Part",
         of_hierarchy("h.json", '{"LabelName": "a", "Part": [{"LabelName": "b"}]}'),
         {"relations": ("Part",)}),
    *(Told(f"hierarchies.formats.{place}", word, WITH_IDS,
           of_either(lambda file: of_hierarchy(*file), (name, text), ("t.csv", table)),
           {"otherwise": True})
      for place, word, name, text, table in (
          ("edges.one_node_reading", "one node", "h.json", '{"a": {"x": {}}, "b": {"x": {}}}',
           "child,parent,title\n1,a,x\n2,b,x\n"),
          ("format.hierarchy_of", "one node", "h.csv", ALIKE,
           "child,parent,title\n1,joy,joy\n2,joy,love\n3,anger,anger\n4,anger,annoyance\n"),
          ("paths.of_ways", "several places", "h.csv", PLACES,
           "child,parent,title\n1,a,x\n2,a,other\n2,b,other\n"))),
    Told("hierarchies.formats.published.read_omop", "other vocabularies", "another --vocabulary",
         of_first_vocabulary, {"vocabulary": "B"}),
    Told("hierarchies.formats.rdf._kind", "concepts of SKOS", "--hierarchy-format owl",
         of_hierarchy("h.ttl", SPOKEN), {"format": "owl"}),
    Told("hierarchies.formats.rdf.read", "one node", "remove owl:equivalentClass",
         of_either(lambda end: of_hierarchy("h.ttl", f"{CLASSED}{end}"),
                   " :a owl:equivalentClass :b .", ""), {"otherwise": True}),
    Told("hierarchies.applied_policy.policy_readings", "not applied",
         "--policy FILE", of_based, {"base": None}),
    Told("runs.audit._readings", "is used", "leave --plugin out", of_plugin, {"plugins": ()}),
]  # fmt: skip

Asked = tuple[str, Read, list[tuple[str, dict[str, Any]]]]
ASKED: list[Asked] = [
    ("data.published.wanted.which", of_files(SYSTEMS),
     [(f"--system {one}", {"system": one}) for one in "st"]),
    ("data.published.omop._side", of_files(SIDES, ENTRIES),
     [(f"--label {one}", {"label": one}) for one in ("standard", "source")]),
    ("hierarchies.formats.published._vocabulary", of_vocabulary,
     [(f"--vocabulary {one}", {"vocabulary": one}) for one in "AB"]),
    ("hierarchies.formats.edges.directed", of_hierarchy("h.csv", "a,b\nb,c\n"),
     [(f"--hierarchy-format {one}", {"format": one}) for one in ("parents", "children")]),
    ("hierarchies.formats.edges._of_relations", of_hierarchy("h.csv", RELATED),
     [(f"--relations {one}", {"relations": (one,)}) for one in ("is_a", "part_of")]),
    ("hierarchies.formats.edges._parents", of_joined,
     [("--hierarchy-sep ';'", {"sep": ";"}), ("give it a row", {"row": "a;b,\n"})]),
    ("hierarchies.reading._offers",
     of_hierarchy("h.csv", "id,path\n1,a\n2,a > b\n3,a > c\n"),
     [("--hierarchy-child id --hierarchy-levels path", {"child": "id", "levels": ("path",)}),
      ("--hierarchy-levels path", {"levels": ("path",)})]),
    ("hierarchies.formats.rdf._kind",
     of_hierarchy("h.ttl", f"{SPOKEN} :K <{RDFS.subClassOf}> :L ."),
     [(f"--hierarchy-format {one}", {"format": one}) for one in ("skos", "owl")]),
]  # fmt: skip


def followed(read: Read, folder: Path, option: dict[str, Any]) -> Found:
    """What is read with an option; where that asks or is refused, the kind of its error."""
    try:
        return read(folder, **option)
    except AuditError as error:
        return type(error), ()


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told.place}:{told.word}")
def test_the_option_of_what_is_stated_gives_the_other_reading(told: Told, tmp_path: Path) -> None:
    found, readings = told.read(tmp_path)
    (stated,) = [one for one in readings if told.word in one.decision and one.option == told.typed]
    assert stated.evidence
    assert stated.rows > 0
    other, remaining = followed(told.read, tmp_path, told.option)
    assert other != found
    assert stated not in remaining


@pytest.mark.parametrize(("place", "read", "options"), ASKED, ids=[place for place, *_ in ASKED])
def test_the_options_of_what_is_asked_give_its_readings(
    place: str, read: Read, options: list[tuple[str, dict[str, Any]]], tmp_path: Path
) -> None:
    with pytest.raises(AskedError) as caught:
        read(tmp_path)
    assert [typed for typed, _ in options if typed not in str(caught.value)] == []
    one, other = (followed(read, tmp_path, option) for _, option in options)
    assert one[0] != other[0]


def places() -> set[str]:
    """Every function that makes a reading, by its module."""
    found = set()
    for path in ROOT.rglob("*.py"):
        text = path.read_text("utf-8")
        tree = ast.parse(text if "audit.base.readings" in text else "")
        imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                    and node.module == "audit.base.readings" for name in node.names]  # fmt: skip
        for function in tree.body if "Reading" in imported else ():
            calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
            if any(isinstance(one, ast.Name) and one.id == "Reading" for one in calls):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                found.add(f"{module}.{getattr(function, 'name', '')}")
    return found


def test_every_reading_is_followed() -> None:
    assert {told.place for told in TOLD} | {place for place, *_ in ASKED} == places()

"""Every reading that is stated, or asked: its option is followed, and gives the other reading."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import networkx as nx
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdflib import OWL, RDFS, SKOS

import audit
from audit.base.progress import silent
from audit.base.readings import AskedError, Reading
from audit.counting.file import count_pairs
from audit.data.code_sets import with_codes
from audit.data.sources import source_of
from audit.entailment.analysis import Entailment
from audit.entailment.reading import read_entailment
from audit.entailment.settings import Entailing
from audit.explanations.reading.reading import read_attributions
from audit.hierarchies.applied_policy import policy_for, policy_readings
from audit.hierarchies.formats.format import WITH_IDS
from audit.policy.policy import Policy
from audit.runs.make import audited
from audit.runs.settings import Settings
from fixtures.plugins import install, installed

ROOT = Path(audit.__file__).parent
TREE = {"dog": "animal", "cat": "animal", "oak": "plant", "rose": "plant"}
CLASSES, ABCD = [*TREE], [*"abcd"]
LABELLED = {"id": ABCD, "label": CLASSES}
Found = tuple[Any, Sequence[Reading]]
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


def of_archive(beside: dict[str, list[str]]) -> Read:
    def read(folder: Path, **options: Any) -> Found:
        np.savez(folder / "p.npz", y_pred=np.eye(4, 5), **beside)
        own = {} if "names" in beside else {"classes": [*CLASSES, "elm"]}
        return of_scores(folder / "p.npz", **own)(folder, **options)

    return read


def of_codes(*codes: str, **always: Any) -> Read:
    return of_labels(pl.DataFrame({"id": range(len(codes)), "label": codes}), "icd9cm", **always)


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


def of_graph(_: Path, relations: tuple[str, ...] = ()) -> Found:
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph([("b", "a", "is_a"), ("c", "a", "part_of")])
    found = audit.load_hierarchy(graph, relations=relations)
    return found.edge_frame().rows(), found.readings


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
    return len(found.checks), [Reading(**one) for one in found.readings]


def of_numbered_tuples(folder: Path, **options: Any) -> Found:
    tuples = at(folder, ("t.csv", "hyponym,hypernym,label\ndog,pet,1\ncat,pet,0\noak,tree,1\n"))
    model = at(folder, ("model.csv", "id,score\n0,0.5\n1,0.5\n2,0.5\n"))
    stated = Entailing(files=(tuples,), kind="hypernyms", predictions=(model,), **options)
    found = Entailment.read(stated, silent)
    assert found.beside.predictions is not None
    return found.beside.predictions.frame.rows(), found.readings


def of_premises(folder: Path, **options: Any) -> Found:
    path = at(folder, ("rte.csv", "premise,hypothesis,label\na,b,0\nc,d,1\n"))
    found = read_entailment(path, "premises", **options)
    return found.tuples.rows(), found.readings


def of_attributions(folder: Path, **options: Any) -> Found:
    row = {"id": "n", "target": "x", "text": "ab", "tokens": ["<go>", "ab"], "scores": [0.5, 0.1],
           "offsets": [[0, 0], [0, 2]]}  # fmt: skip
    found = read_attributions(at(folder, ("a.jsonl", json.dumps(row) + "\n")), **options)
    return found.scores.lengths.tolist(), found.readings


def of_evidence(folder: Path, named: tuple[tuple[str, str], ...] = ()) -> Found:
    """Marks of two texts by their ids; with ids and targets, the other way round."""
    rows = [{"id": f"{n}", "target": "x", "tokens": ["a", "b"], "scores": [n, 1]} for n in (1, 2)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    told = [{"id": one, "target": to} for one, to in named] or [{"id": "1"}, {"id": "2"}]
    lines = "".join(json.dumps(row | {"marks": [n, 1]}) + "\n" for n, row in enumerate(told))
    found = read_attributions(at(folder, ("a.jsonl", text)), at(folder, ("e.jsonl", lines)))
    assert found.evidence is not None
    return found.evidence.marks.values.tolist(), found.readings


def of_positions(folder: Path, second: str = "next") -> Found:
    rows = f"ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n1,1,9,1,4019\n2,1,9,{second},4280\n"
    at(folder, ("DIAGNOSES_ICD.csv", rows))
    return of_labels(folder, "icd9cm")(folder)


def of_totals(folder: Path, end: str = "Grand Total,\n", **options: Any) -> Found:
    return of_labels(("t.csv", f"id,label\na,dog\nb,cat\n{end}"))(folder, **options)


def of_titles(folder: Path, first: str = "Report of 2024,,") -> Found:
    text = f"{first}\nmade on Friday,,\n,,\nid,label,site\na,dog,x\nb,cat,y\nc,dog,x\n"
    return of_labels(("t.csv", text))(folder)


def of_bytes(folder: Path, meant: str = "", end: str = "\ncat is all\nby me\n") -> Found:
    content = f"id,label\n\xe9,dog\nb,dog\n{end}".encode("cp1252")
    (folder / "t.csv").write_bytes(content.decode(meant).encode() if meant else content)
    dataset = audit.load_labels(folder / "t.csv", TREE)
    return dataset.instances["instance"].to_list(), dataset.readings


def of_dump(folder: Path, table: str = "") -> Found:
    rows = {"one": "'a', 'dog'", "two": "'b', 'x'"}
    kept = {name: own for name, own in rows.items() if table in name}
    text = "".join(f"INSERT INTO {name} (id, label) VALUES ({own});" for name, own in kept.items())
    return of_labels(("t.sql", f"-- dump\n{text}\n"))(folder)


def of_boxes(folder: Path, again: bool = True) -> Found:
    scores = [[{"label": one, "score": 0.9}] + again * [{"label": one, "score": 0.8}]
              for one in CLASSES]  # fmt: skip
    scores[0].append({"label": CLASSES[1], "score": 0.7 - 0.2 * again})
    return of_scores(("p.json", json.dumps(scores)), by_order=True)(folder)


def of_media(folder: Path, table: bool = False) -> Found:
    for kind in ("dog", "cat"):
        (folder / "m" / kind).mkdir(parents=True, exist_ok=True)
        (folder / "m" / kind / "a.jpg").write_bytes(b"x")
    return of_labels(("t.csv", "id,label\na,dog\n") if table else folder / "m")(folder)


def of_lines(folder: Path, header: str = "") -> Found:
    rows = ["a dog 1", "b cat 1", "c dog 1"]
    text = header.replace(" ", ",") + "\n".join(rows).replace(" ", "," if header else " ")
    return of_labels((f"t{len(header)}.txt", f"{text}\n"))(folder)


def of_object(folder: Path, lines: bool = False) -> Found:
    held = {"labels_of": ["dog"], "b": ["cat"], "c": ["dog", "cat"]}
    if lines:
        return of_labels(("t.jsonl", json.dumps({"id": 1, **held}) + "\n"))(folder, label="b")
    return of_labels(("t.json", json.dumps(held)))(folder)


def of_headless(folder: Path, header: str = "") -> Found:
    dataset = audit.load_labels(at(folder, ("t.csv", f"{header}a,dog\nb,cat\nc,dog\n")), TREE)
    return (dataset.ledger, dataset.format if header else ""), dataset.readings


def of_instances(data: dict[str, Any]) -> Read:
    def read(_: Path, **options: Any) -> Found:
        dataset = audit.load_labels(pl.DataFrame(data), TREE, **options)
        return dataset.instances.rows(), dataset.readings

    return read


FLAGS = {"id": ABCD, "born": [*"1999"], "dog": [0, 1, 0, 1], "cat": [1, 0, 0, 1]}


IN_A_ROW = "id,label,who\na,dog,x\na,cat,x\nb,cat,y\n"
COMES_BACK = "id,label,who\na,dog,x\nb,cat,y\na,cat,x\n"


def of_many_rows(data: str, **always: Any) -> Read:
    """An audit of a file whose rows are many: what each check came to."""

    def read(folder: Path, data: str = data, **options: Any) -> Found:
        tree = at(folder, ("tree.csv", "child,parent\ndog,animal\ncat,animal\n"))
        named = {"dataset": at(folder, ("rows.csv", data)), "hierarchy": tree}
        with patch("audit.runs.settings.MANY_ROWS", 3):
            found = audited(Settings(**{**named, **always, **options}), None).result
        return [one.status for one in found.checks], [Reading(**one) for one in found.readings]

    return read


VERSIONS = pl.DataFrame({"id": [*"aab"], "label": ["I10", "V700", "4019"]})


def of_counts(folder: Path, engine: str = "stream", codes: str | tuple[str, ...] = ()) -> Found:
    if engine == "memory":
        found = audit.load_labels(VERSIONS, "icd9cm", format="long")
        return found.ledger.refused, found.readings
    known = with_codes(audit.load_hierarchy("icd9cm"), codes)
    counted = count_pairs(VERSIONS, known, instance="id", label="label")
    if codes:
        written = audit.load_labels(VERSIONS, "icd9cm", format="long", codes=codes)
        assert written.ledger.refused == counted.ledger.refused
    return counted.ledger.refused, counted.readings


def of_header(folder: Path, named: int = 0) -> Found:
    noted, mark = "# of 2024\n# {}id,label\n{}a,dog\nb,cat\n", "#\n" if named == 2 else ""
    text = noted.format("", mark).replace("# id", "id" if named == 1 else "# id")
    return source_of(at(folder, ("rows.csv", text))).table().rows(named=True), ()


def of_policy(folder: Path, base: str | None = None, dot: str = ".") -> Found:
    edges = f"child,parent\nh,all\n401{dot}0,h\n401{dot}1,h\n401{dot}9,all\n"
    hierarchy = audit.load_hierarchy(at(folder, ("h.csv", edges)))
    policy = policy_for(hierarchy, Policy.model_validate({"base": base}))
    support = hierarchy.leaf.astype(np.int64)
    return policy.exclusive, tuple(policy_readings(hierarchy, policy, support))


def of_based(folder: Path, base: str | None = "icd9cm") -> Found:
    return of_policy(folder, base)


def of_undotted(folder: Path, base: str | None = "icd9cm") -> Found:
    return of_policy(folder, base, dot="")


def of_files(*files: tuple[str, str]) -> Read:
    def read(folder: Path, **options: Any) -> Found:
        (folder / "in").mkdir(exist_ok=True)
        for file in files:
            at(folder / "in", file)
        return of_labels(folder / "in")(folder, **options)

    return read


def of_meds(folder: Path, **options: Any) -> Found:
    for name in ("data", "metadata"):
        (folder / "m" / name).mkdir(parents=True, exist_ok=True)
    rows = {
        "subject_id": [1, 2],
        "time": [None, None],
        "code": ["x/dog", "y/cat"],
        "visit_id": [*"ab"],
    }
    shard = pl.DataFrame(rows, schema_overrides={"time": pl.Datetime})
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


def system_of(content: str, *codes: str) -> Read:
    held = {"resourceType": "CodeSystem", "content": content}
    entries = [{"code": one} for one in codes]
    return of_hierarchy("cs.json", json.dumps({**held, "concept": entries}))


UPWARD = "kode,oben,group\na1,,x\nb1,a1,x\nc1,a1,y\nd1,b1,y\n"
RELATED = """active,sourceId,destinationId,typeId
1,dog,animal,is a
1,cat,animal,is a
0,dog,plant,is a
1,dog,tail,part_of
"""


def of_renamed(folder: Path, name: str = "active") -> Found:
    return of_hierarchy("h.csv", RELATED.replace("active", name))(folder)


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
NEAR_ONE = {"id": ABCD, "dog": [0.6] * 4, "cat": [0.2] * 4, "oak": [0.1, 0.3] * 2}
NUMBERS = {"id": range(59), "label": [*map(str, range(1, 60))], "dx": ["401.9"] * 59}
RESULTS = {"id": ABCD, "y_pred": CLASSES[::-1], **{f"p_{one}": [0.25] * 4 for one in CLASSES}}
IMAGES = {"id": [*"0123"], "image": ["20", "10", "30", "40"], "label": CLASSES}
SCORES = np.eye(4)[::-1] * 0.6 + 0.1
FEW = {"rater": ["a", "b"] * 60, "scan": [str(row // 2) for row in range(120)],
       "label": ["dog", "cat"] * 60}  # fmt: skip
FAMILIES = {"id": ABCD, "a1": CLASSES, "a2": CLASSES, "b1": CLASSES[::-1], "b2": CLASSES[::-1]}
CELLS = {"id": ABCD, "label": ["dog;cat", "cat", "oak", "rose"]}
FLAGGED = {"id": [*"aabb"], "label": ["dog", "cat"] * 2, "main": ["1", "0"] * 2}
VERSION = {"id": ABCD, "label": ["401.9", "I10"] * 2, "Version": ["9", "10"] * 2}
PROCEDURES = ("3961", "3722", "8052", "9671", "0066", "8856")
OPERATED = {"id": range(4), "DX1": ["4019", "25000"] * 2, "PR1": ["4019", "9671", "0066", "9671"]}
DIAGNOSES = ("4019", "25000", "4280", "42731", "5849", "0389")
ALIKE = "name,supercategory\njoy,joy\nlove,joy\nanger,anger\nannoyance,anger\n"
ZEROS = dict.fromkeys(["0389", "0088", "0311", "311", "x"], "top")
NAMED = {"id": ABCD, "label": ["A dog", "a DOG", "'An oak'", "1"]}
TITLES = pl.DataFrame({"id": [*"123"], "parent": ["", "1", "1"],
                       "title": ["All", "A dog", "An oak"]})  # fmt: skip
PLACES = "l1,l2\na,x\na,other\nb,other\n"

VERIFIED = {"ImageID": ABCD, "LabelName": CLASSES, "Confidence": ["0", ".5", "1", "1"]}
CANCELLED = json.dumps([
    {"id": n, "annotations": [{"id": n, "was_cancelled": n < 2, "result": [
        {"type": "choices", "value": {"choices": [CLASSES[n]]}}]}]} for n in range(4)
]).replace("true", "false", 1)  # fmt: skip
CLASSED = f"@prefix : <http://a/> . @prefix owl: <{OWL}> . :a a owl:Class . :b a owl:Class ."
SPOKEN = (f"@prefix : <http://a/> . @prefix s: <{SKOS}> . :K a <{OWL.Class}> . :b s:broader :a ; "
          "s:prefLabel 'dog'@en, 'Hund'@de .")  # fmt: skip

FOUND = {"key": ABCD, "thing": CLASSES, "other": [*"dcab"]}
PERSONS = {"visit_id": [*"abcd"] * 9, "patient_id": [*"1122"] * 9, "ward": [*"xxyz"] * 9,
           "thing": CLASSES * 9}  # fmt: skip

LOOSE = ("c.ndjson", coded(("Condition", "s", "dog", "1"), ("Condition", "s", "cat", "")))
SYSTEMS = ("c.ndjson", coded(("Condition", "s", "dog", "1"), ("Condition", "t", "cat", "2")))
KINDS = ("c.ndjson", coded(("Condition", "s", "dog", "1"), ("Procedure", "s", "cat", "2")))
OCCURRENCES = (
    "condition_occurrence.csv",
    "person_id,condition_start_date,visit_occurrence_id,"
    "condition_concept_id,condition_source_concept_id,condition_source_value,"
    "condition_type_concept_id\n1,2020-01-01,7,1,0,x,0\n1,2020-01-01,,2,0,x,0\n",
)
ENTRIES = ("concept.csv", "concept_id,concept_code,vocabulary_id,valid_start_date,valid_end_date\n"
           "1,dog,V,20000101,20991231\n2,cat,V,20000101,20991231\n")  # fmt: skip

TOLD = [
    Told("runs.engines.as_counted", "in batches", "--engine memory",
         of_many_rows(IN_A_ROW), {"engine": "memory"}),
    Told("runs.engines.as_counted", "in memory", "leave these out",
         of_many_rows(IN_A_ROW, group="who"), {"group": None}),
    Told("runs.engines.as_counted", "in memory", "--engine stream says what batches require",
         of_many_rows(COMES_BACK), {"data": IN_A_ROW}),
    Told("data.sources.events.Events", "Condition and Procedure", "--where 'resource!=Condition'",
         of_files(KINDS), {"where": ["resource!=Condition"]}),
    Told("data.sources.fhir.Fhir", "on one day", "--id encounter",
         of_files(LOOSE), {"id": "encounter"}),
    Told("data.sources.omop.Omop", "on one day", "--id visit_occurrence_id",
         of_files(OCCURRENCES, ENTRIES), {"id": "visit_occurrence_id"}),
    Told("data.sources.meds.Meds", "other codes", "--codes '*'", of_meds, {"codes": "*"}),
    Told("hierarchies.formats.omop._of_tables", "other vocabularies", "another --vocabulary",
         of_first_vocabulary, {"vocabulary": "B"}),
    Told("hierarchies.formats.clinical._read_code_system", "not complete",
         "the complete code system",
         of_either(lambda codes: system_of(*codes), ("fragment", "a"), ("complete", "a", "b")),
         {"otherwise": True}),
    Told("data.found_columns._told", "holds the labels", "--label COLUMN",
         of_labels({**FOUND, "title": [*"wxyz"]}), {"label": "title"}),
    Told("data.found_columns._told", "'kind' are left out", "--label kind,thing",
         of_labels({"visit_id": ABCD, "kind": [*TREE.values()], "thing": CLASSES}),
         {"label": "kind,thing"}),
    Told("data.found_columns._told", "is the id", "--id COLUMN",
         of_labels(FOUND), {"id": "other"}),
    Told("data.found_columns._told", "is the group", "--group COLUMN",
         of_labels(PERSONS), {"group": "ward"}),
    Told("base.text_tables.told_of_titles", "row 4", "write a name for each column into row 1",
         of_titles, {"first": "id,label,site"}),
    Told("data.records.id_of_rows", "numbered", "--id COLUMN",
         of_labels({"site": [*"aabb"], "labels": CELLS["label"]}), {"id": "site"}),
    Told("data.unnamed_columns.few_ids", "2 instances", "--id COLUMN",
         of_labels(FEW, id="rater"), {"id": "scan"}),
    Told("data.unnamed_columns.with_rules", "version", "--version-column COLUMN",
         of_labels(VERSION | {"of": ["9"] * 4}, "icd9cm"), {"version_column": "of"}),
    Told("data.unnamed_columns._told", "whatever", "--where 'main!=0'",
         of_labels(FLAGGED), {"where": ["main!=0"]}),
    Told("data.label_formats.several.named_procedures", "hold procedures",
         "--codes 'PR1=as-written'",
         of_labels(OPERATED, "icd9cm", label="DX1,PR1"), {"codes": "PR1=as-written"}),
    Told("data.label_formats.several._left_out", "left out: b#", "--label 'a#,b#'",
         of_labels(FAMILIES, label="a#"), {"label": "a#,b#"}),
    Told("base.plain_copies._told", "Windows-1252", "iconv -f ENCODING -t utf-8",
         of_bytes, {"meant": "koi8-r"}),
    Told("base.plain_copies._told", "no rows", "give them as many fields as rows have",
         of_bytes, {"end": "cat is all,\nby me,\n"}),
    Told("base.plain_copies._told", "no rows", "move them above other rows",
         of_either(of_labels, ("a.csv", "id,label\na,dog\nb,cat\nc,oak\nTotal,3\n"),
                   ("a.csv", "id,label\na,dog\nTotal,3\nb,cat\nc,oak\n")), {"otherwise": True}),
    Told("data.sources.tables.TableFile", "'one'", "save another one by itself",
         of_dump, {"table": "two"}),
    Told("data.sources.table_forms._qrels", "an id and a label", "write a header",
         of_lines, {"header": "label id n\n"}),
    Told("data.sources.table_forms._judged", "without relevance", "write another number",
         of_either(of_labels, ("a.qrels", "dog 0 a 1\ncat 0 b 0\n"),
                   ("a.qrels", "dog 0 a 1\ncat 0 b 1\n")), {"otherwise": True}),
    Told("data.sources.documents.document", "keys of the object", "write a JSON line for each",
         of_object, {"lines": True}),
    Told("data.label_formats.wide._told_of_names", "nodes in their names", "name them otherwise",
         of_either(of_labels, ("w.csv", "id,is_dog,is_cat,is_oak\n1,1,0,0\n2,0,1,0\n"),
                   ("w.csv", "id,dog,cat,b\n1,0,0,1\n2,0,1,0\n")), {"otherwise": True}),
    Told("data.joining._bared", "without folders", "--by-order",
         of_scores({"id": [f"{one}.png" for one in "dcba"], "prediction": CLASSES}),
         {"by_order": True}),
    Told("data.unnamed_columns._system", "'system' is 'x'", "--where 'system=*'",
         of_labels({"id": ABCD, "label": ["dog", "cat", "7", "8"], "system": [*"xxyy"]}),
         {"where": ["system=*"]}),
    Told("data.sources.source.Source", "names no columns", "write a name for each column above it",
         of_headless, {"header": "id,label\n"}),
    Told("data.label_formats.wide.read", "left out: 'born'", "--strata born",
         of_instances(FLAGS), {"strata": ["born"]}),
    Told("data.unnamed_columns.with_unread", "unread: 'site'", "--strata site",
         of_instances({**LABELLED, "site": [*"xxyy"]}), {"strata": ["site"]}),
    Told("data.label_formats.tables.told_of_parts", "joined by ';'", "--format long",
         of_labels(CELLS), {"format": "long"}),
    Told("data.label_formats.jsonl._labels_key", "'kinds'", "--label KEY",
         of_labels(("a.jsonl", '{"id": 1, "kinds": ["dog"], "more": ["of"]}')), {"label": "more"}),
    Told("data.label_formats.jsonl._chosen", "hold spans", "--label KEY",
         of_labels(("a.jsonl", '{"id": 1, "label": [[0, 3, "dog"]], "more": ["of"]}')),
         {"label": "more"}),
    Told("data.mapping._titled", "by the ends of their addresses", "--codes as-written",
         of_labels({"id": ABCD, "label": ["49", "50", "50", "51"]},
                   {"CCS 49": "CCS", "CCS 50": "CCS", "CCS 51": "CCS"}),
         {"codes": "as-written"}),
    Told("data.mapping._titled", "are titles of nodes", "--codes as-written",
         of_labels(NAMED, TITLES), {"codes": "as-written"}),
    Told("data.mapping._titled", "without their dots", "--codes as-written",
         of_labels({"id": ABCD, "label": ["C504", "C509", "C349", "C341"]},
                   {"C50.4": "C50", "C50.9": "C50", "C34.9": "C34", "C34.1": "C34"}),
         {"codes": "as-written"}),
    Told("data.mapping._titled", "marks around titles", "--strip PATTERN",
         of_labels(NAMED, TITLES), {"strip": ["zzz"]}),
    Told("data.label_formats.mimic._without_order", "order", "whole numbers in SEQ_NUM",
         of_positions, {"second": "2"}),
    Told("data.code_sets._told", "without dots", "--codes diagnoses",
         of_codes(*PROCEDURES), {"codes": "diagnoses"}),
    Told("data.code_sets._told", "may be two codes", "--codes diagnoses",
         of_codes(*DIAGNOSES, *PROCEDURES, "9904", "9604", "45", "V5867"), {"codes": "diagnoses"}),
    Told("data.code_sets._told_of_zeros", "lost zeros", "--codes as-written",
         of_labels({"id": ABCD, "label": ["389", "88", "x", "x"]}, ZEROS), {"codes": "as-written"}),
    Told("data.code_sets._told_of_zeros", "not changed", "--codes with-zeros",
         of_labels({"id": ABCD, "label": ["389", "311", *"xx"]}, ZEROS), {"codes": "with-zeros"}),
    Told("data.code_sets._told_of_zeros", "are refused", "--codes with-zeros",
         of_labels({"id": ABCD, "label": ["0389", "88", *"xx"]}, ZEROS), {"codes": "with-zeros"}),
    Told("data.code_sets.with_versions", "two versions", "--codes as-written",
         of_labels(VERSIONS, "icd9cm", format="long"), {"codes": "as-written"}),
    Told("hierarchies.label_words.read_words", "no code", "--missing WORD",
         of_labels({"id": ABCD, "label": ["dog", "cat", "oak", "n/a"]}), {"missing": ["zzz"]}),
    Told("hierarchies.label_words.read_words", "marks", "--strip PATTERN",
         of_labels({"id": ABCD, "label": ["dog", "cat", "oak", "'rose'"]}), {"strip": ["zzz"]}),
    Told("hierarchies.label_words.read_words", "around labels", "--strip PATTERN",
         of_labels({"id": ABCD, "label": [f"x:{one}" for one in CLASSES]}), {"strip": ["zzz"]}),
    Told("hierarchies.label_words.read_words", "'X' before digits", "--strip PATTERN",
         of_labels({"id": ABCD, "label": ["X01", "X02", "a", "b"]},
                   dict.fromkeys(["01", "02", "a", "b"], "top")), {"strip": ["zzz"]}),
    Told("hierarchies.label_words._letters_told", "a letter more", "--strip '/(?<=[0-9])[AD]$/'",
         of_labels({"id": ABCD, "label": ["n1", "n1A", "n2D", "n2"]}, {"n1": "n", "n2": "n"}),
         {"strip": ["/(?<=[0-9])[AD]$/"]}),
    Told("hierarchies.label_words.read_words", "are refused", "--strip x:",
         of_labels({"id": ABCD, "label": ["x:dog", "x:cat", "oak", "rose"]}), {"strip": ["x:"]}),
    Told("data.predictions._named_by_labels", "numbers of classes", "--classes FILE",
         of_parquet, {"classes": CLASSES[::-1]}),
    Told("data.joining.joined", "same order", "--id",
         of_scores(SCORES, IMAGES, classes=CLASSES), {"id": "image"}),
    Told("data.prediction_format._by_length", "'names' holds the classes",
         "call the array of the classes 'classes'",
         of_either(of_archive, {"names": [*CLASSES, "elm"], "ids": [*"abcd"]},
                   {"names": [*CLASSES, "elm"], "classes": ["elm", *CLASSES[::-1]],
                    "ids": [*"abcd"]}),
         {"otherwise": True}),
    Told("data.prediction_format._by_length", "'files' holds the ids",
         "call the array of the ids 'ids'",
         of_either(of_archive, {"files": [*"bcda"]}, {"files": [*"bcda"], "ids": [*"dcba"]}),
         {"otherwise": True}),
    Told("data.joining._partly", "same id", "--by-order",
         of_scores({**OPEN, "id": [*"abcx"]}), {"by_order": True}),
    Told("data.prediction_formats.scores_wide._told", "'y_pred' is left out",
         "--predictions-format answers", of_scores(RESULTS), {"format": "answers"}),
    Told("data.scores._one_answer", "one answer", "--multi-label",
         of_scores(ROUNDED), {"single_label": False}),
    Told("data.scores._one_answer", "cut off", "--multi-label",
         of_scores(SURE), {"single_label": False}),
    Told("data.scores.answered", "none of the nodes", "--multi-label",
         of_scores(BESIDE), {"single_label": False}),
    Told("data.scores.answered", "decision threshold", "--single-label",
         of_scores(OPEN), {"single_label": True}),
    Told("data.scores.as_scores", "shares of one answer", "--sigmoid",
         of_scores(9 * SCORES, {"id": [*"aabcd"], "label": [CLASSES[1], *CLASSES]},
                   classes=CLASSES, transform="softmax", by_order=True),
         {"transform": "sigmoid"}),
    Told("data.scores.as_scores", "per cent", "--softmax",
         of_scores(100 * SCORES, CLASSES, classes=CLASSES), {"transform": "softmax"}),
    Told("entailment.answer_columns.by_number", "number 0", "--numbered-from 1",
         of_numbered_tuples, {"numbered_from": 1}),
    Told("entailment.reading._readings", "entails", "--classes FILE",
         of_premises, {"classes": ["entailment", "not_entailment"]}),
    Told("explanations.reading.reading._readings", "'<go>'", "--special-tokens all",
         of_attributions, {"special": "all"}),
    Told("explanations.reading.reading._of_texts", "each label of its text", "a column target",
         of_evidence, {"named": (("2", "x"), ("1", "x"))}),
    Told("hierarchies.building.graph_tables", "part_of", "relations=('part_of',)",
         of_graph, {"relations": ("part_of",)}),
    Told("hierarchies.formats.paths.read", "'/' joins", "--hierarchy-format dotted",
         of_hierarchy("h.txt", "/a/b/d\n/a/c\n"), {"format": "dotted"}),
    Told("hierarchies.formats.edges._told", "without a row", "leave them blank",
         of_either(lambda up: of_hierarchy("h.csv", f"id,parent,title\na,,A\nb,a,B\nc,{up},C\n"),
                   "x", ""), {"otherwise": True}),
    Told("hierarchies.formats.edges._edges_of", "other than is_a", "--relations part_of",
         of_hierarchy("h.csv", RELATED), {"relations": ("part_of",)}),
    Told("hierarchies.formats.edges._edges_of", "inactive", "rename 'active'",
         of_renamed, {"name": "was"}),
    Told("hierarchies.formats.edges._synonyms", "synonyms", "rename 'acceptedID'",
         of_either(lambda name: of_hierarchy("h.csv", f"id,parent,{name}\na,,\nb,a,\nc,a,b\n"),
                   "acceptedID", "other"), {"otherwise": True}),
    Told("hierarchies.formats.paths._read_implied", "further rows of a code",
         "put the row that is meant before the others",
         of_either(lambda rows: of_hierarchy("h.csv", f"code,kind,title\nA1,x,One\n{rows}"),
                   "A10,x,Two\nA10,y,Too\nA11,x,Three\n", "A10,y,Too\nA10,x,Two\nA11,x,Three\n"),
         {"otherwise": True}),
    Told("hierarchies.formats.edges._below_ways", "ways from the top", "--hierarchy-parent COL",
         of_hierarchy("h.csv", "id,of,in\na,x;y,x\nb,x;z,x\nc,x;y,z\n", child="id", parent="of"),
         {"parent": "in"}),
    Told("hierarchies.formats.tables.through_numbers", "'code'", "--hierarchy-child node_id",
         of_hierarchy("h.csv", "code,node_id,parent_id\na,1,\nb,2,1\nc,3,1\n"),
         {"child": "node_id"}),
    Told("hierarchies.formats.tables.roles_of", "'2' says", "--hierarchy-child 3 "
         "--hierarchy-parent 1", of_hierarchy("h.csv", "a,is_a,b\nc,is_a,b\n"),
         {"child": "3", "parent": "1"}),
    Told("hierarchies.formats.tables.roles_of", "holds the parents", "--hierarchy-parent COL",
         of_hierarchy("h.csv", UPWARD), {"parent": "group"}),
    Told("hierarchies.formats.paths._read_implied", "lower 'level'",
         "--hierarchy-format prefixes",
         of_hierarchy("h.csv", "id,level\nA1,0\nA12,1\nA13,2\nA2,0\nA21,1\n"),
         {"format": "prefixes"}),
    Told("hierarchies.formats.paths._read_implied", "longest", "--hierarchy-parent COL",
         of_hierarchy("h.csv", "id,group\nA1,x\nA12,x\nA13,y\nA2,x\nA21,z\n"),
         {"parent": "group"}),
    Told("hierarchies.formats.paths.of_levels", "are levels", "--hierarchy-levels COL",
         of_hierarchy("h.csv", PLACES), {"levels": ("l2",)}),
    *(Told("hierarchies.formats.paths._of_blanks", word, "--hierarchy-levels COL",
           of_hierarchy("h.csv", f"l1,l2,l3\na,a1,x\n{rows}", levels=("l1", "l2", "l3")),
           {"levels": ("l3",)})
      for word, rows in (("as above", ",,y\nb,b1,z\n"), ("begin at", "a,a1,y\n,a1,z\n"),
                         ("between others", "a,,y\n"))),
    Told("hierarchies.formats.names.languages_told", "in 'en'",
         "write titles of one language",
         of_either(lambda name: of_hierarchy("h.json", f'[{{"id": "a", "name": {name}}}]'),
                   '{"en": "A", "de": "E"}', '{"de": "E"}'), {"otherwise": True}),
    Told("hierarchies.formats.paths._of_paths", "joins", "--hierarchy-levels COL",
         of_hierarchy("h.csv", "id,path\n1,a\n2,a > b\n3,a > c\n"), {"levels": ("id",)}),
    Told("hierarchies.formats.names.named_by", "'name'", "--hierarchy-child id",
         of_hierarchy("h.csv", "id,name,parent\n1,a,\n2,b,a\n3,c,a\n"), {"child": "id"}),
    Told("hierarchies.formats.names.lower_end", "column 1",
         "--hierarchy-child 2 --hierarchy-parent 1",
         of_hierarchy("h.csv", "b,a\nc,a\nd,b\n"), {"child": "2", "parent": "1"}),
    Told("hierarchies.formats.names.lower_end", "values of 'finding'",
         "--hierarchy-child place --hierarchy-parent finding",
         of_hierarchy("h.csv", "finding,place\nb,a\nc,a\nd,b\n"),
         {"child": "place", "parent": "finding"}),
    *(Told(f"hierarchies.formats.{place}", word, WITH_IDS,
           of_either(lambda file: of_hierarchy(*file), (name, text), ("t.csv", table)),
           {"otherwise": True})
      for place, word, name, text, table in (
          ("tree._several", "one node", "h.json", '{"a": {"x": {}}, "b": {"x": {}}}',
           "child,parent,title\n1,a,x\n2,b,x\n"),
          ("format.hierarchy_of_records", "one node", "h.csv", ALIKE,
           "child,parent,title\n1,joy,joy\n2,joy,love\n3,anger,anger\n4,anger,annoyance\n"),
          ("format.hierarchy_of_paths", "several places", "h.csv", PLACES,
           "child,parent,title\n1,a,x\n2,a,other\n2,b,other\n"))),
    Told("data.label_formats.published._choose", "'NOT'", "--where 'negation=*'",
         of_labels({"db_object_id": ABCD, "negation": ["NOT", None, None, None],
                    "ontology_class_id": CLASSES}), {"where": ["negation=*"]}),
    Told("data.prediction_formats.scores_jsonl.read", "highest", "write one score for each label",
         of_boxes, {"again": False}),
    Told("data.sources.hub._of_media", "folders as labels", "write a table of id and label",
         of_media, {"table": True}),
    Told("data.label_formats.published._choose_open_images", "verified not",
         "--where 'Confidence=*'", of_labels(VERIFIED), {"where": ["Confidence=*"]}),
    Told("data.label_formats.published._choose_open_images", "count", "--where 'Confidence=1'",
         of_labels(VERIFIED), {"where": ["Confidence=1"]}),
    Told("data.sources.documents.label_studio", "cancelled", "set was_cancelled to false",
         of_either(lambda said: of_labels(("a.json", CANCELLED.replace("true", said))),
                   "true", "false"), {"otherwise": True}),
    Told("hierarchies.formats.rdf._ids", "ends of their IRIs", "--hierarchy-child iri",
         of_hierarchy("h.ttl", SPOKEN), {"child": "iri"}),
    Told("hierarchies.formats.rdf._titles", "'en'", "write titles of one language",
         of_either(lambda text: of_hierarchy("h.ttl", text), SPOKEN,
                   SPOKEN.replace("'dog'@en, ", "")), {"otherwise": True}),
    Told("hierarchies.formats.rdf._kind", "concepts of SKOS", "--hierarchy-format owl",
         of_hierarchy("h.ttl", SPOKEN), {"format": "owl"}),
    Told("hierarchies.formats.rdf.read", "one node", "remove owl:equivalentClass",
         of_either(lambda end: of_hierarchy("h.ttl", f"{CLASSED}{end}"),
                   " :a owl:equivalentClass :b .", ""), {"otherwise": True}),
    Told("hierarchies.applied_policy._proposed", "not judged",
         "--policy icd9cm", of_policy, {"base": "icd9cm"}),
    Told("hierarchies.applied_policy.policy_readings", "not applied",
         "--policy FILE", of_based, {"base": None}),
    Told("hierarchies.applied_policy.policy_readings", "without their dots",
         "--policy FILE", of_undotted, {"base": None}),
    Told("runs.audit._readings", "is used", "leave --plugin out", of_plugin, {"plugins": ()}),
]  # fmt: skip

Asked = tuple[str, Read, list[tuple[str, dict[str, Any]]]]
ASKED: list[Asked] = [
    ("data.sources.events.which", of_files(SYSTEMS),
     [(f"--system {one}", {"vocabulary": one}) for one in "st"]),
    ("hierarchies.formats.omop._vocabulary", of_vocabulary,
     [(f"--vocabulary {one}", {"vocabulary": one}) for one in "AB"]),
    ("data.unnamed_columns._told",
     of_labels({**{k: FLAGGED[k] for k in ("id", "label")}, "negated": ["0", "1"] * 2}),
     [("--where 'negated!=1'", {"where": ["negated!=1"]}),
      ("--where 'negated=*'", {"where": ["negated=*"]})]),
    ("data.unnamed_columns.refuse_totals", of_totals,
     [("remove the last line", {"end": ""}),
      ("--id id --where 'id=*'", {"id": "id", "where": ["id=*"]})]),
    ("data.code_sets._refuse_unclear", of_codes("4019"),
     [(f"--codes {one}", {"codes": one}) for one in ("diagnoses", "procedures")]),
    ("data.code_sets._refuse_unclear",
     of_labels(NUMBERS, "icd9cm"),
     [("--codes as-written", {"codes": "as-written"}), ("--label COLUMN", {"label": "dx"})]),
    ("data.code_sets.refuse_both_versions", of_counts,
     [("--engine memory", {"engine": "memory"}),
      ("--codes as-written", {"codes": "as-written"})]),
    ("data.scores._coarse", of_scores(NEAR_ONE),
     [("--single-label", {"single_label": True}), ("--multi-label", {"single_label": False})]),
    ("hierarchies.formats.names.lower_end", of_hierarchy("h.csv", "a,b\nb,c\n"),
     [("--hierarchy-child 1 --hierarchy-parent 2", {"child": "1", "parent": "2"}),
      ("--hierarchy-child 2 --hierarchy-parent 1", {"child": "2", "parent": "1"})]),
    ("hierarchies.formats.rdf._kind",
     of_hierarchy("h.ttl", f"{SPOKEN} :K <{RDFS.subClassOf}> :L ."),
     [(f"--hierarchy-format {one}", {"format": one}) for one in ("skos", "owl")]),
    ("base.text_tables._unclear", of_header,
     [("take '#' off line 2", {"named": 1}), ("write a line of '#' alone", {"named": 2})]),
]  # fmt: skip


def followed(read: Read, folder: Path, option: dict[str, Any]) -> Found:
    """What is read with an option; where that asks, the kind of its error."""
    try:
        return read(folder, **option)
    except AskedError as error:
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
    assert [typed for typed, _ in options if typed not in caught.value.hint] == []
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

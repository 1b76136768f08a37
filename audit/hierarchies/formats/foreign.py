"""Files of hierarchies that are not read here, and what converts them."""

from __future__ import annotations

import re
from pathlib import Path

from audit.base.errors import FormatError
from audit.hierarchies.formats.format import bare_suffix, head_text

_EDGES = "write a line child,parent for each"
_FOREIGN = (
    ((".ttl", ".n3", ".nt", ".trig"), r"\s*@?(prefix|base)\s", "RDF in Turtle, such as SKOS",
     f"rdflib reads it in Python: {_EDGES} skos:broader or rdfs:subClassOf"),
    ((".owl", ".rdf", ".ofn", ".omn"), r"[^{\[]*(<rdf:RDF|<owl:|<Ontology|Ontology\()|Prefix\(",
     "an ontology in OWL or RDF/XML",
     "ROBOT converts it: robot convert --input FILE --output h.obo"),
    ((".yaml", ".yml"), r"---\s", "YAML",
     "PyYAML converts it: python -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), "
     "sys.stdout)' < FILE > h.json"),
    ((".graphml", ".gml", ".gexf", ".dot", ".gv"), r"(di)?graph\s*[\w\"]*\s*[{\[]", "a graph",
     "networkx reads it: audit.load_hierarchy(networkx.read_graphml(FILE)), edges to the parent"),
    ((".nwk", ".newick", ".nex", ".tree", ".tre"), r"\(.*\)[^()]*;\s*$", "a tree in Newick",
     f"Bio.Phylo reads it in Python: {_EDGES} clade"),
    ((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), r"PK\x03\x04", "a workbook or another archive",
     "save the sheet as CSV, or unpack the archive"),
    ((), r"parent:\s*\S+\s+child:", "lines of 'parent: X child: Y', as of RCV1",
     """awk 'BEGIN {print "child,parent"} $2 != "None" {print $4 "," $2}' FILE > h.csv"""),
    ((), r"[^\n,;\t]+\n([^\n,;\t]*\n)?[^\n,;\t]*( > |/|\|)", "one column of paths",
     "leave its header out and call the file .txt: each line is a path then"),
    ((), r"[^\n]+\n(\t+| {2,})[^\n]*\S", "an indented list",
     "write each line as a path: Animals > Dogs"),
    ((".xml",), r"<", "XML", f"read it in Python, and {_EDGES} node, or convert it to JSON"),
)  # fmt: skip


def refuse_foreign(path: Path, head: bytes) -> None:
    """Raise FormatError on a file of a kind that is not read, with what converts it."""
    text = head_text(head)
    named = [one for one in _FOREIGN if bare_suffix(path) in one[0]]
    looks = [one for one in _FOREIGN if re.match(one[1], text)]
    for _, _, kind, way in (*named, *looks):
        raise FormatError(
            "a hierarchy in a format that is read here is required",
            found=kind, where=path, hint=way.replace("FILE", path.name),
        )  # fmt: skip

"""Files that are not read, named by their first bytes, with what reads or converts them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from audit.base.errors import FormatError


@dataclass(frozen=True)
class Kind:
    """A kind of files that is not read.

    Args:
        name: What the file is.
        begins: How its first bytes begin, after a byte order mark and blanks.
        way: What reads or converts it, with FILE for its name.
        suffixes: What its name may end in where its first bytes do not say it.
        but: What its name ends in where it is read after all.
        always: Whether nothing that is read begins so; else a file is of this kind only where no
            format matches it.
        of_hierarchies: Whether it is looked for only in place of a hierarchy.
    """

    name: str
    begins: bytes
    way: str
    suffixes: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    always: bool = True
    of_hierarchies: bool = False


def _python(code: str) -> str:
    return f'python -c "{code}"'


def _polars(reader: str) -> str:
    made = _python(f"import polars; polars.{reader}('FILE').write_parquet('FILE.parquet')")
    return f"{made} makes Parquet of it"


def _pandas(reader: str, extra: str = "") -> str:
    made = _python(f"import pandas; pandas.{reader}('FILE').to_csv('FILE.csv', index=False)")
    return f"{made} makes CSV of it{extra}"


def _xml(code: str, to: str) -> str:
    made = _python(f"import xml.etree.ElementTree as t; {code}")
    return f"{made} > {to}"


_TREE = (
    "print('child,parent'); [print(c.get('code'), s.get('code'), sep=',') "
    "for c in t.parse('FILE').iter('Class') for s in c.iter('SuperClass')]"
)
_BOXES = (
    "print('id,label'); r = t.parse('FILE').getroot(); "
    "[print(r.findtext('filename'), o.findtext('name'), sep=',') for o in r.iter('object')]"
)
_MATLAB = _python(
    "import numpy, scipy.io; numpy.savez('FILE.npz', "
    "**{k: v for k, v in scipy.io.loadmat('FILE').items() if k[0] != '_'})"
)
_LINE = "write a line child,parent for each"
_ROBOT = "ROBOT makes OBO of it: robot convert --input FILE --output h.obo"
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Endings of the names of workbooks."""
_ARCHIVED = (*SHEETS, ".npz", ".pt", ".pth", ".bin", ".pkl", ".pickle", ".joblib", ".ckpt")
_ZIP = rb"PK(\x03\x04|\x05\x06)"
_OFFICE = _ZIP + rb".{0,4000}(?:\]\.xml|rels|docProps).{0,60000}?"
_HTML = rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html\b)"

_TAGGED = (
    r"""awk 'BEGIN {print "id\tlabel"} /^PMID-/ {id = substr($0, 7)} /^MH  -/ """
    r"""{m = substr($0, 7); sub(/\/.*/, "", m); gsub(/[*\r]/, "", m); print id "\t" m}' """
    r"""FILE > FILE.tsv"""
)
_SPECIES = _python(
    "import json; [print(json.dumps({'id': p['filepath'], 'scores': {c.split(';')[-1]: s for c, s "
    "in zip(*map(p['classifications'].get, ('classes', 'scores')))}})) for p in "
    "json.load(open('FILE'))['predictions'] if 'classifications' in p]"
)
_BATCH = _python(
    "import json; [print(json.dumps({'id': r['custom_id'], 'prediction': "
    "r['response']['body']['choices'][0]['message']['content']})) for r in "
    "map(json.loads, open('FILE')) if not r.get('error')]"
)

_RECIPE = "the page of recipes in the documentation makes a table of edges of it"
_HEADER = rb"(?i)(?![^\n]*\bparent)(?:[^\n]*\n)??(?![^\n]*\bparent)"
"""Where the names of columns stand, of which none is that of parents, perhaps below a note."""

_CLASSES = r"""sed -nE 's/^@attribute +[^ ]+ +hierarchical +//Ip' FILE | tr ',' '\n'"""
_BLANK = r"""sed -E '/^#/d; s/ +/\t/' FILE | sed '1i code\ttitle' > FILE.tsv"""

KINDS: tuple[Kind, ...] = (
    Kind("tagged records, as PubMed exports them", rb"PMID- ?\d",
         f"{_TAGGED} makes a table of their headings of MeSH"),
    Kind("predictions of SpeciesNet", rb'\{\s*"predictions":\s*\[\s*\{\s*"filepath"',
         f"{_SPECIES} > FILE.jsonl makes lines of ids and scores, by common names"),
    Kind("answers of a batch, as OpenAI writes them", rb'\{"id":\s*"batch_req_',
         f"{_BATCH} > FILE.jsonl makes lines of ids and what was answered"),
    Kind("terms of MedDRA", rb"\d{8}\$", f"{_RECIPE}, from mdhier.asc and llt.asc",
         always=False, of_hierarchies=True),
    Kind("headings of MeSH",
         rb"\*NEWRECORD|(<[?!][^>]*>\s*)*<DescriptorRecordSet\b|"
         rb"([^\n]*[a-z][^\n]*;[A-Z]\d\d(\.\d+)*\s*\n){2}", _RECIPE, of_hierarchies=True),
    Kind("a table of CCSR", _HEADER + rb"(?=[^\n]*\bicd)[^\n]*\b(ccsr category|prccsr)\b", _RECIPE,
         of_hierarchies=True),
    Kind("a table of single-level CCS",
         _HEADER + rb"(?=[^\n]*\bicd)(?![^\n]*\blvl\b)[^\n]*\bccs category\b", _RECIPE,
         of_hierarchies=True),
    Kind("a table of phecodes",
         _HEADER + rb"(?=[^\n]*\bphecode\b)[^\n]*(\bicd|\bphenotype\b|\bphecode.string\b)", _RECIPE,
         of_hierarchies=True),
    Kind("an export of Label Studio", rb'\[.*"annotations"\s*:.*"result"\s*:', _RECIPE,
         of_hierarchies=True),
    Kind("names of classes, as Open Images has them, without those above them", rb"/m/\w+,",
         "bbox_labels_600_hierarchy.json has these; sed '1i code,title' FILE > titles.csv makes "
         "titles: --titles titles.csv", always=False, of_hierarchies=True),
    Kind("a pointer of Git LFS, not the file itself", rb"version https://git-lfs\.github\.com/spec",
         "git lfs pull fetches the file"),
    Kind("a pointer of git-annex, not the file itself", rb"(\.\./)*(\.git)?/?annex/objects/\S+\s*$",
         "git annex get FILE fetches the file"),
    Kind("a page of HTML, as servers send in place of a file", rb"(?i)" + _HTML,
         "open it in a browser: it may ask you to sign in, or say what went wrong; then fetch the "
         "file again"),
    Kind("an error of a store of objects, not the file itself",
         rb"(<\?xml[^>]*>\s*)?<Error>\s*<Code>", "its <Code> says why the file was not sent"),
    Kind("a document of PDF", rb"%PDF-",
         "pdftotext -layout FILE FILE.txt takes its text out, of which a table must be made"),
    Kind("a document of RTF", rb"\{\\rtf", "save it as plain text, and make a table of it"),
    Kind("a file of HDF5", rb"\x89HDF\r\n\x1a\n",
         "h5py reads it; " + _python("import h5py; h5py.File('FILE').visititems(print)")
         + " lists its arrays, numpy.savez writes them to a file that is read"),
    Kind("a MATLAB file", rb"MATLAB [45]\.\d MAT-file", f"{_MATLAB} makes arrays of NumPy of it"),
    Kind("a file of Parquet under another name", rb"PAR1.{0,200}?[\x00-\x08]",
         "mv FILE FILE.parquet", but=(".parquet",)),
    Kind("a file of Feather, which is Arrow", rb"ARROW1\x00", _polars("read_ipc")),
    Kind("a file of Feather of version 1", rb"FEA1.{0,200}?\x00",
         "pyarrow.feather.read_table('FILE') reads it in Python"),
    Kind("a file of Avro", rb"Obj\x01", _polars("read_avro")),
    Kind("a file of ORC", rb"ORC.{0,200}?[\x00-\x08]",
         _python("import pyarrow.orc, pyarrow.parquet as p; "
                 "p.write_table(pyarrow.orc.read_table('FILE'), 'FILE.parquet')")
         + " makes Parquet of it"),
    Kind("a database of DuckDB", rb".{8}DUCK",
         "audit run duckdb:///FILE --table NAME reads it"),
    Kind("a database of Access", rb"\x00\x01\x00\x00Standard (Jet|ACE) DB",
         "mdb-export FILE TABLE > labels.csv, of mdbtools"),
    Kind("a packed dump of PostgreSQL", rb"PGDMP", "pg_restore --file FILE.sql FILE"),
    Kind("a data set of SAS", rb"\x00{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf", _pandas("read_sas")),
    Kind("a transport file of SAS", rb"HEADER RECORD\*{7}LIB", _pandas("read_sas")),
    Kind("a file of SPSS", rb"\$FL[23]@\(#\)", _pandas("read_spss", ", with pyreadstat")),
    Kind("a file of Stata", rb"<stata_dta>|[\x69\x6c\x6e-\x73][\x01\x02]\x01\x00",
         _pandas("read_stata")),
    Kind("a file of R", rb"(RD[AX][23]\n)?X\n\x00\x00\x00[\x02\x03]|RDA[23]\nA\n[23]\n",
         "Rscript -e 'write.csv(readRDS(\"FILE\"), \"FILE.csv\", row.names=FALSE)' makes CSV of an "
         ".rds; load(\"FILE\") reads an .RData"),
    Kind("a picture of DICOM", rb".{128}DICM", "pydicom reads it; labels are what is audited"),
    Kind("a picture", rb"\xff\xd8\xff|\x89PNG\r\n|GIF8[79]a|II\*\x00|MM\x00\*|RIFF....WEBP",
         "labels are what is audited: give the table or file of the pictures' labels"),
    Kind("a sound or a video", rb"RIFF....WAVE|fLaC\x00|OggS\x00|ID3[\x02-\x04]\x00|\x00\x00..ftyp",
         "labels are what is audited: give the table or file of their labels"),
    Kind("an archive of 7z", rb"7z\xbc\xaf\x27\x1c", "7z x FILE unpacks it"),
    Kind("an archive of RAR", rb"Rar!\x1a\x07", "unrar x FILE unpacks it"),
    Kind("an archive of tar", rb".{257}ustar", "tar xf FILE unpacks it"),
    Kind("a file packed by zstd", rb"\x28\xb5\x2f\xfd", "zstd -d FILE unpacks it"),
    Kind("a file packed by xz", rb"\xfd7zXZ\x00", "xz -dk FILE unpacks it"),
    Kind("a file packed by bzip2", rb"BZh[1-9]1AY&SY", "bunzip2 -k FILE unpacks it"),
    Kind("a file packed by lz4", rb"\x04\x22\x4d\x18", "lz4 -d FILE unpacks it"),
    Kind("an encrypted file", rb"-----BEGIN PGP MESSAGE",
         "gpg --output FILE.txt --decrypt FILE"),
    Kind("a document of Word", _OFFICE + rb"word/",
         "save its table as CSV, or as a workbook", but=_ARCHIVED),
    Kind("a workbook under another name", _OFFICE + rb"xl/", "mv FILE FILE.xlsx", but=_ARCHIVED),
    Kind("an archive of zip", _ZIP, "unzip FILE unpacks it", but=_ARCHIVED),
    Kind("a document of Word, Excel or PowerPoint of before 2007", rb"\xd0\xcf\x11\xe0",
         "save it as a workbook of .xlsx, or as CSV", but=SHEETS),
    Kind("a workbook", rb"(?!)", "save the sheet as CSV", SHEETS, always=False),
    Kind("an OWL ontology in functional syntax", rb"Prefix\([^)]*=\s*<|Ontology\(", _ROBOT,
         (".ofn",)),
    Kind("an OWL ontology in Manchester syntax", rb"Prefix:\s*\S*\s*<|Ontology:\s*<", _ROBOT,
         (".omn",)),
    Kind("an OWL ontology in OWL/XML", rb"(<[?!][^>]*>\s*)*<Ontology\b", _ROBOT, (".owx",)),
    Kind("ClaML, as WHO publishes classifications", rb"(<[?!][^>]*>\s*)*<ClaML\b",
         _xml(_TREE, "h.csv"), always=False),
    Kind("the tabular list of ICD-10-CM in XML", rb"(<[?!][^>]*>\s*)*<ICD10CM\.tabular\b",
         "the classification is built in: --hierarchy icd10cm", always=False),
    Kind("boxes of a picture, as PASCAL VOC has them", rb"(<[?!][^>]*>\s*)*<annotation\b",
         _xml(_BOXES, "labels.csv"), always=False),
    Kind("a workbook in XML", rb".{0,400}(progid=.Excel\.Sheet|microsoft-com:office:spreadsheet)",
         "save it as a workbook of .xlsx, or as CSV", always=False),
    Kind("YAML", rb"---\s",
         "PyYAML converts it: python -c 'import json, sys, yaml; "
         "json.dump(yaml.safe_load(sys.stdin), sys.stdout)' < FILE > FILE.json",
         (".yaml", ".yml"), always=False),
    Kind("a graph", rb"(di)?graph\s*[\w\"]*\s*[{\[]",
         "networkx reads it: audit.load_hierarchy(networkx.read_graphml('FILE')), edges to the "
         "parent", (".graphml", ".gml", ".gexf", ".dot", ".gv"), always=False, of_hierarchies=True),
    Kind("a tree in Newick", rb"\(.*\)[^()]*;\s*$", f"Bio.Phylo reads it in Python: {_LINE} clade",
         (".nwk", ".newick", ".nex", ".tree", ".tre"), always=False, of_hierarchies=True),
    Kind("lines of 'parent: X child: Y', as of RCV1", rb"parent:\s*\S+\s+child:",
         """awk 'BEGIN {print "child,parent"} $2 != "None" {print $4 "," $2}' FILE > h.csv""",
         always=False, of_hierarchies=True),
    Kind("a data file of Clus, whose classes are an attribute",
         rb"(?i)(%[^\n]*\n|\s)*@relation\b.*@attribute\s+\S+\s+hierarchical\b",
         f"{_CLASSES} > classes.txt writes a path a class; where these are pairs, as of GO, "
         "tr / , < classes.txt > h.csv makes edges of them", always=False, of_hierarchies=True),
    Kind("lines of a code, a blank and a title", rb"(#[^\n]*\n)*([\w.]*\d[\w.]* +[^\n,;\t]*\n){3}",
         f"{_BLANK} puts a tab between them", always=False, of_hierarchies=True),
    Kind("one column of paths", rb"[^\n,;\t]+\n([^\n,;\t]*\n)?[^\n,;\t]*( > |/|\|)",
         "leave its header out and call the file .txt: each line is a path then",
         always=False, of_hierarchies=True),
    Kind("an indented list", rb"[^\n]+\n(\t+| {2,})[^\n]*\S",
         "write each line as a path: Animals > Dogs", always=False, of_hierarchies=True),
    Kind("XML", rb"<[?!\w]", "xml.etree reads it in Python: write its rows to a table of CSV",
         (".xml",), always=False),
)  # fmt: skip
"""All kinds, those that are nothing else before those that others may look like."""
_PLAIN = re.compile(r"[\w.+@%/~-]+")


def refuse_other(
    path: Path, head: bytes, *, unmatched: bool = False, hierarchy: bool = False
) -> None:
    """Refuse a file of a kind that is not read, by its unpacked first bytes, with what converts it.

    Where it is not ``unmatched`` by all formats, only what is never read is refused.
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n") or head
    may_be = [one for one in KINDS if (unmatched or one.always) and suffix not in one.but]
    for kind in (one for one in may_be if hierarchy or not one.of_hierarchies):
        begins = any(re.match(kind.begins, one, re.DOTALL) for one in (head, bare))
        if not (begins or (unmatched and suffix in kind.suffixes)):
            continue
        name = str(path) if _PLAIN.fullmatch(str(path)) else "FILE"
        raise FormatError(
            "a file of a kind that is read here is required",
            found=kind.name,
            where=path,
            hint=kind.way.replace("FILE", name),
        )

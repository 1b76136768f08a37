"""Layouts: tables whose publishers fixed what each column is, and which rows do not count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.plugins import added
from audit.base.table import Table
from audit.data.columns import ROW, Columns, Layout

__all__ = ["LAYOUTS", "Layout", "layout_of", "named", "version_of"]

_VERSION = re.compile(r"i?(?:cd)?v?0?(9|10)(?:\.0+)?[a-z]*")


def layout_of(table: Table) -> Layout | None:
    """The layout of most columns that a table fits, a plugin's first; None if it fits none.

    Where the name of its file says a code set, all labels are of that.
    """
    fitting = [one for one in (*added("layouts", Layout), *LAYOUTS) if one.fits(table)]
    if not fitting:
        return None
    layout = max(fitting, key=lambda one: len(one.needs))
    file = table.files[0].name.lower() if table.files else ""
    said = next((of for begins, of in layout.files.items() if file.startswith(begins)), None)
    return replace(layout, labels=dict.fromkeys(layout.labels, said)) if said else layout


def spelt(table: Table, stated: Columns) -> Columns:
    """What is stated; the layout adds ``missing`` and ``strip``, patterns of codes ``strip``."""
    begins = (one.removesuffix("*") for one in stated.codes if one.endswith("*"))
    missing, strip = stated.missing, (*stated.strip, *begins)
    if layout := layout_of(table):
        missing, strip = (*missing, *layout.missing), (*strip, *layout.strip)
    return replace(stated, missing=missing, strip=strip)


def named(table: Table) -> Table:
    """A table whose publisher writes no header, with names of its columns; others as they are.

    Reading its ids alone raises InputError where two databases have the same one.
    """
    layout = None if table.text.header or table.layout else layout_of(table)
    if layout is None or not layout.names:
        return table
    own = table.renamed(dict(zip(layout.names, table.schema, strict=False)))
    both = [*layout.id[:1], layout.within]
    if not layout.within:
        return own

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        known = dict[str, str]()
        for frame in own.frames([*dict.fromkeys((*columns, *both))], at_once):
            alone = both if {*both} - {*columns} == {layout.within} else []
            for one, database in frame.select(alone).unique().drop_nulls().iter_rows():
                if known.setdefault(one, database) != database:
                    raise InputError(
                        "an id must be that of one database",
                        found=f"{one!r} in {known[one]!r} and in {database!r}",
                        where=table,
                        hint=f"--id {layout.within},{layout.id[0]} names both",
                    )
            yield frame.select(columns)

    return replace(own, scan=scan)


def version_of(value: str) -> str | None:
    """The version of ICD that a text names: 9 or 10, or 0 as CMS writes 10; None if it names none.

    >>> [version_of(value) for value in ("9.0", "ICD-9-CM", " icd10 ", "I10", "0", "A", "2019")]
    ['9', '9', '10', '10', '10', None, None]
    """
    said = re.sub(r"[\s_-]", "", value.casefold())
    found = _VERSION.fullmatch(said)
    return "10" if said == "0" else found and found[1]


_HCUP = "https://hcup-us.ahrq.gov/db/nation/nis/nisdde.jsp"
_CCLF = "https://www.cms.gov/files/document/cclf-information-packet.pdf"
_UKB = "https://biobank.ndph.ox.ac.uk/ukb/field.cgi?id="
_GO = "https://geneontology.org/docs/"
_WHO, _TENTH = "who-10", "diagnoses-10"
_HOSPITAL: dict[str, Any] = {
    "id": ("hadm_id",),
    "called": "admissions",
    "files": {"diagnoses": "diagnoses", "procedures": "procedures"},
    "group": "subject_id",
    "position": "seq_num",
    "dictionaries": ("d_icd_diagnoses", "d_icd_procedures"),
    "beside": {"admissions": "hadm_id", "patients": "subject_id"},
    "persons": True,
}
_EVENTS: dict[str, Any] = {
    "id": ("instance",),
    "labels": {"label": None},
    "group": "group",
    "split": "split",
    "table": "table",
    "refused": "refused",
    "persons": True,
}
_NOT_SO = ("Qualifier!=NOT", "Frequency!=0/*", "Frequency!=0%", "Frequency!=HP:0040285")

# fmt: off
LAYOUTS = (
    # Records of patients
    Layout(
        name="mimic3", title="MIMIC-III: DIAGNOSES_ICD, PROCEDURES_ICD",
        source="https://mimic.mit.edu/docs/iii/tables/diagnoses_icd/",
        needs=("hadm_id", "icd9_code"), labels={"icd9_code": None}, **_HOSPITAL,
    ),
    Layout(
        name="mimic4", title="MIMIC-IV: diagnoses_icd, procedures_icd",
        source="https://mimic.mit.edu/docs/iv/modules/hosp/diagnoses_icd/",
        needs=("hadm_id", "icd_code", "icd_version"), labels={"icd_code": None},
        version="icd_version", **_HOSPITAL,
    ),
    Layout(
        name="mimic4ed", called="stays", title="MIMIC-IV-ED: diagnosis",
        source="https://mimic.mit.edu/docs/iv/modules/ed/diagnosis/",
        needs=("stay_id", "icd_code", "icd_version", "icd_title"), id=("stay_id",),
        labels={"icd_code": "diagnoses"}, group="subject_id", position="seq_num",
        version="icd_version", persons=True,
    ),
    Layout(
        name="mimic4ecg", called="recordings", title="MIMIC-IV-ECG-Ext-ICD: records_w_diag_icd10",
        source="https://physionet.org/content/mimic-iv-ecg-ext-icd-labels/",
        needs=("study_id", "all_diag_all"), id=("study_id",), labels={"all_diag_all": _TENTH},
        group="subject_id", persons=True,
    ),
    Layout(
        name="caml", called="admissions", title="CAML: labels of the discharge summaries of MIMIC",
        source="https://github.com/jamesmullenbach/caml-mimic",
        needs=("hadm_id", "labels"), id=("hadm_id",), labels={"labels": None}, group="subject_id",
        sep=";", persons=True,
    ),
    Layout(
        name="eicu", called="stays", title="eICU: diagnosis",
        source="https://eicu-crd.mit.edu/eicutables/diagnosis/",
        needs=("diagnosisid", "patientunitstayid", "icd9code"), id=("patientunitstayid",),
        labels={"icd9code": None}, sep=",", both=True, persons=True,
    ),
    *(
        Layout(
            name="omop", called="visits", title=f"OMOP CDM 5.3, 5.4: {kind}_occurrence alone",
            source="https://ohdsi.github.io/CommonDataModel/cdm54.html",
            needs=(f"{kind}_occurrence_id", "person_id", f"{kind}_source_value"),
            id=("visit_occurrence_id",), labels={f"{kind}_source_value": None}, group="person_id",
            persons=True,
        )
        for kind in ("condition", "procedure")
    ),
    Layout(
        name="omop", title="OMOP CDM 5.3, 5.4: a folder or database with concepts",
        source="https://ohdsi.github.io/CommonDataModel/cdm54.html", **_EVENTS,
    ),
    Layout(
        name="meds", title="MEDS 0.3, 0.4: a folder",
        source="https://github.com/Medical-Event-Data-Standard/meds", **_EVENTS,
    ),
    Layout(
        name="fhir", title="FHIR R4: Condition, Procedure",
        source="https://hl7.org/fhir/R4/condition.html", **_EVENTS,
    ),
    *(
        Layout(
            name="hcup", called="discharges", title=f"HCUP: {kind}, of ICD-{version}", source=_HCUP,
            needs=(*key, f"{prefix}dx1"), id=key[:1],
            labels={f"{prefix}dx#": f"diagnoses{tenth}", f"{prefix}pr#": f"procedures{tenth}"},
            group="visitlink", missing=("invl", "incn"), persons=True,
        )
        for key, kind in (
            (("key_nis",), "NIS"), (("key", "hospst"), "SID, SEDD, SASD, older NIS"),
        )
        for version, prefix, tenth in (("9", "", ""), ("10", "i10_", "-10"))
    ),
    Layout(
        name="nhamcs", called="visits", title="NHAMCS: a visit a row",
        source="https://ftp.cdc.gov/pub/Health_Statistics/NCHS/Dataset_Documentation/NHAMCS/",
        needs=("hospcode", "patcode", "diag1"), id=("hospcode", "patcode"), labels={"diag#": None},
        missing=("-9",), strip=("--", "-"), persons=True,
    ),
    Layout(
        name="medpar", called="stays", title="MedPAR: a stay a row",
        source="https://resdac.org/cms-data/files/medpar-rif/data-documentation",
        needs=("medpar_id", "dgns_1_cd"), id=("medpar_id",),
        labels={"dgns_#_cd": None, "srgcl_prcdr_#_cd": None}, group="bene_id", persons=True,
    ),
    *(
        Layout(
            name="cclf", called="claims", title=f"CCLF: {number}, {what}", source=_CCLF,
            needs=("cur_clm_uniq_id", first, "dgns_prcdr_icd_ind"), id=("cur_clm_uniq_id",),
            labels=labels, group="bene_mbi_id", position=position, version="dgns_prcdr_icd_ind",
            where=("dgns_prcdr_icd_ind!=U",), persons=True,
        )
        for number, what, first, labels, position in (
            (1, "claims, their main diagnosis", "prncpl_dgns_cd",
             {"prncpl_dgns_cd": "diagnoses"}, ""),
            (3, "procedures", "clm_prcdr_cd", {"clm_prcdr_cd": "procedures"}, "clm_val_sqnc_num"),
            (4, "diagnoses", "clm_dgns_cd", {"clm_dgns_cd": "diagnoses"}, "clm_val_sqnc_num"),
            (5, "physicians", "clm_dgns_1_cd", {"clm_dgns_#_cd": "diagnoses"}, ""),
        )
    ),
    Layout(
        name="synpuf", called="claims", title="DE-SynPUF: claims",
        source="https://www.cms.gov/files/document/de-10-codebook.pdf-0",
        needs=("desynpuf_id", "clm_id", "icd9_dgns_cd_1"), id=("clm_id",),
        labels={"icd9_dgns_cd_#": "diagnoses", "icd9_prcdr_cd_#": "procedures"},
        group="desynpuf_id", persons=True,
    ),
    Layout(
        name="hesin", called="episodes", title="UK Biobank: hesin_diag",
        source="https://biobank.ndph.ox.ac.uk/ukb/refer.cgi?id=138483",
        needs=("eid", "ins_index", "diag_icd10"), id=("eid", "ins_index"),
        labels={"diag_icd10": _WHO, "diag_icd9": "diagnoses"}, group="eid", persons=True,
    ),
    *(
        Layout(
            name="ukb", called="participants", title=f"UK Biobank: {first} ...",
            source=f"{_UKB}41270", needs=(key, first), id=(key,), sep=sep, persons=True,
            labels={form.format(41270): _WHO, form.format(41271): "diagnoses"},
        )
        for key, form, first, sep in (
            ("eid", "{}-0.#", "41270-0.0", ""),
            ("f.eid", "f.{}.0.#", "f.41270.0.0", ""),
            ("n_eid", "s_{}_0_#", "s_41270_0_0", ""),
            ("eid", "p{}", "p41270", "|"),
        )
    ),
    *(
        Layout(
            name="hes", called="episodes", title=f"Hospital Episode Statistics: {first}_01 ...",
            source="https://digital.nhs.uk/data-and-information/data-tools-and-services/"
            "data-services/hospital-episode-statistics",
            needs=("epikey", f"{first}_01", *more), id=("epikey",), labels={f"{first}_#": _WHO},
            group="encrypted_hesid", strip=("X", "-"), persons=True,
        )
        for first, more in (("diag", ("diag_02",)), ("diag_4", ()))
    ),
    Layout(
        name="clif", called="hospitalizations", title="CLIF: hospital_diagnosis",
        source="https://clif-icu.com/data-dictionary",
        needs=("hospitalization_id", "diagnosis_code", "diagnosis_code_format"),
        id=("hospitalization_id",), labels={"diagnosis_code": "diagnoses"},
        version="diagnosis_code_format", persons=True,
    ),
    Layout(
        name="phewas", called="persons", title="PheWAS: codes of persons", source="https://github.com/PheWAS/PheWAS",
        needs=("id", "vocabulary_id", "code"), id=("id",), labels={"code": "diagnoses"},
        version="vocabulary_id", where=("vocabulary_id=ICD*CM",),
        persons=True,
    ),
    Layout(
        name="synthea", called="encounters", title="Synthea: conditions, procedures",
        source="https://github.com/synthetichealth/synthea/wiki/CSV-File-Data-Dictionary",
        needs=("start", "stop", "patient", "encounter", "code", "description"),
        id=("encounter",), labels={"code": None}, group="patient", persons=True,
    ),
    # Genes, proteins and diseases
    Layout(
        name="gaf", title="GAF: 2.0 to 2.2",
        source=f"{_GO}go-annotation-file-gaf-format-2.2/",
        begins=r"(?i)!\s*gaf-version:\s*2\.", labels={"GO_ID": None}, id=("DB_Object_ID",),
        needs=("DB_Object_ID", "GO_ID", "Qualifier"),
        where=("Qualifier!=NOT", "Qualifier!=NOT|*", "Qualifier!=not|*"), within="DB",
        names=(
            "DB", "DB_Object_ID", "DB_Object_Symbol", "Qualifier", "GO_ID", "DB:Reference",
            "Evidence", "With", "Aspect", "DB_Object_Name", "Synonym", "DB_Object_Type", "Taxon_ID",
            "Date", "Assigned_By", "Annotation_Extension", "Gene_Product_Form_ID",
        ),
    ),
    *(
        Layout(
            name="hpoa", called="diseases", title=f"phenotype.hpoa: by {id}",
            source="https://obophenotype.github.io/human-phenotype-ontology/annotations/"
            "phenotype_hpoa/",
            needs=(id, "hpo_id", "qualifier", "frequency"), id=(id,), labels={"hpo_id": None},
            where=_NOT_SO,
        )
        for id in ("database_id", "DatabaseID")
    ),
    Layout(
        name="cafa", called="proteins", title="CAFA: a submission", source="https://www.biofunctionprediction.org/cafa/",
        begins=r"AUTHOR\s[^\n]*\nMODEL\s", names=("target", "term", "score"), id=("target",),
        labels={"term": None},
    ),
    Layout(
        name="cafa", called="proteins", title="CAFA: terms of proteins",
        source="https://www.kaggle.com/competitions/cafa-5-protein-function-prediction/data",
        needs=("EntryID", "term"), id=("EntryID",), labels={"term": None},
    ),
    Layout(
        name="lines", title="Associations: lines `id<TAB>a;b;c` or `id|a|b|c`",
        source="https://geneontology.org/docs/download-go-annotations/", id=("instance",),
        labels={"labels": None},
    ),
    # Pictures, sounds and texts
    Layout(
        name="audioset", called="clips", title="AudioSet: segments",
        source="https://research.google.com/audioset/download.html",
        begins=r"(#[^\n]*\n){2}# YTID, ", id=("YTID",), labels={"positive_labels": None}, sep=",",
        names=("YTID", "start_seconds", "end_seconds", "positive_labels"),
    ),
    Layout(
        name="fsd50k", called="clips", title="FSD50K: dev.csv, eval.csv", source="https://zenodo.org/records/4060432",
        needs=("fname", "labels", "mids"), id=("fname",), labels={"mids": None}, split="split",
        sep=",",
    ),
    Layout(
        name="openimages", called="pictures", title="Open Images: labels of pictures",
        source="https://storage.googleapis.com/openimages/web/download_v7.html",
        needs=("ImageID", "LabelName", "Confidence"), id=("ImageID",), labels={"LabelName": None},
        where=("Confidence!=0",),
    ),
    Layout(
        name="coco", called="pictures",
        title="COCO, Roboflow, iNaturalist: pictures, by names of categories",
        source="https://cocodataset.org/#format-data", id=("id",), labels={"labels": None},
    ),
    Layout(
        name="lvis", called="pictures", title="LVIS: pictures, by synsets",
        source="https://www.lvisdataset.org/dataset", id=("id",), labels={"synsets": None},
    ),
    *(
        Layout(
            name="prodigy", title=f"Prodigy: {label} of accepted tasks",
            source="https://prodi.gy/docs/api-interfaces",
            needs=("_input_hash", "_task_hash", "answer", label), id=("_input_hash",),
            labels={label: None}, where=("answer=accept",),
        )
        for label in ("label", "accept")
    ),
    Layout(
        name="fasttext", called="texts", title="fastText: lines `__label__a __label__b text`",
        source="https://fasttext.cc/docs/en/supervised-tutorial.html",
        begins="__label__", names=("text",), id=(ROW,), labels={"text": None},
        take=r"__label__(\S+)",
    ),
)
# fmt: on
"""The layouts that come with the package."""

"""Write a study in each of the field's formats. Reading the file gives the same study again.

Coupon layouts keep the codes of a file that had them; otherwise codes are made (`17-1`, `17-2`, ... for person 17). Two
things a layout cannot hold: files that name recruiters have no place for "came with a coupon nobody was issued", so
these people become seeds there; and layouts that list coupons need one for each recruit, so somebody with more recruits
than coupons gets more coupons when codes are made.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
import pandas as pd

from peerfront.data.read.fixed_layouts import DATE, NETWORK_SIZE, OWN_COUPON, SEED, coupon_names
from peerfront.data.read.links import SEED_MARKS
from peerfront.data.read.listing import Texts
from peerfront.data.read.read_settings import APP, COUPONS, RDSAT, RECRUITER
from peerfront.data.study import Study
from peerfront.foundation.errors import DataFileError, UnknownName
from peerfront.foundation.files import check_output, write_csv, write_text
from peerfront.foundation.messages import note
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.spreadsheets import neutralised, quoting_for

DOT, GRAPHML, EDGES = "dot", "graphml", "edges"
_XML_KINDS = {bool: "boolean", int: "long", float: "double"}
_NONE_CODES = ("0", "-1", "-9", "-99", "-999", "-9999", "NONE")


def study_text(study: Study, format: str) -> str:
    """Return the study as text in one of the formats: coupons, recruiter, rdsat, app, dot, graphml or edges."""
    if format not in WRITERS:
        raise UnknownName(note("formats.format"), format, WRITERS)
    return WRITERS[format](study)


def write_study(study: Study, path: Path | str, format: str, *, overwrite: bool = False) -> None:
    """Write the study to a file, which must not exist unless it may be replaced; only its owner can read it."""
    path = Path(path)
    text = study_text(study, format)
    check_output(path, overwrite=overwrite)
    (write_csv if format in (COUPONS, RECRUITER, EDGES) else write_text)(path, text, private=True)


def coupon_csv(study: Study) -> str:
    """Return a CSV with the coupon each person came with and the coupons they were issued."""
    own, coupons = _codes(study)
    names = coupon_names(coupons.shape[1])
    columns = [("id", study.ids), (OWN_COUPON, own), *zip(names, coupons.T, strict=True)]
    return _csv(study, columns)


def recruiter_csv(study: Study) -> str:
    """Return a CSV with the id of each person's recruiter and the number of coupons they were issued."""
    mark = next((mark for mark in SEED_MARKS if mark not in set(study.ids)), "")
    recruiters = np.where(study.recruiter == NOBODY, mark, study.recruiter_ids())
    return _csv(study, [("id", study.ids), ("recruiter.id", recruiters), ("coupons.issued", study.issued)])


def rdsat_text(study: Study) -> str:
    """Return the text format of RDSAT; see `rdsat`."""
    own, coupons = _codes(study)
    size_column = study.network_column
    others = [str(name) for name in study.people.columns if name != size_column]
    sizes = study.people[size_column] if size_column else pd.Series([""] * len(study), dtype=object)
    names = [re.sub(r"\s+", ".", name.strip()) for name in others]
    _no_clash(study, ["id", NETWORK_SIZE, OWN_COUPON, *coupon_names(coupons.shape[1]), *names])
    columns: list[Iterable[object]] = [study.ids, sizes, own, *coupons.T, *(study.people[name] for name in others)]
    cells = [[_one_line(str(cell)) for cell in column] for column in columns]
    used = {cell for column in cells for cell in column}
    none = next(code for code in (*_NONE_CODES, *(f"NONE{n}" for n in range(len(used) + 1))) if code not in used)
    head = "\t".join([str(len(study)), str(coupons.shape[1]), none, *names])
    rows = ("\t".join(cell or none for cell in row) for row in zip(*cells, strict=True))
    return "\n".join(["RDS", head, *rows]) + "\n"


def app_json(study: Study) -> str:
    """Return a survey app's JSON. Codes are ids there, so codes for unused coupons must be nobody's id."""
    sign = "-"
    ids = set(study.ids)
    while any(
        f"{person}{sign}{n + 1}" in ids for person, k in zip(study.ids, study.issued, strict=True) for n in range(k)
    ):
        sign += "-"
    children: list[list[str]] = [[] for _ in range(len(study))]
    for person in np.flatnonzero(study.recruiter != NOBODY):
        children[study.recruiter[person]].append(str(study.ids[person]))
    for name, given, issued in zip(study.ids, children, study.issued, strict=True):
        given += [f"{name}{sign}{n + 1}" for n in range(int(issued) - len(given))]
    answers = study.people.drop(columns=[DATE], errors="ignore").to_dict("records")
    dates = study.people[DATE] if DATE in study.people else [""] * len(study)
    parents = np.where(study.recruiter == NOBODY, SEED, study.recruiter_ids())
    records = [
        {
            "surveyCode": person,
            "parentSurveyCode": parent,
            "childSurveyCodes": given,
            "responses": answer,
            "createdAt": date or None,
            "deletedAt": None,
        }
        for person, parent, given, answer, date in zip(study.ids, parents, children, answers, dates, strict=True)
    ]
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def dot_text(study: Study) -> str:
    """Return the trees for GraphViz (`dot -Tsvg tree.dot -o tree.svg`): seeds are boxes, unknown recruiters dashed."""
    quoted = np.array(
        ['"' + _one_line(str(i)).replace("\\", "\\\\").replace('"', '\\"') + '"' for i in study.ids], object
    )
    lines = ["digraph recruitment {", "  rankdir=LR;", "  node [shape=ellipse];"]
    lines += [f"  {name} [shape=box];" for name in quoted[study.seed]]
    lines += [f"  {name} [style=dashed];" for name in quoted[study.orphan]]
    came = study.recruiter != NOBODY
    lines += [f"  {name};" for name in quoted[~came & ~study.seed & ~study.orphan]]
    lines += [f"  {a} -> {b};" for a, b in zip(quoted[study.recruiter[came]], quoted[came], strict=True)]
    return "\n".join([*lines, "}"]) + "\n"


def graphml_text(study: Study) -> str:
    """Return the trees as GraphML for igraph, Gephi and networkx: an edge to each recruit, columns as attributes."""
    keys: dict[tuple[str, str], str] = {}  # name and kind of an attribute: its key
    graph = Element("graph", edgedefault="directed")
    records = study.table().drop(columns=["id", "recruiter"]).to_dict("records")
    for person, record in zip(study.ids, records, strict=True):
        node = SubElement(graph, "node", id=_xml(person))
        for name, value in record.items():
            kind = _XML_KINDS.get(type(value), "string")
            key = keys.setdefault((_xml(str(name)), kind), f"d{len(keys)}")
            SubElement(node, "data", key=key).text = _xml(str(value).lower() if kind == "boolean" else str(value))
    came = study.recruiter != NOBODY
    for recruiter, recruit in zip(study.ids[study.recruiter[came]], study.ids[came], strict=True):
        SubElement(graph, "edge", source=_xml(recruiter), target=_xml(recruit))
    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for (name, kind), key in keys.items():
        SubElement(root, "key", {"id": key, "for": "node", "attr.name": name, "attr.type": kind})
    root.append(graph)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def edge_csv(study: Study) -> str:
    """Return a CSV with a row per recruit: source (the recruiter) and target; people without either are not in it."""
    came = study.recruiter != NOBODY
    columns = (("source", study.recruiter_ids()[came]), ("target", study.ids[came]))
    return _csv_text(columns)


WRITERS: dict[str, Callable[[Study], str]] = {
    COUPONS: coupon_csv,
    RECRUITER: recruiter_csv,
    RDSAT: rdsat_text,
    APP: app_json,
    DOT: dot_text,
    GRAPHML: graphml_text,
    EDGES: edge_csv,
}


def _codes(study: Study) -> tuple[Texts, Texts]:
    """Return own coupons [people] and coupons issued [people, slots]: those of the file, or codes made from ids."""
    if study.own_coupons is not None and study.coupons is not None and study.format != APP:
        return study.own_coupons, study.coupons
    held = np.maximum(study.issued, study.recruits)
    slots = int(held.max(initial=1))  # a column at least, so that the layout can be recognised
    coupons = np.full((len(study), slots), "", dtype=object)
    for slot in range(slots):
        has = np.flatnonzero(held > slot)
        coupons[has, slot] = [f"{study.ids[i]}-{slot + 1}" for i in has]
    own = np.full(len(study), "", dtype=object)
    came = np.flatnonzero(study.recruiter != NOBODY)
    turn = pd.Series(study.recruiter[came]).groupby(study.recruiter[came]).cumcount().to_numpy()
    own[came] = coupons[study.recruiter[came], turn]
    return own, coupons


def _csv(study: Study, columns: Sequence[tuple[str, Iterable[object]]]) -> str:
    columns = [*columns, *((str(name), study.people[name]) for name in study.people.columns)]
    _no_clash(study, [name for name, _ in columns])
    return _csv_text(columns)


def _csv_text(columns: Sequence[tuple[str, Iterable[object]]]) -> str:
    buffer = io.StringIO()
    cells = [[neutralised(str(value)) for value in (name, *values)] for name, values in columns]
    writer = csv.writer(buffer, lineterminator="\n", quoting=quoting_for(chain.from_iterable(cells)))
    writer.writerows(zip(*cells, strict=True))
    return buffer.getvalue()


def _no_clash(study: Study, names: Sequence[str]) -> None:
    """Refuse columns that would have the same name."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise DataFileError("study_writing.columns_alike", source=study.source, columns=list(repeated))


def _one_line(text: str) -> str:
    return re.sub(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", " ", text).strip()


def _xml(text: str) -> str:
    """Replace what an XML file cannot hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(text))

"""Writing in each format and reading back gives the same study."""

import csv
import io
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_studies import studies

from peerfront.data.reading import read_study, study_from_table
from peerfront.data.study import Study
from peerfront.data.writers import study_text, write_study
from peerfront.foundation.errors import DataFileError, OutputExists, UnknownName


def tables_agree(one: Study, other: Study) -> None:
    columns = [name for name in one.people.columns if name != "network.size"]
    told = [*one.table().columns[:6], *columns]
    pd.testing.assert_frame_equal(
        one.table()[told].astype(object), other.table()[told].astype(object), check_column_type=False
    )


def back(study: Study, format: str) -> Study:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.txt"
        write_study(study, path, format)
        return read_study(path)


@given(studies(), st.sampled_from(["coupons", "recruiter", "rdsat", "app"]))
def test_round_trips(study, format) -> None:
    if format == "rdsat":  # names are single words there
        study.people.columns = [name.replace(" ", ".") for name in study.people.columns]
    found = back(study, format)
    tables_agree(study, found)
    assert found.problems == ()
    if study.network_column:
        assert np.array_equal(found.people["network.size"], study.people["network.size"])


@settings(max_examples=20)
@given(studies(), st.lists(st.sampled_from(["coupons", "recruiter", "app"]), min_size=2, max_size=4))
def test_chains_of_formats_lose_nothing(study, formats) -> None:
    found = study
    for format in formats:
        found = back(found, format)
    tables_agree(study, found)


@settings(max_examples=20)
@given(studies())
def test_graphs_and_drawings(study) -> None:
    graph = study.graph()
    assert set(graph.nodes) == set(study.ids)
    assert graph.number_of_edges() == (study.recruiter >= 0).sum()
    for person, recruits in zip(study.ids, study.recruits, strict=True):
        assert graph.out_degree(person) == graph.nodes[person]["recruits"] == recruits
    dot = study_text(study, "dot")
    assert dot.startswith("digraph recruitment {")
    assert dot.count(" -> ") >= graph.number_of_edges()
    assert dot.count("[shape=box]") >= study.seed.sum()


def test_coupons_of_the_file_are_kept(tmp_path) -> None:
    text = "id,own.coupon,coupon.1,coupon.2,sex\n1,,007,008,f\n2,008,X,,m\n3,gone,,,\n"
    (tmp_path / "a.csv").write_text(text)
    study = read_study(tmp_path / "a.csv")
    assert study_text(study, "coupons") == text
    found = back(study, "rdsat")
    tables_agree(study, found)
    assert found.orphan.tolist() == [False, False, True]
    assert back(study, "recruiter").seed.tolist() == [True, False, True]  # no place for an unknown recruiter there


def test_codes_for_none_are_never_values(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("id,own.coupon,coupon.1,ill\n1,,A,0\n2,A,,-1\n3,,,\n")
    study = read_study(tmp_path / "a.csv")
    assert study_text(study, "rdsat").splitlines()[1].split("\t")[2] == "-9"
    assert back(study, "rdsat").people["ill"].tolist() == ["0", "-1", ""]


def test_drawings_quote_names(tmp_path) -> None:
    (tmp_path / "a.csv").write_text('id,own.coupon,coupon.1\n"a ""b"" \\",,A\nc,A,\n')
    assert '"a \\"b\\" \\\\" -> "c";' in study_text(read_study(tmp_path / "a.csv"), "dot")


def test_files_are_not_replaced_and_marked_for_spreadsheets(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("id,own.coupon,coupon.1,name\n1,,A,Zoë\n")
    study = read_study(tmp_path / "a.csv")
    write_study(study, tmp_path / "b.csv", "recruiter")
    assert (tmp_path / "b.csv").read_bytes().startswith(b"\xef\xbb\xbfid,")
    with pytest.raises(OutputExists, match="exists already. Use overwrite=True"):
        write_study(study, tmp_path / "b.csv", "recruiter")
    write_study(study, tmp_path / "b.csv", "app", overwrite=True)
    assert (tmp_path / "b.csv").read_text().startswith("[")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b.csv"]
    with pytest.raises(UnknownName, match="no format called 'excel'"):
        write_study(study, tmp_path / "c", "excel")


def test_names_that_clash(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("no,own.coupon,coupon.1,id\n1,,A,x\n")
    from peerfront.data.read.read_settings import ReadSettings

    study = read_study(tmp_path / "a.csv", ReadSettings(columns={"id": ("no",)}))
    with pytest.raises(DataFileError, match="two columns called 'id'"):
        study_text(study, "coupons")


def test_more_recruits_than_coupons_get_coupons_when_codes_are_made(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("id,recruiter,coupons.issued\n1,,1\n2,1,0\n3,1,0\n")
    study = read_study(tmp_path / "a.csv")
    assert back(study, "coupons").issued.tolist() == [2, 0, 0]


@given(studies())
def test_graphs_hold_everybody_and_every_link(study) -> None:
    graph = nx.parse_graphml(study_text(study, "graphml"))
    assert len(graph) == len(study)
    came = study.recruiter >= 0
    links = set(zip(study.recruiter_ids()[came], study.ids[came], strict=True))
    assert {tuple(edge) for edge in graph.edges} == links
    assert [graph.nodes[person]["coupons issued"] for person in study.ids] == study.issued.tolist()
    written = list(csv.reader(io.StringIO(study_text(study, "edges"))))
    assert written[0] == ["source", "target"]
    assert len(written) == len(links) + 1


def test_a_graph_of_a_study_with_signs_that_xml_cannot_hold() -> None:
    table = pd.DataFrame(
        {"id": ["a\x01", "b"], "own.coupon": ["", "c"], "coupon.1": ["c", "d"], "no\x02te": ["\x03", "<&>"]}
    )
    graph = nx.parse_graphml(study_text(read_study(table), "graphml"))
    assert list(graph.edges) == [("a\ufffd", "b")]


def test_half_a_character_is_refused_in_words(tmp_path) -> None:
    table = pd.DataFrame({"id": ["a\ud800", "b"], "recruiter": ["", "a\ud800"], "coupons_issued": ["1", "1"]})
    study = study_from_table(table)
    for format in ("coupons", "app", "edges"):
        with pytest.raises(DataFileError, match=r"a\\ud800.* holds half a character"):
            write_study(study, tmp_path / format, format)

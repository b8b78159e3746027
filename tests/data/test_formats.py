"""Each format's tiny example, how columns are recognised, and what the files of the field get wrong before row two."""

import numpy as np
import pytest

from peerfront.data.read.read_settings import ReadSettings, parse_columns
from peerfront.data.reading import read_study
from peerfront.foundation.errors import DataFileError, PeerfrontError, SettingError, UnknownName

COUPONS = """id,network.size,own.coupon,coupon.1,coupon.2,sex
1,10,,0007,B1,f
2,5, 0007 ,C1,,m
3,7,B1,,,f
4,NA,C1,D1,D2,
"""
RECRUITER = """id;recruiter.id;network.size;sex;coupons.issued
1;seed;10;f;2
2;1;5;m;1
3;1;7;f;0
4;2;;;2
"""
RDSAT = """RDS
4 2 0 sex
1 10 0 0007 B1 f
2 5 0007 C1 0 m
3 7 B1 0 0 f
4 0 C1 D1 D2 0
"""
APP = """[
{"surveyCode": "1", "parentSurveyCode": "__SEED__", "childSurveyCodes": ["2", "3"], "responses": {"network.size": 10, "sex": "f"}, "createdAt": "2024-01-01T10:00:00Z", "deletedAt": null},
{"surveyCode": "2", "parentSurveyCode": "1", "childSurveyCodes": ["4"], "responses": {"network.size": 5, "sex": "m"}, "createdAt": "2024-01-05T10:00:00Z"},
{"surveyCode": "9", "parentSurveyCode": "1", "childSurveyCodes": [], "responses": {}, "deletedAt": "2024-01-06"},
{"surveyCode": "3", "parentSurveyCode": "1", "childSurveyCodes": [], "responses": {"network.size": 7.0, "sex": "f"}, "createdAt": "2024-01-06T10:00:00Z"},
{"surveyCode": 4, "parentSurveyCode": 2, "childSurveyCodes": ["x", "y"], "responses": {"network.size": null}, "createdAt": "2024-01-09T10:00:00Z"}
]"""  # noqa: E501


def put(tmp_path, content, name="study.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "format", "rows"),
    [
        (COUPONS, "coupons", [2, 3, 4, 5]),
        (RECRUITER, "recruiter", [2, 3, 4, 5]),
        (RDSAT, "rdsat", [3, 4, 5, 6]),
        (RDSAT.replace(" ", "\t"), "rdsat", [3, 4, 5, 6]),
        (RDSAT.replace(" ", ","), "rdsat", [3, 4, 5, 6]),
        (APP, "app", [1, 2, 4, 5]),
    ],
)
def test_every_format_tells_the_same_study(tmp_path, content, format, rows) -> None:
    path = put(tmp_path, content)
    study = read_study(path)
    assert study.format == format
    assert study.ids.tolist() == ["1", "2", "3", "4"]
    assert study.recruiter.tolist() == [-1, 0, 0, 1]
    assert study.seed.tolist() == [True, False, False, False]
    assert study.issued.tolist() == [2, 1, 0, 2]
    assert study.recruits.tolist() == [2, 1, 0, 0]
    assert study.trees.wave.tolist() == [0, 1, 1, 2]
    assert study.rows.tolist() == rows
    assert study.people["sex"].tolist() == ["f", "m", "f", ""]
    assert np.array_equal(study.network_size, [10, 5, 7, np.nan], equal_nan=True)
    assert [p.kind for p in study.problems] == (["deleted"] if format == "app" else [])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: "sep=;\n" + text.replace(",", ";"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", ",,\n"),  # empty columns of a spreadsheet
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace(",", "\t").encode("utf-16"),
        lambda text: text + "\n,,,,,\n",
        lambda text: text.replace("4,NA,C1,D1,D2,\n", "4,NA,C1,D1,D2\n"),
    ],
)
def test_separators_marks_and_spreadsheet_habits(tmp_path, change) -> None:
    study = read_study(put(tmp_path, change(COUPONS)))
    assert study.recruiter.tolist() == [-1, 0, 0, 1]
    assert study.problems == ()


def test_rows_are_counted_as_a_spreadsheet_does(tmp_path) -> None:
    text = 'id,own,coupon1,note\n1,,A,"two\nlines"\n\n2,A,B,x\n2,B,C,y\n'
    with pytest.raises(DataFileError, match=r"row 5: Id '2' stands already in row 4"):
        read_study(put(tmp_path, text), ReadSettings(columns={"own_coupon": ("own",)}))


def test_codes_stay_text(tmp_path) -> None:
    long = "1234567890123456789012"
    text = f"id,own.coupon,coupon.1,coupon.2\n01,,{long},0012\n02,{long},12,\n03, 0012,,\n"
    study = read_study(put(tmp_path, text))
    assert study.ids.tolist() == ["01", "02", "03"]
    assert study.recruiter.tolist() == [-1, 0, 0]
    assert study.problems == ()


@pytest.mark.parametrize(("encoding", "name"), [("cp1252", "Windows-1252"), ("latin-1", "Latin-1")])
def test_western_encodings_warn(tmp_path, encoding, name) -> None:
    special = "Zoë" if encoding == "cp1252" else "Zoë\x81"
    content = COUPONS.replace("f\n", f"{special}\n").encode(encoding)
    study = read_study(put(tmp_path, content))
    assert study.people["sex"][0] == special.strip()
    assert [str(p.message) for p in study.problems] == [f"The file is not in UTF-8; it was read as {name}."]
    with pytest.raises(DataFileError, match="strict=True stops on them"):
        read_study(tmp_path / "study.csv", ReadSettings(strict=True))


def test_columns_by_hand(tmp_path) -> None:
    text = COUPONS.replace("own.coupon", "came").replace("coupon.1", "C1").replace("coupon.2", "C2").replace("id", "No")
    path = put(tmp_path, text)
    with pytest.raises(
        DataFileError, match="cannot tell who recruited whom(.|\n)*network_size = network.size(.|\n)*own_coupon"
    ):
        read_study(path)
    told = parse_columns(["id=No", "own_coupon=came", "coupons=C1+C2", "network_size="])
    study = read_study(path, ReadSettings(columns=told))
    assert study.issued.tolist() == [2, 1, 0, 2]
    assert study.network_size is None
    with pytest.raises(UnknownName, match="no column in study.csv called 'camee'. Did you mean 'came'"):
        read_study(path, ReadSettings(columns=parse_columns(["own_coupon=camee"])))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["own_cupon=x"], "no part of a study called 'own_cupon'. Did you mean 'own_coupon'"),
        (["id"], "Cannot read 'id' as a column"),
        (["id=a", "id=b"], "column of id is given twice"),
    ],
)
def test_wrong_maps(texts, message) -> None:
    with pytest.raises(PeerfrontError, match=message):
        parse_columns(texts)


def test_a_name_may_hold_a_plus() -> None:
    assert parse_columns(["id=a+b", "coupons=C1 + C2"]) == {"id": ("a+b",), "coupons": ("C1", "C2")}


@pytest.mark.parametrize(
    ("id", "own", "issued", "recruiter", "date", "network_size"),
    [
        ("ID", "CouponR", ("Coupon1", "Coupon2"), None, "Date", "Degree"),
        ("participant_id", "coupon_in", ("outpons_1", "outpons_2"), None, "interview.date", "network size"),
        ("id", "coupon_redeemed", ("coupon_1", "coupon_2"), "recruiter_id", "time", "network_size"),
        ("Respondent ID", "Redeemed coupon", ("Coupon A", "Coupon B"), None, None, None),
    ],
)
def test_common_names_are_recognised(tmp_path, id, own, issued, recruiter, date, network_size) -> None:
    roles = {"id": id, "own_coupon": own, "recruiter": recruiter, "date": date, "network_size": network_size}
    named = {role: (name,) for role, name in roles.items() if name} | {"coupons": issued}
    header = [name for names in named.values() for name in names]
    study = read_study(put(tmp_path, ",".join(header) + "\n" + ",".join("1" if n == id else "" for n in header) + "\n"))
    assert dict(study.columns) == named


def test_recruiter_files_need_the_coupons_issued(tmp_path) -> None:
    text = "id,recruiter.id,sex\na,seed,f\nb,a,m\n"
    path = put(tmp_path, text)
    with pytest.raises(DataFileError, match="not how many coupons each person was issued.*coupons_each=3"):
        read_study(path)
    assert read_study(path, ReadSettings(coupons_each=3)).issued.tolist() == [3, 3]
    with pytest.raises(SettingError, match="lists the coupons issued"):
        read_study(put(tmp_path, COUPONS), ReadSettings(coupons_each=3))


@pytest.mark.parametrize("seeds", [("seed", "seed"), ("0", "0"), ("-1", "-1"), ("", ""), ("NA", "NA"), ("zz", "zz")])
def test_seeds_of_recruiter_files(tmp_path, seeds) -> None:
    text = f"id,recruiter.id\na,{seeds[0]}\nb,{seeds[1]}\nc,a\n"
    study = read_study(put(tmp_path, text), ReadSettings(coupons_each=3))
    assert study.seed.tolist() == [True, True, False]
    assert study.recruiter.tolist() == [-1, -1, 0]


def test_ids_that_became_numbers(tmp_path) -> None:
    study = read_study(put(tmp_path, "id,recruiter.id\n1,\n2,1.0\n3,2.0\n"), ReadSettings(coupons_each=3))
    assert study.recruiter.tolist() == [-1, 0, 1]


def test_missing_codes(tmp_path) -> None:
    text = "id,own.coupon,coupon.1,sex\n1,0,A,99\n2,A,0,f\n"
    study = read_study(put(tmp_path, text), ReadSettings(missing=("0", "99")))
    assert study.seed.tolist() == [True, False]
    assert study.issued.tolist() == [1, 0]
    assert study.people["sex"].tolist() == ["", "f"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n \n", "the file is empty"),
        (b"id,own.coupon,coupon.1\n", "there is a header and nobody below it"),
        (b"\x00\x01\x02\xff" * 50, "is not a text file"),
        (b"PK\x03\x04rest", "is an Excel workbook.*CSV UTF-8"),
        (b"\xd0\xcf\x11\xe0rest", "is an Excel workbook"),
        (b"\x1f\x8b\x08rest", "R data"),
        (b"$FL2rest", "SPSS"),
        (b"id,own.coupon,coupon.1,sex,sex\n1,,A,f,f\n", "names 'sex' more than once"),
        (b"id,own.coupon,coupon.1\n1,,A\n2,A,B,C,D\n", "row 3: 5 values for 3 columns"),
        (b'id,own.coupon,coupon.1\n1,,"A\n2,A,B\n', "quotation marks"),
        (b"id,own.coupon,sex\n1,,f\n", "cannot tell who recruited whom"),
        (b"just one column\n1\n2\n", "cannot tell who recruited whom"),
        (b"RDS\n", "needs a second line"),
        (b"RDS\nmany 2 0 sex\n", "line 2: expected the number of people"),
        (b"RDS\n1 2 0 sex\n", "nobody below line 2"),
        (b"RDS\n1 2 0 sex\n1 5 0 A B\n", "line 3: 5 values; expected 6"),
        (b"RDS\n1 2 0 sex sex\n1 5 0 A B f f\n", "'sex' stands twice"),
        (b"[{]", "line 1: this is not correct JSON"),
        (b"[]", "expected a list of survey records"),
        (b'[{"surveyCode": "1"}]', "record 1: there is no 'parentSurveyCode'"),
        (
            b'[{"surveyCode": "1", "parentSurveyCode": "", "childSurveyCodes": "a"}]',
            "record 1: childSurveyCodes must be a list",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path, content, message) -> None:
    path = put(tmp_path, content)
    with pytest.raises(DataFileError, match=message):
        read_study(path)


def test_no_file(tmp_path) -> None:
    with pytest.raises(DataFileError, match="there is no such file"):
        read_study(tmp_path / "no.csv")
    with pytest.raises(DataFileError, match="is a folder, not a file"):
        read_study(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"format": "exel"}, "no format called 'exel'"),
        ({"coupons_each": 2.5}, "coupons each must be a whole number"),
        ({"still_open": "soon"}, "'soon' is not understood. Allowed: auto, none, last-wave"),
        ({"still_open": 30}, "30 is not understood. Allowed: auto, none, last-wave"),
        ({"columns": {"ids": ("a",)}}, "no part of a study called 'ids'"),
        ({"columns": {"id": "person"}}, "columns for id must be a list of texts; found 'person'"),
        ({"columns": ["id"]}, "columns must name columns by role"),
        ({"missing": "99"}, "missing must be a list of texts"),
        ({"missing": (99,)}, "each of missing must be a text"),
        ({"strict": "yes"}, "strict must be True or False"),
    ],
)
def test_wrong_settings(settings, message) -> None:
    with pytest.raises(PeerfrontError, match=message):
        ReadSettings(**settings)


def test_settings_are_kept_as_plain_values() -> None:
    settings = ReadSettings(coupons_each=np.int64(3), missing=["99"], columns={"id": ["person"]}, strict=np.True_)
    assert settings == ReadSettings(coupons_each=3, missing=("99",), columns={"id": ("person",)}, strict=True)
    assert type(settings.coupons_each) is int


def test_settings_that_do_not_fit_the_format(tmp_path) -> None:
    rdsat, app = put(tmp_path, RDSAT, "a.rdsat"), put(tmp_path, APP, "a.json")
    for path, settings in (
        (rdsat, ReadSettings(columns={"id": ("id",)})),
        (rdsat, ReadSettings(coupons_each=2)),
        (app, ReadSettings(columns={"id": ("sex",)})),
        (app, ReadSettings(coupons_each=2)),
    ):
        with pytest.raises(SettingError, match=path.name):
            read_study(path, settings)


def test_r_row_numbers_go_and_other_unnamed_columns_warn(tmp_path) -> None:
    lines = COUPONS.strip().split("\n")
    numbered = [f'"","{lines[0]}"'.replace('"id', "id").replace('sex"', "sex")] + [
        f"{n},{x}" for n, x in enumerate(lines[1:], 1)
    ]
    assert read_study(put(tmp_path, "\n".join(numbered))).problems == ()
    strange = [f",{lines[0]}"] + [f"x{n},{x}" for n, x in enumerate(lines[1:], 1)]
    assert [str(p.message) for p in read_study(put(tmp_path, "\n".join(strange))).problems] == ["Column 1 has no name."]


def test_an_announced_number_that_is_wrong(tmp_path) -> None:
    study = read_study(put(tmp_path, RDSAT.replace("4 2 0", "5 2 0")))
    assert [str(p.message) for p in study.problems] == ["Line 2 announces 5 people; the file has 4."]


def test_recruiter_files_may_list_coupons(tmp_path) -> None:
    study = read_study(put(tmp_path, "id,recruiter,coupon1,coupon2\na,,A,B\nb,a,C,\n"))
    assert (study.format, study.issued.tolist(), study.recruiter.tolist()) == ("recruiter", [2, 1], [-1, 0])


def test_answers_of_every_kind(tmp_path) -> None:
    record = (
        '{"surveys": [{"surveyCode": "a", "parentSurveyCode": "__SEED__", "childSurveyCodes": null, "responses": '
        '{"yes": true, "many": ["x", 2], "half": 0.5, "deep": {"k": "é"}, "none": null}}], "version": 3}'
    )
    study = read_study(put(tmp_path, record))
    assert study.people.iloc[0].to_dict() == {
        "yes": "true", "many": "x+2", "half": "0.5", "deep": '{"k": "é"}', "none": "",
    }  # fmt: skip


def test_an_app_without_people(tmp_path) -> None:
    deleted = '[{"surveyCode": "a", "parentSurveyCode": "", "childSurveyCodes": [], "deletedAt": "2024-01-01"}]'
    with pytest.raises(DataFileError, match="there is nobody in it"):
        read_study(put(tmp_path, deleted))


@pytest.mark.parametrize(
    "names",
    [
        ("Código del participante", "Reclutador", "Cupones emitidos", "Fecha de la entrevista", "Tamaño de la red"),
        ("Identifiant", "Recruteur", "Nombre de coupons remis", "Date de l'entretien", "Combien en connaissez-vous?"),
        ("Código", "Recrutador", "Quantos cupons entregues", "Data da entrevista", "Tamanho da rede"),
        ("Namba", "Aliyemwalika", "Idadi ya kuponi", "Tarehe ya mahojiano", "Ukubwa wa mtandao"),
        ("Participant no.", "Recruited by", "How many coupons given", "Day of interview", "People you know"),
    ],
)  # fmt: skip
def test_columns_are_recognised_by_words_in_other_languages(tmp_path, names) -> None:
    rows = ["1,,3,2024-05-01,20,1980-01-01", "2,1,3,2024-05-08,15,1990-02-02", "3,1,0,2024-05-09,8,1991-02-02"]
    (tmp_path / "study.csv").write_text(",".join([*names, "Fecha de nacimiento"]) + "\n" + "\n".join(rows) + "\n")
    study = read_study(tmp_path / "study.csv")
    assert study.recruiter.tolist() == [-1, 0, 0]
    assert study.issued.tolist() == [3, 3, 0]
    assert study.columns["date"] == (names[3],)
    assert study.network_size is not None
    assert study.network_size.tolist() == [20, 15, 8]


def test_words_of_a_name_need_values_that_fit(tmp_path) -> None:
    text = "id,recruiter,coupons_issued,data collector,How many people do you know well,next visit date\n"
    (tmp_path / "study.csv").write_text(text + "1,,3,Ana,some,2025-01-01\n2,1,3,Luis,many,2025-01-08\n")
    columns = read_study(tmp_path / "study.csv").columns
    assert "date" not in columns
    assert "network_size" not in columns

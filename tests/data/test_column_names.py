"""Sensitive fields are found by the words of their names in seven languages, and by answers that leave no doubt."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.data.columns.column_names import MEANING, TOPICS, is_called, phrases, says, sensitive_topic, words_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "sensitive-fields.md"
LANGUAGES = {"English", "Spanish", "French", "Portuguese", "German", "Russian", "Swahili"}
TESTS, RACE, ORIENTATION, RELIGION, LEGAL, POLITICS, UNION, DRUGS, PREGNANCY, DISABILITY = (
    topic.title for topic in TOPICS
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Race.WBO.", ("race", "wbo")),
        ("race___1", ("race", "1")),
        ("group_a/HIV-Result2", ("group", "a", "hiv", "result", "2")),
        ("isSeed", ("is", "seed")),
        ("HIVStatus", ("hiv", "status")),
        ("Orientación sexual", ("orientacion", "sexual")),
        ("Staatsangehörigkeit", ("staatsangehorigkeit",)),
        ("Größe", ("grosse",)),
        ("ЦветКожи", ("цвет", "кожи")),
        ("", ()),
    ],
)
def test_words_of_names(name, words) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Race.WBO.", RACE), ("race___1", RACE), ("RACE", RACE), ("ethnic_group", RACE), ("raza", RACE),
        ("color_de_piel", RACE), ("Ethnie", RACE), ("raça_cor", RACE), ("Hautfarbe", RACE), ("Национальность", RACE),
        ("kabila", RACE), ("HIV", TESTS), ("hivstatus", TESTS), ("HIVstatus", TESTS), ("demographics/hiv_test", TESTS),
        ("resultado_prueba_vih", TESTS), ("Résultat du test", TESTS), ("Testergebnis", TESTS), ("ВИЧ_статус", TESTS),
        ("hali_ya_vvu", TESTS), ("syphilis.rapid", TESTS), ("CD4", TESTS), ("sexual_orientation", ORIENTATION),
        ("orientación_sexual", ORIENTATION), ("Sexuelle Orientierung", ORIENTATION), ("Религия", RELIGION),
        ("Konfession", RELIGION), ("dini", RELIGION), ("religião", RELIGION), ("legalStatus", LEGAL),
        ("estado_migratorio", LEGAL), ("Aufenthaltsstatus", LEGAL), ("гражданство", LEGAL), ("uraia", LEGAL),
        ("titre_de_séjour", LEGAL), ("migrant_status", LEGAL), ("work.permit", LEGAL), ("Migrationshintergrund", LEGAL),
        ("political_opinion", POLITICS), ("opinión_política", POLITICS), ("party_membership", POLITICS),
        ("member.of.party", POLITICS), ("Parteimitglied", POLITICS), ("партия", POLITICS),
        ("chama_cha_siasa", POLITICS), ("Union.yn.", UNION), ("trade_union_member", UNION), ("Sindicato", UNION),
        ("syndiqué", UNION),
        ("Gewerkschaft", UNION), ("профсоюз", UNION), ("chama_cha_wafanyakazi", UNION), ("drug_use", DRUGS),
        ("injects_drugs_12m", DRUGS), ("PWID", DRUGS), ("consumo_de_drogas", DRUGS), ("Drogenkonsum", DRUGS),
        ("наркотики", DRUGS), ("dawa_za_kulevya", DRUGS), ("currently_pregnant", PREGNANCY), ("embarazada", PREGNANCY),
        ("Grossesse", PREGNANCY), ("gravidez", PREGNANCY), ("schwanger", PREGNANCY), ("беременна", PREGNANCY),
        ("mjamzito", PREGNANCY), ("disability", DISABILITY), ("discapacidad", DISABILITY), ("handicapé", DISABILITY),
        ("pessoa_com_deficiência", DISABILITY), ("Behinderung", DISABILITY), ("инвалидность", DISABILITY),
        ("ulemavu", DISABILITY),
    ],
)  # fmt: skip
def test_names_of_sensitive_fields(name, topic) -> None:
    assert sensitive_topic(name) == topic


@pytest.mark.parametrize(
    "name",
    [
        "embrace", "trace", "terrace_flat", "graced", "archive", "achieved", "marital_status", "status", "result",
        "gender", "sex", "age", "age_group", "district", "housing", "acquaintances", "network_size", "Airplay.yn.",
        "Outcome", "education", "colour_of_coupon", "its_district", "statistics", "test_centre", "cor",
        "wohnort", "возраст", "umri", "transport", "faithfulness", "institution", "stinger", "hivernal", "",
        "unión_libre", "union_libre", "civil union", "credit_union", "reunion", "estado_civil", "party_size", "party",
        "parity", "member_of_household", "household_members", "partido", "employment_status", "drug_store", "drugstore",
        "pid", "state", "chama", "impartial", "residence", "devoted",
    ],
)  # fmt: skip
def test_names_that_only_look_like_them(name) -> None:
    assert sensitive_topic(name) is None


def test_answers_decide_what_a_union_is() -> None:
    assert sensitive_topic("union", ["yes", "no"]) == UNION
    assert sensitive_topic("union", ["married", "free union", "widowed"]) is None


@given(st.sampled_from([name for topic in TOPICS for names in topic.names.values() for name in names]), st.data())
def test_every_listed_name_is_found_in_any_spelling(name, data) -> None:
    shape = data.draw(st.sampled_from([str.lower, str.upper, str.title]))
    sign = data.draw(st.sampled_from(["_", ".", " ", "-", "/"]))
    assert sensitive_topic(shape(name).replace(" ", sign) + sign + "q")


@given(st.text(max_size=40))
def test_any_name_has_words(name) -> None:
    assert all(word and word == word.lower() for word in words_of(name))
    assert sensitive_topic(name) in (None, *(topic.title for topic in TOPICS))


@pytest.mark.parametrize(
    ("answers", "topic"),
    [
        (["Positive", "Negative", "Not tested"], TESTS), (["HIV-positive", "HIV-negative"], TESTS),
        (["white", "black", "other"], RACE), (["Catholic", "Muslim", "none"], RELIGION),
        (["Republican", "Democrat", "none"], POLITICS), (["pregnant", "not pregnant"], PREGNANCY),
        (["heroin", "crack", "alcohol"], DRUGS), (["Disabled", "Not disabled"], DISABILITY),
        (["Gay", "Straight", "Bisexual"], ORIENTATION), (["white", "black", "red"], None),
        (["positive", "neutral", "negative"], None), (["negative"], None), (["yes", "no"], None), ([], None),
        ([f"positive {i}" for i in range(60)] + ["positive", "negative"], None),
    ],
)  # fmt: skip
def test_answers_that_leave_no_doubt(answers, topic) -> None:
    assert sensitive_topic("q17", answers) == topic


def test_phrases() -> None:
    assert says("the_rapid.hiv test", phrases("rapid test"))
    assert not says("rapidly tested", phrases("rapid test"))
    assert is_called("Device", phrases("device"))
    assert not is_called("owns_device", phrases("device"))


def test_the_page_lists_them_all() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert str(MEANING) in page.replace("\n", " ")
    for topic in TOPICS:
        assert set(topic.names) == LANGUAGES
        title = str(topic.title)
        part = page.partition(f"## {title[0].upper()}{title[1:]}\n")[2].partition("\n## ")[0]
        for language, names in topic.names.items():
            assert f"| {language} | {', '.join(names)} |" in part
        assert not topic.answers or f"Answers: {', '.join(topic.answers)}." in part
        assert not topic.unless or f"holds: {', '.join(topic.unless)}." in part

"""Files that were half read are refused, with likely causes; what a user says is a study is read."""

import pandas as pd
import pytest

from data.made_exports import made_study
from peerfront.data.problems import FaultyStudy
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.schema_file import parse_schema, schema_text
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.messages import Remedy

MADE = made_study(3, 60)
OWN = [p.own for p in MADE.people]
WHO = [p.recruiter for p in MADE.people]
TABLE = pd.DataFrame(
    {
        "id": [p.id for p in MADE.people],
        "own_coupon": OWN,
        "date": [p.date for p in MADE.people],
        **{f"coupon_{slot + 1}": [p.slots[slot] for p in MADE.people] for slot in range(3)},
    }
)
WRONG = [f"X{n}" if n > 5 else "" for n in range(60)]
CASES = {
    "another column holds them": (TABLE.assign(own_coupon=WRONG, ref=OWN), "unknown-coupons", ("own_coupon", "ref")),
    "a column of coupons is not among them": (
        TABLE.drop(columns="coupon_2").assign(second=TABLE["coupon_2"]),
        "unknown-coupons",
        ("coupons", "coupon_1", "coupon_3", "second"),
    ),
    "misspelt": (TABLE.assign(own_coupon=[own.replace("0", "O") for own in OWN]), "unknown-coupons", "mend"),
    "recruiters elsewhere": (
        TABLE.assign(own_coupon=[*OWN[:10], *[""] * 40, *OWN[50:]], who=WHO),
        "many-seeds",
        ("recruiter", "who"),
    ),
    "no dates": (TABLE.assign(date=["soon"] * 40 + list(TABLE["date"][40:])), "lost-dates", ("date",)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_not_read_is_refused_with_its_likely_causes(case) -> None:
    table, kind, remedy = CASES[case]
    with pytest.raises(FaultyStudy) as stopped:
        read_study(table)
    faults = [p for p in stopped.value.problems if p.severity == "error"]
    assert [p.kind for p in faults] == [kind]
    causes = faults[0].message.arguments["causes"]
    assert len(causes) == 3
    first = causes[0].remedies[0]
    assert (first.value if first.setting == "map" else first.setting) == remedy
    assert Remedy("read_anyway", True) in faults[0].remedies
    anyway = read_study(table, ReadSettings(read_anyway=True))
    assert [p.severity for p in anyway.problems if p.kind == kind] == ["warning"]


@pytest.mark.parametrize("case", ["another column holds them", "a column of coupons is not among them"])
def test_the_first_line_to_paste_mends_it(case) -> None:
    table, _, (role, *names) = CASES[case]
    study = read_study(table, ReadSettings(columns={role: tuple(names)}))
    assert list(study.recruiter_ids()) == WHO


def test_few_unknown_recruiters_and_marked_seeds_are_no_reason() -> None:
    table = TABLE.copy()
    table.loc[40:44, "own_coupon"] = ["lost 1", "?9", "77-Q", "zz", "yy"]
    assert {p.kind for p in read_study(table).problems} <= {"not-issued", "assumed-seed"}
    seeds = TABLE.assign(own_coupon=[*OWN[:10], *[""] * 40, *OWN[50:]])
    marks = ["yes" if not own else "no" for own in seeds["own_coupon"]]
    assert read_study(seeds.assign(seed=marks)).seed.sum() > 30


def test_what_was_said_is_kept_in_the_schema() -> None:
    text = schema_text(StudySchema((), (), ReadSettings(read_anyway=True)))
    assert "read_anyway = true" in text
    assert parse_schema(text.encode(), "schema.toml").reading.read_anyway

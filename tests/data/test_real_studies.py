"""The public data sets, read as a stranger would, against the numbers recorded beside them."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from peerfront.data.columns.column_findings import is_sensitive
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.study import summarise
from peerfront.data.study_schema import history_of
from peerfront.data.writers import write_study

FILES = {
    "nyjazz": ("raw/nyjazz.csv", {}),
    "nyjazz (rdsat)": ("raw/nyjazz.rdsat", {}),
    "nyjazz (converted)": ("participants.csv", {}),
    "rdstools_toy": ("raw/rdstools_toy.csv", {}),
    "fauxtime": ("participants.csv", {"coupons_each": 3}),
    "fauxmadrona": ("participants.csv", {"coupons_each": 2}),
    "fauxtime (R)": ("raw/fauxtime.RData", {"coupons_each": 3}),
    "fauxmadrona (R)": ("raw/fauxmadrona.RData", {"coupons_each": 2}),
}


def study_called(shared_data, name):
    file, settings = FILES[name]
    folder = shared_data / name.split(" ")[0]
    return read_study(folder / file, ReadSettings(**settings)), folder


@pytest.mark.parametrize("name", FILES)
def test_counts_agree_with_what_is_recorded(shared_data, name) -> None:
    study, folder = study_called(shared_data, name)
    known = json.loads((folder / "stats.json").read_text())
    summary = summarise(study)
    assert (summary.people, summary.seeds) == (known["n"], known["seeds"])
    assert (summary.recruiter_unknown, summary.waves) == (known["orphans"], known["max_wave"])
    assert summary.pairs == known["dyads"]
    assert {str(k): v for k, v in summary.people_per_wave.items()} == known["wave_sizes"]
    assert {str(k): v for k, v in summary.recruits_per_person.items()} == known["recruits_per_participant"]
    if "coupons_issued" in known:
        assert {str(k): v for k, v in summary.coupons_per_person.items()} == known["coupons_issued"]
        assert sum(p.kind == "too-many-recruits" for p in study.problems) == known["recruits_exceed_coupons"]
    recorded = pd.read_csv(folder / "participants.csv", dtype=str, keep_default_na=False)
    by_id = dict(zip(recorded["id"], recorded["recruiter_id"], strict=True))
    assert dict(zip(study.ids, study.recruiter_ids(), strict=True)) == by_id
    history = history_of(study, guess_schema(study).schema)
    assert len(history.parents) == known["dyads"]


def test_what_is_odd_about_the_jazz_musicians(shared_data) -> None:
    study, _ = study_called(shared_data, "nyjazz")
    kinds = Counter(problem.kind for problem in study.problems)
    assert kinds["issued-twice"] == 13
    assert kinds["made-from-id"] == 27  # the column, and the 26 recruits entered with such a code
    assert kinds["not-issued"] == 3
    assert kinds["too-many-recruits"] == 3
    other, _ = study_called(shared_data, "nyjazz (rdsat)")
    assert np.array_equal(study.people.to_numpy(), other.people.to_numpy())
    assert [p.row + 1 for p in study.problems if p.row] == [p.row for p in other.problems if p.row]


@pytest.mark.parametrize("format", ["coupons", "rdsat"])
def test_the_jazz_musicians_survive_a_journey(shared_data, tmp_path, format) -> None:
    study, _ = study_called(shared_data, "nyjazz")
    write_study(study, tmp_path / "there", format)
    found = read_study(tmp_path / "there")
    pd.testing.assert_frame_equal(study.table(), found.table())
    assert [(p.kind, p.person) for p in found.problems] == [(p.kind, p.person) for p in study.problems]


def test_dates_of_the_faux_study(shared_data) -> None:
    study, _ = study_called(shared_data, "fauxtime")
    assert study.days is not None
    assert np.isnan(study.days).sum() == 1
    assert [(problem.kind, problem.row) for problem in study.problems] == [("future-date", 356)]  # dated 2100
    assert study.day == np.floor(np.nanmax(study.days))


@pytest.mark.parametrize(
    ("name", "sensitive", "used"),
    [
        ("nyjazz", {"Race.WBO.", "Union.yn."}, ("network.size", "Gender.MF.", "Age", "Airplay.yn.")),
        ("nyjazz (rdsat)", {"Race(WBO)", "Union(yn)"}, ("network.size", "Gender(MF)", "Age", "Airplay(yn)")),
        ("rdstools_toy", {"Race"}, ("Age", "Sex", "Outcome", "Degree")),
        ("fauxtime", set(), ("network_size", "var1")),
        ("fauxmadrona", {"disease"}, ("network_size", "todiseased", "tonondiseased")),
    ],
)
def test_which_columns_are_used(shared_data, name, sensitive, used) -> None:
    study, _ = study_called(shared_data, name)
    guess = guess_schema(study)
    assert guess.schema.schema.names == used
    assert {column for column, reason in guess.reasons.items() if is_sensitive(reason)} == sensitive
    assert name != "fauxmadrona" or str(guess.reasons["weights"]) == "a sampling weight, computed after recruitment"

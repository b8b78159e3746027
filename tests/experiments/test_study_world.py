"""The world `study`: from a study's file to a comparison, on the made-up study and on real ones."""

import shutil

import numpy as np
import pytest

import peerfront as pf
from cli.commands import run_command
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.schema_file import schema_text
from peerfront.experiments.comparison import Comparison, file_digests
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.problem import Rules
from peerfront.simulation.demo_study import demo_world


@pytest.fixture
def demo_file(tmp_path, monkeypatch):
    """The made-up study as a file in the present folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "study.csv"
    pf.demo_study(people=300).study.to_csv(file, index=False)
    return file


def test_a_world_like_the_made_up_study(demo_file) -> None:
    study = pf.read_study(demo_file)
    world = pf.make_world("study:file=study.csv", draw=2)
    assert world.schema == pf.guess_schema(study).schema.schema
    assert set(world.schema.names) == {field.name for field in demo_world().schema.fields}
    truth = dict(zip(demo_world().schema.names, demo_world().offspring.probabilities, strict=True))
    pairs = world.inheritance
    for name, estimate, error in zip(world.schema.names, pairs.estimates, pairs.standard_errors, strict=True):
        assert abs(estimate - truth[name]) < 4 * error
    # The same coupons to the same people bring about as many as in the study.
    rates = world.response.rates(world.seed_model.members[study.informative])
    luck = pf.named_luck(("again",), len(rates))
    came = world.response.sample(world.seed_model.members[study.informative], 3, luck).sum()
    expected = study.recruits[study.informative].sum()
    assert abs(came - expected) < 5 * np.sqrt(expected)


def test_without_a_file_it_is_the_made_up_study() -> None:
    world = pf.make_world("study")
    study = pf.read_study(pf.demo_study().study)
    assert len(world.seed_model.members) == len(study)


def test_a_schema_file_says_how_to_read_it(demo_file, tmp_path) -> None:
    guess = pf.guess_schema(pf.read_study(demo_file)).schema
    fewer = type(guess)(guess.fields, (*guess.exclude, "district"), guess.reading)
    (tmp_path / "schema.toml").write_text(schema_text(fewer))
    world = pf.make_world("study:file=study.csv,schema=schema.toml")
    assert "district" not in world.schema.names
    asked = Comparison(("study:file=study.csv,schema=schema.toml",))
    assert set(file_digests(asked, asked.worlds[0])) == {"study.csv", "schema.toml"}


def test_policies_are_compared_in_it(demo_file) -> None:
    spec = "study:file=study.csv,name=like mine"
    results = pf.compare(
        [spec], ["constant", "threshold"], draws=2, episodes=20, discounts=[1], budget=20, people=5, max_per_person=3
    )
    assert set(results.table["policy"]) == {"constant", "threshold"}
    assert set(results.table["world"]) == {"like mine"}
    learned = pf.compare(
        [spec], ["evenly"], models="learned", draws=1, episodes=5, discounts=[1], budget=10, people=3, rounds=3
    )
    assert len(learned.table)


def test_the_commands(demo_file, tmp_path, monkeypatch, capsys) -> None:
    code, out, _ = run_command(tmp_path, monkeypatch, capsys, "worlds", "study:file=study.csv", columns=400)
    assert code == 0
    assert "Probability that a recruit inherits a field, with 95% intervals:" in out
    arguments = ("simulate", "--world", "study:file=study.csv", "--policy", "constant", "--budget", 12)
    code, out, _ = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=120)
    assert code == 0
    assert "coupons in" in out
    code, _, err = run_command(tmp_path, monkeypatch, capsys, "worlds", "study:file=absent.csv", columns=120)
    assert code == 2
    assert "absent.csv: there is no such file" in err


def test_messages_are_those_of_reading_a_study(demo_file, tmp_path) -> None:
    table = pf.demo_study(people=60).study
    table.loc[3, "id"] = table.loc[2, "id"]
    table.to_csv("twice.csv", index=False)
    with pytest.raises(DataFileError) as of_world:
        pf.make_world("study:file=twice.csv")
    with pytest.raises(DataFileError) as of_reading:
        pf.read_study("twice.csv")
    assert str(of_world.value) == str(of_reading.value)
    table = pf.demo_study(people=60).study
    table["own.coupon"] = ""
    table.to_csv("seeds.csv", index=False)
    with pytest.raises(DataFileError, match=r"seeds\.csv has no recruit whose recruiter is known"):
        pf.make_world("study:file=seeds.csv")


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("study:schema=schema.toml", SettingError, "needs the study it belongs to"),
        ("study:sigma=-1", SettingError, "sigma must be a number of at least 0"),
        ("study:otherwise=marginal", UnknownName, "marginal"),
        ("study:fiel=study.csv", UnknownName, "Did you mean 'file'"),
    ],
)
def test_bad_settings(spec, error, message) -> None:
    with pytest.raises(error, match=message):
        pf.make_world(spec)


@pytest.mark.parametrize(
    ("file", "coupons_each"),
    [
        ("nyjazz/raw/nyjazz.csv", None),
        ("nyjazz/raw/nyjazz.rdsat", None),
        ("rdstools_toy/raw/rdstools_toy.csv", None),
        ("fauxtime/participants.csv", 3),
        ("fauxmadrona/participants.csv", 2),
    ],
)
def test_real_studies(shared_data, tmp_path, monkeypatch, file, coupons_each) -> None:
    monkeypatch.chdir(tmp_path)
    name = file.rsplit("/", 1)[-1]
    shutil.copy(shared_data / file, tmp_path / name)
    study = pf.read_study(name, ReadSettings(coupons_each=coupons_each))
    (tmp_path / "schema.toml").write_text(schema_text(pf.guess_schema(study).schema))
    world = pf.make_world(f"study:file={name},schema=schema.toml")
    usable = study.informative
    most = int(study.issued[usable].max())
    given = np.arange(1, most + 1) <= study.issued[usable][:, None]
    expected = world.response.gains(world.seed_model.members[usable], most)[given].sum()
    assert expected == pytest.approx(study.recruits[usable].sum(), rel=0.1)  # answers not known are filled anew
    assert ((world.offspring.probabilities >= 0) & (world.offspring.probabilities < 1)).all()
    policy = pf.make_policy("threshold:cutoff=0.5,at_least=3", world)
    played = pf.rollout(world, policy, Rules(budget=20, people=5), pf.named_luck(("real",), 10))
    assert (played.recruits.sum(axis=1) <= 20).all()

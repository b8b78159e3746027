"""`check` and `fit` with columns that must not be used, as a coordinator meets them."""

import numpy as np
import pandas as pd
import pytest

from cli.commands import run_command
from peerfront.data.columns.column_names import MEANING


def study_table():
    """Sixty people with a sensitive column, staff, a payment for recruits, and an ordinary column."""
    rng = np.random.default_rng(0)
    able = rng.binomial(3, 0.45, 100)
    recruiter, asked = [""] * 6, 0
    while len(recruiter) + able[asked] <= 60:
        recruiter += [f"p{asked}"] * able[asked]
        asked += 1
    n_people = len(recruiter)
    had = np.arange(n_people) < asked
    recruits = np.where(had, able[:n_people], 0)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n_people)],
            "recruiter": recruiter,
            "coupons_issued": np.where(had, 3, 0),
            "housing": rng.choice(["own", "none"], n_people),
            "HIV result": rng.choice(["pos", "neg"], n_people),
            "enumerator": rng.choice(["x", "y"], n_people),
            "paid_out": 5 + 10 * recruits,
        }
    )


@pytest.fixture
def study(tmp_path):
    study_table().to_csv(tmp_path / "study.csv", index=False)
    return tmp_path / "study.csv"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    def command(*arguments):
        code, out, err = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=200)
        return code, " ".join(out.split()), " ".join(err.split())

    return command


def test_check_leaves_them_out_and_says_why(run, study, tmp_path) -> None:
    code, out, _ = run("check", study, "--out", tmp_path / "out", "--details")
    assert code == 0
    assert "housing 2 categories" in out
    assert "paid_out not used tells the number of recruits, which is known only afterwards" in out
    assert "enumerator not used who interviewed or entered the data" in out
    assert "HIV result not used sensitive: HIV and other test results" in out
    assert f"Left out because they are sensitive: 'HIV result'. {MEANING}" in out


def test_one_word_uses_a_sensitive_column(run, study, tmp_path) -> None:
    run("check", study, "--out", tmp_path / "out")
    schema = tmp_path / "out" / "schema.toml"
    text = schema.read_text(encoding="utf-8")
    assert "use = false  # sensitive: HIV and other test results" in text
    schema.write_text(text.replace("use = false", "use = true"), encoding="utf-8")
    code, out, _ = run("check", study, "--schema", schema, "--details")
    assert code == 0
    assert "HIV result 2 categories" in out
    assert f"Warning: sensitive columns are used ('HIV result'). {MEANING}" in out
    schema.write_text(text.replace("use = false  # sens", "# sens"), encoding="utf-8")
    code, out, _ = run("check", study, "--schema", schema, "--details")
    assert code == 0
    assert "HIV result not used sensitive" in out, "a block alone is not enough"


@pytest.mark.parametrize("use", ["", "use = true\n"])
@pytest.mark.parametrize("command", ["check", "fit"])
def test_a_schema_that_forces_the_outcome(run, study, tmp_path, command, use) -> None:
    schema = tmp_path / "forced.toml"
    schema.write_text(f'[[field]]\nname = "paid_out"\ncuts = [10]\ncategories = ["no", "yes"]\n{use}', encoding="utf-8")
    arguments = ("--out", tmp_path / "model", "--budget", "10") if command == "fit" else ()
    code, _, err = run(command, study, "--schema", schema, *arguments)
    assert code == 2
    assert "forced.toml uses the column 'paid_out' of study.csv, and must not: it tells the number of recruits" in err
    assert 'add "paid_out" to exclude' in err
    assert "use = true" not in err, "nothing makes the outcome usable"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('exclude = ["housing"]\n[[field]]\nname = "housing"\ncategories = ["own", "none"]\nuse = true', "Remove one"),
        ('[[field]]\nname = "housing"\ncategories = ["own", "none"]\nuse = "yes"', "use must be true or false"),
    ],
)
def test_schemas_that_contradict_themselves(run, study, tmp_path, text, message) -> None:
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    code, _, err = run("check", study, "--schema", tmp_path / "bad.toml")
    assert code == 2
    assert message in err

"""What a saved model tells about few people: of whom people bring, nothing that can be solved for.

The attacker reads the model folder, knows the program and its formulas, and tries to find counts of fewer than five.
"""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load
from scipy.special import logsumexp
from small_study import QUICK

from peerfront.data.columns.schema_guess import guess_schema, private_schema
from peerfront.data.reading import study_from_table
from peerfront.data.study_schema import encode_study, history_of
from peerfront.foundation.covariates import Schema
from peerfront.foundation.stored import rounded_counts
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import Counts, learned_belief
from peerfront.models.belief.prior import Prior
from peerfront.models.offspring.inheritance_tables import (
    SHRINKAGES,
    field_counts,
    fit_inheritance,
    fit_private_inheritance,
    private_table,
)
from peerfront.models.offspring.pairs import Pairs
from peerfront.simulation.demo_study import demo_study
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import fit_study


def solved_counts(table: np.ndarray, most: int = 60) -> np.ndarray | None:
    """The attack on a plain table: the counts, row by row, that some shrinkage turns into these chances."""
    marginal = table[-1]
    for shrinkage in SHRINKAGES:
        rows = []
        for row in table[:-1]:
            found = [row * (n + shrinkage) - shrinkage * marginal for n in range(most)]
            whole = [
                np.rint(c)
                for n, c in enumerate(found)
                if np.allclose(c, np.rint(c), atol=1e-7) and np.rint(c).min() >= 0 and np.rint(c).sum() == n
            ]
            rows.append(whole[0] if whole else None)
        if all(row is not None for row in rows):
            return np.array(rows)
    return None


def some_pairs(seed: int, pairs: int = 40, categories: int = 3) -> Pairs:
    rng = np.random.default_rng(seed)
    parents = rng.integers(0, categories, (pairs, 1)).astype(np.int16)
    alike = rng.random((pairs, 1)) < 0.5
    children = np.where(alike, parents, rng.integers(0, categories, (pairs, 1))).astype(np.int16)
    return Pairs(Schema.of_sizes({"group": categories}), parents, children)


def test_the_attack_works_on_plain_tables_and_fails_on_private_ones() -> None:
    for seed in range(5):
        pairs = some_pairs(seed)
        counts = field_counts(pairs.parents[:, 0], pairs.children[:, 0], 3)[:-1]
        assert np.array_equal(solved_counts(fit_inheritance(pairs).tables[0]), counts)
        solved = solved_counts(fit_private_inheritance(pairs).tables[0])
        assert solved is None or not np.array_equal(solved, counts)


def test_no_small_count_follows_from_a_private_table() -> None:
    """Every 2 x 2 table of up to 13 pairs a cell: those with the same stored table never agree on a small count."""
    alike: dict[bytes, list[tuple[int, ...]]] = defaultdict(list)
    signatures: dict[tuple[float, ...], bytes] = {}
    for cells in product(range(17), repeat=4):
        counts = np.array([cells[:2], cells[2:], (0, 0)], dtype=float)
        large = counts >= 10
        # The table is a function of these alone; it is computed once for each.
        known = (
            *rounded_counts(counts.sum(axis=0)),
            float(rounded_counts(np.trace(counts), 10)),
            *rounded_counts(np.where(large, 0, counts).sum(axis=1)),
            *np.where(large, rounded_counts(counts, 10), -1).ravel(),
        )
        if known not in signatures:
            signatures[known] = private_table(counts).round(12).tobytes()
        alike[signatures[known]].append(cells)
    assert len(alike) > 500
    for tables in alike.values():
        together = np.array(tables)
        if together.max() <= 13:
            for cell in together.T:
                assert cell.min() < cell.max() or cell.min() >= 5, tables


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 400))
@settings(max_examples=60)
def test_private_tables_are_chances_and_depend_on_rounded_counts_alone(seed, categories, pairs) -> None:
    made = some_pairs(seed, pairs, categories)
    table = fit_private_inheritance(made).tables[0]
    assert table.shape == (categories + 1, categories)
    assert (table > 0).all()
    assert table.sum(axis=1) == pytest.approx(np.ones(categories + 1))


def counts_by_draws(belief: Belief, rows: int) -> np.ndarray:
    """The attack on draws: how many people brought 0, 1, ..., from the mean of the levels and the score equations."""
    levels = np.concatenate([[0.0], belief.levels.mean(axis=0)])
    chances = np.exp(levels - logsumexp(levels))
    return rows * chances + levels / Prior().level ** 2


def believed(recruits: np.ndarray) -> Belief:
    """What is kept of people who all had three coupons."""
    nobody = np.zeros((len(recruits), 1), dtype=np.int16)
    counts = Counts(Schema.of_sizes({"kind": 1}), nobody, np.full(len(recruits), 3), recruits)
    return learned_belief(counts.private()).rounded()


def test_the_attack_on_draws_fails() -> None:
    """60 people, of whom two to four brought three: how many, the draws should not tell to the nearest person."""
    found, true = [], []
    for seed in range(6):
        small = 2 + seed % 3
        recruits = np.repeat([0, 1, 2, 3], [26 - seed, 22, 12 + seed - small, small])
        found.append(counts_by_draws(believed(recruits), 60)[3])
        true.append(small)
    assert (np.abs(np.array(found) - true) < 0.6).mean() <= 0.5  # by luck


def test_counts_that_differ_by_one_person_give_the_same_draws_as_others() -> None:
    """Whoever tries all counts with the program's own luck should not be left with one."""
    kept = believed(np.repeat([0, 1, 2, 3], [30, 20, 7, 3]))
    others = [believed(np.repeat([0, 1, 2, 3], [33 - n, 20, 7, n])) for n in range(5) if n != 3]
    assert any(kept.same_draws(other) for other in others)


def test_draws_are_kept_with_three_decimals() -> None:
    belief = believed(np.arange(60) % 4)
    for name in ("limited", "spur", "levels", "effects", "drift", "spread"):
        kept = getattr(belief, name)
        assert np.array_equal(kept, np.round(kept, 3))
    assert not Belief.restored(belief.stored(), belief.schema).gains  # evidence for fields stays with the fit


def test_rounding() -> None:
    assert rounded_counts([0, 1, 2, 3, 4, 5, 7, 8, 12, 13]).tolist() == [0, 0, 0, 5, 5, 5, 5, 10, 10, 15]


def made_up(people: int = 60) -> pd.DataFrame:
    """A study in which single people have answers of their own."""
    table = demo_study(people, seed=4).study
    table["club"] = ["common"] * len(table)
    table.loc[table.index[:20], "club"] = "usual"
    table.loc[table.index[25], "club"] = "the only one"
    table["trade"] = [f"trade {i % 12}" if i < 24 else "none" for i in range(len(table))]  # two people each
    table["age"] = [20 + i % 30 for i in range(len(table) - 2)] + [89, 91]
    return table


@pytest.fixture
def lists_everything(monkeypatch) -> None:
    """Guessed schemas name every answer, however rare."""
    monkeypatch.setattr("peerfront.data.columns.schema_guess._RARE_PEOPLE", 0)
    monkeypatch.setattr("peerfront.data.columns.schema_guess._MOST_CATEGORIES", 50)


def test_answers_of_few_people_are_merged(lists_everything) -> None:
    study = study_from_table(made_up())
    schema = guess_schema(study).schema
    assert "the only one" in str(schema.schema)
    private, done = private_schema(study, schema)
    for field, codes in zip(private.schema.fields, encode_study(study, private).T, strict=True):
        counts = np.bincount(codes[codes >= 0], minlength=len(field))
        assert ((counts == 0) | (counts >= 5)).all(), field
    assert "the only one" not in str(private.schema)
    assert done["trade"].code == done["club"].code == "column_reasons.few_merged"
    trade = next(rule for rule in private.fields if rule.name == "trade")
    assert trade.other == "other"  # 24 people together
    club = next(rule for rule in private.fields if rule.name == "club")
    assert club.others_unknown
    assert club.other is None
    again, nothing = private_schema(study, private)
    assert again == private
    assert not nothing


def test_bands_of_few_people_join_a_neighbour() -> None:
    table = made_up()
    study = study_from_table(table)
    schema = guess_schema(study).schema
    age = next(rule for rule in schema.fields if rule.name == "age")
    odd = replace(age, categories=("under 30", "30 to 87", "88 or more"), cuts=(30.0, 88.0))
    fields = tuple(odd if rule.name == "age" else rule for rule in schema.fields)
    private, done = private_schema(study, replace(schema, fields=fields))
    joined = next(rule for rule in private.fields if rule.name == "age")
    assert joined.categories == ("under 30", "30 to 87 or 88 or more")
    assert joined.cuts == (30.0,)
    assert "age" in done


def test_a_column_of_few_people_is_left_out(lists_everything) -> None:
    table = made_up()
    table["rare"] = ["yes" if i < 3 else "no" for i in range(len(table))]
    study = study_from_table(table)
    private, done = private_schema(study, guess_schema(study).schema)
    assert "rare" not in private.schema.names
    assert "left out" in str(done["rare"])


def test_a_saved_model_tells_no_small_count(lists_everything) -> None:
    study = study_from_table(made_up())
    schema = guess_schema(study).schema
    fit = fit_study(study, schema, FitSettings(budget=8, rounds=2, people=4, learning=QUICK))
    files = fit.files()
    everything = b"".join(files.values()).decode("latin-1")
    for answer in ("the only one", "trade 3"):
        assert answer not in everything
    manifest = json.loads(files["manifest.json"])
    told = manifest["scores"]
    for count in ("people", "finished_coupon_holders", "pairs", "still_open"):
        assert told[count] % 5 == 0
    for row in told["coupon_use"]:
        assert row["people"] % 5 == 0
        if row["observed"] is not None:
            assert 5 <= round(row["observed"] * row["people"]) <= row["people"] - 5
    for line in told["coupon_stories"]["evidence"]:
        assert all(line[name] % 5 == 0 for name in ("people", "brought", "low", "high"))
    # The attack that rebuilt every table of recruiter and recruit from version 0.2.
    arrays = load(files["weights.safetensors"])
    history = history_of(study, private_schema(study, schema)[0])
    for number, size in enumerate(history.schema.sizes.tolist()):
        counts = field_counts(history.parents[:, number], history.children[:, number], size)[:-1]
        solved = solved_counts(arrays[f"offspring/field {number}"])
        assert solved is None or not np.array_equal(solved, counts)

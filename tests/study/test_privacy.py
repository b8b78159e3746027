"""What a saved model tells about few people: nothing that can be solved for.

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
from peerfront.models.response.private_response import _steps, private_response
from safetensors.numpy import load
from small_study import QUICK

from peerfront.data.columns.schema_guess import guess_schema, private_schema
from peerfront.data.reading import study_from_table
from peerfront.data.study_schema import encode_study, history_of
from peerfront.foundation.covariates import Schema
from peerfront.foundation.response_families import story_of
from peerfront.foundation.stored import rounded_counts
from peerfront.models.offspring.inheritance_tables import (
    SHRINKAGES,
    field_counts,
    fit_inheritance,
    fit_private_inheritance,
    private_table,
)
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_fit import LOG_LINEAR, ResponseSettings, fit_response
from peerfront.problem import History
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


def unused_by_the_attack(model: LearnedResponse, rows: int) -> float:
    """Coupons that were not used, solved from what the members of a binomial model say of all folds but one each."""
    biases = model.rates.biases[0].ravel()
    used = -np.expm1(-np.exp(biases)) * 2 * rows * 0.8  # of the four fifths of the rows that each has seen
    return 2 * rows - used.sum() / 4


def test_the_attack_on_rates_works_on_three_decimals_and_fails_on_private_models() -> None:
    """60 people with two coupons each, of which a few are not used: how many, no private model tells."""
    schema, nobody = Schema.of_sizes({"kind": 1}), np.zeros((0, 1), dtype=np.int16)
    people, plain, private = np.zeros((60, 1), dtype=np.int16), [], []
    for unused in range(1, 8):
        recruits = np.full(60, 2)
        recruits[np.random.default_rng(unused).permutation(60)[:unused]] -= 1
        history = History(schema, people, np.full(60, 2), recruits, nobody, nobody)
        fitted = fit_response(history, ResponseSettings("binomial", story="per_coupon", doubt=None))
        plain.append(unused_by_the_attack(fitted.rounded(), 60))
        private.append(unused_by_the_attack(private_response(fitted, history, 150.0), 60))
    assert np.round(plain).tolist() == list(range(1, 8))
    assert (np.round(private) == np.arange(1, 8)).sum() <= 3  # by luck


def test_the_limit_of_rates_tells_the_number_of_rows_to_the_nearest_five() -> None:
    schema = Schema.of_sizes({"kind": 1})
    limits = set()
    for rows in (58, 59, 60, 61, 62):
        people, nobody = np.zeros((rows, 1), dtype=np.int16), np.zeros((0, 1), dtype=np.int16)
        history = History(schema, people, np.full(rows, 3), np.arange(rows) % 4, nobody, nobody)
        fitted = fit_response(history, ResponseSettings("poisson"))
        limits.add(private_response(fitted, history, 150.0).rates.largest)
        assert fitted.rates.largest not in limits or rows == 60
    assert len(limits) == 1


def test_private_models_predict_as_well() -> None:
    """Rounding costs less than the study knows: half a unit of log-likelihood or so, of hundreds."""
    rng = np.random.default_rng(3)
    schema, rows = Schema.of_sizes({"kind": 2, "place": 3}), 400
    people = np.column_stack([rng.integers(0, 2, rows), rng.integers(0, 3, rows)]).astype(np.int16)
    rates = np.exp(0.7 * people[:, 0] - 0.3 * people[:, 1])
    history = History(
        schema, people, np.full(rows, 3), np.minimum(3, rng.poisson(rates)), *np.zeros((2, 0, 2), dtype=np.int16)
    )
    for family in ("poisson", "zip", "nb", "zinb", "binomial", "zib", "betabinomial", "thinned"):
        story = story_of(family)
        fitted = fit_response(history, ResponseSettings(family, (LOG_LINEAR,), story=story, penalties=(1.0,)))
        private = private_response(fitted, history, 150.0)
        logs = [each.log_likelihoods(people, history.coupons, history.recruits).sum() for each in (fitted, private)]
        assert abs(logs[1] - logs[0]) < 2.0, family
        assert private.fields == fitted.fields
        own, rounded = (np.log(each.member_means(people)).std(axis=0).mean() for each in (fitted, private))
        assert own / 3 < rounded < 3 * own, family


def test_rounding() -> None:
    assert rounded_counts([0, 1, 2, 3, 4, 5, 7, 8, 12, 13]).tolist() == [0, 0, 0, 5, 5, 5, 5, 10, 10, 15]


def made_up(people: int = 60) -> pd.DataFrame:
    """A study in which single people have answers of their own."""
    table = demo_study(people, seed=4).study
    table["club"] = ["common"] * len(table)
    table.loc[table.index[:20], "club"] = "usual"
    table.loc[table.index[25], "club"] = "the only one"
    table["trade"] = [f"trade {i % 12}" if i < 24 else "none" for i in range(len(table))]  # two people each
    table["age"] = [20 + i % 30 for i in range(len(table) - 2)] + [88, 99]
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
    # The attack that rebuilt every table of recruiter and recruit from version 0.2.
    arrays = load(files["weights.safetensors"])
    history = history_of(study, private_schema(study, schema)[0])
    for number, size in enumerate(history.schema.sizes.tolist()):
        counts = field_counts(history.parents[:, number], history.children[:, number], size)[:-1]
        solved = solved_counts(arrays[f"offspring/field {number}"])
        assert solved is None or not np.array_equal(solved, counts)


def test_counts_seen_so_far_are_rounded_by_what_five_people_move_now() -> None:
    """Where a third of the recruits have come, one more moves a rate three times as far: steps are larger."""
    rng = np.random.default_rng(4)
    schema, rows = Schema.of_sizes({"kind": 2}), 400
    people = rng.integers(0, 2, (rows, 1)).astype(np.int16)
    whole = np.minimum(3, rng.poisson(1.2, rows))
    nobody = np.zeros((2, 0, 1), dtype=np.int16)
    early = History(schema, people, np.full(rows, 3), rng.binomial(whole, 0.3), *nobody, np.full(rows, 0.3))
    for family in ("poisson", "betabinomial"):
        fitted = fit_response(early, ResponseSettings(family, (LOG_LINEAR,), story=story_of(family), penalties=(1.0,)))
        private = private_response(fitted, early, 150.0)
        logs = [
            each.log_likelihoods(people, early.coupons, early.recruits, early.exposure).sum()
            for each in (fitted, private)
        ]
        assert abs(logs[1] - logs[0]) < 2.0, family
        one_hot = schema.one_hot(people).astype(np.float64)
        now, ended = (
            _steps(fitted, one_hot, early.coupons, early.recruits, exposure) for exposure in (early.exposure, None)
        )
        assert now.score > 2 * ended.score, family

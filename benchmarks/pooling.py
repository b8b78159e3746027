"""New studies of 30, 60 and 120 people, alone and with three earlier models: what they predict and bring.

python benchmarks/pooling.py --out results/pooling.csv
python benchmarks/pooling.py --out results/p.csv --repetitions 3 --sizes 30

People have sex, age (3 bands) and district (4); their log rates are a level plus effects of all three. Everybody gets 3
coupons; in even repetitions rates are Poisson capacities, in odd ones each coupon is used on its own. Earlier studies
have 150 people. Worlds, by how studies differ from a common truth (standard deviations of log rates):

    like      levels by .15, effects by .1 (effects themselves vary by .4);
    unlike    levels by .6, and effects that have nothing to do with each other;
    others    the three earlier ones are like each other, and the new one has another level (half or double) and
              effects of its own.

Models of how many people bring are fitted as `peerfront fit` does, alone and with --prior (no value is learned, and for
speed only linear shapes are tried). `score` is the mean log-likelihood of 4,000 other people of the new study, with 1,
2 or 3 coupons; `recruits` is what a last round brings in truth: 40 people waiting, 40 coupons given where the model
expects most, at most 3 each, over 50 frontiers. Columns `with_` minus the others are paired.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from peerfront.models.response.private_response import private_response
from peerfront.models.response.response_stories import fit_stories, weigh

from peerfront.data.columns.schema_guess import guess_schema, private_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.schema_file import schema_text
from peerfront.data.study_schema import history_of
from peerfront.foundation.networks import frozen, perceptron
from peerfront.foundation.randomness import named_generator
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import LaplaceNetwork, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate
from peerfront.models.offspring.inheritance_tables import fit_private_inheritance
from peerfront.models.offspring.pairs import Pairs
from peerfront.problem import Rules
from peerfront.study.artifacts import Fit, fingerprint
from peerfront.study.earlier_studies import Alone, EarlierStudies, own_is_better
from peerfront.study.fit_models import response_settings

FIELDS = {"sex": ("f", "m"), "age": ("18-29", "30-44", "45+"), "district": ("N", "E", "S", "W")}
EARLIER, COUPONS = 150, 3
WORLDS = ("like", "unlike", "others")


class Truth:
    """How people of one study respond."""

    def __init__(self, level: float, effects: list[np.ndarray], per_coupon: bool) -> None:
        self.level, self.effects, self.per_coupon = level, effects, per_coupon

    def rates(self, codes: np.ndarray) -> np.ndarray:
        logs = self.level + sum(effect[codes[:, f]] for f, effect in enumerate(self.effects))
        return np.exp(logs)

    def chance(self, codes: np.ndarray) -> np.ndarray:
        return -np.expm1(-0.5 * self.rates(codes))

    def draw(self, codes: np.ndarray, coupons: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.per_coupon:
            return rng.binomial(coupons, self.chance(codes))
        return np.minimum(rng.poisson(self.rates(codes)), coupons)

    def gains(self, codes: np.ndarray) -> np.ndarray:
        """What the 1st, 2nd, 3rd coupon adds, [people, 3]."""
        if self.per_coupon:
            return np.repeat(self.chance(codes)[:, None], COUPONS, axis=1)
        rate = self.rates(codes)
        below = np.exp(-rate)
        return np.stack([1 - below, 1 - below * (1 + rate), 1 - below * (1 + rate + rate**2 / 2)], axis=1)


def truths(world: str, repetition: int) -> tuple[list[Truth], Truth]:
    """Three earlier studies and the new one."""
    rng = named_generator("pooling", world, repetition)
    per_coupon = bool(repetition % 2)
    common = [rng.normal(0.0, 0.4, len(categories)) for categories in FIELDS.values()]

    def study(levels: float, effects: float | None, shift: float = 0.0) -> Truth:
        own = [
            rng.normal(0.0, 0.4, len(e)) if effects is None else e + rng.normal(0.0, effects, len(e)) for e in common
        ]
        return Truth(float(np.log(1.2) + shift + rng.normal(0.0, levels)), own, per_coupon)

    if world == "unlike":
        return [study(0.6, None) for _ in range(3)], study(0.6, None)
    if world == "others":
        return [study(0.15, 0.1) for _ in range(3)], study(0.0, None, float(rng.choice([-1, 1]) * np.log(2)))
    return [study(0.15, 0.1) for _ in range(3)], study(0.15, 0.1)


def people_of(rng: np.random.Generator, number: int) -> np.ndarray:
    return np.stack([rng.integers(len(categories), size=number) for categories in FIELDS.values()], axis=1)


def a_study(truth: Truth, holders: int, rng: np.random.Generator):
    """A study in which so many people had 3 coupons, read from its file; half of the recruits are like recruiters."""
    rows, queue, codes = [], [], people_of(rng, holders * 4 + 40)
    for person in range(holders):
        own, coupon = queue.pop(0) if queue else (codes[person], "")
        came = int(truth.draw(own[None], np.array([COUPONS]), rng)[0])
        answers = [categories[code] for categories, code in zip(FIELDS.values(), own, strict=True)]
        rows.append([f"p{person}", coupon, *(f"c{person}{letter}" for letter in "abc"), *answers])
        for letter in "abc"[:came]:
            anybody = people_of(rng, 1)[0]
            queue.append((np.where(rng.random(len(own)) < 0.5, own, anybody), f"c{person}{letter}"))
    for number, (own, coupon) in enumerate(queue):  # those who came and have no coupons yet
        answers = [categories[code] for categories, code in zip(FIELDS.values(), own, strict=True)]
        rows.append([f"q{number}", coupon, "", "", "", *answers])
    header = ["id", "own.coupon", "coupon.1", "coupon.2", "coupon.3", *FIELDS]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study.csv"
        pd.DataFrame(rows, columns=header).to_csv(path, index=False)
        study = read_study(path, ReadSettings())
    return study, guess_schema(study).schema


def a_fit(truth: Truth, rng: np.random.Generator) -> Fit:
    """An earlier model, without a learned value."""
    study, asked = a_study(truth, EARLIER, rng)
    schema, _ = private_schema(study, asked)
    history = history_of(study, schema)
    how = response_settings(True)
    fitted = fit_stories(history, how)
    weights, told = weigh(fitted).weights, []
    for story in fitted:
        if story.name in weights:
            response = private_response(story.response, history, how.doubt)
            inputs = PersonInputs(history.schema, response)
            value = Surrogate(inputs, 20, SurrogateSettings(latent=3, hidden=8, deadline=True), 1, 4)
            laplace = LaplaceNetwork(inputs, frozen(perceptron([inputs.width, 8, 3], 2)))
            told.append(Story(response, value.freeze(), laplace, weights[story.name], story.name))
    return Fit(
        schema.schema,
        fit_private_inheritance(Pairs.of(history)),
        Planner(tuple(told), 1.0),
        Rules(20, 4, 4, COUPONS),
        study_schema=schema_text(schema),
        data_fingerprint=fingerprint(history),
        scores={"pairs": len(history.parents), "people": len(study)},
    )


def judged(truth: Truth, schema, responses, weights, rng: np.random.Generator) -> tuple[float, float]:
    """Score of other people of the study, and recruits of a last round, in truth."""
    codes = people_of(rng, 4_000)
    table = pd.DataFrame(
        {name: [categories[c] for c in codes[:, f]] for f, (name, categories) in enumerate(FIELDS.items())},
        dtype=object,
    )
    own = (
        schema.encode(table, np.arange(len(table)), "made", "row")
        if schema.used
        else np.zeros((len(table), 1), np.int16)
    )
    coupons = 1 + rng.integers(COUPONS, size=len(codes))
    recruits = truth.draw(codes, coupons, rng)
    chances = sum(
        weight * np.exp(responses[name].log_likelihoods(own, coupons, recruits)) for name, weight in weights.items()
    )
    gains = sum(weight * responses[name].gains(own, COUPONS) for name, weight in weights.items())
    really, brought = truth.gains(codes), []
    for start in range(0, 2_000, 40):
        part = slice(start, start + 40)
        # Ties by lot: who is alike to the model is in random order here.
        best = np.argsort(-gains[part].reshape(-1), kind="stable")[:40]
        brought.append(really[part].reshape(-1)[best].sum())
    return float(np.log(np.maximum(chances, 1e-12)).mean()), float(np.mean(brought))


def measured(world: str, repetition: int, sizes: list[int]) -> list[dict[str, object]]:
    earlier, new = truths(world, repetition)
    rng = named_generator("pooling studies", world, repetition)
    fits = [a_fit(truth, rng) for truth in earlier]
    rows = []
    for size in sizes:
        study, asked = a_study(new, size, named_generator("new study", world, repetition, size))
        schema, merged = private_schema(study, asked)
        history = history_of(study, schema)
        how = response_settings(True)
        alone = fit_stories(history, how)
        responses = {story.name: private_response(story.response, history, how.doubt) for story in alone}
        helped = EarlierStudies.of(fits, study, asked, schema, merged)
        by_itself = Alone(alone, responses, schema)
        stories, fitted = helped.responses(study, history_of(study, helped.schema), by_itself)
        better, _, _ = own_is_better(alone, fitted)
        best = stories[max(fitted, key=lambda story: float(story.held_out.sum())).name]
        weights = weigh(alone).weights

        def judge(schema, responses, weights):
            return judged(new, schema, responses, weights, named_generator("judged", world, repetition, size))  # noqa: B023

        score, recruits = judge(schema, responses, weights)
        with_score, with_recruits = score, recruits
        if not better:
            drawn = helped.weigh(weigh(fitted), best.level.prior_share).weights
            with_score, with_recruits = judge(helped.schema, {s.name: s.response for s in fitted}, drawn)
        best_round = judge(schema, {"truth": _Known(new)}, {"truth": 1.0}) if not schema.left_out else (np.nan, np.nan)
        rows.append(
            {
                "world": world, "repetition": repetition, "size": size, "score": score, "with_score": with_score,
                "recruits": recruits, "with_recruits": with_recruits, "truth_score": best_round[0],
                "truth_recruits": best_round[1], "used": not better, "counts_as": best.level.counts_as(size),
                "slope": np.nan if best.slope is None else best.slope.mean, "believed": best.believed,
            }
        )  # fmt: skip
    return rows


class _Known:
    """The truth as a model, where the schema has all categories in their order."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth

    def gains(self, codes: np.ndarray, most: int) -> np.ndarray:
        return self.truth.gains(_in_order(codes))

    def log_likelihoods(self, codes: np.ndarray, coupons: np.ndarray, recruits: np.ndarray) -> np.ndarray:
        gains = np.concatenate([np.ones((len(codes), 1)), self.truth.gains(_in_order(codes))], axis=1)
        if self.truth.per_coupon:
            chance = self.truth.chance(_in_order(codes))
            choose = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 1, 0], [1, 3, 3, 1]])[coupons, recruits]
            return np.log(choose) + recruits * np.log(chance) + (coupons - recruits) * np.log1p(-chance)
        at_least = gains[np.arange(len(codes)), recruits]
        more = np.where(recruits < coupons, gains[np.arange(len(codes)), np.minimum(recruits + 1, COUPONS)], 0.0)
        return np.log(at_least - more)


def _in_order(codes: np.ndarray) -> np.ndarray:
    """Codes by `FIELDS` from those of a guessed schema, whose categories are sorted: only district differs."""
    ordered = codes.astype(np.int64).copy()
    names = sorted(FIELDS["district"])
    ordered[:, 2] = np.array([FIELDS["district"].index(name) for name in names])[codes[:, 2]]
    return ordered


def summary(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for (world, size), part in table.groupby(["world", "size"], sort=False):
        gain, more = part["with_score"] - part["score"], part["with_recruits"] - part["recruits"]
        rows.append(
            {
                "world": world, "size": size, "studies": len(part), "score": part["score"].mean(),
                "score gain": gain.mean(), "error": gain.std() / np.sqrt(len(part)), "worst": gain.min(),
                "recruits": part["recruits"].mean(), "recruits gain": more.mean(),
                "its error": more.std() / np.sqrt(len(part)), "truth": part["truth_recruits"].mean(),
                "counts as": part["counts_as"].median(), "used": part["used"].mean(), "slope": part["slope"].mean(),
                "believed": part["believed"].mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file of what is known; read first")
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 60, 120])
    chosen = parser.parse_args()
    known = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
    done = {(row["world"], row["repetition"]) for row in known}
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    for repetition in range(chosen.repetitions):
        for world in chosen.worlds:
            if (world, repetition) not in done:
                known += measured(world, repetition, chosen.sizes)
                pd.DataFrame(known).to_csv(chosen.out, index=False)
    print(summary(pd.DataFrame(known)).round(3).to_string(index=False))


if __name__ == "__main__":
    main()

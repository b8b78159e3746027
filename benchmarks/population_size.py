"""Is the posterior of the population's size right? Successive samples from populations of known size.

    python benchmarks/population_size.py --ranks 200
    python benchmarks/population_size.py --coverage 50

`--ranks` draws populations from the prior itself: the posterior's chance below the truth must then be uniform, which
a chi-squared test on ten bins looks at. `--coverage` fixes the size, and draws network sizes from several families,
samples by successive sampling and by referral on networks, under good and bad guesses.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.stats import chisquare

from peerfront.estimates.population_size import posterior_of_size, prior_of_sizes
from peerfront.foundation.randomness import named_generator
from peerfront.simulation.outcome_network import OutcomeNetworkSettings, outcome_network

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from simulation.referral_sampling import referral_sample

FAMILIES = ("as the model", "nearly equal", "lognormal", "rounded to tens", "referral on a network")


def successive(sizes: np.ndarray, n_people: int, rng: np.random.Generator) -> np.ndarray:
    """Draw people one after another, in proportion to size among those left."""
    return sizes[np.argsort(rng.exponential(size=len(sizes)) / sizes)[:n_people]]


def ranks(repetitions: int, n_people: int = 150, guess: int = 500) -> None:
    found = []
    rng = named_generator("benchmark of population sizes", "ranks")
    beta = np.log(0.5) / np.log1p(-n_people / guess)
    while len(found) < repetitions:
        population = int(n_people / rng.beta(1.0, beta))
        mean, shape = prior_of_sizes(rng)
        if population > 50 * guess or mean > 1000:
            continue  # beyond the largest population that the program tries; sizes that no study has
        sizes = 1.0 + rng.poisson(rng.gamma(shape, mean / shape, population))
        if (sizes == sizes[0]).all():
            continue
        table = posterior_of_size(successive(sizes, n_people, rng), guess).table
        edges = np.concatenate([[n_people], table["people"]])
        below = np.concatenate([[0.0], np.cumsum(table["posterior"])])
        found.append(float(np.interp(population, edges, below)))
    counts = np.histogram(found, bins=np.linspace(0.0, 1.0, 11))[0]
    inside = np.mean((np.array(found) > 0.025) & (np.array(found) < 0.975))
    print(f"{repetitions} populations from the prior, samples of {n_people}: tenths {counts.tolist()}, "
          f"chi-squared p = {chisquare(counts).pvalue:.2f}, 95% intervals hold {inside:.0%}")  # fmt: skip


def drawn_sizes(family: str, population: int, n_people: int, rng: np.random.Generator) -> np.ndarray:
    if family == "referral on a network":
        society = outcome_network(
            OutcomeNetworkSettings(population, 0.2, 1.5, 1.5, draw=int(rng.integers(1_000_000_000)))
        )
        made = referral_sample(society, np.full(population, 3), rng, people=n_people)
        return society.degrees[made.members].astype(np.float64)
    sizes = {
        "as the model": lambda: 1.0 + rng.poisson(rng.gamma(2.0, 4.0, population)),
        "nearly equal": lambda: 1.0 + rng.poisson(9.0, population),
        "lognormal": lambda: np.maximum(rng.lognormal(2.0, 0.8, population).round(), 1.0),
        "rounded to tens": lambda: np.maximum(rng.lognormal(2.5, 0.8, population), 1.0),
    }[family]()
    came = successive(sizes, n_people, rng)
    return np.where(came > 10, came.round(-1), came.round()) if family == "rounded to tens" else came


def coverage(repetitions: int, families: list[str]) -> None:
    print("| sizes | people, sample | guess | median of medians | intervals hold | narrower than the prior |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for family in families:
        for population, n_people in ((1000, 500), (2000, 400)):
            for guess in (population, 2 * population):
                rng = named_generator("benchmark of population sizes", family, population)
                made = [
                    posterior_of_size(drawn_sizes(family, population, n_people, rng), guess) for _ in range(repetitions)
                ]
                holds = np.mean([each.low <= population <= each.high for each in made])
                middle, learned = np.median([[each.median, each.learned] for each in made], axis=0)
                print(f"| {family} | {population:,}, {n_people} | {guess:,} | {middle:,.0f} | {holds:.0%} | "
                      f"{learned:.0%} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--coverage", type=int, default=0)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    options = parser.parse_args()
    if options.ranks:
        ranks(options.ranks)
    if options.coverage:
        coverage(options.coverage, options.families)


if __name__ == "__main__":
    main()

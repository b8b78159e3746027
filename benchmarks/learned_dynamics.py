"""How good learned dynamics are where the truth is known: draws 0-4 of the paper's world.

python benchmarks/learned_dynamics.py > results/learned_dynamics.txt
"""

import numpy as np
import pandas as pd

from peerfront.covariates import uniform_codes
from peerfront.models.capacity import CapacitySettings, fit_capacity
from peerfront.models.diagnostics import field_distances, rate_errors
from peerfront.models.offspring.choice import GENERATORS
from peerfront.models.offspring.pairs import Pairs
from peerfront.randomness import named_generator, named_luck
from peerfront.simulation import make_world, simulate_history

PAPER_DRAWS = 1  # the paper's diffusion takes a minute to fit and longer to sample
CAPACITY = {"paper": CapacitySettings.paper(), "default": CapacitySettings()}


def main() -> None:
    rates, generators = [], []
    for draw in range(5):
        world = make_world("icpsr22140", draw)
        history = simulate_history(world)
        pairs = Pairs.of(history)
        schema = world.schema
        people = {
            "pool": world.population(named_luck(("judged", draw), 400)),
            "fresh": uniform_codes(schema, named_generator("judged", draw).random((400, len(schema.fields)))),
        }
        for name, settings in CAPACITY.items():
            model = fit_capacity(history, settings)
            for where, codes in people.items():
                found = rate_errors(model.expected(codes), world.capacity.rates(codes))  # type: ignore[attr-defined]
                rates.append({"settings": name, "people": where, "draw": draw, **found, "reason": model.reason})
        for name, fit in GENERATORS.items():
            if name == "diffusion-paper" and draw >= PAPER_DRAWS:
                continue
            generator = fit(pairs, 0)
            for where, codes in people.items():
                repeated = np.repeat(codes, 20, axis=0)
                luck = named_luck(("match", draw), len(repeated))
                match = [(m.sample(repeated, luck) == repeated).mean(axis=0) for m in (generator, world.offspring)]
                row = {
                    "match_error": np.abs(match[0] - match[1]).mean(),
                    "worst_match": np.abs(match[0] - match[1]).max(),
                }
                row["tv"] = field_distances(generator, world.offspring, codes, 20).mean()
                generators.append({"generator": name, "people": where, "draw": draw, **row})
    for title, rows, keys in (
        ("Rates", rates, ["settings", "people"]),
        ("Generators", generators, ["generator", "people"]),
    ):
        table = pd.DataFrame(rows)
        numbers = table.drop(columns=["reason"], errors="ignore")
        print(
            f"\n{title}: mean over draws 0-4\n{numbers.drop(columns='draw').groupby(keys, sort=False).mean().round(4)}"
        )
        print(f"\nby draw\n{numbers.set_index([*keys, 'draw']).round(4).to_string()}")
    print("\n".join(sorted({str(row["reason"]) for row in rates})))


if __name__ == "__main__":
    main()

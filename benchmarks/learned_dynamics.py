"""How good learned dynamics are where the truth is known: draws of the paper's world.

python benchmarks/learned_dynamics.py --draws 5 10 > results/learned_dynamics.txt

The default settings were chosen with the truth of draws 0 and 1 in sight, so draws 5 to 9 are the fair ones.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.foundation.covariates import uniform_codes
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.models.offspring.generator_choice import GENERATORS, fit_generator
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.response_fit import ResponseSettings, fit_response
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import simulate_history

sys.path.append(str(Path(__file__).parents[1] / "tests" / "models"))

from truth_errors import field_distances, rate_errors

CAPACITY = {"paper": ResponseSettings.paper(), "default": ResponseSettings()}
JUDGED, CHILDREN = 400, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, nargs=2, default=(5, 10), help="first draw, and the one after the last")
    parser.add_argument("--paper-draws", type=int, default=1, help="draws for the paper's diffusion (2 minutes each)")
    chosen = parser.parse_args()
    rates, generators = [], []
    for draw in range(*chosen.draws):
        world = make_world("icpsr22140", draw)
        history = simulate_history(world)
        pairs = Pairs.of(history)
        schema = world.schema
        people = {
            "pool": world.population(named_luck(("judged", draw), JUDGED)),
            "fresh": uniform_codes(schema, named_generator("judged", draw).random((JUDGED, len(schema.fields)))),
        }
        for name, settings in CAPACITY.items():
            model = fit_response(history, settings)
            for where, codes in people.items():
                found = rate_errors(model.expected(codes), world.response.rates(codes))  # type: ignore[attr-defined]
                rates.append({"settings": name, "people": where, "draw": draw, **found})
                if name == "default" and where == "pool":
                    print(f"draw {draw}: {model.reason}", flush=True)
        for name in (*GENERATORS, "the truth again"):
            if name == "diffusion-paper" and draw >= chosen.draws[0] + chosen.paper_draws:
                continue
            generator = fit_generator(name, pairs) if name in GENERATORS else world.offspring
            for where, codes in people.items():
                repeated = np.repeat(codes, CHILDREN, axis=0)
                match = [
                    (m.sample(repeated, named_luck(("match", draw, which), len(repeated))) == repeated).mean(axis=0)
                    for which, m in enumerate((generator, world.offspring))
                ]
                distances = field_distances(generator, world.offspring, codes, CHILDREN)
                for field, error, distance in zip(schema.names, np.abs(match[0] - match[1]), distances, strict=True):
                    row = {"generator": name, "people": where, "draw": draw, "field": field}
                    generators.append({**row, "match_error": error, "tv": distance})
    first, last = chosen.draws[0], chosen.draws[1] - 1
    table = pd.DataFrame(rates)
    means = table.drop(columns="draw").groupby(["settings", "people"], sort=False).mean()
    print(f"\nRates: mean over draws {first}-{last}\n{means.round(3).to_string()}")
    print(f"\nby draw\n{table.set_index(['settings', 'people', 'draw']).round(3).to_string()}")
    table = pd.DataFrame(generators)
    for measure in ("match_error", "tv"):
        means = table.groupby(["people", "generator"], sort=False)[measure].mean().unstack("people")
        print(f"\n{measure}: mean over fields and draws {first}-{last}\n{means.round(4).to_string()}")
        fields = table.groupby(["field", "people", "generator"], sort=False)[measure].mean()
        print(f"\n{measure} per field\n{fields.unstack(['people', 'generator']).round(3).to_string()}")


if __name__ == "__main__":
    main()

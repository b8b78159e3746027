"""From a file of a million people to their coupon sheet: seconds of the processor and peak memory, step by step.

OMP_NUM_THREADS=1 python benchmarks/national_files.py --people 1000000

A value for a million people cannot be learned by simulation in reasonable time. The one used here is learned for 300
coupons and stretched: c times the weights at r / c, and recruits who each cover 1 / c as much. People are drawn from
the made-up study's answers, field by field.
"""

import argparse
import dataclasses
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import peerfront as pf
from peerfront.advice.model import Model
from peerfront.foundation.covariates import kinds_of
from peerfront.value.surrogate import learned_networks

LEARNED_FOR = 300


def stretched(model: Model, budget: int) -> Model:
    """The model with a value for `budget` coupons."""
    planner, times = model.fit.planner, budget / LEARNED_FOR
    surrogate, laplace = learned_networks(planner)
    share = np.arange(budget + 1) / times
    weights = np.stack(
        [
            np.stack([times * np.interp(share, np.arange(LEARNED_FOR + 1), w) for w in table.T], axis=1)
            for table in surrogate.tables()
        ]
    )
    *first, last = laplace.network.biases
    network = dataclasses.replace(laplace.network, biases=(*first, (last + np.log(times)).astype(last.dtype)))
    large = dataclasses.replace(
        planner,
        surrogate=dataclasses.replace(surrogate, weights=weights),
        laplace=dataclasses.replace(laplace, network=network),
    )
    rules = dataclasses.replace(model.fit.rules, budget=budget)
    return Model(dataclasses.replace(model.fit, planner=large, rules=rules))


def make_frontier(path: Path, waiting: pd.DataFrame, people: int) -> None:
    rng = np.random.default_rng(0)
    drawn = {name: rng.choice(waiting[name].to_numpy(), people) for name in waiting.columns if name != "id"}
    pd.DataFrame({"id": [f"N{n:07d}" for n in range(people)], **drawn}).to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000)
    people = parser.parse_args().people
    with tempfile.TemporaryDirectory() as name:
        folder, demo = Path(name), pf.demo_study(people=400)
        make_frontier(folder / "frontier.csv", demo.frontier, people)
        study = pf.read_study(demo.study)
        stretched(pf.fit(study, budget=LEARNED_FOR, rounds=3, effort=0.1), people).save(folder / "model")
        begun = [time.process_time()]

        def say(what: str) -> None:
            now, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{what:<42}{now - begun[0]:7.1f} s{peak:8.0f} MiB", flush=True)
            begun[0] = time.process_time()

        model = pf.load(folder / "model")
        say("load the model")
        frontier = model.frontier(folder / "frontier.csv")
        say(f"read {people:,} people of {len(kinds_of(frontier.covariates).number):,} kinds")
        sheet = model.plan(frontier, budget=people)
        say(f"plan {sheet.spend:,} coupons")
        (folder / "sheet.csv").write_text(sheet.csv())
        say("write the sheet")
        print("\n".join(line for line in sheet.lines() if "common price" in line))


if __name__ == "__main__":
    main()

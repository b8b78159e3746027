"""From a study's file of a million people to the coupon sheet of a million who wait: seconds and peak memory by step.

OMP_NUM_THREADS=1 python benchmarks/national_files.py --people 1000000 --study 1000000

The study is made of many made-up ones, each drawn anew: copies of one would let a fit learn its people by heart, and it
refuses that. Those who wait are drawn from the answers of one, field by field. The value is learned for fewer people
and coupons, and stretched (`gfp.learning`). Seconds are of the processor.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import peerfront as pf
from peerfront.foundation.covariates import kinds_of

NAMED = ("id", "own.coupon", "coupon.1", "coupon.2", "coupon.3")
PART = 4_000  # people of each made-up study


def make_study(path: Path, people: int) -> None:
    """Made-up studies below each other, the names of people and coupons made different."""
    written = number = 0
    while written < people:
        study = pf.demo_study(people=PART, seed=number).study
        named = {name: study[name].where(study[name] == "", study[name] + f"-{number}") for name in NAMED}
        part = study.assign(**named).iloc[: people - written]
        part.to_csv(path, index=False, mode="a" if number else "w", header=not number)
        written, number = written + len(part), number + 1


def make_frontier(path: Path, waiting: pd.DataFrame, people: int) -> None:
    rng = np.random.default_rng(0)
    drawn = {name: rng.choice(waiting[name].to_numpy(), people) for name in waiting.columns if name != "id"}
    pd.DataFrame({"id": [f"N{n:07d}" for n in range(people)], **drawn}).to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000, help="people who wait, and coupons")
    parser.add_argument("--study", type=int, default=1_000_000, help="people of the study")
    parser.add_argument("--effort", type=float, default=1.0, help="share of the usual simulations")
    chosen = parser.parse_args()
    people = chosen.people
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_frontier(folder / "frontier.csv", pf.demo_study(people=400).frontier, people)
        make_study(folder / "study.csv", chosen.study)
        begun, fitting = [time.process_time()], [""]

        def say(what: str) -> None:
            now, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{what:<50}{now - begun[0]:7.1f} s{peak:8.0f} MiB", flush=True)
            begun[0] = time.process_time()

        def fit_progress(_: float, what: str) -> None:
            """Say what each step of the fit took when the next one begins."""
            step = what.split(":")[0]
            if step != fitting[0]:
                if fitting[0]:
                    say(f"  fit: {fitting[0]}")
                fitting[0] = step

        study = pf.read_study(folder / "study.csv")
        say(f"read a study of {len(study):,}")
        begin_fit = time.process_time()
        model = pf.fit(study, budget=people, people=people, rounds=3, effort=chosen.effort, progress=fit_progress)
        begun[0] = begin_fit
        say(f"fit it for {people:,} coupons and people waiting, in all")
        model.save(folder / "model")
        say("save the model")
        del study, model
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

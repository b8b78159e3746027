"""The published table alone: its forty cells beside ours, over five trainings of every method (docs/results/paper.md).

Runs the published parts of `peerfront reproduce` and nothing else; what is done is kept in the folder, and a
reproduction with `--out` the same folder goes on from there. "Chance" is how often the mean of twenty of our episodes,
after one of our trainings, is at least as far from our mean as the paper's figure is: a standard error of twenty
episodes says little where most of them end alike and a few end early.

OMP_NUM_THREADS=1 python benchmarks/published_table.py                    (half an hour on one core)
OMP_NUM_THREADS=1 python benchmarks/published_table.py --discounts 0.9 1 --workers 2
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.experiments.compare import Workers
from peerfront.experiments.comparison import PAPER_DISCOUNTS
from peerfront.experiments.reproduction import PUBLISHED, REPAIRED, reproduce, reproduction_plan
from peerfront.experiments.reproduction_report import IN_TABLE_1, REPRODUCED_WITHIN
from peerfront.experiments.reproduction_tables import (
    EPISODES,
    METRIC_TITLES,
    published_episodes,
    reproduction_table,
)
from peerfront.foundation.randomness import named_generator

RESAMPLES = 10_000


def chance(values: np.ndarray, trainings: np.ndarray, paper: float) -> float:
    """How often `EPISODES` episodes of one training have a mean as far from the mean of all as `paper` is."""
    rng = named_generator("published table", round(10 * paper))
    by_training = [values[trainings == training] for training in np.unique(trainings)]
    drawn = [by_training[t][rng.integers(len(by_training[t]), size=EPISODES)].mean()
             for t in rng.integers(len(by_training), size=RESAMPLES)]  # fmt: skip
    mean = values.mean()
    return float((np.abs(np.array(drawn) - mean) >= abs(paper - mean)).mean())


def lines(table: pd.DataFrame, episodes: pd.DataFrame) -> list[str]:
    """The cells of Table 1 as Markdown, one line each, and how many are reproduced."""
    cells = table[(table["world"] == PUBLISHED) & table["policy"].isin(IN_TABLE_1)]
    text = [
        "| cell | paper | ours | between trainings | difference in errors | chance |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for _, cell in cells.iterrows():
        own = episodes[(episodes["policy"] == cell["policy"]) & (episodes["discount"] == cell["discount"])]
        luck = chance(own[cell["metric"]].to_numpy(float), own["training"].to_numpy(), cell["paper"])
        far = f"{cell['difference_in_errors']:+.1f}"
        far = f"**{far}**" if abs(cell["difference_in_errors"]) > REPRODUCED_WITHIN else far
        name = f"{cell['method']}, {METRIC_TITLES[cell['metric']].lower()} at {cell['discount']:g}"
        spread = "" if pd.isna(cell["spread"]) else f"{cell['spread']:.1f}"
        paper = f"{cell['paper']:.1f} ± {cell['paper_error']:.1f}"
        text.append(f"| {name} | {paper} | {cell['mean']:.1f} ± {cell['error']:.1f} | {spread} | {far} | {luck:.0%} |")
    within = (cells["difference_in_errors"].abs() <= REPRODUCED_WITHIN).sum()
    return [*text, "", f"{within} of {len(cells)} cells are within {REPRODUCED_WITHIN:g} standard errors."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--discounts", nargs="+", type=float, default=list(PAPER_DISCOUNTS))
    parser.add_argument("--folder", type=Path, default=Path("results/reproduction"))
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    plan = reproduction_plan(discounts=tuple(chosen.discounts))
    parts = tuple(part for part in plan.parts if part.name.startswith(PUBLISHED) and part.name != REPAIRED)
    done = reproduce(replace(plan, parts=parts), chosen.folder, workers=Workers(chosen.workers))
    print("\n".join(lines(reproduction_table(done), published_episodes(done))))


if __name__ == "__main__":
    main()

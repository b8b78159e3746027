"""The published table alone: its forty cells beside ours, over five trainings of every method (docs/results/paper.md).

Runs the published parts of `peerfront reproduce` and nothing else; what is done is kept in the folder, and a
reproduction with `--out` the same folder goes on from there. "Chance" is how often the mean of twenty of our episodes,
after one of our trainings, is at least as far from our mean as the paper's figure is: a standard error of twenty
episodes says little where most of them end alike and a few end early.

How many cells would be outside if the paper's programme were ours? One of our trainings, with twenty of its episodes
(the same for all methods), takes the paper's place and is judged by the other trainings as the paper is.

OMP_NUM_THREADS=1 python benchmarks/published_table.py                    (half an hour on one core)
OMP_NUM_THREADS=1 python benchmarks/published_table.py --discounts 0.9 1 --workers 2
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.experiments.comparison import PAPER_DISCOUNTS
from peerfront.experiments.comparison_run import Workers
from peerfront.experiments.reproduction import PUBLISHED, REPAIRED, reproduce, reproduction_plan
from peerfront.experiments.reproduction_tables import (
    EPISODES,
    IN_TABLE_1,
    METRICS,
    REPRODUCED_WITHIN,
    published_episodes,
    reproduction_table,
)
from peerfront.foundation.randomness import named_generator

RESAMPLES = 10_000
OWN_TABLES = 2_000


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
        "| cell | paper (standard error) | ours | between trainings | difference in errors | chance |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for _, cell in cells.iterrows():
        own = episodes[(episodes["policy"] == cell["policy"]) & (episodes["discount"] == cell["discount"])]
        luck = chance(own[cell["metric"]].to_numpy(float), own["training"].to_numpy(), cell["paper"])
        far = f"{cell['difference_in_errors']:+.1f}"
        far = f"**{far}**" if abs(cell["difference_in_errors"]) > REPRODUCED_WITHIN else far
        name = f"{cell['method']}, {cell['metric'].replace('_', ' ')} at {cell['discount']:g}"
        spread = "" if pd.isna(cell["spread"]) else f"{cell['spread']:.1f}"
        paper = f"{cell['paper']:.1f} ({cell['paper_error']:.1f})"
        text.append(f"| {name} | {paper} | {cell['mean']:.1f} ({cell['error']:.1f}) | {spread} | {far} | {luck:.0%} |")
    within = (cells["difference_in_errors"].abs() <= REPRODUCED_WITHIN).sum()
    return [*text, "", f"{within} of {len(cells)} cells are within {REPRODUCED_WITHIN:g} standard errors."]


def cells_outside(episodes: pd.DataFrame) -> np.ndarray:
    """Cells that are too far away in each of `OWN_TABLES` tables made from our own episodes; they cost no training."""
    cells = [
        part.pivot(index="training", columns="episode", values=metric).to_numpy()
        for metric in METRICS
        for _, part in episodes[episodes["policy"].isin(IN_TABLE_1)].groupby(["policy", "discount"])
    ]
    values = np.stack(cells)  # [cells, trainings, episodes]
    means = values.mean(axis=2)
    rng = named_generator("tables of our own", values.shape[1])
    outside = np.empty(OWN_TABLES, dtype=np.int64)
    for table in range(OWN_TABLES):
        training = int(rng.integers(values.shape[1]))
        drawn = values[:, training, rng.integers(values.shape[2], size=EPISODES)]
        others = np.delete(means, training, axis=1)
        noise = np.sqrt(drawn.var(axis=1, ddof=1) / EPISODES + others.var(axis=1, ddof=1))
        outside[table] = (np.abs(drawn.mean(axis=1) - others.mean(axis=1)) > REPRODUCED_WITHIN * noise).sum()
    return outside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--discounts", nargs="+", type=float, default=list(PAPER_DISCOUNTS))
    parser.add_argument("--folder", type=Path, default=Path("results/reproduction"))
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    plan = reproduction_plan(discounts=tuple(chosen.discounts))
    parts = tuple(part for part in plan.parts if part.name.startswith(PUBLISHED) and part.name != REPAIRED)
    done = reproduce(replace(plan, parts=parts), chosen.folder, workers=Workers(chosen.workers))
    episodes = published_episodes(done)
    print("\n".join(lines(reproduction_table(done), episodes)))
    outside = cells_outside(episodes)
    print(
        f"Tables of our own ({OWN_TABLES}): {outside.mean():.1f} cells outside on average, at least 3 in "
        f"{(outside >= 3).mean():.0%}, none in {(outside == 0).mean():.0%}."
    )


if __name__ == "__main__":
    main()

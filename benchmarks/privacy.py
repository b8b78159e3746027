"""What it costs that a model tells no count of fewer than five people, in log score on pairs left out.

python benchmarks/privacy.py PATH_TO_DATA

Tables of whom people bring, plain and private (made from rounded counts), fitted to four fifths of the pairs and judged
on the rest: 20 times 5 folds, the same for both. Fields as in benchmarks/real_data.py for nyjazz and rdstools_toy;
those that `guess_schema` finds in made-up studies of several sizes.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import study_from_table
from peerfront.data.study_schema import history_of
from peerfront.models.offspring.inheritance_tables import InheritanceTable, fit_inheritance, fit_private_inheritance
from peerfront.models.offspring.pairs import Pairs
from peerfront.simulation.demo_study import demo_study
from real_data import STUDIES, study

REPEATS, FOLDS = 20, 5
MADE_UP = (60, 150, 300, 600)


def log_scores(fit: Callable[[Pairs], InheritanceTable], pairs: Pairs, fold: NDArray[np.int64]) -> float:
    """Mean log score of a pair, summed over its fields, by tables fitted without its fold."""
    total = 0.0
    for left_out in range(FOLDS):
        judged = pairs.subset(fold == left_out)
        chances = fit(pairs.subset(fold != left_out)).probabilities(judged.parents)
        for number, each in enumerate(chances):
            known = np.flatnonzero(judged.children[:, number] >= 0)
            total += float(np.log(each[known, judged.children[known, number]]).sum())
    return total / len(pairs)


def compare(name: str, pairs: Pairs) -> None:
    found = np.array(
        [
            [log_scores(fit, pairs, fold) for fit in (fit_inheritance, fit_private_inheritance)]
            for fold in (np.random.default_rng(r).permutation(len(pairs)) % FOLDS for r in range(REPEATS))
        ]
    )
    gain = found[:, 1] - found[:, 0]
    plain, private = found.mean(axis=0)
    print(f"| {name} | {len(pairs)} | {plain:.3f} | {private:.3f} | {gain.mean():+.3f} ({gain.std(ddof=1):.3f}) |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    histories = {name: study(folder / name, fields) for name, fields in STUDIES.items()}
    print("\n| study | pairs | plain | private | difference (between splits) |\n| --- | ---: | ---: | ---: | ---: |")
    for name, history in histories.items():
        compare(name, Pairs.of(history))
    for people in MADE_UP:
        made = study_from_table(demo_study(people).study)
        compare(f"made up, {people} people", Pairs.of(history_of(made, guess_schema(made).schema)))


if __name__ == "__main__":
    main()

"""What one thread costs: seconds of a fit and a plan with one thread, as always, and with two.

python benchmarks/threads.py

Alternating runs in one process; ratios of medians.
"""

import time
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch

import peerfront as pf
from peerfront.study import fitting

PEOPLE, REPEATS = 300, 3


@contextmanager
def two_threads(*, training: bool = False):  # type: ignore[no-untyped-def]
    torch.set_num_threads(2)
    yield


def seconds(study: pf.Study) -> float:
    start = time.perf_counter()
    pf.fit(study, budget=60, rounds=5)
    return time.perf_counter() - start


def main() -> None:
    study = pf.read_study(pf.demo_study(people=PEOPLE).study)
    one, two = [], []
    for _ in range(REPEATS):
        one.append(seconds(study))
        with patch.object(fitting, "one_thread", two_threads):
            two.append(seconds(study))
    print(f"fit of {PEOPLE} people: {np.median(one):.1f} s with one thread, {np.median(two):.1f} s with two")
    print(f"ratio {np.median(one) / np.median(two):.2f}")


if __name__ == "__main__":
    main()

"""How long a large study takes to check: a synthetic coupon file, read, validated, summarised and encoded.

python benchmarks/check_large.py --people 100000
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import read_study
from peerfront.data.study import summarise
from peerfront.data.study_schema import history_of


def make_study(path: Path, people: int, seeds: int = 50, coupons: int = 3) -> None:
    """Random trees with 22-digit coupons, dates, five covariates, and a fault here and there."""
    rng = np.random.default_rng(7)
    recruiter = np.full(people, -1)
    slot = np.zeros(people, dtype=np.int64)
    free = [(person, c) for person in range(seeds) for c in range(coupons)]
    for person in range(seeds, people):  # a uniformly random unused coupon, by swapping it to the end
        pick = rng.integers(len(free))
        free[pick], free[-1] = free[-1], free[pick]
        recruiter[person], slot[person] = free.pop()
        free += [(person, c) for c in range(coupons)]
    codes = np.array(
        [[f"{7:04d}{person:012d}{c:06d}" for c in range(coupons)] for person in range(people)], dtype=object
    )
    own = np.where(recruiter < 0, "", codes[recruiter, slot])
    own[rng.integers(seeds, people, 20)] = "no such coupon"
    day = np.zeros(people)
    for person in range(seeds, people):
        day[person] = day[recruiter[person]] + rng.integers(1, 30)
    frame = pd.DataFrame({"id": np.arange(people), "network.size": rng.poisson(20, people), "own.coupon": own})
    for c in range(coupons):
        frame[f"coupon.{c + 1}"] = codes[:, c]
    frame["date"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D")).strftime("%Y-%m-%d")
    frame["sex"] = rng.choice(["female", "male", ""], people)
    frame["age"] = rng.integers(18, 80, people)
    frame["district"] = rng.choice([f"district {n}" for n in range(12)], people)
    frame["insured"] = rng.choice(["yes", "no"], people)
    frame["name"] = [f"person {n}" for n in range(people)]
    frame.to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    people = parser.parse_args().people
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.csv"
        make_study(path, people)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        times, worked = [time.perf_counter()], time.process_time()
        study = read_study(path)
        times.append(time.perf_counter())
        summary = summarise(study)
        guess = guess_schema(study)
        history = history_of(study, guess.schema)
        times.append(time.perf_counter())
        worked = time.process_time() - worked
        size = path.stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{people:,} people, {size / 1e6:.0f} MB, {summary.waves} waves, {len(study.problems)} warnings")
    print(f"read and validated in {times[1] - times[0]:.1f} s; summary, schema, {len(history.coupons):,} triples in "
          f"{times[2] - times[1]:.1f} s; {worked:.1f} s of one processor")  # fmt: skip
    print(f"peak memory {peak / 1024:.0f} MiB (of which {before / 1024:.0f} MiB were there before reading began)")


if __name__ == "__main__":
    main()

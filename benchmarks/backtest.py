"""Back-tests of made studies whose models are true: how often bands hold what came, and by how much forecasts miss.

    python benchmarks/backtest.py --studies 20

Eight seeds on day 0; everybody gets 3 coupons at the interview. In even studies each coupon is used with a chance of
.4, in odd ones people bring up to a Poisson capacity with a mean of 1.35. Returns take a lognormal time with a median
of 20 days and quartiles of 10 and 40, within 60 days. The study ends on day 150 or with 400 people.
"""

import argparse
import tempfile
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.foundation.randomness import named_generator
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.study.backtest import BacktestSettings, backtest
from peerfront.study.forecast_trust import trust_of

TIMES = ReturnTimes("lognormal", 20.0, 1.03)
START = date(2024, 1, 8)


def made_study(number: int) -> str:
    """A coupon file with dates."""
    rng = named_generator("made study for a back-test", number)
    waiting = [(0, f"S{n}", "") for n in range(8)]  # day, id, coupon
    rows, count = [], 0
    while waiting and count < 400:
        waiting.sort()
        day, _, coupon = waiting.pop(0)
        if day > 150:
            break
        codes = [f"C{count}-{n}" for n in range(3)]
        town = rng.choice(["north", "south"])
        rows.append(f"P{count},{coupon},{','.join(codes)},{town},{(START + timedelta(days=int(day))).isoformat()}")
        brings = rng.binomial(3, 0.4) if number % 2 == 0 else min(rng.poisson(1.35), 3)
        for n in range(brings):
            age = int(TIMES.quantile(rng.random(), 60.0))
            waiting.append((day + age, f"P{count}-{n}", codes[n]))
        count += 1
    return "id,own_coupon,coupon_1,coupon_2,coupon_3,town,interview_date\n" + "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--simulated", type=int, default=200)
    arguments = parser.parse_args()
    found, simple = [], []
    for number in range(arguments.studies):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.csv"
            path.write_text(made_study(number))
            study = read_study(path, ReadSettings(valid_days=60))
        if len(study) < 60:
            print(f"study {number}: {len(study)} people, left out")
            continue
        settings = BacktestSettings(
            at=tuple((START + timedelta(days=day)).isoformat() for day in (60, 100)), studies=arguments.simulated
        )
        last = float(study.day or 0.0)
        settings = BacktestSettings(
            at=tuple(cut for cut in settings.at if (date.fromisoformat(cut) - date(1970, 1, 1)).days < last - 14),
            studies=arguments.simulated,
        )
        if not settings.at:
            continue
        test = backtest(study, guess_schema(study).schema, settings)
        found.append(test.forecasts.assign(study=number))
        simple.append(test.simple)
        print(
            f"study {number}: {len(study)} people",
            test.forecasts[["cut", "horizon", "expected", "p10", "p90", "realised"]].round(0).to_string(header=False),
            sep="\n",
            flush=True,
        )
    rows, rivals = pd.concat(found), pd.concat(simple)
    for cut, own in rows.groupby("cut"):
        verdicts = trust_of(own, rivals[rivals["cut"] == cut])
        print(cut, pd.DataFrame([asdict(each) for each in verdicts]).round(2).to_string(), sep="\n")
    print("ranks", np.histogram(rows["rank"], bins=5, range=(0, 1))[0])


if __name__ == "__main__":
    main()

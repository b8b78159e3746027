"""Return times where hardly anything is as assumed: weekdays only, Monday hand-outs, expiry, late data entry.

python benchmarks/broken_calendar.py --studies 40

Made studies of twelve weeks (`tests/advice/made_calendar.py`) as their files stood on a day. Columns: holders on that
day; the share of coupons that is used in the end, with open coupons taken for failures and as fitted, both against the
truth (with the standard error over studies); and how often the 8-of-10 interval holds the truth. `--back 5` sees each
file as of five days before, when nearly all rows had been entered.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

sys.path[0] = str(
    Path(__file__).parents[1] / "tests"
)  # in place of this folder, whose files would hide tests of the same name

from peerfront.data.read.read_settings import ReadSettings  # noqa: E402
from peerfront.data.reading import study_from_table  # noqa: E402
from peerfront.models.returns.return_fit import ReturnSettings, fit_return_times  # noqa: E402
from peerfront.study.coupon_calendar import coupons_seen  # noqa: E402
from study.made_calendar import USE, VALID_DAYS, date_of, made_study  # noqa: E402

TRUTH = USE * float(norm.cdf(np.log((VALID_DAYS + 0.5) / 20.0) / 1.03))  # of coupons used in time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--days", type=int, nargs="+", default=[28, 42, 60, 83])
    parser.add_argument("--back", type=int, default=0, help="days before the last one as of which files are seen")
    chosen = parser.parse_args()
    rows = []
    for seed in range(chosen.studies):
        made = made_study(seed)
        for day in chosen.days:
            study = study_from_table(made.file_on(day), ReadSettings(valid_days=VALID_DAYS))
            if chosen.back:
                study = study.as_of(date_of(day - chosen.back))
            seen, _ = coupons_seen(study)
            fitted = fit_return_times(seen, ReturnSettings(family="lognormal"))
            draws = fitted.used(seen.coupons)
            low, high = np.quantile(draws, [0.1, 0.9])
            failed = seen.recruits.sum() / seen.coupons.sum() / TRUTH - 1.0
            rows.append((day, len(seen), failed, draws.mean() / TRUTH - 1.0, low <= TRUTH <= high))
    table = pd.DataFrame(rows, columns=["day", "holders", "open = failed", "share", "holds"])
    means = table.groupby("day").mean()
    means.insert(3, "error", table.groupby("day")["share"].sem())
    print(means.round(3).to_string())


if __name__ == "__main__":
    main()

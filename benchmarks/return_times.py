"""Made studies seen early: what the share of coupons that is used, and the recruits still to come, are taken for.

python benchmarks/return_times.py --out results/return_times.csv
python benchmarks/return_times.py --out results/t.csv --worlds itrip --studies 20 --days 14 --family lognormal

Each study has 300 holders of 3 coupons, of which 35% are used in the end. In even studies each coupon is used on its
own, in odd ones holders have a Poisson capacity and use the first coupons first. Worlds of return times:

    itrip       lognormal, median 20 days and quartiles 10 and 40, all coupons issued on day 0;
    enrolling   the same, holders enrolled evenly over the days so far;
    varied      each study with a lag of its own, as the prior has it, all coupons issued on day 0;
    slow        lognormal, median 45 days: far from what the prior expects.

Columns: the share by open = failed, by the fit (mean of draws) and by maximum likelihood of the study's own family with
the fitted exposures; whether the 8-of-10 interval holds the true share; expected recruits in the end against those that
came, and whether their 8-of-10 band held them. `--prior` multiplies the prior's deviations: 1 as it is, 4 nearly none.
Each study is a row of the CSV file as soon as it is known, and is not computed again.
"""

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.stats import binom, poisson

from peerfront.foundation.binomials import binomial_quantile, thinned_counts
from peerfront.foundation.counts import poisson_quantile
from peerfront.foundation.randomness import named_generator
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_fit import ReturnFit, ReturnSettings, fit_return_times
from peerfront.models.returns.return_times import NEVER, ReturnTimes

HOLDERS, COUPONS, SHARE = 300, 3, 0.35
POISSON_MEAN = 1.0804036208  # E min(C, 3) = 3 * .35
ITRIP_SPREAD = float(np.log(2.0) / 0.6744897501960817)


@dataclass(frozen=True)
class Case:
    """What is measured."""

    world: str
    study: int
    day: int
    prior: float
    asked: str  # family of times: auto, or one of them


def true_times(world: str, study: int) -> ReturnTimes:
    """The lag of a study."""
    if world == "varied":
        usual, normals = ReturnSettings(), named_generator("varied lags", study).standard_normal(2)
        return ReturnTimes(
            "lognormal",
            usual.prior_median * float(np.exp(usual.prior_variation * normals[0])),
            usual.prior_spread * float(np.exp(usual.prior_spread_variation * normals[1])),
        )
    return ReturnTimes("lognormal", 45.0 if world == "slow" else 20.0, ITRIP_SPREAD)


def made_study(case: Case) -> tuple[CouponsSeen, int]:
    """A study as it is seen on its day, and how many recruits its coupons bring in the end."""
    rng = named_generator("made study", case.world, case.study)
    uniforms = rng.random(HOLDERS)
    if case.study % 2:
        in_the_end = np.minimum(poisson_quantile(uniforms, np.full(HOLDERS, POISSON_MEAN)), COUPONS)
    else:
        in_the_end = binomial_quantile(uniforms, np.full(HOLDERS, COUPONS), np.full(HOLDERS, SHARE))
    holder = np.repeat(np.arange(HOLDERS), in_the_end)
    ages = true_times(case.world, case.study).quantile(rng.random(len(holder)))
    enrolled = np.floor(rng.random(HOLDERS) * (case.day + 1)) if case.world == "enrolling" else np.zeros(HOLDERS)
    since = case.day - enrolled
    seen = ages <= since[holder]
    return CouponsSeen(np.full(HOLDERS, COUPONS), since, holder[seen], ages[seen]), len(holder)


def to_come(fit: ReturnFit, seen: CouponsSeen) -> np.ndarray:
    """Recruits still to come if every coupon is used on its own, all together, [draws]."""
    own, rng = np.searchsorted(fit.numbers, seen.coupons), named_generator("recruits to come")
    totals = np.empty(len(fit.shares))
    for number, shares in enumerate(fit.shares):
        times = fit.times.draw(number)
        chances = times.chance_by(seen.ages + NEVER, seen.ages, shares[own], seen.validity, seen.site_codes)
        totals[number] = rng.binomial(seen.open, chances).sum()
    return totals


def count_chances(own: bool, parameter: float) -> np.ndarray:
    """P(so many recruits in the end), [COUPONS + 1]: each coupon on its own, or a Poisson capacity."""
    if own:
        return binom.pmf(np.arange(COUPONS + 1), COUPONS, 1.0 / (1.0 + np.exp(-parameter)))
    fewer = poisson.pmf(np.arange(COUPONS), np.exp(parameter))
    return np.append(fewer, 1.0 - fewer.sum())


def plugged_in(own: bool, seen: CouponsSeen, times: ReturnTimes) -> float:
    """The share of coupons used in the end by maximum likelihood of the study's own family."""
    exposure, place = seen.exposure(times), np.arange(len(seen))

    def loss(parameter: float) -> float:
        chances = np.tile(count_chances(own, parameter), (len(seen), 1))
        return -float(np.log(np.maximum(thinned_counts(chances, exposure)[place, seen.recruits], 1e-300)).sum())

    found = minimize_scalar(loss, bounds=(-6.0, 4.0), method="bounded")
    return float(count_chances(own, found.x) @ np.arange(COUPONS + 1)) / COUPONS


def measured(case: Case) -> dict[str, object]:
    """One study on one day."""
    seen, in_the_end = made_study(case)
    usual = ReturnSettings()
    settings = ReturnSettings(
        family=case.asked,
        prior_variation=usual.prior_variation * case.prior,
        prior_spread_variation=usual.prior_spread_variation * case.prior,
        draws=400,
        seed=case.study,
    )
    fit = fit_return_times(seen, settings)
    shares, so_far = fit.used(seen.coupons), int(seen.recruits.sum())
    totals = so_far + to_come(fit, seen)
    low, high = np.quantile(shares, [0.1, 0.9])
    band_low, band_high = np.floor(np.quantile(totals, 0.1)), np.ceil(np.quantile(totals, 0.9))
    return {
        **asdict(case),
        "family": fit.times.family,
        "median": fit.times.median,
        "failed": so_far / (HOLDERS * COUPONS) / SHARE - 1.0,
        "share": shares.mean() / SHARE - 1.0,
        "plugged": plugged_in(case.study % 2 == 0, seen, fit.times) / SHARE - 1.0,
        "covered": bool(low <= SHARE <= high),
        "width": (high - low) / SHARE,
        "so_far": so_far,
        "expected": totals.mean(),
        "in_the_end": in_the_end,
        "band_covered": bool(band_low <= in_the_end <= band_high),
        "effective": fit.effective,
    }


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Means by world, prior and day, in percent, with the standard error of the share's bias."""
    rows = []
    for (asked, world, prior, day), part in table.groupby(["asked", "world", "prior", "day"], sort=False):
        rows.append(
            {
                "asked": asked,
                "world": world,
                "prior": prior,
                "day": day,
                "studies": len(part),
                "open = failed": 100 * part["failed"].mean(),
                "share": 100 * part["share"].mean(),
                "error": 100 * part["share"].std() / np.sqrt(len(part)),
                "with exposure": 100 * part["plugged"].mean(),
                "recruits": 100 * (part["expected"].sum() / part["in_the_end"].sum() - 1.0),
                "covered": 100 * part["covered"].mean(),
                "band": 100 * part["band_covered"].mean(),
                "width": 100 * part["width"].mean(),
                "lognormal": 100 * (part["family"] == "lognormal").mean(),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file of what is known; read first")
    parser.add_argument("--worlds", nargs="+", default=["itrip", "enrolling", "varied", "slow"])
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--days", type=int, nargs="+", default=[7, 14, 28, 60])
    parser.add_argument("--family", default="auto", help="of return times; auto chooses, and takes five times as long")
    parser.add_argument("--prior", type=float, nargs="+", default=[1.0])
    chosen = parser.parse_args()
    known = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
    done = {(row["world"], row["study"], row["day"], row["prior"], row["asked"]) for row in known}
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    for world in chosen.worlds:
        for prior in chosen.prior:
            for study in range(chosen.studies):
                for day in chosen.days:
                    if (world, study, day, prior, chosen.family) not in done:
                        known.append(measured(Case(world, study, day, prior, chosen.family)))
                if study % 10 == 9:
                    pd.DataFrame(known).to_csv(chosen.out, index=False)
            pd.DataFrame(known).to_csv(chosen.out, index=False)
    print(summary(pd.DataFrame(known)).round(1).to_string(index=False))


if __name__ == "__main__":
    main()

"""Forecasts against what came: public studies, and made studies of six kinds of truth in three sizes, with rivals.

    python benchmarks/forecasts.py made --each 4 --first 100 --out results/forecasts
    python benchmarks/forecasts.py public --data ../shared/data --out results/forecasts
    python benchmarks/forecasts.py score --out results/forecasts

Every study is cut at quarters of its time; forecasts are judged after 2 weeks, 6 weeks and at the study's end (by
waves: the next, the next two, the end). Rivals see the numbers of each week (or wave) so far: the last generation
again, the mean of the last four weeks, and exponential smoothing with a damped trend (statsmodels). The score is the
continuous ranked probability score of log(1 + recruits) (scoringrules): .1 is about 10% of the number.
`made` and `public` may also be run with the source of version 0.3 on PYTHONPATH: `--name v0.3`. Studies 0 to 2 of each
kind and size were looked at while the prior of `study.slowing` was chosen.

Kinds of truth: `coupon` (each coupon is used with a chance of its own), `capacity` (people bring a Poisson number),
`drift` (each wave brings 8% less), `circles` (people know the members of a closed circle, most of whom take part in the
end), `interviews` (staff can hold so many in a week; the others wait), `trees` (trees differ, and so do months).
"""

import argparse
import heapq
import json
import tempfile
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.reading import read_study
from peerfront.foundation.errors import PeerfrontError

try:
    from peerfront.data.columns.schema_guess import guess_schema
    from peerfront.data.read.read_settings import ReadSettings
    from peerfront.study.past_forecast import forecast_from_day, forecast_from_wave
except ImportError:  # names of version 0.3
    guess_schema = import_module("peerfront.data.schema_guess").guess_schema
    ReadSettings = import_module("peerfront.data.read_settings").ReadSettings
    past = import_module("peerfront.advice.past_forecast")
    forecast_from_day, forecast_from_wave = past.forecast_from_day, past.forecast_from_wave

KINDS = ("coupon", "capacity", "drift", "circles", "interviews", "trees")
SIZES = (100, 300, 1000)
SHARES = (0.25, 0.5, 0.75)
AHEAD = {"2 weeks": 14, "6 weeks": 42}
END = "to the end"
START = date(2024, 1, 8)
LONGEST = 240
"""Days after which a made study ends, if it has not reached its size."""
SIMULATED = 300


# Made studies --------------------------------------------------------------------------------------------------------


def made_study(kind: str, size: int, number: int) -> tuple[str, int]:
    """A coupon file with dates, and for how many days coupons are valid."""
    rng = np.random.default_rng([KINDS.index(kind), size, number, 29])
    seeds, coupons = {100: 6, 300: 10, 1000: 20}[size], int(rng.choice([2, 3, 3]))
    brings = float(rng.uniform(0.95, 1.45)) if kind != "drift" else float(rng.uniform(1.3, 1.8))
    if kind in ("circles", "interviews"):
        brings = float(rng.uniform(1.3, 1.7))
    median, valid = float(rng.uniform(6, 20)), int(rng.choice([30, 45, 60]))
    limit = size / float(rng.uniform(10, 25))  # interviews a week
    circle, population = int(rng.integers(10, 40)), size * float(rng.uniform(1.2, 3.0))
    members = np.zeros(int(np.ceil(population / circle)), np.int64)  # of each circle, who took part
    months = np.exp(0.25 * rng.standard_normal(LONGEST // 30 + 3))
    zeal = np.exp(0.6 * rng.standard_normal(seeds) - 0.18)
    waiting = [(float(rng.uniform(0, 10)), n, "", n, 0, int(rng.integers(len(members)))) for n in range(seeds)]
    heapq.heapify(waiting)
    rows: list[str] = []
    held: dict[int, int] = {}
    count, drawn = 0, seeds
    while waiting and count < size:
        day, _, coupon, tree, wave, home = heapq.heappop(waiting)
        if day > LONGEST:
            break
        if kind == "interviews" and held.get(int(day // 7), 0) >= limit:
            heapq.heappush(waiting, (7.0 * (day // 7 + 1) + rng.random(), drawn, coupon, tree, wave, home))
            drawn += 1
            continue
        held[int(day // 7)] = held.get(int(day // 7), 0) + 1
        if kind == "circles":
            if coupon and rng.random() < members[home] / circle:
                continue  # whoever was meant has taken part already
            members[home] += 1
        codes = [f"C{count}-{n}" for n in range(coupons)]
        town = rng.choice(["north", "south"])
        rows.append(f"P{count},{coupon},{','.join(codes)},{town},{(START + timedelta(days=int(day))).isoformat()}")
        mean = brings * (0.92**wave if kind == "drift" else 1.0)
        if kind == "trees":
            mean *= zeal[tree] * months[int(day // 30)]
        if kind in ("capacity", "circles"):
            comes = min(int(rng.poisson(mean * 1.1)), coupons)
        else:
            comes = int(rng.binomial(coupons, min(mean / coupons, 0.95)))
        for n in range(comes):
            lag = min(median * float(np.exp(rng.standard_normal())), 4 * valid)
            if lag > valid:
                continue
            other = home if rng.random() < 0.85 else int(rng.integers(len(members)))
            heapq.heappush(waiting, (day + lag, drawn, codes[n], tree, wave + 1, other))
            drawn += 1
        count += 1
    header = "id,own_coupon," + ",".join(f"coupon_{n + 1}" for n in range(coupons)) + ",town,interview_date"
    return header + "\n" + "\n".join(rows) + "\n", valid


# Forecasts and rivals ------------------------------------------------------------------------------------------------


def forecasts_of(study, name: str, labels: dict[str, object], *, by_waves: bool = False) -> list[dict[str, object]]:
    """Forecasts of one study from each cut, as samples."""
    schema, rows = guess_schema(study).schema, []
    for share in SHARES:
        try:
            if by_waves:
                deepest = int(study.trees.wave.max())
                cut = str(max(round(share * deepest), 1))
                past = forecast_from_wave(study, schema, int(cut), SIMULATED)
                ahead = {"2 weeks": 1, "6 weeks": 2}
            else:
                first, last = float(np.floor(np.nanmin(study.days))), float(study.day)
                cut = (date(1970, 1, 1) + timedelta(days=int(first + share * (last - first)))).isoformat()
                past = forecast_from_day(study, schema, cut, SIMULATED)
                ahead = AHEAD
        except PeerfrontError as problem:
            print(f"  {labels} {share}: left out ({problem})"[:150])
            continue
        for horizon, days in {**{k: v for k, v in ahead.items() if v < past.days}, END: past.days}.items():
            row = {**labels, "cut": cut, "people": past.people, "horizon": horizon, "days": days,
                   "came": int(past.realised[: days + 1].sum())}  # fmt: skip
            samples = {name: past.totals(days)}
            if not name.startswith("v"):  # earlier versions have no simple forecasts
                from peerfront.study.simple_forecasts import recruits_until, simple_forecasts

                series, rng = recruits_until(study, cut, by_waves=by_waves), np.random.default_rng(29)
                samples |= simple_forecasts(series, days, SIMULATED, rng, by_waves=by_waves)
            rows.append({**row, "samples": {key: np.asarray(each).tolist() for key, each in samples.items()}})
    return rows


# Commands ------------------------------------------------------------------------------------------------------------


def run_made(task: tuple[str, int, int], name: str) -> list[dict[str, object]]:
    kind, size, number = task
    text, valid = made_study(kind, size, number)
    if text.count("\n") < 42:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.csv"
        path.write_text(text)
        study = read_study(path, ReadSettings(valid_days=valid))
    return forecasts_of(study, name, {"kind": kind, "size": size, "number": number})


def public(folder: Path, name: str) -> list[dict[str, object]]:
    rows = []
    for data, by_waves, each in [
        ("fauxtime", False, 3), ("fauxtime", True, 3), ("rdstools_toy", False, None), ("rdstools_toy", True, None),
        ("nyjazz", True, None), ("fauxmadrona", True, 2),
    ]:  # fmt: skip
        settings = ReadSettings(coupons_each=each) if each else ReadSettings()
        study = read_study(folder / data / "participants.csv", settings)
        labels = {"kind": "public", "size": len(study), "number": data + (" by waves" if by_waves else "")}
        rows += forecasts_of(study, name, labels, by_waves=by_waves)
    return rows


def score(folder: Path) -> None:
    """Print coverage and scores by horizon, and by kind of truth."""
    from scoringrules import crps_ensemble

    records = [row for path in sorted(folder.glob("*.json")) for row in json.loads(path.read_text())]
    flat = []
    for row in records:
        for name, samples in row["samples"].items():
            own, came = np.array(samples), row["came"]
            p10, p25, p50, p75, p90 = np.quantile(own, [0.1, 0.25, 0.5, 0.75, 0.9])
            flat.append({
                "forecast": name, "kind": row["kind"], "size": row["size"], "horizon": row["horizon"],
                "inside 80": p10 <= came <= p90, "inside 50": p25 <= came <= p75,
                "score": float(crps_ensemble(np.log1p(came), np.log1p(own))),
                "median over came": (p50 + 1) / (came + 1), "width": (p90 + 1) / (p10 + 1),
            })  # fmt: skip
    table = pd.DataFrame(flat)
    order = ["2 weeks", "6 weeks", END]
    for keys in (["forecast"], ["kind"], ["size"]):
        own = table if keys == ["forecast"] else table[table["forecast"] == "peerfront"]
        grouped = own.groupby([*keys, "horizon"], sort=False)
        result = grouped[["inside 80", "inside 50", "score"]].mean().round(3)
        result["number"] = grouped.size()
        logs = np.log(own["median over came"]).groupby([own[key] for key in [*keys, "horizon"]])
        result["middle over came"] = np.exp(logs.mean()).round(2)
        result["width"] = grouped["width"].median().round(1)
        rows = result.reset_index()
        rows["place"] = rows["horizon"].map(order.index)
        print(rows.sort_values([*keys, "place"]).drop(columns="place").to_string(index=False), "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["made", "public", "score"])
    parser.add_argument("--each", type=int, default=6, help="made studies of each kind and size")
    parser.add_argument("--first", type=int, default=100, help="number of the first of them")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--name", default="peerfront")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/forecasts"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.what == "score":
        return score(chosen.out)
    if chosen.what == "public":
        rows = public(chosen.data, chosen.name)
    else:
        from joblib import Parallel, delayed

        numbers = range(chosen.first, chosen.first + chosen.each)
        tasks = [(kind, size, n) for kind in KINDS for size in chosen.sizes for n in numbers]
        parts = Parallel(chosen.jobs, verbose=5)(delayed(run_made)(task, chosen.name) for task in tasks)
        rows = [row for part in parts for row in part]
    (chosen.out / f"{chosen.what}-{chosen.name}.json").write_text(json.dumps(rows))
    return None


if __name__ == "__main__":
    main()

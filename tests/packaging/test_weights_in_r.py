"""The page on weights for R's survey: its R code runs, and survey's numbers are those of `estimate`."""

import json

import numpy as np
import pandas as pd
import pytest
from packaging_in_r import R_PACKAGE, run_r, skip_without

import peerfront as pf
from docs.pages import ROOT, blocks
from peerfront.words.result_files import write_estimates

PAGE = ROOT / "docs" / "how-to" / "weights-in-r.md"
WRITE = """
jsonlite::write_json(list(
  advised = data.frame(svymean(~factor(outcome), design)), plain = data.frame(svymean(~factor(outcome), plain)),
  total = data.frame(svytotal(~factor(outcome), design)), fit = names(coef(fit)), again = FROM_PACKAGE,
  by_site = data.frame(site = as.character(by_site[[1]]), share = by_site[[3]])
), "results.json", digits = NA, dataframe = "rows")
"""


def made_up(people: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    recruiter = [
        -1 if place < 4 else int(rng.integers(max(0, place // 3 - 5), place // 2 + 1)) for place in range(people)
    ]
    hiv = np.zeros(people, dtype=bool)
    for place, by in enumerate(recruiter):
        hiv[place] = hiv[by] if by >= 0 and rng.random() < 0.5 else rng.random() < 0.35
    table = pd.DataFrame({
        "id": [f"{place:04d}" for place in range(people)],  # R would make numbers of them
        "recruiter": ["" if by < 0 else f"{by:04d}" for by in recruiter],
        "coupons_issued": 12,
        "network_size": rng.integers(1, 30, people),
        "hiv": np.where(hiv, "yes", "no"),
        "site": np.where(rng.random(people) < 0.5, "north", "south"),
    })  # fmt: skip
    table.loc[20:25, "hiv"] = ""
    return table


@pytest.mark.parametrize("package", [False, True], ids=["files", "package"])
def test_survey_gives_our_estimates_and_standard_errors(package, tmp_path) -> None:
    skip_without("survey", "jsonlite")
    made_up().to_csv(tmp_path / "study.csv", index=False)
    estimates = pf.estimate(tmp_path / "study.csv", "hiv", population=5000, bootstraps=500, by="site")
    (tmp_path / "estimates").mkdir()
    write_estimates(tmp_path / "estimates", estimates, weights=[(estimates.weights(), estimates.replicate_weights())])
    *code, from_package = blocks(PAGE, "r")
    if package:
        library = tmp_path / "library"
        library.mkdir()
        installed = run_r("R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(R_PACKAGE), folder=tmp_path)
        assert installed.returncode == 0, installed.stderr
        code = [f".libPaths(c('{library}', .libPaths()))", *code, from_package]
    again = "data.frame(svymean(~factor(outcome), pf_design(estimates)))" if package else "NULL"
    (tmp_path / "page.R").write_text("\n".join([*code, WRITE.replace("FROM_PACKAGE", again)]))
    ran = run_r("Rscript", "page.R", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    best = estimates.outcomes[0].best.query("group == 'everybody'")
    for name in ("advised", "again") if package else ("advised",):
        found = pd.DataFrame(results[name])
        np.testing.assert_allclose(found["mean"], best["estimate"], rtol=1e-10)
        np.testing.assert_allclose(found["SE"], best["standard_error"], rtol=1e-10)
    np.testing.assert_allclose([row["mean"] for row in results["plain"]], best["estimate"], rtol=1e-10)
    np.testing.assert_allclose(sum(row["total"] for row in results["total"]), 5000, rtol=1e-10)
    assert results["fit"] == ["(Intercept)", "sitesouth"]
    rows = estimates.table.query("category == 'yes'").set_index(["group", "estimator"])["estimate"]
    for row in results["by_site"]:
        assert row["share"] == pytest.approx(
            rows[f"site = {row['site']}", estimates.outcomes[0].verdict.best], rel=1e-10
        )

"""The R package in `r/`, with the program of this environment, where R is installed."""

from pathlib import Path

import pytest
from packaging_in_r import R_PACKAGE, run_r, skip_without


def test_tests_of_the_package_pass(tmp_path: Path) -> None:
    skip_without("jsonlite", "testthat")
    library = tmp_path / "library"
    library.mkdir()
    installed = run_r("R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(R_PACKAGE), folder=tmp_path)
    assert installed.returncode == 0, installed.stderr
    tests = R_PACKAGE / "tests" / "testthat"
    code = f".libPaths(c('{library}', .libPaths())); testthat::test_dir('{tests}', package = 'peerfront')"
    tested = run_r("Rscript", "-e", code, folder=tmp_path)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "SKIP 0" in tested.stdout, tested.stdout


@pytest.mark.slow
def test_it_passes_r_cmd_check_with_its_vignette(tmp_path: Path) -> None:
    skip_without("jsonlite", "testthat", "knitr", "markdown")
    built = run_r("R", "CMD", "build", str(R_PACKAGE), folder=tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    (archive,) = tmp_path.glob("peerfront_*.tar.gz")
    checked = run_r("R", "CMD", "check", "--no-manual", archive.name, folder=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.rstrip().endswith("Status: OK"), checked.stdout

"""The same file gives the same model and the same sheet, whatever the threads, the order of hashes, or the day."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from peerfront.foundation.machine import one_thread
from peerfront.simulation.demo_study import demo_study

SCRIPT = """
import hashlib, sys
import peerfront as pf
from small_study import QUICK

study = pf.read_study(sys.argv[1])
model = pf.fit(study, budget=12, rounds=2, learning=QUICK)
files = model.fit.files()
sheet = model.plan(study.waiting, budget=12).csv()
for name in sorted(files):
    print(name, hashlib.sha256(files[name]).hexdigest())
print("sheet", hashlib.sha256(sheet.encode()).hexdigest())
"""


def answers(path, threads: int, hashes: int) -> str:
    here = str(Path(__file__).parent)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": str(hashes),
        "PYTHONPATH": os.pathsep.join([here, *sys.path]),
    }
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_threads_and_hashes_change_nothing(tmp_path) -> None:
    table = demo_study(150, seed=2).study
    table["odd"] = [("NAN", "-nan", "+nan", "nan", "inf", "-inf", "7")[i % 7] for i in range(len(table))]
    path = tmp_path / "study.csv"
    table.to_csv(path, index=False)
    one = answers(path, threads=1, hashes=1)
    assert len(one.splitlines()) == 3
    assert answers(path, threads=2, hashes=2) == one


def test_what_was_set_before_is_put_back() -> None:
    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(limits=2):
        before = threads()
        with one_thread():
            assert threads() == {1}
        assert threads() == before
        with pytest.raises(ZeroDivisionError), one_thread():
            _ = 1 / 0
        assert threads() == before

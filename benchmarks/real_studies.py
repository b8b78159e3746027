"""Public studies from end to end, as a coordinator would: check, fit, plan, forecast and report, each a command.

python benchmarks/real_studies.py PATH     (PATH holds nyjazz/, rdstools_toy/, fauxtime/, fauxmadrona/)

Prints seconds and peak memory of each command and what it says. The frontier is the last 20 people of the file.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peerfront.data.reading import read_study
from peerfront.data.schema_file import read_schema

STUDIES = {
    "nyjazz": ("nyjazz.csv", ()),
    "rdstools_toy": ("rdstools_toy.csv", ()),
    "fauxtime": ("participants.csv", ("--coupons-each", "3")),
    "fauxmadrona": ("participants.csv", ("--coupons-each", "2")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--study", action="append", choices=STUDIES)
    parser.add_argument("--words", action="store_true", help="show what each command says")
    chosen = parser.parse_args()
    print("| study | command | seconds | peak memory, MiB |\n| --- | --- | ---: | ---: |", flush=True)
    for name in chosen.study or STUDIES:
        file, options = STUDIES[name]
        found = sorted((chosen.path / name).rglob(file))
        if not found:
            print(f"| {name} | no {file} below {chosen.path / name} | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            _end_to_end(name, found[0], options, Path(folder), chosen.words)


def _end_to_end(name: str, file: Path, options: tuple[str, ...], folder: Path, words: bool) -> None:
    checked, model, frontier = folder / "checked", folder / "model", folder / "frontier.csv"
    _run(name, words, "check", str(file), *options, "--out", str(checked))
    schema = read_schema(checked / "schema.toml")
    read_study(file, schema.reading).table().tail(20).to_csv(frontier, index=False)
    budget = ("--budget", "60")
    _run(name, words, "fit", str(file), "--schema", str(checked / "schema.toml"), "--out", str(model), *budget)
    _run(name, words, "plan", str(model), str(frontier), *budget, "--out", str(folder / "sheet.csv"))
    _run(name, words, "forecast", str(model), str(frontier), *budget, "--out", str(folder / "forecast"))
    report = ("report", str(model), str(file), "--frontier", str(frontier), *budget, "--out")
    _run(name, words, *report, str(folder / "report.html"))


def _run(name: str, words: bool, *command: str) -> None:
    begun = time.perf_counter()
    program = [sys.executable, "-c", "from peerfront.cli.main import main; main()", *command]
    done = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    assert done.stdout is not None
    text = done.stdout.read()
    _, status, used = os.wait4(done.pid, 0)
    assert isinstance(used, resource.struct_rusage)
    failed = f" (exit code {os.waitstatus_to_exitcode(status)})" if status else ""
    print(
        f"| {name} | {command[0]}{failed} | {time.perf_counter() - begun:.1f} | {used.ru_maxrss // 1024} |", flush=True
    )
    if words or status:
        print(text)


if __name__ == "__main__":
    main()

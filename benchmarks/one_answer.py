"""One study, one answer, in few words: figures that differ between views, and words of each output in two versions.

python benchmarks/one_answer.py [--old OLD/src]

The example's study in a week with a deadline and a target. `week`, `plan`, `forecast` (as JSON) and `model.advise` are
compared number by number; the four headlines are looked for in what `week`, `plan`, `forecast` and `report` show. Then
words of the example's outputs, without rows of people and without a report's appendix; with --old also those of an
older version (version 0.3: `git worktree add OLD 2c51518`).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peerfront as pf
from peerfront.cli.json_output import to_data

SOURCE = Path(__file__).parents[1] / "src"
START = "import sys; sys.argv[0] = 'peerfront'; from peerfront.cli.main import main; main()"
DAY, MODEL = "2024-04-29", "weeks/week-01_2024-04-29/model"
ORDER = "--budget 60 --deadline 2024-07-31 --target 560"
VIEWS = {
    "week": f"week study.csv --date {DAY} --folder weeks {ORDER}",
    "plan": f"plan {MODEL} --study-file study.csv --as-of {DAY} {ORDER}",
    "forecast": f"forecast {MODEL} --study-file study.csv --as-of {DAY} {ORDER}",
    "report": f"report {MODEL} study.csv --as-of {DAY} {ORDER} --overwrite --out report.html",
}
OUTPUTS = {
    "check": "check study.csv",
    "fit": "fit study.csv --budget 60 --out model",
    "plan": "plan model frontier.csv --budget 60",
    "forecast": "forecast model frontier.csv --budget 60",
    "week": f"week study.csv --budget 60 --date {DAY} --folder other-weeks",
    "report": "report model study.csv --budget 60 --out page.html",
}


def shown(source: Path, folder: Path, command: str) -> str:
    """What a command prints in one version; of `report`, the text of its page."""
    wide = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "2000", "PEERFRONT_LANGUAGE": "en"}
    asked = [sys.executable, "-c", START, *command.split()]
    ran = subprocess.run(asked, cwd=folder, env=wide, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"peerfront {command} failed in {source}:\n{ran.stderr}")
    if not command.startswith("report") or "--json" in command:
        return ran.stdout
    page = re.sub(r"(?s)<(style|script|svg).*?</\1>", " ", (folder / command.split()[-1]).read_text("utf-8"))
    return re.sub(r"<[^>]+>", " ", page.split('<div id="appendix"')[0])


def words(text: str) -> int:
    """Words without tables of people."""
    return len(" ".join(line for line in text.splitlines() if not re.match(r"\s*(P0\d+|person) +", line)).split())


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a result, by its path."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from numbers(each, f"{path}.{name}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from numbers(each, f"{path}[{place}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def compare_views(folder: Path) -> None:
    """Compare the numbers of the views, and look for the headlines in what they show."""
    results = {}
    for name in ("week", "plan", "forecast"):
        result = json.loads(shown(SOURCE, folder, f"{VIEWS[name]} --json"))["result"]
        results[name] = {"week": {"sheet": result.get("sheet")}, "plan": {"sheet": result}}.get(
            name, {"sheet": {"outlook": result}}
        )
    model, study = pf.load(folder / MODEL), pf.read_study(folder / "study.csv")
    asked = {"deadline": "2024-07-31", "target": 560, "as_of": DAY}
    results["model.advise"] = {"sheet": to_data(model.advise(study, 60, **asked).sheet)}
    by_path: dict[str, dict[str, float]] = {}
    for name, result in results.items():
        for path, number in numbers(result):
            by_path.setdefault(path, {})[name] = number
    several = [each for each in by_path.values() if len(each) > 1]
    differing = [path for path, each in by_path.items() if len(set(each.values())) > 1]
    print(f"{len(several):,} numbers in {', '.join(results)}; {len(differing)} differ", *differing[:10], flush=True)
    sheet = results["plan"]["sheet"]
    plan, wanted = sheet["outlook"]["summary"][0], 560 - sheet["outlook"]["already"]
    headlines = {
        "coupons this round": f"{sheet['spend']} coupons",
        "80% band and last day": f"Expect {plan['p10']:.0f} to {plan['p90']:.0f} more people by 31 July 2024",
        "recruits on average": f"{plan['recruits']:.0f} on average",
        "chance of the target": f"Chance of the target of 560 ({wanted} to come): {plan['reaches_target']:.0%}",
    }
    again = {**VIEWS, "week": VIEWS["week"].removesuffix(ORDER)}  # the same week is shown, not made
    texts = {name: " ".join(shown(SOURCE, folder, command).split()) for name, command in again.items()}
    for name, headline in headlines.items():
        print(f"{name}: {headline!r} in {[view for view, text in texts.items() if headline in text]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="the source folder of an older version")
    old = parser.parse_args().old
    sources = {**({"before": old.resolve()} if old else {}), "now": SOURCE}
    counts: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as name:
        for version, source in sources.items():
            folder = Path(name) / version
            folder.mkdir()
            shown(source, folder, "example --out .")
            if version == "now":
                compare_views(folder)
            for output, command in OUTPUTS.items():
                counts.setdefault(output, []).append(words(shown(source, folder, command)))
    print("words:", ", ".join(sources))
    for output, each in counts.items():
        print(f"| `{output}` | {' | '.join(f'{count:,}' for count in each)} |")


if __name__ == "__main__":
    main()

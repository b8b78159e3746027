"""Every option of every command with values that no study has; the commands and their options are asked for theirs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import typer

from hostile.making import ARABIC_3, HUGE, TABLE
from hostile.runner import EITHER, Case
from peerfront.cli.main import app
from study.small_advice import study_csv

WAITING = "id,sex,town\na,f,north\nb,m,south\n"
STUDY = study_csv(60)
BASES: Mapping[str, tuple[str, ...]] = {
    "check": ("check", "study"),
    "week": ("week", "study", "--folder", "w", "--budget", "20", "--date", "2024-08-30"),
    "fit": ("fit", "study", "--out", "m", "--budget", "10"),
    "plan": ("plan", "{model}", "people", "--budget", "5"),
    "forecast": ("forecast", "{model}", "people", "--budget", "5", "--episodes", "20"),
    "backtest": ("backtest", "study", "--episodes", "20"),
    "report": ("report", "{model}", "study", "--out", "r", "--episodes", "20"),
    "estimate": ("estimate", "study", "--outcome", "sex", "--bootstraps", "20"),
    "design": ("design", "--repetitions", "2", "--bootstraps", "20", "--population", "300", "--sample", "60"),
    "convert": ("convert", "study", "--to", "recruiter", "--out", "made"),
    "example": ("example", "--out", "made", "--people", "40"),
    "simulate": ("simulate", "--world", "bridge", "--policy", "constant"),
    "compare": (
        "compare",
        "--world",
        "bridge",
        "--policy",
        "constant",
        "--discount",
        "1",
        "--workers",
        "1",
        "--episodes",
        "5",
    ),
    "reproduce": ("reproduce", "--quick", "--out", "made", "--workers", "1"),
}
SLOW = ("fit", "backtest", "reproduce")
"""Commands that take long once they begin: they get only values that no option takes."""
NUMBERS = ("nan", "inf", "-1", "1e308", "text", "", HUGE, "1_0", ARABIC_3, "½", "0", "1e9")
NO_NUMBERS = ("nan", "inf", "-1e308", "1e308", "text", "", HUGE, ARABIC_3, "½")
DATES = (
    "",
    "now",
    "2024-02-30",
    "99999-01-01",
    "2024-01-05T25:00",
    "-1",
    "nan",
    "0000-00-00",
    HUGE,
    "\x1b[31m",
    "1e308",
)
TEXTS = (
    "", " ", "\x1b[31m", "[/x]", "\u202eabc", "\ufeff", "\U0001f600", "x" * 5000, "=1+1", "a\nb", "\udcff", "%s%n", "../..", "sex",
)  # fmt: skip
FIELDS = (
    "", "=", ":", "sex=", "sex=f", "sex=f:nan", "sex=f:-1", "sex=f:1e308", "sex=f:inf:nan", "sex+sex", "nope", "nope=f:1", "sex=f:2:3:4",
    "=f:1", "sex==f:1", "sex=f:1+town", "[/x]=1", "\x1b[31m", "town=north:.5",
)  # fmt: skip
PATHS = (
    "",
    ".",
    "/",
    "/dev/null",
    "/dev/full",
    "nope/deep/x",
    "x" * 300,
    "study",
    "people",
    "\u202ex",
    "\udcff",
    "~",
    "$x$",
)


def _kind(option: Any) -> str:
    """number, date, path, field, flag or text."""
    shape = str(option.metavar or "")
    made = option.type_descriptor.annotation
    if made is bool:
        return "flag"
    if any(word in shape for word in ("FIELD", "PART", "SHORT")):
        return "field"
    if shape in ("N", "SHARE", "CHANCE", "DAYS") or made in (int, float):
        return "number"
    if shape == "DATE":
        return "date"
    return "path" if shape in ("PATH", "FILE") or "Path" in str(made) else "text"


def commands() -> dict[str, dict[str, str]]:
    """The options of each command that has a base, and their kinds."""
    group: Any = typer.main.get_command(app)
    found: dict[str, dict[str, str]] = {}
    for name in BASES:
        options = [
            each for each in group.commands[name].params if each.opts[0].startswith("--") and each.opts[0] != "--help"
        ]
        found[name] = {each.opts[0]: _kind(each) for each in options}
    return found


SEEDS = "id,recruiter,coupons.issued,sex,town,date\n" + "".join(
    f"p{n},,0,{'fm'[n % 2]},{('north', 'south')[n // 2 % 2]},2024-08-{n + 1:02d}\n" for n in range(24)
)


def _files(command: str) -> dict[str, Any]:
    studies = dict.fromkeys(("check", "convert", "fit"), TABLE) | {"week": SEEDS}  # of seeds, so that nothing is fitted
    return {"study": studies.get(command, STUDY), "people": WAITING}


def _case(kind: str, command: str, extra: Sequence[str]) -> Case:
    arguments = list(BASES[command])
    for option in {each.partition("=")[0] for each in extra} & set(arguments):  # not given twice
        place = arguments.index(option)
        flag = place + 1 >= len(arguments) or arguments[place + 1].startswith("--")
        del arguments[place : place + (1 if flag else 2)]
    name = f"{command} {' '.join(extra)}"
    return Case(
        kind,
        name if len(name) < 90 else f"{name[:60]}... ({len(name)})",
        (*arguments, *extra),
        EITHER,
        "",
        _files(command),
    )


def every_option() -> Iterator[Case]:
    """One option at a time."""
    values = {"date": DATES, "path": PATHS, "field": FIELDS, "text": TEXTS, "flag": ()}
    for command, options in commands().items():
        for option, kind in options.items():
            chosen: Sequence[str] = NUMBERS if kind == "number" else values[kind]
            if command in SLOW:
                refused = {"number": NO_NUMBERS, "date": DATES[:8], "path": PATHS[:4]}
                chosen = refused.get(kind, [text for text in chosen if text not in ("sex", "-")][:9])
            for text in chosen:
                if "\0" not in text:
                    yield _case(f"every {kind}", command, [f"{option}={text}"])


def odd_combinations(count: int, seed: int = 1) -> Iterator[Case]:
    """Two to four options together, with values that are right or nearly so."""
    luck = np.random.default_rng((seed, 33))
    likely = {
        "number": ("0", "1", "2", "3", "7", "30", ".5", "1000"),
        "date": ("2024-05-01", "2024-08-20", "2026-01-01"),
        "path": ("study", "people", "new", "new2", "."),
        "field": ("sex", "town", "sex+town", "sex=f:.5", "sex=f:300", "date=date", "id=id"),
        "text": ("sex", "none", "auto", "recruiter", "coupons", "motivation", "3", "9"),
        "flag": (None,),
    }  # fmt: skip
    known = commands()
    quick = [name for name in known if name not in SLOW]
    for number in range(count):
        command = str(luck.choice(quick))
        options = known[command]
        chosen = luck.choice(list(options), min(len(options), int(luck.integers(2, 5))), replace=False)
        extra = []
        for option in map(str, chosen):
            value = luck.choice(np.array(likely[options[option]], dtype=object))
            extra.append(option if value is None else f"{option}={value}")
        made = _case("options together", command, extra)
        yield Case(made.kind, f"{number} {made.name}", made.arguments, EITHER, "", made.files)

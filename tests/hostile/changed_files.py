"""Studies' files that chance has changed: bytes, cells, rows and columns of tidy and of messy files, for every command."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from data.messy_files import messy_files
from hostile.making import TABLE
from hostile.options import STUDY, WAITING
from hostile.runner import EITHER, Case

CELLS = (
    "", " ", "-5", "many", "nan", "inf", "1e308", "99999999999999999999", "0x10", "-0", "1.5", "NaN", "#REF!", "#N/A", "=1+1",
    "2024-02-30", "31/12/9999", "\x1b[31m", "\u202ex", "\U0001f600", "x" * 3000, "\ufeff", "p0", "P0", "p00", "seed", "101-9999999",
    "1-2-3", "A-Z", "10-1", "1/1/1", "TRUE", "\N{ARABIC-INDIC DIGIT THREE}", "Total", "'", '"',
)  # fmt: skip
COMMANDS = {
    "check": ("check", "{file}"),
    "check --out": ("check", "{file}", "--out=out"),
    "estimate": ("estimate", "{file}", "--outcome=sex", "--bootstraps=10"),
    "convert": ("convert", "{file}", "--to=recruiter", "--out=made"),
    "convert app": ("convert", "{file}", "--to=app", "--out=made"),
    "plan": ("plan", "{model}", "people", "--budget=5", "--study-file={file}"),
    "plan people": ("plan", "{model}", "{file}", "--budget=5"),
    "each": ("check", "{file}", "--coupons-each=3"),
    "worlds": ("worlds", "study:file={file}"),
    "week": ("week", "{file}", "--budget=nan", "--folder=w", "--date=2026-01-01"),
}


def _changed(rows: list[list[str]], luck: np.random.Generator) -> list[list[str]]:
    """One to six cells, rows or columns are lost, doubled or replaced."""
    rows = [list(row) for row in rows]
    for _ in range(int(luck.integers(1, 7))):
        row, what = int(luck.integers(0, len(rows))), int(luck.integers(0, 9))
        column = int(luck.integers(0, max(len(rows[row]), 1)))
        if what < 5 and rows[row]:
            rows[row][column] = str(luck.choice(np.array(CELLS, dtype=object)))
        elif what == 5 and len(rows) > 1:
            del rows[row]
        elif what == 6:
            rows.insert(row, list(rows[row]))
        elif what == 7:
            value = str(luck.choice(np.array(CELLS, dtype=object)))
            for each in rows[1:]:
                if column < len(each):
                    each[column] = value
        elif rows[row]:
            rows[0], rows[row] = rows[row], rows[0]
    return rows


def _bytes(content: bytes, luck: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(luck.integers(1, 12))):
        place = int(luck.integers(0, len(changed)))
        changed[place : place + int(luck.integers(0, 3))] = luck.bytes(int(luck.integers(0, 4)))
    return bytes(changed)


def cases(count: int = 400, seed: int = 1) -> Iterator[Case]:
    luck = np.random.default_rng((seed, 34))
    messy = list(messy_files(seed, 20, "combinations"))
    names = list(COMMANDS)
    for number in range(count):
        name = names[number % len(names)]
        if number % 4 == 3:
            made = messy[int(luck.integers(0, len(messy)))]
            file, content = f"study{made.suffix}", _bytes(made.content, luck) if luck.random() < 0.5 else made.content
        else:
            file = "study.csv"
            rows = list(csv.reader(io.StringIO((TABLE, STUDY, WAITING)[int(luck.choice(3, p=(0.4, 0.45, 0.15)))])))
            buffer = io.StringIO()
            csv.writer(buffer, lineterminator="\n").writerows(_changed(rows, luck))
            content = buffer.getvalue().encode()
        arguments = tuple(argument.replace("{file}", file) for argument in COMMANDS[name])
        yield Case("changed file", f"{number} {name}", arguments, EITHER, "", {file: content, "people": WAITING})

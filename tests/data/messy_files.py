"""Studies as coordinators keep them: a small true study, written as a workbook or an export with a chosen mess.

`true_study` makes people whose recruiters, coupons, dates and network sizes are known; `written` writes them with a
`Mess`, one field for each habit. `messy_files(seed, count)` gives every single habit of `HABITS` and as many random
combinations as are asked for; another seed makes other studies, other cells and other combinations.
"""

import csv
import dataclasses
import datetime
import io
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openpyxl
from openpyxl.comments import Comment
from openpyxl.utils import get_column_letter

Luck = np.random.Generator
Cell = str | int | float | datetime.date | None

# The truth ---------------------------------------------------------------------------------------------------------

FIRST = (
    "Ana", "Luis", "María", "José", "Inés", "Pedro", "Rosa", "Tomás", "Elena", "Raúl", "Lucía", "Iván", "Marta",
    "Óscar", "Paula", "Hugo", "Noemí", "Félix", "Carla", "Darío",
)  # fmt: skip
LAST = ("Díaz", "Gómez", "Pérez", "Núñez", "Soto", "Ruiz", "Vega", "Ibáñez", "Mora", "León", "Cruz", "Peña")
BEGIN = datetime.date(2024, 3, 4)


@dataclass(frozen=True)
class Person:
    """One person of the true study."""

    id: str
    name: str
    recruiter: int | None  # place in the study
    own: str
    coupons: tuple[str, ...]
    date: datetime.date
    sex: str
    site: str
    age: int
    size: int | None
    dated: bool = True
    """Whether the file tells the date."""


@dataclass(frozen=True)
class TrueStudy:
    """People in the order in which they came."""

    people: tuple[Person, ...]

    @property
    def places(self) -> dict[str, int]:
        """Place by id, as any spelling of the id shows it (`same_id`)."""
        return {same_id(person.id): place for place, person in enumerate(self.people)}


def same_id(text: str) -> str:
    """One spelling for P-1, p001 and 1.0: letters without accents, digits without zeros before them."""
    plain = unicodedata.normalize("NFKD", str(text)).encode("ascii", "ignore").decode().casefold()
    plain = re.sub(r"[^a-z0-9]", "", re.sub(r"\.0$", "", plain.removeprefix("uuid:")))
    return re.sub(r"^p?0*(\d+)$", r"\1", plain)


CODES: Mapping[str, Callable[[int, int, int], str]] = {  # person, coupon and running number -> code
    "numbers": lambda _person, _coupon, n: str(101 + n),
    "large numbers": lambda _person, _coupon, n: str(1101 + n),
    "letters": lambda person, coupon, _: f"C{person + 1}{'ABCDEF'[coupon]}",
    "padded": lambda person, coupon, _: f"C{person + 100:04d}{'ABCDEF'[coupon]}",
    "person-coupon": lambda person, coupon, _: f"{person + 1}-{coupon + 1}",
    "zeros": lambda _person, _coupon, n: f"{n + 1:05d}",
}


def true_study(seed: int, mess: "Mess") -> TrueStudy:
    """Make a study of 60 to 150 people, with 4 to 8 seeds and up to 4 coupons each."""
    luck = np.random.default_rng((seed, 30))
    number = int(luck.integers(60, 151))
    seeds = int(luck.integers(4, 9))
    names = luck.permutation([f"{first} {last}" for first in FIRST for last in LAST])
    most_known = 8 if mess.unknown == "9" else 40  # so that 9 stands apart
    waiting: list[tuple[int, str, int]] = []
    people: list[Person] = []
    running = 0
    for place in range(number):
        is_seed = place < seeds or not waiting
        recruiter, own, day = (None, "", place // 3) if is_seed else waiting.pop(0)
        many = int(luck.choice([0, 1, 2, 3, 3, 3, 3, 4]))
        coupons = tuple(CODES[mess.codes](place, n, running + n) for n in range(many))
        running += many
        past = people[-1].date if people else BEGIN
        date = max(BEGIN + datetime.timedelta(days=day), past)
        if mess.ambiguous and date.day > 12:
            date = (date.replace(day=1) + datetime.timedelta(days=31)).replace(day=1)
        people.append(
            Person(
                f"P{place + 1:03d}",
                str(names[place]),
                recruiter,
                own,
                coupons,
                date,
                str(luck.choice(["F", "M"])),
                str(luck.choice(["Norte", "Sur", "Este"])),
                int(luck.integers(18, 65)),
                int(luck.integers(2, most_known)) if place % 13 != 5 else None,
                mess.dates != "unknown" or place % 11 != 7,
            )
        )
        used = luck.permutation(many)[: int(luck.integers(0, 4))]
        day_number = (date - BEGIN).days
        waiting += [(place, coupons[n], day_number + int(luck.integers(1, 9))) for n in sorted(used)]
    return TrueStudy(tuple(people))


# One habit each ----------------------------------------------------------------------------------------------------


def _ends(codes: Sequence[str]) -> tuple[str, str]:
    return codes[0], codes[-1]


def _range(between: str) -> Callable[[Sequence[str]], str]:
    return lambda codes: codes[0] if len(codes) < 2 else between.join(_ends(codes))


def _letter_range(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) < 2 else f"{codes[0]}-{codes[-1][-1]}"


def _and(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) < 2 else f"{', '.join(codes[:-1])} & {codes[-1]}"


def _short_range(codes: Sequence[str]) -> str:
    """101-3, as people shorten 101-103."""
    return codes[0] if len(codes) < 2 else f"{codes[0]}-{codes[-1][-1]}"


CELLS: Mapping[str, Callable[[Sequence[str]], str]] = {  # several codes in one cell
    "commas": ", ".join,
    "semicolons": "; ".join,
    "slashes": "/".join,
    "spaces": " ".join,
    "lines": "\n".join,
    "plus": " + ".join,
    "and": _and,
    "y": lambda codes: codes[0] if len(codes) < 2 else f"{', '.join(codes[:-1])} y {codes[-1]}",
    "101-103": _range("-"),
    "101 - 103": _range(" - "),
    "101\N{EN DASH}103": _range("\N{EN DASH}"),
    "101 to 103": _range(" to "),
    "101 a 103": _range(" a "),
    "del 101 al 103": lambda codes: codes[0] if len(codes) < 2 else f"del {codes[0]} al {codes[-1]}",
    "101..103": _range(".."),
    "103-101": lambda codes: codes[0] if len(codes) < 2 else f"{codes[-1]}-{codes[0]}",
    "C1A-C": _letter_range,
    "C1A-C1C": _range("-"),
    "101-3": _short_range,
    "101-102, 103": lambda codes: (
        f"{codes[0]}-{codes[1]}, {', '.join(codes[2:])}" if len(codes) > 2 else ", ".join(codes)
    ),
    "101, 102 (blue)": lambda codes: ", ".join(codes) + (" (blue)" if codes else ""),
    "#101 #102": lambda codes: " ".join(f"#{code}" for code in codes),
}
RANGES_THAT_LIE: Mapping[str, Callable[[Sequence[str]], str]] = {  # in one cell of the file
    "overlapping": lambda codes: f"{codes[0]}-{int(codes[-1]) + 3}",
    "a million": lambda codes: f"{codes[0]}-{int(codes[0]) + 10**6}",
    "10^6 as words": lambda codes: f"{codes[0]} to {10**9}",
}
_WIDE = {ord(str(n)): chr(0xFF10 + n) for n in range(10)} | {ord(c): chr(ord(c) + 0xFEE0) for c in "ABCDEFC"}
_ARABIC = {ord(str(n)): chr(0x660 + n) for n in range(10)}
TYPED: Mapping[str, Callable[[str, Luck], str]] = {  # how codes are typed when people come back
    "blanks": lambda code, luck: str(luck.choice([f" {code}", f"{code} ", f"{code}\N{NO-BREAK SPACE}", code])),
    "case": lambda code, luck: str(luck.choice([code.lower(), code])),
    "O for 0": lambda code, luck: code.replace("0", "O") if luck.random() < 0.15 else code,
    "l for 1": lambda code, luck: code.replace("1", "l") if luck.random() < 0.15 else code,
    "full-width": lambda code, luck: code.translate(_WIDE) if luck.random() < 0.3 else code,
    "Arabic digits": lambda code, luck: code.translate(_ARABIC),
    "(blue)": lambda code, luck: f"{code} (blue)" if luck.random() < 0.3 else code,
    "#": lambda code, _: f"#{code}",
    "thousands": lambda code, _: f"{int(code):,}",
    "decimals": lambda code, _: f"{code}.0",
    "zeros lost": lambda code, _: code.lstrip("0"),
    "inner blank": lambda code, luck: f"{code[:1]} {code[1:]}" if luck.random() < 0.3 else code,
    "typos": lambda code, luck: _typo(code, luck) if luck.random() < 0.05 else code,
}


def _typo(text: str, luck: Luck) -> str:
    place = int(luck.integers(0, len(text)))
    return text[:place] + text[place + 1 :] if luck.random() < 0.5 else text[:place] + "x" + text[place:]


def _plain_letters(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _initial(name: str) -> str:
    first, last = name.split(" ")
    return f"{first} {last[0]}."


NAMED: Mapping[str, Callable[[str, Luck], str]] = {  # how a recruiter's name is written
    "exact": lambda name, _: name,
    "case": lambda name, luck: str(luck.choice([name.lower(), name.upper(), name])),
    "accents": lambda name, _: _plain_letters(name),
    "last first": lambda name, _: ", ".join(reversed(name.split(" "))),
    "initials": lambda name, luck: _initial(name) if luck.random() < 0.3 else name,
    "one letter off": lambda name, luck: _typo(name, luck) if luck.random() < 0.1 else name,
    "blanks": lambda name, _: name.replace(" ", "  ") + " ",
}
RETYPED: Mapping[str, Callable[[str], str]] = {  # how a recruiter's id is written, other than in the column of ids
    "zeros lost": lambda text: re.sub(r"^(\D*)0+", r"\1", text),
    "case": str.swapcase,
    "decimals": lambda text: f"{text}.0",
    "dash": lambda text: f"{text[0]}-{text[1:]}",
    "#": lambda text: f"#{text}",
}
IDS: Mapping[str, Callable[[int], Cell]] = {
    "numbers": lambda n: n,
    "decimals": lambda n: f"{n}.0",
    "zeros": lambda n: f"{n:03d}",
    "P-1": lambda n: f"P-{n}",
    "mixed case": lambda n: f"{'Pp'[n % 2]}{n:03d}",
    "blanks": lambda n: f"P{n:03d} ",
}
_ES = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
       "diciembre")  # fmt: skip
_FR = ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
       "décembre")  # fmt: skip


def _dmy(day: datetime.date) -> str:
    return f"{day.day:02d}/{day.month:02d}/{day.year}"


def _swapped(day: datetime.date) -> Cell:
    """Typed as day/month into an Excel that reads month/day: up to the 12th a cell with a wrong date, then text."""
    return _dmy(day) if day.day > 12 else datetime.date(day.year, day.day, day.month)


DATES: Mapping[str, Callable[[datetime.date, Luck], Cell]] = {
    "cells": lambda day, _: day,
    "iso": lambda day, _: day.isoformat(),
    "dd/mm": lambda day, _: _dmy(day),
    "mm/dd": lambda day, _: f"{day.month}/{day.day}/{day.year}",
    "dots": lambda day, _: f"{day.day}.{day.month}.{day.year}",
    "cells and dd/mm": lambda day, luck: day if luck.random() < 0.7 else _dmy(day),
    "cells and iso": lambda day, luck: day if luck.random() < 0.7 else day.isoformat(),
    "dd/mm and iso": lambda day, luck: _dmy(day) if luck.random() < 0.7 else day.isoformat(),
    "dd/mm and dots": lambda day, luck: _dmy(day) if luck.random() < 0.7 else f"{day.day}.{day.month}.{day.year}",
    "dd/mm and mm/dd": lambda day, luck: (
        _dmy(day) if luck.random() < 0.7 else f"{day.month:02d}/{day.day:02d}/{day.year}"
    ),
    "3 May 2024": lambda day, _: f"{day.day} {day:%B} {day.year}",
    "May 3, 2024": lambda day, _: f"{day:%b} {day.day}, {day.year}",
    "03-May-24": lambda day, _: f"{day:%d-%b-%y}",
    "dd/mm/yy": lambda day, _: f"{day:%d/%m/%y}",
    "dd/mm/yyyy and yy": lambda day, luck: _dmy(day) if luck.random() < 0.6 else f"{day:%d/%m/%y}",
    "3 de mayo de 2024": lambda day, _: f"{day.day} de {_ES[day.month - 1]} de {day.year}",
    "03-may-24": lambda day, _: f"{day.day:02d}-{_ES[day.month - 1][:3]}-{day:%y}",
    "3 mai 2024": lambda day, _: f"{day.day} {_FR[day.month - 1]} {day.year}",
    "with a time": lambda day, luck: f"{_dmy(day)} {int(luck.integers(8, 18)):02d}:{int(luck.integers(0, 60)):02d}",
    "serials": lambda day, _: str((day - datetime.date(1899, 12, 30)).days),
    "serials and dd/mm": lambda day, luck: (
        str((day - datetime.date(1899, 12, 30)).days) if luck.random() < 0.5 else _dmy(day)
    ),
    "swapped by Excel": lambda day, _: _swapped(day),
    "yyyymmdd": lambda day, _: f"{day:%Y%m%d}",
    "Arabic digits": lambda day, _: _dmy(day).translate(_ARABIC),
    "unknown": lambda day, _: _dmy(day),
}
COUNTS: Mapping[str, Callable[[int, Luck], Cell]] = {
    "numbers": lambda n, _: n,
    "decimals": lambda n, _: f"{n}.0",
    "3 (blue)": lambda n, luck: f"{n} (blue)" if luck.random() < 0.3 else str(n),
    "3 coupons": lambda n, luck: f"{n} coupons" if luck.random() < 0.5 else str(n),
    "full-width": lambda n, _: str(n).translate(_WIDE),
    "words": lambda n, _: ("zero", "one", "two", "three", "four")[n],
}
SEEDS: Mapping[str, str] = {"": "", "seed": "seed", "SEED ": "SEED ", "semilla": "semilla", "0": "0", "none": "none",
                            "-": "-", "n/a": "n/a"}  # fmt: skip
NAMES: Mapping[str, Mapping[str, str]] = {
    "en": {"id": "ID", "name": "Name", "own": "Coupon received", "cell": "Coupons given", "c": "Coupon {}",
           "recruiter": "Recruiter", "issued": "Coupons issued", "date": "Interview date",
           "handed": "Date coupons given",
           "size": "Network size", "sex": "Sex", "site": "Site", "age": "Age", "seed": "Seed"},
    "es": {"id": "Código del participante", "name": "Nombre", "own": "Cupón recibido", "cell": "Cupones entregados",
           "c": "Cupón {}", "recruiter": "Reclutador", "issued": "Cupones emitidos", "date": "Fecha de entrevista",
           "handed": "Fecha de entrega", "size": "Tamaño de red", "sex": "Sexo", "site": "Sede", "age": "Edad",
           "seed": "Semilla"},
    "fr": {"id": "Identifiant", "name": "Nom", "own": "Coupon reçu", "cell": "Coupons remis", "c": "Coupon remis {}",
           "recruiter": "Recruteur", "issued": "Coupons distribués", "date": "Date de l'entretien",
           "handed": "Date de remise", "size": "Taille du réseau", "sex": "Sexe", "site": "Lieu", "age": "Âge",
           "seed": "Graine"},
    "pt": {"id": "Código", "name": "Nome", "own": "Cupom recebido", "cell": "Cupons entregues", "c": "Cupom {}",
           "recruiter": "Recrutador", "issued": "Cupons emitidos", "date": "Data da entrevista",
           "handed": "Data de entrega", "size": "Tamanho da rede", "sex": "Sexo", "site": "Local", "age": "Idade",
           "seed": "Semente"},
    "sw": {"id": "Namba", "name": "Jina", "own": "Kuponi aliyoleta", "cell": "Kuponi alizopewa", "c": "Kuponi {}",
           "recruiter": "Aliyemwalika", "issued": "Idadi ya kuponi", "date": "Tarehe ya mahojiano",
           "handed": "Tarehe ya kuponi", "size": "Ukubwa wa mtandao", "sex": "Jinsia", "site": "Mahali", "age": "Umri",
           "seed": "Mbegu"},
    "short": {"id": "PID", "name": "nm", "own": "cpn_in", "cell": "cpns", "c": "cpn{}", "recruiter": "recr",
              "issued": "n_cpn", "date": "dt", "handed": "dt_cpn", "size": "deg", "sex": "sx", "site": "st",
              "age": "ag", "seed": "sd"},
    "questions": {"id": "Participant number (see the sticker)", "name": "First and last name",
                  "own": "Number on the coupon this person brought", "cell": "Numbers of the coupons we gave",
                  "c": "Number of coupon {} that we gave", "recruiter": "Who gave this person the coupon? (ID)",
                  "issued": "How many coupons did we give?", "date": "When was the interview? (dd/mm/yyyy)",
                  "handed": "When did we give the coupons?", "size": "How many people do you know who ... ?",
                  "sex": "Sex (F/M)", "site": "Where?", "age": "Age in years", "seed": "Is it a seed?"},
}  # fmt: skip

# The mess ----------------------------------------------------------------------------------------------------------

CATEGORIES_ARE_MESSY = {"F": ("F", "f", "F "), "M": ("M", "m", " M"), "Norte": ("Norte", "norte", "Norte ", "NORTE"),
                        "Sur": ("Sur", "sur"), "Este": ("Este", "este ", "ESTE")}  # fmt: skip
ROWS = (
    "title", "two headers", "blank lines", "notes", "total", "total in the middle", "subtotals", "header in the middle",
    "header on each page", "legend", "groups", "table below", "table beside", "average", "signature", "blank columns",
)  # fmt: skip
BOOK = (
    "hidden column", "hidden rows", "comments", "formula total", "formula counts", "thousands", "merged title",
    "merged recruiters", "second sheet", "codes as numbers", "filtered copy",
)  # fmt: skip
FILES = ("xlsx", "csv", "cp1252", "semicolons", "tabs", "bom", "utf-16", "sep=")
UNKNOWN = ("9", "99", "999", "-1", "88", "don't know", "?", "no sabe", "N/A", "-")


@dataclass(frozen=True)
class Mess:
    """How a coordinator keeps a study; every field is one habit, and the defaults are tidy."""

    links: str = "coupons"
    """coupons (a column for each), cell (all in one) or recruiter (who recruited whom, and how many coupons)."""
    codes: str = "numbers"
    cell: str = "commas"
    lie: str = ""
    typed: str = ""
    recruiters: str = "id"
    """id, row, coupon (what people came with is called recruiter), or how an id or a name is written (`name: case`)."""
    ids: str = ""
    dates: str = "iso"
    handed: str = ""
    """How dates of handing out are written in a column of their own; "" for no such column."""
    ambiguous: bool = False
    """Whether all days are at most 12."""
    count: str = "numbers"
    unknown: str = ""
    """What stands for network sizes that are not known."""
    categories: bool = False
    seeds: str = ""
    headers: str = "en"
    rows: tuple[str, ...] = ()
    book: tuple[str, ...] = ()
    file: str = "xlsx"
    export: str = ""
    """redcap, kobo or odk: bookkeeping columns and names as those programs write them."""


@dataclass(frozen=True)
class MessyFile:
    """A file and its truth."""

    name: str
    kind: str
    mess: Mess
    truth: TrueStudy
    content: bytes

    @property
    def suffix(self) -> str:
        return ".xlsx" if self.mess.file == "xlsx" and not self.mess.export else ".csv"

    @property
    def column_names(self) -> Mapping[str, str]:
        """What the file calls each column."""
        return _names(self.mess)


Row = list[Cell]


def _columns(study: TrueStudy, mess: Mess, luck: Luck) -> dict[str, list[Cell]]:
    """Cells of the people by column, in the order of the file."""
    people = study.people
    names = _names(mess)
    made_id = IDS[mess.ids] if mess.ids else lambda n: people[n - 1].id
    ids = [made_id(n + 1) for n in range(len(people))]
    typed = TYPED[mess.typed] if mess.typed else lambda code, _luck: code
    columns: dict[str, list[Cell]] = {names["id"]: ids}
    if mess.recruiters.startswith("name"):
        columns[names["name"]] = [person.name for person in people]
    if mess.links == "recruiter":
        columns[names["recruiter"]] = [_recruiter(study, mess, person, ids, luck) for person in people]
        columns[names["issued"]] = [COUNTS[mess.count](len(person.coupons), luck) for person in people]
    else:
        seed = SEEDS[mess.seeds]
        columns[names["recruiter" if mess.recruiters == "coupon" else "own"]] = [
            typed(person.own, luck) if person.own else seed for person in people
        ]
        if mess.links == "cell":
            columns[names["cell"]] = [CELLS[mess.cell](person.coupons) if person.coupons else "" for person in people]
            if mess.lie:
                liar = next(n for n, person in enumerate(people) if n > 9 and len(person.coupons) == 3)
                columns[names["cell"]][liar] = RANGES_THAT_LIE[mess.lie](people[liar].coupons)
        else:
            for slot in range(4):
                column = [(*person.coupons, "", "", "", "")[slot] for person in people]
                columns[names["c"].format(slot + 1)] = list(column)
    lost = ("?", "no date", "99/99/9999", "")
    columns[names["date"]] = [DATES[mess.dates](p.date, luck) if p.dated else str(luck.choice(lost)) for p in people]
    if mess.handed:
        columns[names["handed"]] = [DATES[mess.handed](p.date, luck) if p.coupons else "" for p in people]
    columns[names["size"]] = [mess.unknown if person.size is None else person.size for person in people]
    for field in ("sex", "site"):
        values = [getattr(person, field) for person in people]
        columns[names[field]] = [str(luck.choice(CATEGORIES_ARE_MESSY[v])) if mess.categories else v for v in values]
    columns[names["age"]] = [person.age for person in people]
    return columns


def _recruiter(study: TrueStudy, mess: Mess, person: Person, ids: list[Cell], luck: Luck) -> Cell:
    if person.recruiter is None:
        return SEEDS[mess.seeds]
    recruiter = study.people[person.recruiter]
    if mess.recruiters == "row":
        return person.recruiter + 2  # as a spreadsheet numbers its rows
    if mess.recruiters.startswith("name"):
        return NAMED[mess.recruiters.partition(": ")[2] or "exact"](recruiter.name, luck)
    written = str(ids[person.recruiter])
    return RETYPED[mess.recruiters.partition(": ")[2]](written) if ": " in mess.recruiters else ids[person.recruiter]


def _names(mess: Mess) -> Mapping[str, str]:
    return _export_names(mess.export) if mess.export else NAMES[mess.headers]


def _export_names(program: str) -> Mapping[str, str]:
    group = {"kobo": "interview/", "odk": "interview-"}.get(program, "")
    ours = {"id": "participant_id", "name": "name", "own": "coupon_in", "cell": "coupons_out", "c": "coupon_{}",
            "recruiter": "recruiter_id", "issued": "coupons_issued", "date": "interview_date", "handed": "handout_date",
            "size": "network_size", "sex": "sex", "site": "site", "age": "age", "seed": "seed"}  # fmt: skip
    named = {role: f"{group}{name}" for role, name in ours.items()}
    return named | ({"id": "record_id"} if program == "redcap" else {})


def _bookkeeping(columns: dict[str, list[Cell]], program: str) -> dict[str, list[Cell]]:
    """Columns that the program adds by itself."""
    people = len(next(iter(columns.values())))
    stamps: list[Cell] = [f"2024-06-{1 + n % 28:02d}T10:{n % 60:02d}:00.000+02:00" for n in range(people)]
    keys: list[Cell] = [f"uuid:{n:08x}-0000-4000-8000-{n * 7919:012x}" for n in range(people)]
    if program == "redcap":
        first, *others = columns.items()
        extra = {"redcap_survey_identifier": [""] * people, "interview_timestamp": stamps}
        return dict([first]) | extra | dict(others) | {"interview_complete": [2] * people}
    if program == "kobo":
        before: dict[str, list[Cell]] = {"start": stamps, "end": stamps, "deviceid": ["ee.kobo:1"] * people}
        return before | columns | {"_id": [90000 + n for n in range(people)], "_uuid": keys, "_submission_time": stamps,
                                   "_index": [n + 1 for n in range(people)]}  # fmt: skip
    return (
        {"SubmissionDate": stamps} | columns | {"meta-instanceID": keys, "KEY": keys, "SubmitterName": ["x"] * people}
    )


def _rows(study: TrueStudy, mess: Mess, columns: dict[str, list[Cell]], luck: Luck) -> list[Row]:
    """The sheet as lines: header, people, and whatever stands between them."""
    header: Row = list(columns)
    width = len(header)
    people: list[Row] = [list(row) for row in zip(*columns.values(), strict=True)]
    numbers = [
        n for n, values in enumerate(columns.values()) if n and all(isinstance(v, int) for v in values if v != "")
    ]

    def padded(*cells: Cell) -> Row:
        return [*cells, *[""] * (width - len(cells))]

    def total(word: str, rows: Sequence[Row]) -> Row:
        line = padded(word)
        for column in numbers:
            values = [int(row[column]) for row in rows if isinstance(row[column], int)]  # type: ignore[arg-type]
            line[column] = sum(values) if word != "Average" else round(sum(values) / max(len(values), 1), 1)
        return line

    body: list[Row] = []
    for n, row in enumerate(people):
        half, page = n == len(people) // 2, n and n % 25 == 0
        if ("groups" in mess.rows and page) or ("groups" in mess.rows and n == 0):
            body.append(padded(f"Site: {('North', 'South', 'East', 'West', 'Centre', 'Coast')[n // 25 % 6]}"))
        if "total in the middle" in mess.rows and half:
            body.append(total("Total", people[:n]))
        if "subtotals" in mess.rows and page:
            body.append(total("Subtotal", people[n - 25 : n]))
        if "header in the middle" in mess.rows and half:
            body.append(list(header))
        if "header on each page" in mess.rows and page:
            body += [padded(f"Page {n // 25 + 1}"), list(header)]
        if "blank lines" in mess.rows and n and luck.random() < 0.06:
            body.append(padded())
        if "notes" in mess.rows and n and luck.random() < 0.04:
            body.append(
                padded(str(luck.choice(["Office closed this week", "* coupons lost, see the diary", "NB: ask Rosa"])))
            )
        body.append(row)
    if "total" in mess.rows:
        body.append(total(str(luck.choice(["Total", "TOTAL:", "Sum", "Total general"])), people))
    if "average" in mess.rows:
        body.append(total("Average", people))
    if "legend" in mess.rows:
        body += [padded(), padded("Legend"), padded("F = female, M = male"), padded("99", "not known")]
    if "signature" in mess.rows:
        body += [padded(), padded("Checked by:", "R. Mora", "", "12/06/2024")]
    if "table below" in mess.rows:
        body += [padded(), padded("Site", "People", "Target")]
        body += [padded(site, sum(p.site == site for p in study.people), 50) for site in ("Norte", "Sur", "Este")]
    lines = [header, *body]
    if "two headers" in mess.rows:
        parts = ["Participant", *[""] * (width - 1)]
        parts[1], parts[-3] = "Coupons", "About the person"
        lines.insert(0, parts)
    if "title" in mess.rows or "merged title" in mess.book:
        lines = [padded("Peer referral study, North coast"), padded("Updated 12 June 2024 by Rosa"), padded(), *lines]
    if "table beside" in mess.rows:
        beside: list[Row] = [["", "Site", "Target"], ["", "Norte", 50], ["", "Sur", 50], ["", "Este", 40]]
        lines = [[*line, *(beside[n] if n < len(beside) else ["", "", ""])] for n, line in enumerate(lines)]
    if "blank columns" in mess.rows:
        lines = [["", *line[:2], "", *line[2:]] for line in lines]
    return lines


# Write it ----------------------------------------------------------------------------------------------------------

ENCODINGS = {"cp1252": "cp1252", "bom": "utf-8-sig", "utf-16": "utf-16"}
SEPARATORS = {"semicolons": ";", "tabs": "\t", "cp1252": ";", "utf-16": "\t", "sep=": ";"}


def written(study: TrueStudy, mess: Mess, luck: Luck) -> bytes:
    """The bytes of the study's file, kept with this mess."""
    columns = _columns(study, mess, luck)
    if mess.export:
        columns = _bookkeeping(columns, mess.export)
    lines = _rows(study, mess, columns, luck)
    if mess.file == "xlsx" and not mess.export:
        return _workbook(study, mess, columns, lines, luck)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=SEPARATORS.get(mess.file, ","), lineterminator="\r\n").writerows(lines)
    text = ("sep=;\r\n" if mess.file == "sep=" else "") + buffer.getvalue()
    return text.encode(ENCODINGS.get(mess.file, "utf-8"), "replace")


def _workbook(study: TrueStudy, mess: Mess, columns: dict[str, list[Cell]], lines: list[Row], luck: Luck) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Study"
    top = next(n for n, line in enumerate(lines) if next(iter(columns)) in line) + 1  # the header's row
    number = "codes as numbers" in mess.book or "thousands" in mess.book
    for line in lines:
        as_numbers = [int(v) if number and isinstance(v, str) and re.fullmatch("[0-9]+", v) else v for v in line]
        sheet.append([None if value == "" else value for value in as_numbers])
    last = top + len(study.people)
    names = list(columns)
    if "thousands" in mess.book:
        for row in sheet.iter_rows(min_row=top + 1, max_row=last):
            for cell in row:
                cell.number_format = "#,##0"
    if "merged title" in mess.book:
        sheet.merge_cells(start_row=1, start_column=1, end_row=1, end_column=len(names))
        sheet.merge_cells(start_row=2, start_column=1, end_row=2, end_column=len(names))
    if "comments" in mess.book:
        for row in luck.integers(top + 1, last, 8):
            sheet.cell(int(row), 2).comment = Comment("Ask again: seed?", "Rosa")
    if "hidden column" in mess.book:
        place = sheet.max_column + 1
        sheet.cell(top, place, "Coupon received OLD")
        ids = {str(value) for value in columns[names[0]]}
        for row in range(top + 1, sheet.max_row + 1):
            if any(str(sheet.cell(row, column).value) in ids for column in (1, 2)):  # the first may be blank
                sheet.cell(row, place, f"X{row}")
        sheet.column_dimensions[get_column_letter(place)].hidden = True
    if "hidden rows" in mess.book:
        for row in luck.integers(top + 1, last, 8):
            sheet.row_dimensions[int(row)].hidden = True
    if "formula total" in mess.book:
        place = sheet.max_row + 1
        sheet.cell(place, 1, "Total")
        sheet.cell(place, 2, f"=COUNTA(A{top + 1}:A{place - 1})")
    if "formula counts" in mess.book and mess.links == "recruiter":
        column = names.index(_names(mess)["issued"]) + 1
        for row in range(top + 1, last + 1):
            sheet.cell(row, column, f"=1+{row}-{row}")
    if "merged recruiters" in mess.book and mess.links == "recruiter" and not mess.rows:
        _merge_recruiters(sheet, study, names.index(_names(mess)["recruiter"]) + 1, top)
    if "second sheet" in mess.book:
        other = book.create_sheet("Summary", 0)
        for line in (["Site", "People"], ["Norte", 30], ["Sur", 41], ["Este", 20]):
            other.append(line)
    if "filtered copy" in mess.book:
        other = book.create_sheet("Norte only")
        for line in [lines[top - 1], *(line for line in lines[top:] if "Norte" in line)]:
            other.append(line)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _merge_recruiters(sheet: Any, study: TrueStudy, column: int, top: int) -> None:
    """Sort people by recruiter, and merge each recruiter's cells over the recruits."""
    rows = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=top + 1, max_row=top + len(study.people))]
    recruiters = [-1 if person.recruiter is None else person.recruiter for person in study.people]
    order = sorted(range(len(rows)), key=recruiters.__getitem__)
    for n, old in enumerate(order):
        for place, value in enumerate(rows[old]):
            sheet.cell(top + 1 + n, place + 1).value = value
    begin = 0
    for n in range(1, len(order) + 1):
        if n == len(order) or recruiters[order[n]] != recruiters[order[begin]]:
            if n - begin > 1 and recruiters[order[begin]] >= 0:
                sheet.merge_cells(start_row=top + 1 + begin, end_row=top + n, start_column=column, end_column=column)
            begin = n


# All of them -------------------------------------------------------------------------------------------------------

_LETTERED = ("C1A-C", "C1A-C1C")
_NEEDS_CODES = {"case": "padded", "O for 0": "padded", "l for 1": "padded", "full-width": "padded",
                "inner blank": "padded", "typos": "padded", "thousands": "large numbers",
                "zeros lost": "zeros", "decimals": "numbers"}  # fmt: skip


def habits() -> Iterator[tuple[str, str, Mess]]:
    """Every habit alone: its kind, its name, and the mess."""
    yield "tidy", "coupons", Mess()
    yield "tidy", "recruiters", Mess(links="recruiter")
    for codes in ("person-coupon", "letters", "padded", "zeros"):
        yield "tidy", f"codes: {codes}", Mess(codes=codes, file="csv")
    yield "codes in a cell", "person-coupon, commas", Mess(links="cell", codes="person-coupon")
    yield "codes in a cell", "person-coupon, slashes", Mess(links="cell", codes="person-coupon", cell="slashes")
    for cell in CELLS:
        codes = "letters" if cell in _LETTERED else "numbers"
        yield "codes in a cell", cell, Mess(links="cell", cell=cell, codes=codes)
    for lie in RANGES_THAT_LIE:
        yield "ranges that lie", lie, Mess(links="cell", cell="101-103", lie=lie)
    for typed in TYPED:
        yield "codes as typed", typed, Mess(typed=typed, codes=_NEEDS_CODES.get(typed, "numbers"))
    for name in NAMED:
        yield "recruiters", f"name, {name}", Mess(links="recruiter", recruiters=f"name: {name}")
    for typed in RETYPED:
        ids = {"zeros lost": "zeros", "decimals": "numbers"}.get(typed, "")
        yield "recruiters", f"id, {typed}", Mess(links="recruiter", recruiters=f"id: {typed}", ids=ids, file="csv")
    yield "recruiters", "row number", Mess(links="recruiter", recruiters="row")
    yield "recruiters", "their coupon", Mess(recruiters="coupon")
    for ids in IDS:
        yield "ids", ids, Mess(links="recruiter", ids=ids, file="csv" if ids == "decimals" else "xlsx")
    for dates in DATES:
        yield "dates", dates, Mess(dates=dates, file="xlsx" if "cells" in dates or "Excel" in dates else "csv")
    yield "dates", "all up to the 12th", Mess(dates="dd/mm", ambiguous=True, file="csv")
    yield "dates", "two columns", Mess(dates="dd/mm", handed="iso", file="csv")
    for count in COUNTS:
        yield "counts", count, Mess(links="recruiter", count=count)
    for unknown in UNKNOWN:
        yield "not known", unknown, Mess(unknown=unknown)
    yield "categories", "F and f, Norte and norte", Mess(categories=True)
    for seeds in SEEDS:
        yield "seeds", seeds or "blank", Mess(seeds=seeds)
        yield "seeds", f"{seeds or 'blank'}, recruiters", Mess(seeds=seeds, links="recruiter")
    for language in NAMES:
        yield "headers", language, Mess(headers=language, links="cell")
        yield "headers", f"{language}, columns", Mess(headers=language)
        yield "headers", f"{language}, recruiters", Mess(headers=language, links="recruiter")
    for row in ROWS:
        yield "rows", row, Mess(rows=(row,))
        yield "rows", f"{row}, recruiters", Mess(rows=(row,), links="recruiter", file="csv")
    for book in BOOK:
        yield (
            "workbook",
            book,
            Mess(book=(book,), links="recruiter" if "recruiters" in book or "counts" in book else "coupons"),
        )
    for file in FILES:
        yield "file", file, Mess(file=file, headers="es" if file in ("cp1252", "utf-16") else "en")
    for program in ("redcap", "kobo", "odk"):
        for more in (
            Mess(),
            Mess(links="cell", cell="101-103"),
            Mess(typed="O for 0", codes="padded"),
            Mess(links="recruiter"),
        ):
            mess = dataclasses.replace(more, export=program, file="csv")
            yield "exports", f"{program}, {more.links}{', ' + more.typed if more.typed else ''}", mess


def combination(luck: Luck) -> Mess:
    """Several habits at once, as one office has them."""

    def some(of: Sequence[str], share: float = 0.5, otherwise: str = "") -> str:
        return str(luck.choice(list(of))) if luck.random() < share else otherwise

    links = str(luck.choice(["coupons", "cell", "recruiter"]))
    codes = str(luck.choice(["numbers", "numbers", "padded", "letters", "large numbers"]))
    numbers = codes in ("numbers", "large numbers")
    cells = [cell for cell in CELLS if (cell not in _LETTERED if numbers else "101" not in cell or cell in _LETTERED)]
    typed = some([t for t in TYPED if _NEEDS_CODES.get(t, codes) == codes], 0.4)
    file = str(luck.choice(["xlsx", "xlsx", "xlsx", *FILES]))
    export = some(("redcap", "kobo", "odk"), 0.12)
    rows = tuple(str(row) for row in luck.choice(ROWS, int(luck.integers(0, 4)), replace=False))
    books = [book for book in BOOK if book != "formula counts"]
    book = tuple(str(book) for book in luck.choice(books, int(luck.integers(0, 3)), replace=False))
    hopeless = ("dd/mm and mm/dd", "swapped by Excel")
    dates = [date for date in DATES if date not in hopeless and (file == "xlsx" or "cells" not in date)]
    if file == "cp1252":  # which has no such digits
        dates.remove("Arabic digits")
        typed = typed if typed not in ("Arabic digits", "full-width") else ""
    return Mess(
        links=links,
        codes=codes,
        cell=str(luck.choice(cells)),
        typed=typed,
        recruiters=some([f"name: {name}" for name in NAMED], 0.3, "id"),
        ids=some(list(IDS), 0.3),
        dates=str(luck.choice(dates)),
        count=some(["decimals", "3 (blue)", "3 coupons"], 0.3, "numbers"),
        unknown=some(UNKNOWN, 0.5),
        categories=bool(luck.random() < 0.4),
        seeds=some(list(SEEDS), 0.4),
        headers=str(luck.choice(["en", "en", *NAMES])),
        rows=() if export else rows,
        book=book if file == "xlsx" and not export else (),
        file="csv" if export else file,
        export=export,
    )


def messy_files(seed: int = 1, count: int = 60, only: str = "") -> Iterator[MessyFile]:
    """Every habit alone, then `count` combinations; `only` names a kind."""
    for number, (kind, name, mess) in enumerate(habits()):
        if only in ("", kind):
            yield _made(f"{kind}: {name}", kind, mess, seed * 1009 + number)
    for number in range(count):
        if only in ("", "combinations"):
            luck = np.random.default_rng((seed, number, 31))
            yield _made(f"combination {seed}-{number}", "combinations", combination(luck), seed * 2003 + number)


def _made(name: str, kind: str, mess: Mess, seed: int) -> MessyFile:
    truth = true_study(seed, mess)
    return MessyFile(name, kind, mess, truth, written(truth, mess, np.random.default_rng((seed, 32))))

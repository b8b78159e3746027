"""Coupon codes and recruiters that are misspelt: which offer is right, and where none may be made."""

import csv
import io
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from peerfront.data.reading import read_study
from peerfront.foundation.errors import PeerfrontError

RIGHT, WRONG, MISSING = "offered right", "OFFERED WRONG", "NOT OFFERED"
PEOPLE, SEEDS = 30, 3
_NAMES = (
    "Marta Ruiz", "Luis Díaz", "José Núñez", "Ana Mora", "Pedro Vega", "Elena Cruz", "Raúl Peña", "Carla Soto",
    "Hugo León", "Paula Gómez", "Iván Pérez", "Rosa Ibáñez", "Óscar Quiroga", "Noemí Salas", "Félix Tapia",
    "Darío Zamora", "Lucía Bravo", "Tomás Ferrer", "Inés Carmona", "Julia Robles", "Bruno Aguirre", "Sofía Herrera",
    "Emilio Navarro", "Clara Montes", "Andrés Fuentes", "Beatriz Lozano", "Gonzalo Prieto", "Valeria Cano",
    "Mateo Gallardo", "Irene Barrios",
)  # fmt: skip


@dataclass(frozen=True)
class Near:
    """Somebody's code or recruiter as it was typed, and what should be offered; "" if nothing may be."""

    person: int
    typed: str
    right: str
    codes: str = "padded"
    """padded, numbers or sparse; "" for a file that names recruiters."""
    names: Mapping[int, str] | None = None
    """Other names of people."""
    by_name: bool = True
    """Whether recruiters are named by name, or by id."""


def _recruiter(person: int) -> int:
    return (person - SEEDS) // 2


def _sparse() -> list[str]:
    luck = np.random.default_rng(5)
    letters = "BCDFGHKMNPQRTVWXZ"
    made: list[str] = []
    while len(made) < PEOPLE * 3:
        code = "".join(luck.choice(list(letters), 6))
        if all(sum(a != b for a, b in zip(code, other, strict=True)) >= 4 for other in made):
            made.append(code)
    return made


def code_of(codes: str, person: int, slot: int) -> str:
    if codes == "padded":
        return f"C{person + 150:04d}{'ABC'[slot]}"
    return str(101 + 3 * person + slot) if codes == "numbers" else _SPARSE[3 * person + slot]


_SPARSE = _sparse()


def _own(codes: str, person: int) -> str:
    return "" if person < SEEDS else code_of(codes, _recruiter(person), (person - SEEDS) % 2)


def _swapped(text: str, place: int) -> str:
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def _s(person: int) -> str:
    return _own("sparse", person)


NEAR: Mapping[str, Near] = {
    "O for 0": Near(13, "CO155A", "C0155A"),
    "both Os for 0s": Near(3, "CO15OA", "C0150A"),
    "l for 1": Near(13, "C0l55A", "C0155A"),
    "I for 1": Near(13, "C0I55A", "C0155A"),
    "small letters": Near(13, "c0155a", "C0155A"),
    "a blank inside": Near(13, "C0155 A", "C0155A"),
    "a dash inside": Near(13, "C0155-A", "C0155A"),
    "a full stop after it": Near(13, "C0155A.", "C0155A"),
    "full-width digits": Near(13, "C\uff10\uff11\uff15\uff15A", "C0155A"),
    "one letter wrong": Near(20, "Y" + _s(20)[1:], _s(20), codes="sparse"),
    "one letter lost": Near(20, _s(20)[:3] + _s(20)[4:], _s(20), codes="sparse"),
    "one letter twice": Near(20, _s(20)[:3] + _s(20)[2:], _s(20), codes="sparse"),
    "two letters swapped": Near(20, _swapped(_s(20), 2), _s(20), codes="sparse"),
    "luis d.": Near(6, "luis d.", "Luis Díaz", codes=""),
    "without accents": Near(7, "Jose Nunez", "José Núñez", codes=""),
    "one letter of a name": Near(4, "Marta Ruis", "Marta Ruiz", codes=""),
    "last name first": Near(4, "RUIZ, Marta", "Marta Ruiz", codes=""),
    "blanks in a name": Near(4, " Marta  Ruiz", "Marta Ruiz", codes=""),
    "an id without its zeros": Near(9, "P4", "P004", codes="", by_name=False),
    "an id with O for 0": Near(9, "POO4", "P004", codes="", by_name=False),
    "decoy: two codes as near": Near(13, "1011", "", codes="numbers"),
    "decoy: a digit wrong among neighbours": Near(13, "C0195A", "", codes="padded"),
    "decoy: already redeemed": Near(13, "CO150A", ""),
    "decoy: their own coupon": Near(13, "CO163C", ""),
    "decoy: a recruit's coupon": Near(5, "CO163C", ""),
    "decoy: far from all": Near(13, "KLINIK", ""),
    "decoy: two people called luis d.": Near(6, "luis d.", "", codes="", names={20: "Luis Duarte"}),
    "decoy: between two names": Near(10, "Ana Mola", "", codes="", names={20: "Ana Mota"}),
    "decoy: nobody of that name": Near(10, "the office", "", codes=""),
    "decoy: only they themselves": Near(29, "irene b.", "", codes=""),
}  # fmt: skip


def near_file(case: Near) -> bytes:
    """A CSV file in which one person's code or recruiter is misspelt."""
    names = [(case.names or {}).get(n, _NAMES[n]) for n in range(PEOPLE)]
    ids = [f"P{n + 1:03d}" for n in range(PEOPLE)]
    rows: list[list[str]] = []
    for n in range(PEOPLE):
        date, sex = f"2024-03-{1 + n % 28:02d}" if n < 28 else f"2024-04-0{n - 27}", "fm"[n * 7 % 3 % 2]
        if case.codes:
            own = case.typed if n == case.person else _own(case.codes, n)
            rows.append([ids[n], own, *(code_of(case.codes, n, slot) for slot in range(3)), date, sex])
        else:
            known = "" if n < SEEDS else (names if case.by_name else ids)[_recruiter(n)]
            first = names[n] if case.by_name else ids[n]
            rows.append([first, case.typed if n == case.person else known, "3", date, sex])
    header = ["id", "recruiter", "coupons issued", "date", "sex"]
    if case.codes:
        header = ["id", "own coupon", "coupon 1", "coupon 2", "coupon 3", "date", "sex"]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([header, *rows])
    return buffer.getvalue().encode()


def near_offer(name: str) -> str:
    """Whether the right offer is made for a case, a wrong one, or none; reading it right at once is right, too."""
    case = NEAR[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.csv"
        path.write_bytes(near_file(case))
        try:
            study = read_study(path)
            problems = study.problems
            linked = int(study.recruiter[case.person])
        except PeerfrontError as error:
            problems, linked = getattr(error, "problems", ()), -1
    offers = {p.proposal.proposed for p in problems if p.proposal is not None and p.proposal.row == case.person + 2}
    offers.discard(None)
    if linked >= 0:  # read without asking
        return RIGHT if case.right and linked == _recruiter(case.person) else WRONG
    if not case.right:
        return WRONG if offers else RIGHT
    return MISSING if not offers else RIGHT if offers == {case.right} else WRONG

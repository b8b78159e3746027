"""Make hostile cases: small files to change, and one line a case.

A case's expectation is a text: `""` or a few words for input that is accepted (the words stand in the output), `!` and
words for input that is refused with exit code 2 and these words.
"""

from hostile.runner import ACCEPTED, REFUSED, Case, Content

HEADER = "id,recruiter,coupons.issued,sex,date,degree"
HUGE = "9" * 5000
ARABIC_3 = "\N{ARABIC-INDIC DIGIT THREE}"


def table(people: int = 24, header: str = HEADER, **changed: str) -> str:
    """A small recruiter-id table; the person p5 has the changed values."""
    rows = [header]
    for n in range(people):
        row = {
            "id": f"p{n}",
            "recruiter": "" if n < 2 else f"p{n // 2}" if n // 2 != 5 else "p0",
            "issued": "3",
            "sex": "fm"[n % 2],
            "date": f"2024-01-{1 + n % 28:02d}",
            "degree": str(5 + n % 9),
        }
        rows.append(",".join((row | changed if n == 5 else row).values()))
    return "\n".join(rows) + "\n"


def wide(columns: int, people: int = 12, name: str = "v{}") -> str:
    """A table with many columns."""
    names = ",".join(name.format(n) for n in range(columns))
    rows = (f"p{n},{'' if n < 2 else 'p0'},3," + ",".join("ab"[n % 2] * columns) for n in range(people))
    return f"id,recruiter,coupons.issued,{names}\n" + "\n".join(rows) + "\n"


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def case(kind: str, name: str, expected: str, *arguments: str, **files: Content) -> Case:
    """A case whose files are keyword arguments; `study` in the arguments is the file study, and so on."""
    outcome = REFUSED if expected.startswith("!") else ACCEPTED
    return Case(kind, name, arguments, outcome, expected.removeprefix("!"), files)


TABLE = table()

"""Exports of the usual programs, made from one small study whose tree is known.

Every generator takes a `MadeStudy` and returns the bytes of a file as the program would write it; `expected` is what a
reader must find. Names, separators, bookkeeping columns and habits are those of the programs' own documentation.
"""

import csv
import datetime
import io
from dataclasses import dataclass, field

import numpy as np
import openpyxl
from openpyxl.utils import get_column_letter

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.read.recognition import suggested_columns
from peerfront.foundation.errors import PeerfrontError

NOBODY = ""


@dataclass
class MadePerson:
    """One person of the made study."""

    id: str
    recruiter: str
    own: str
    coupons: list[str]
    sex: str
    age: int
    district: str
    drugs: list[str]
    race: list[str]
    day: int

    @property
    def date(self) -> str:
        return f"2024-{3 + (self.day // 28):02d}-{1 + self.day % 28:02d}"

    @property
    def slots(self) -> list[str]:
        return ([*self.coupons, "", "", ""])[:3]


@dataclass
class MadeStudy:
    """A study of some 80 people: five seeds, up to three coupons each."""

    people: list[MadePerson] = field(default_factory=list)

    @property
    def expected(self) -> dict[str, tuple[str, int, str]]:
        """By id: recruiter, number of coupons issued, sex."""
        return {person.id: (person.recruiter, len(person.coupons), person.sex) for person in self.people}


def made_study(seed: int = 1, people: int = 80, seed_codes: tuple[str, ...] = ()) -> MadeStudy:
    """Make a study; `seed_codes` are codes that seeds came with, which nobody was issued."""
    luck = np.random.default_rng(seed)
    made: list[MadePerson] = []
    codes = iter(luck.permutation(9000)[: people * 3] + 1000)
    waiting: list[tuple[str, str]] = []
    for n in range(people):
        is_seed = n < 5
        recruiter, own = (NOBODY, seed_codes[n] if seed_codes else "") if is_seed else waiting.pop(0)
        issued = [f"0{next(codes)}" for _ in range(int(luck.integers(2, 4)))]
        person = MadePerson(
            f"P{n + 1:03d}",
            recruiter,
            own,
            issued,
            str(luck.choice(["f", "m"])),
            int(luck.integers(18, 60)),
            str(luck.choice(["North", "South", "East"])),
            sorted({str(drug) for drug in luck.choice(["heroin", "meth", "cocaine"], 2)}),
            [str(luck.choice(["1", "2", "3"]))] if n % 29 else ["1", "2"],
            n // 2,
        )
        made.append(person)
        kept = luck.permutation(issued)[: int(luck.integers(1, 4))]
        waiting += [(person.id, str(code)) for code in kept]
    return MadeStudy(made)


def table_bytes(rows: list[list[object]], separator: str = ",", encoding: str = "utf-8") -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=separator, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode(encoding)


def _race_boxes(person: MadePerson) -> list[object]:
    return [int(option in person.race) for option in "123"]


def redcap_classic(study: MadeStudy) -> bytes:
    """REDCap, raw, one event: checkboxes and a completion mark for each form."""
    rows: list[list[object]] = [
        ["record_id", "redcap_data_access_group", "interview_date", "coupon_in", "sex", "age", "race___1", "race___2",
         "race___3", "demographics_complete", "coupon_1", "coupon_2", "coupon_3", "coupons_complete"]
    ]  # fmt: skip
    rows += [[p.id, "site_a", p.date, p.own, p.sex, p.age, *_race_boxes(p), 2, *p.slots, 2] for p in study.people]
    return table_bytes(rows)


def redcap_labels(study: MadeStudy) -> bytes:
    """REDCap, labels instead of raw values and names."""
    rows: list[list[object]] = [
        ["Record ID", "Survey Identifier", "Interview date", "Own coupon", "Sex", "Race (choice=White)",
         "Race (choice=Black)", "Race (choice=Other)", "Complete?", "Coupon 1", "Coupon 2", "Coupon 3"]
    ]  # fmt: skip
    for p in study.people:
        boxes = ["Checked" if box else "Unchecked" for box in _race_boxes(p)]
        rows.append([p.id, "", p.date, p.own, p.sex, *boxes, "Complete", *p.slots])
    return table_bytes(rows)


def redcap_longitudinal(study: MadeStudy) -> bytes:
    """REDCap with events: enrolment, then coupons a week later, then a follow-up that some miss."""
    rows: list[list[object]] = [
        ["record_id", "redcap_event_name", "visit_date", "own_coupon", "sex", "race___1", "race___2", "race___3",
         "enrolment_complete", "coupon_1", "coupon_2", "coupon_3", "handout_complete", "weight", "followup_complete"]
    ]  # fmt: skip
    blank = [""] * 3
    for n, p in enumerate(study.people):
        rows.append([p.id, "enrolment_arm_1", p.date, p.own, p.sex, *_race_boxes(p), 2, *blank, "", 60 + n % 20, ""])
        rows.append([p.id, "handout_arm_1", "", "", "", *blank, "", *p.slots, 2, "", ""])
        if n % 3:
            rows.append([p.id, "followup_arm_1", "", "", "", *blank, "", *blank, "", 61 + n % 20, 2])
    return table_bytes(rows)


def redcap_repeating(study: MadeStudy) -> bytes:
    """REDCap with a repeating instrument: one instance for each coupon handed out."""
    rows: list[list[object]] = [
        ["record_id", "redcap_repeat_instrument", "redcap_repeat_instance", "interview_date", "coupon_in", "sex", "age",
         "interview_complete", "coupon_code", "coupon_date", "coupon_handout_complete"]
    ]  # fmt: skip
    for p in study.people:
        rows.append([p.id, "", "", p.date, p.own, p.sex, p.age, 2, "", "", ""])
        for n, code in enumerate(p.coupons):
            rows.append([p.id, "coupon_handout", n + 1, "", "", "", "", "", code, p.date, 2])
    return table_bytes(rows)


def kobo(study: MadeStudy) -> bytes:
    """Kobo's CSV: semicolons, groups before names, select-multiple questions as text and as ticks."""
    rows: list[list[object]] = [
        ["start", "end", "today", "deviceid", "screening/participant_id", "screening/coupon_in", "about/sex",
         "about/drugs", "about/drugs/heroin", "about/drugs/meth", "about/drugs/cocaine", "about/district",
         "handout/coupon_1",
         "handout/coupon_2", "handout/coupon_3", "__version__", "_id", "_uuid", "_submission_time",
         "_validation_status", "_index"]
    ]  # fmt: skip
    for n, p in enumerate(study.people):
        stamp = f"{p.date}T10:{n % 60:02d}:00"
        ticks = [int(drug in p.drugs) for drug in ("heroin", "meth", "cocaine")]
        rows.append(
            [f"{stamp}.000+02:00", stamp, p.date, "collect:ab12", p.id, p.own, p.sex, " ".join(p.drugs), *ticks,
             p.district, *p.slots, "vX1", 9000 + n, f"uuid-{n:05d}", stamp, "", n + 1]
        )  # fmt: skip
    return table_bytes(rows, ";")


def odk_central(study: MadeStudy) -> bytes:
    """ODK Central's CSV: groups before names with a hyphen; no id of the study's own, so a submission is a person."""
    rows: list[list[object]] = [
        ["SubmissionDate", "start", "screening-coupon_in", "about-sex", "about-age", "handout-coupon_1",
         "handout-coupon_2", "handout-coupon_3", "meta-instanceID", "KEY", "SubmitterID", "SubmitterName",
         "AttachmentsPresent",
         "AttachmentsExpected", "Status", "ReviewState", "DeviceID", "Edits", "FormVersion"]
    ]  # fmt: skip
    for p in study.people:
        stamp = f"{p.date}T09:00:00.000Z"
        rows.append(
            [stamp, stamp, p.own, p.sex, p.age, *p.slots, f"uuid:{p.id}", f"uuid:{p.id}", 17, "Field team", 0, 0, "",
             "", "collect:xyz", 0, "2024"]
        )  # fmt: skip
    return table_bytes(rows)


def surveycto(study: MadeStudy) -> bytes:
    """SurveyCTO's wide CSV: a select-multiple question as text and as ticks, dates with the names of months."""
    rows: list[list[object]] = [
        ["SubmissionDate", "starttime", "endtime", "deviceid", "username", "duration", "caseid", "participant_id",
         "coupon_received", "sex", "race", "race_1", "race_2", "race_3", "coupon_given_1", "coupon_given_2",
         "coupon_given_3", "instanceID", "formdef_version", "KEY"]
    ]  # fmt: skip
    months = {"03": "Mar", "04": "Apr", "05": "May"}
    for p in study.people:
        year, month, day = p.date.split("-")
        stamp = f"{months[month]} {int(day)}, {year} 9:05:00 AM"
        rows.append(
            [stamp, stamp, stamp, "359", "anna", 1200, "", p.id, p.own, p.sex, " ".join(p.race), *_race_boxes(p),
             *p.slots, f"uuid:{p.id}", 2403011200, f"uuid:{p.id}"]
        )  # fmt: skip
    return table_bytes(rows)


def rdsat(study: MadeStudy) -> bytes:
    """RDSAT's text."""
    lines = ["RDS", f"{len(study.people)} 3 0 sex"]
    lines += [" ".join([p.id, "12", p.own or "0", *(code or "0" for code in p.slots), p.sex]) for p in study.people]
    return ("\n".join(lines) + "\n").encode()


def excel_merged(study: MadeStudy) -> bytes:
    """Excel: a title, two header rows with merged cells, codes as text, ages as numbers, dates as dates."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Study of 2024, clinic East"])
    sheet.merge_cells("A1:H1")
    sheet.append(["Participant", "Coupon received", "Coupons given", None, None, "About the person", None, "Date"])
    sheet.append([None, None, "1", "2", "3", "sex", "age", None])
    sheet.merge_cells("C2:E2")
    sheet.merge_cells("F2:G2")
    for column in "ABH":
        sheet.merge_cells(f"{column}2:{column}3")
    for p in study.people:
        year, month, day = map(int, p.date.split("-"))
        sheet.append([p.id, p.own or None, *(code or None for code in p.slots), p.sex, float(p.age), None])
        sheet.cell(sheet.max_row, 8, datetime.datetime(year, month, day))
    return book_bytes(book)


def excel_sheets(study: MadeStudy) -> bytes:
    """Excel: a cover, the interviews, a list of codes and a hidden sheet; ids and codes typed as numbers."""
    book = openpyxl.Workbook()
    book.active.title = "Read me"
    book.active.append(["This workbook belongs to the study."])
    sheet = book.create_sheet("Interviews")
    sheet.append(["id", "own coupon", "coupon 1", "coupon 2", "coupon 3", "sex", "interview date"])
    for p in study.people:
        sheet.append([p.id, *(int(code) if code else None for code in (p.own, *p.slots)), p.sex, p.date])
        for cell in sheet[sheet.max_row][1:5]:
            cell.number_format = "00000"
    codes = book.create_sheet("Codes")
    codes.append(["question", "code", "meaning"])
    codes.append(["sex", "f", "woman"])
    old = book.create_sheet("Old")
    old.append(["id", "own coupon", "coupon 1"])
    old.append(["x", "", "1"])
    old.sheet_state = "hidden"
    return book_bytes(book)


def book_bytes(book: openpyxl.Workbook) -> bytes:
    for sheet in book.worksheets:
        for number in range(1, 9):
            sheet.column_dimensions[get_column_letter(number)].width = 14
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def semicolons(study: MadeStudy) -> bytes:
    """A European spreadsheet's CSV: semicolons, decimal commas, day first, Windows' encoding."""
    rows: list[list[object]] = [["id", "own.coupon", "coupon.1", "coupon.2", "coupon.3", "sex", "Größe", "date"]]
    for n, p in enumerate(study.people):
        year, month, day = p.date.split("-")
        rows.append([p.id, p.own, *p.slots, p.sex, f"1,{60 + n % 40}", f"{day}.{month}.{year}"])
    return table_bytes(rows, ";", "cp1252")


def stata_labels(study: MadeStudy) -> bytes:
    """Stata's `export delimited`: labels with their numbers, extended missing values, short names."""
    rows: list[list[object]] = [["id", "couponin", "coupon1", "coupon2", "coupon3", "sex", "hiv_know", "intdate"]]
    months = {"03": "mar", "04": "apr", "05": "may"}
    for n, p in enumerate(study.people):
        year, month, day = p.date.split("-")
        answer = [".a", "1. Yes", "2. No"][n % 3]
        rows.append([p.id, p.own or ".", *(c or "." for c in p.slots), p.sex, answer, f"{day}{months[month]}{year}"])
    return table_bytes(rows)


def r_blanks(study: MadeStudy) -> bytes:
    """R's write.table: blanks between quoted texts, row names, a header that is one name shorter."""
    lines = ['"id" "own.coupon" "coupon.1" "coupon.2" "coupon.3" "sex"']
    for n, p in enumerate(study.people):
        cells = [f'"{cell}"' if cell else "NA" for cell in (p.id, p.own, *p.slots, p.sex)]
        lines.append(" ".join([f'"{n + 1}"', *cells]))
    return ("\n".join(lines) + "\n").encode()


def fixed_width(study: MadeStudy) -> bytes:
    """A printed table: columns in fixed places, blank where there is nothing."""
    names = ["id", "own_coupon", "coupon_1", "coupon_2", "coupon_3", "sex", "district"]
    lines = ["".join(name.rjust(12) for name in names)]
    rows = [(p.id, p.own, *p.slots, p.sex, f"Old {p.district}") for p in study.people]
    lines += ["".join(cell.rjust(12) for cell in row).rstrip() for row in rows]
    return ("\n".join(lines) + "\n").encode()


def row_per_coupon(study: MadeStudy) -> bytes:
    """A database's join: one row for each coupon, everything else repeated."""
    rows: list[list[object]] = [["id", "own_coupon", "sex", "coupon_out"]]
    for p in study.people:
        rows += [[p.id, p.own, p.sex, code] for code in p.coupons]
    return table_bytes(rows)


def spanish_names(study: MadeStudy) -> bytes:
    """Names that are not recognised: the codes that reappear have to show what is what."""
    rows: list[list[object]] = [["folio", "vale recibido", "vale A", "vale B", "vale C", "sex", "edad"]]
    rows += [[p.id, p.own, *p.slots, p.sex, p.age] for p in study.people]
    return table_bytes(rows)


def recruiter_ids(study: MadeStudy) -> bytes:
    """A recruiter-id table that does not say how many coupons there were."""
    rows: list[list[object]] = [["id", "recruiter.id", "sex"]]
    rows += [[p.id, p.recruiter or "seed", p.sex] for p in study.people]
    return table_bytes(rows)


def kobo_repeats(study: MadeStudy) -> bytes:
    """Kobo's workbook with a repeat group: the coupons stand in a sheet of their own, by the number of the row."""
    book = openpyxl.Workbook()
    main = book.active
    main.title = "RDS survey"
    main.append(["start", "screening/participant_id", "screening/coupon_in", "sex", "_id", "_uuid", "_submission_time",
                 "_index"])  # fmt: skip
    repeat = book.create_sheet("handout")
    repeat.append(["handout/coupon_code", "_index", "_parent_table_name", "_parent_index", "_submission__uuid"])
    for n, p in enumerate(study.people, start=1):
        main.append([p.date, p.id, p.own or None, p.sex, 500 + n, f"uuid-{n}", f"{p.date}T10:00:00", n])
        for code in p.coupons:
            repeat.append([code, repeat.max_row, "RDS survey", n, f"uuid-{n}"])
    return book_bytes(book)


def codes_in_one_cell(study: MadeStudy) -> bytes:
    """All coupons of a person in one cell, as an interviewer types them."""
    rows: list[list[object]] = [["id", "own_coupon", "coupons_given", "sex"]]
    rows += [[p.id, p.own, ", ".join(p.coupons), p.sex] for p in study.people]
    return table_bytes(rows)


def redcap_own_names(study: MadeStudy) -> bytes:
    """A classic REDCap project whose first field was renamed, and whose coupons have numbers inside their names."""
    rows: list[list[object]] = [
        ["study_id", "visit_date", "referral_coupon", "sex", "race___1", "race___2", "race___3", "baseline_complete",
         "coupon1_number", "coupon2_number", "coupon3_number", "handout_complete"]
    ]  # fmt: skip
    rows += [[p.id, p.date, p.own, p.sex, *_race_boxes(p), 2, *p.slots, 0] for p in study.people]
    return table_bytes(rows)


EXPORTS = {
    "redcap-classic.csv": redcap_classic,
    "redcap-labels.csv": redcap_labels,
    "redcap-longitudinal.csv": redcap_longitudinal,
    "redcap-repeating.csv": redcap_repeating,
    "redcap-own-names.csv": redcap_own_names,
    "kobo.csv": kobo,
    "kobo-repeats.xlsx": kobo_repeats,
    "odk-central.csv": odk_central,
    "surveycto.csv": surveycto,
    "rdsat.txt": rdsat,
    "excel-merged.xlsx": excel_merged,
    "excel-sheets.xlsx": excel_sheets,
    "semicolons.csv": semicolons,
    "stata-labels.csv": stata_labels,
    "r-blanks.txt": r_blanks,
    "fixed-width.txt": fixed_width,
    "row-per-coupon.csv": row_per_coupon,
    "codes-in-one-cell.csv": codes_in_one_cell,
    "spanish-names.csv": spanish_names,
    "recruiter-ids.csv": recruiter_ids,
}
"""Every made export, by the name of its file."""


def pasted(error: PeerfrontError) -> ReadSettings:
    """Do what an error offers."""
    settings = {each.setting: each.value for each in error.remedies}
    return ReadSettings(columns=suggested_columns(error.remedies), coupons_each=settings.get("coupons_each"))

"""Columns that say how the data were collected, not who a person is: staff, devices, records, times, weights, seeds.

They may well predict recruitment in the file (late interviews bring fewer recruits, because the study ended), and say
nothing about the people who wait now. Names are recognised by their words; what a name leaves open, the values decide.
"""

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.columns.column_contents import is_called, phrases, says, words_of
from peerfront.data.study import Study
from peerfront.foundation.messages import Message, note
from peerfront.foundation.trees import NOBODY
from peerfront.foundation.typed_values import looks_numeric, read_days, read_numbers

_STAFF = phrases(
    "interviewer", "enumerator", "surveyor", "fieldworker", "field worker", "data collector", "collector id",
    "staff id", "staff name", "staff initials", "operator id", "investigator", "entered by", "completed by", "username",
    "collected by", "interviewed by", "submitted by", "encuestador", "encuestadora", "entrevistador", "entrevistadora",
    "enqueteur", "enquetrice", "enqueteurs", "agent collecte", "inquiridor", "interviewerin", "befrager", "befragerin",
    "интервьюер", "оператор", "анкетер", "mhojaji", "msaili", "mdadisi",
)  # fmt: skip
_STAFF_NAMES = phrases("staff", "supervisor", "operator", "collector", "initials")
_DEVICE = phrases(
    "device id", "deviceid", "imei", "imsi", "sim id", "simid", "sim serial", "simserial", "subscriberid",
    "subscriber id", "tablet id", "tablet no", "device no", "device name",
    "phonenumber", "devicephonenum", "ip address", "ipaddress", "mac address",
    "user agent", "id dispositivo", "id appareil", "gerat nr", "номер устройства", "namba kifaa",
)  # fmt: skip
_DEVICE_NAMES = phrases(
    "device", "tablet", "browser", "dispositivo", "appareil", "gerat", "geraet", "устройство", "kifaa"
)
_RECORD = phrases(
    "record id", "record no", "record number", "recordid", "instance id", "instanceid", "instance name",
    "instancename", "uuid", "submission id", "submission uuid", "response id", "form id", "form version",
    "formdef version", "questionnaire no", "questionnaire number", "questionnaire id", "serial no", "serial number",
    "row number", "case number", "barcode", "specimen id", "sample id", "lab id", "root uuid", "redcap event name",
    "redcap repeat instance", "redcap repeat instrument", "redcap data access group", "redcap survey identifier",
    "validation status", "num registro", "numero registro", "id registro", "numero enregistrement", "lfd nr",
    "fragebogen nr", "номер анкеты", "номер записи", "namba kumbukumbu",
)  # fmt: skip
_TIME = phrases(
    "date", "datetime", "date time", "timestamp", "time stamp", "start time", "end time", "starttime", "endtime",
    "submission time", "submission date", "submissiondate", "submitted at", "created at", "updated at", "modified at",
    "completed at", "interview time", "interview duration", "duration seconds", "fecha", "fecha hora", "hora inicio",
    "hora fin", "date heure", "heure debut", "heure fin", "data hora", "data entrevista", "datum", "uhrzeit",
    "zeitstempel", "дата", "время", "tarehe", "muda",
)  # fmt: skip
_TIME_NAMES = phrases("start", "end", "today", "time", "data", "hora", "heure", "zeit", "saa")
_WEIGHT = phrases(
    "sampling weight", "sample weight", "survey weight", "rds weight", "rds weights", "rdsweight", "weights",
    "design weight", "analysis weight", "normalized weight", "normalised weight", "final weight", "rds i", "rds ii",
    "rds ss", "rdsi", "rdsii", "rdsss", "wgt", "wt", "pweight", "sampwt", "svyweight", "inclusion probability",
    "peso muestral", "peso muestreo", "ponderacion", "ponderador", "factor expansion", "ponderation", "poids sondage",
    "poids echantillonnage", "peso amostral", "ponderacao", "stichprobengewicht", "gewichtung", "выборочный вес",
    "вес выборки", "uzito sampuli",
)  # fmt: skip
_BARE_WEIGHT = phrases("weight", "peso", "poids", "gewicht", "вес", "uzito")
_OF_BODIES = {"kg", "kgs", "lb", "lbs", "body", "birth", "corporal", "corporel", "loss", "gain", "height", "bmi"}
_LIGHTEST_BODY = 25.0  # a median below this is no adult's weight, in whatever unit
_SEED = phrases(
    "seed", "seeds", "is seed", "isseed", "seed id", "seed flag", "semilla", "semillas", "graine", "semente"
)
_FUTURE_WORDS = {
    "expected", "expects", "intended", "intends", "plan", "plans", "planned", "would", "could", "can", "willing",
    "potential", "hoped",
}  # fmt: skip
_AFTERWARDS = phrases(
    "recruits", "n recruits", "number recruited", "people recruited", "persons recruited", "total recruited",
    "recruitees", "referrals made", "number referred", "people referred", "descendants", "recruitment payment",
    "recruiter payment", "recruitment incentive", "recruitment bonus", "referral payment", "referral bonus",
    "secondary incentive", "secondary payment", "payment recruits", "follow up", "followup", "reclutados", "referidos",
    "seguimiento", "recrutes", "recrues", "recrutados", "indicados", "geworbene", "rekrutierte", "nachbefragung",
    "завербованные", "рекруты", "walioalikwa", "waliosajiliwa",
)  # fmt: skip
_EPOCHS = ((9.5e8, 2.2e9), (9.5e11, 2.2e12), (9.5e14, 2.2e15), (9.5e17, 2.2e18))  # 2000 to 2039: s, ms, us, ns
_EXCEL_DAYS = (36_526.0, 51_502.0)  # the years 2000 to 2040 as spreadsheets number their days
_DIFFERENT = 8  # different values below which numbers are no times
_DATES = 0.9  # share of dates from which on a column holds dates
_RISING_PAIRS = 30
_RISING = 0.95  # share of recruits with more than their recruiter, among those who differ
_WITH_TIME = 0.5  # rank correlation with the wave, the place in the file or the date
_BIRTH = {"birth", "birthdate", "dob", "nacimiento", "naissance", "nascimento", "geburt", "geburtsdatum", "рождения"}
_A_DATE = re.compile(r".*\d.*[-/.: ].*\d.*|(?:19|20)\d{6}", flags=re.DOTALL)


def role_of(study: Study, name: str, values: pd.Series) -> Message | None:
    """Return what a column is if it says how the data were collected; None if it may say who a person is."""
    words = words_of(name)
    if says(name, _STAFF) or is_called(name, _STAFF_NAMES):
        return note("column_reasons.staff")
    if says(name, _DEVICE) or is_called(name, _DEVICE_NAMES):
        return note("column_reasons.device")
    if says(name, _RECORD):
        return note("column_reasons.record")
    if says(name, _SEED) or _same_people(study.seed, values):
        return note("column_reasons.seeds")
    if says(name, _AFTERWARDS) and not _FUTURE_WORDS.intersection(words):
        return note("column_reasons.afterwards")
    filled = values[values != ""]
    if not len(filled):
        return None
    numbers = read_numbers(values) if looks_numeric(filled) else np.full(len(values), np.nan)
    if _is_weight(study, name, numbers):
        return note("column_reasons.weight")
    return _time(study, name, values, numbers)


def _same_people(marked: NDArray[np.bool_], values: pd.Series) -> bool:
    """Tell whether a column of two values (or one, and nothing) parts people as `marked` does."""
    codes, different = pd.factorize(values.to_numpy(dtype=object))
    if len(different) != 2 or min(marked.sum(), (~marked).sum()) < 2:
        return False
    return bool(np.array_equal(codes == codes[0], marked == marked[0]))


def _is_weight(study: Study, name: str, numbers: NDArray[np.float64]) -> bool:
    words = set(words_of(name))
    if words & _OF_BODIES:
        return False
    finite = np.isfinite(numbers)
    if says(name, _WEIGHT):
        return bool(finite.any())
    if says(name, _BARE_WEIGHT):
        return bool(finite.any()) and float(np.median(numbers[finite])) < _LIGHTEST_BODY
    sizes = study.network_size
    if sizes is None:
        return False
    both = finite & np.isfinite(sizes) & (sizes > 0) & (numbers != 0)
    if both.sum() < _RISING_PAIRS or len(np.unique(numbers[both])) < 3:
        return False
    product = numbers[both] * sizes[both]  # RDS-II weights are the inverse of the network size, times a constant
    return bool(np.ptp(product) <= 1e-3 * abs(product.mean()))


def _time(study: Study, name: str, values: pd.Series, numbers: NDArray[np.float64]) -> Message | None:
    filled = (values != "").to_numpy()
    texts = values[filled]
    finite = numbers[np.isfinite(numbers)]
    if len(finite) >= _DATES * filled.sum():
        different = len(np.unique(finite))
        low, high = float(finite.min()), float(finite.max())
        if different >= _DIFFERENT and any(first <= low and high <= last for first, last in _EPOCHS):
            return note("column_reasons.epoch")
        named = says(name, _TIME) or is_called(name, _TIME_NAMES)
        serial = different >= _DIFFERENT and _EXCEL_DAYS[0] <= low and high <= _EXCEL_DAYS[1]
        rising = _rises(study, numbers)
        if serial and (named or rising):
            return note("column_reasons.spreadsheet_date")
        if texts.str.fullmatch(r"(?:19|20)[0-9]{6}").all() and np.isfinite(read_days(texts)[0]).mean() >= _DATES:
            return note("column_reasons.date")
        if named and different >= _DIFFERENT:
            return note("column_reasons.time")
        return note("column_reasons.rises") if rising else None
    if not texts.head(100).str.fullmatch(_A_DATE).mean() >= _DATES:
        return None
    share = np.isfinite(read_days(texts)[0]).mean()
    if share < _DATES:
        return None
    return note("column_reasons.birth_date" if _of_birth(name) else "column_reasons.date")


def _of_birth(name: str) -> bool:
    return bool(
        {"birth", "dob", "nacimiento", "naissance", "nascimento", "geburt", "geburtsdatum"} & set(words_of(name))
    )


def _rises(study: Study, numbers: NDArray[np.float64]) -> bool:
    """Tell whether numbers grow along the recruitment trees, as dates, record numbers and waves do."""
    recruits = np.flatnonzero(study.recruiter != NOBODY)
    steps = numbers[recruits] - numbers[study.recruiter[recruits]]
    steps = steps[np.isfinite(steps)]
    moved = steps[steps != 0]
    if len(moved) < max(_RISING_PAIRS, 0.5 * len(steps)) or (moved > 0).mean() < _RISING:
        return False
    finite = np.isfinite(numbers)
    # The place in the file is one of them: files are often in the order of interviews.
    clocks = [study.trees.wave.astype(np.float64), np.arange(len(study), dtype=np.float64)]
    if study.days is not None:
        finite &= np.isfinite(study.days)
        clocks.append(study.days)
    if finite.sum() < _RISING_PAIRS:
        return False
    ranks = pd.Series(numbers[finite]).rank().to_numpy()
    with np.errstate(invalid="ignore"):  # the same day for everybody
        alike = [float(np.nan_to_num(np.corrcoef(ranks, pd.Series(clock[finite]).rank())[0, 1])) for clock in clocks]
    return max(alike) >= _WITH_TIME

"""Settings for reading a study's file: what a person can say where guessing is not enough."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from peerfront.foundation.checked_calls import checked_settings
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.settings import (
    Name,
    among,
    at_least,
    between,
    check_fields,
    one_of,
    optional,
    readable,
    text,
    text_list,
    truth,
)
from peerfront.foundation.typed_values import typed_number

COUPONS = "coupons"
RECRUITER = "recruiter"
RDSAT = "rdsat"
APP = "app"
FORMATS = {name: Message(f"formats.{name}") for name in (COUPONS, RECRUITER, RDSAT, APP)}
AUTO = "auto"

REDCAP = "redcap"
PLAIN = "none"
PRESETS = {name: Message(f"presets.{name}") for name in (REDCAP, "kobo", "odk", "surveycto", PLAIN)}

CALENDAR_ROLES = ("date", "issued_date", "redeemed_date", "expiry_date", "valid_days", "site", "waiting")
"""Parts of a study's calendar; their columns stay among those of people."""
ANSWER_ROLES = ("network_size", *CALENDAR_ROLES)
"""Parts that are answers, in files whose other columns have fixed names."""
_IN_ORDER = (
    "id", "own_coupon", "coupons", "recruiter", "coupons_issued", "network_size", "date", "seed", *CALENDAR_ROLES[1:],
)  # fmt: skip
ROLES = {role: Message(f"roles.{role}") for role in _IN_ORDER}
"""Parts of a study that a column can hold."""
Columns = Mapping[str, tuple[str, ...]]  # role -> columns of the file; an empty tuple says there is none

MOST_COUPONS_EACH = 1_000
"""Coupons that one person can have been issued; more is a typing error."""
MOST_DAYS_VALID = 3_650.0
"""Days for which coupons can be valid; more is a typing error."""
_MOST_OPEN_DAYS = 100_000.0
BY_DATES = "auto"
"""Coupons are open as the dates say; without dates, none are."""
_LAST_WAVE = "last-wave"
_KNOWN = "not "
_NONE = "none"


@checked_settings
@dataclass(frozen=True)
class ReadSettings:
    """How a file is read, where guessing is not enough.

    >>> settings = pf.ReadSettings(still_open="last-wave", missing=("99",))
    >>> bool(pf.read_study(pf.demo_study(people=120).study, settings).still_open.any())
    True
    """

    format: str = AUTO
    """One of FORMATS, or auto."""
    columns: Columns = field(default_factory=dict)
    """Columns named by the user, by role (one of ROLES); the others are guessed."""
    missing: tuple[str, ...] = ()
    """Codes that mean "not known" in every column, beside the usual ones (empty, NA, N/A, NaN, NULL, #N/A, a dot, DK,
    refused, ..., and 99 where it stands apart). "not 99" says that 99 is a value."""
    coupons_each: int | None = None
    """Coupons issued to everybody, for files that say only who recruited whom."""
    still_open: str = BY_DATES
    """Whose counts are not final yet: `auto` (coupons are open or expired as the dates say; no dates: all are final),
    `none`, `last-wave`, or people of the last days before the last date in the file, such as `30`."""
    strict: bool = False
    """Whether warnings stop the import."""
    read_anyway: bool = False
    """Whether a study is read of which the program doubts that it read it right."""
    sheet: str = ""
    """The sheet of an Excel workbook; "" finds it."""
    preset: str = AUTO
    """The program that exported a table, one of PRESETS, or auto."""
    checkboxes: tuple[str, ...] | None = None
    """Groups of checkboxes that become one field each; the others are a field per box. None: as the answers suggest."""
    valid_days: float | None = None
    """Days from issue during which coupons can be used, where no column says so; None: they do not expire."""
    active_after_days: float = 0.0
    """Days from issue before which coupons cannot be used yet."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            format=among(note("formats.format"), (AUTO, *FORMATS)),
            columns=_column_roles,
            missing=text_list,
            coupons_each=optional(at_least(0, MOST_COUPONS_EACH)),
            still_open=_open_rule,
            strict=truth,
            read_anyway=truth,
            sheet=text,
            preset=among(note("reading.preset"), (AUTO, *PRESETS)),
            checkboxes=optional(text_list),
            valid_days=optional(_days_valid),
            active_after_days=_days_valid,
        )
        if self.valid_days is not None and self.valid_days < self.active_after_days:
            days = {"valid_days": self.valid_days, "active_after_days": self.active_after_days}
            remedies = {"valid": Remedy("valid_days"), "active": Remedy("active_after_days")}
            raise SettingError("reading.never_valid", **days, **remedies)

    @property
    def real_values(self) -> tuple[str, ...]:
        """Values that `missing` says are known, as "not 99" does."""
        return tuple(code.removeprefix(_KNOWN) for code in self.missing if code.startswith(_KNOWN))

    @property
    def open_by_dates(self) -> bool:
        """Whether dates say which coupons are open."""
        return self.still_open == BY_DATES

    @property
    def open_days(self) -> float | None:
        """Days before the last date within which coupons count as open; None if days do not decide."""
        return _days(self.still_open)

    @property
    def open_last_wave(self) -> bool:
        return self.still_open == _LAST_WAVE


def _column_roles(name: Name, value: Any) -> Columns:
    """Rule: a tuple of columns for each role."""
    if not isinstance(value, Mapping):
        raise SettingError("reading.columns_by_role", name=name, value=readable(value))
    for role in value:
        one_of(note("reading.role"), role, ROLES)
    return {role: text_list(note("reading.columns_for", name=name, role=role), names) for role, names in value.items()}


def _open_rule(name: Name, value: Any) -> str:
    """Rule: `auto`, `none`, `last-wave`, or a number of days."""
    if not isinstance(value, str) or (value not in (BY_DATES, _NONE, _LAST_WAVE) and _days(value) is None):
        rules = {"by_dates": BY_DATES, "none": _NONE, "last_wave": _LAST_WAVE, "most": _MOST_OPEN_DAYS}
        raise SettingError("reading.open_rule", name=name, value=readable(value), **rules)
    return value


_days_valid = between(0.0, MOST_DAYS_VALID, note("reading.days_valid", most=MOST_DAYS_VALID))


def _days(text: str) -> float | None:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(?: days?)?", text)
    days = typed_number(match[1]) if match else None
    return days if days is not None and days <= _MOST_OPEN_DAYS else None


def parse_columns(definitions: Iterable[str]) -> Columns:
    """Read columns from `own_coupon=CouponR`, `coupons=C1+C2`, or `date=` for none."""
    columns: dict[str, tuple[str, ...]] = {}
    for definition in definitions:
        role, equals, names = definition.partition("=")
        role = role.strip()
        if not equals:
            raise SettingError("reading.bad_map", definition=definition)
        if role not in ROLES:
            raise UnknownName(note("reading.role"), role, ROLES)
        if role in columns:
            raise SettingError("reading.map_twice", role=role)
        columns[role] = tuple(name.strip() for name in names.split("+") if name.strip())
        if role != "coupons" and len(columns[role]) > 1:
            columns[role] = (names.strip(),)  # only coupons may be several: this name contains a plus
    return columns

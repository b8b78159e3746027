"""How a study's file is to be read: what a person may say where guessing is not enough."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.settings import whole_number

COUPONS = "coupons"
RECRUITER = "recruiter"
RDSAT = "rdsat"
APP = "app"
FORMATS = {
    COUPONS: "CSV with the coupon each person came with and the coupons they were issued",
    RECRUITER: "CSV with the id of each person's recruiter",
    RDSAT: "text file of the program RDSAT",
    APP: "JSON file of a survey app",
}
AUTO = "auto"

ROLES = {
    "id": "the person",
    "own_coupon": "the coupon the person came with",
    "coupons": "the coupons the person was issued",
    "recruiter": "the id of the person's recruiter",
    "coupons_issued": "how many coupons the person was issued",
    "network_size": "how many people the person knows",
    "date": "when the person took part",
}
Columns = Mapping[str, tuple[str, ...]]  # role -> columns of the file; an empty tuple says there is none

_LAST_WAVE = "last-wave"
_NONE = "none"


@dataclass(frozen=True)
class ReadSettings:
    """Everything beside the file itself that decides what is read from it."""

    format: str = AUTO
    """One of FORMATS, or auto."""
    columns: Columns = field(default_factory=dict)
    """Columns named by a person, by role; the others are guessed."""
    missing: tuple[str, ...] = ()
    """Codes that mean "not known" in every column, beside the usual ones (empty, NA, N/A, NaN, NULL, #N/A, a dot)."""
    coupons_each: int | None = None
    """Coupons issued to everybody, for files that say only who recruited whom."""
    still_open: str = _NONE
    """Whose coupons may still be used: `none`, `last-wave`, or days before the last date in the file, such as `30`."""
    strict: bool = False
    """Whether warnings stop the import."""

    def __post_init__(self) -> None:
        if self.format != AUTO and self.format not in FORMATS:
            raise UnknownName("format", self.format, [AUTO, *FORMATS])
        for role in self.columns:
            if role not in ROLES:
                raise UnknownName("part of a study", role, ROLES)
        if self.coupons_each is not None:
            object.__setattr__(self, "coupons_each", whole_number("coupons each", self.coupons_each, 0))
        if self.still_open not in (_NONE, _LAST_WAVE) and self.open_days is None:
            raise SettingError(
                f"Coupons still open: {self.still_open!r} is not understood. Allowed: {_NONE}, {_LAST_WAVE}, or a "
                "number of days, such as 30."
            )

    @property
    def open_days(self) -> float | None:
        """Days before the last date within which coupons count as open; None if days do not decide."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(?: days?)?", self.still_open)
        return float(found[1]) if found else None

    @property
    def open_last_wave(self) -> bool:
        return self.still_open == _LAST_WAVE


def settle_with(options: str) -> str:
    """Say how to settle what a file leaves open, in words that are right for every command."""
    return (
        f"run `peerfront check FILE {options} --out FOLDER`; other commands then read the file as it says with "
        "`--schema FOLDER/schema.toml`"
    )


def parse_columns(texts: Iterable[str]) -> Columns:
    """Columns from `own_coupon=CouponR`, `coupons=C1+C2`, or `date=` for none."""
    columns: dict[str, tuple[str, ...]] = {}
    for text in texts:
        role, equals, names = text.partition("=")
        role = role.strip()
        if not equals:
            raise SettingError(f"Cannot read --map {text!r}. Write --map own_coupon=CouponR or --map coupons=C1+C2.")
        if role not in ROLES:
            raise UnknownName("part of a study", role, ROLES)
        if role in columns:
            raise SettingError(f"--map {role} is given twice. Give it once; several coupon columns as coupons=C1+C2.")
        columns[role] = tuple(name.strip() for name in names.split("+") if name.strip())
        if role != "coupons" and len(columns[role]) > 1:
            columns[role] = (names.strip(),)  # only coupons may be several: this name contains a plus
    return columns

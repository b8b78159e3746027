"""Which column of a table is what: names that people use, and what a person says where they are not enough."""

import re
from collections.abc import Mapping, Sequence

from peerfront.data.read_settings import COUPONS, RECRUITER, Columns
from peerfront.errors import DataFileError, UnknownName

# Names as they are after `_plain`: lower case, letters and digits only. Earlier names win.
_NAMES = {
    "id": (
        "id", "personid", "participantid", "respondentid", "subjectid", "studyid", "surveyid", "caseid", "recordid",
        "uid", "pid", "idnumber", "idno", "participant", "respondent", "subject", "person", "surveycode",
    ),
    "own_coupon": (
        "owncoupon", "couponr", "couponredeemed", "redeemedcoupon", "couponin", "incoupon", "couponown", "mycoupon",
        "couponreceived", "receivedcoupon", "couponused", "usedcoupon", "recruitedwith", "referralcoupon", "refcoupon",
        "inpon", "couponid", "couponnumber", "couponno", "couponcode", "coupon",
    ),
    "recruiter": (
        "recruiterid", "recruiter", "recruitedby", "referrerid", "referrer", "referredby", "parentid",
        "parent", "recruiterno", "idrecruiter", "recruteur", "reclutador",
    ),
    "coupons_issued": (
        "couponsissued", "ncouponsissued", "ncoupons", "numcoupons", "numbercoupons", "numberofcoupons", "couponsgiven",
        "couponcount", "couponsn", "vouchers", "vouchersissued", "nvouchers", "vouchersgiven", "numberofcouponsissued",
    ),
    "network_size": (
        "networksize", "netsize", "networkdegree", "degree", "personalnetworksize", "pns", "network", "sizeofnetwork",
        "numberknown",
    ),
    "date": (
        "interviewdate", "dateofinterview", "surveydate", "recruitmentdate", "enrolmentdate", "enrollmentdate",
        "visitdate", "datecollected", "createdat", "date", "datetime", "timestamp", "interviewtime", "recruitmenttime",
        "time",
    ),
}  # fmt: skip
_ISSUED = re.compile(
    r"(?:issued|given|out|new)?(?:coupon|coup|outpon|voucher|cpn)s?(?:issued|given|out|no|num|number|code|id)?(?:\d+|[a-h])"
)
_OF_THE_TREE = {
    "seed", "seedid", "isseed", "wave", "nrecruits", "recruits", "numrecruits", "numberofrecruits", "orphan", "root",
    "treeid", "chain", "chainid", "recruiterrow",
}  # fmt: skip


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def describes_the_tree(name: str) -> bool:
    """Whether a column of this name tells how recruitment went, which must never be used to predict it."""
    plain = _plain(name)
    return plain in _OF_THE_TREE or "coupon" in plain or "voucher" in plain


def guess_columns(header: Sequence[str], told: Columns, source: str) -> Columns:
    """Columns by role: those a person named, and the best guess for the others."""
    for names in told.values():
        for name in names:
            if name not in header:
                raise UnknownName(f"column in {source}", name, header)
    taken = {name for names in told.values() for name in names}
    plain = {name: _plain(name) for name in header if name not in taken}
    found = dict(told)
    if "coupons" not in found:
        issued = tuple(name for name, text in plain.items() if _ISSUED.fullmatch(text))
        if issued:
            found["coupons"] = issued
            plain = {name: text for name, text in plain.items() if name not in issued}
    for role, names in _NAMES.items():
        if role in found:
            continue
        matches = sorted((names.index(text), name) for name, text in plain.items() if text in names)
        if matches:
            found[role] = (matches[0][1],)
            del plain[matches[0][1]]
    return {role: names for role, names in found.items() if names}


def layout_of(columns: Columns, source: str, header: Sequence[str]) -> str:
    """Which of the two table layouts these columns make."""
    if "id" in columns and "own_coupon" in columns and "coupons" in columns:
        return COUPONS
    if "id" in columns and "recruiter" in columns:
        return RECRUITER
    raise DataFileError(f"{source}: cannot tell who recruited whom. {_explained(columns, header)}")


def need_columns(
    columns: Mapping[str, tuple[str, ...]], roles: Sequence[str], source: str, header: Sequence[str]
) -> None:
    """An error that says which of the needed columns was not found, and how to name it."""
    absent = [role for role in roles if role not in columns]
    if absent:
        raise DataFileError(f"{source}: no column found for {', '.join(absent)}. {_explained(columns, header)}")


def _explained(columns: Columns, header: Sequence[str]) -> str:
    known = "; ".join(f"{role} = {'+'.join(names)}" for role, names in columns.items()) or "none"
    return (
        "Needed are columns for id, own_coupon and coupons, or for id and recruiter.\n"
        f"  Recognised: {known}.\n"
        f"  Columns in the file: {', '.join(header)}.\n"
        "  Name the others with --map, for example: --map own_coupon=CouponR --map coupons=C1+C2+C3"
    )

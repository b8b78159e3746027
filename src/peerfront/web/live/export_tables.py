"""Tables that are exported beside the study: decisions, coupons, withdrawals.

`ids` are the people of the study's own table, with how it writes each of them; nobody else is in these tables.
"""

from collections.abc import Mapping

import pandas as pd

from peerfront.study.decision_log import COLUMNS as LOG_COLUMNS
from peerfront.web.live.export_texts import code_text, days_of, mark, number_text, one_line
from peerfront.web.live.records import models
from peerfront.web.live.rules.events import DecidedBy
from peerfront.web.live.rules.settings import Settings
from peerfront.words.stored_text import reason_from_text

WITHDRAWN = "withdrawn"


def decision_log(ids: Mapping[str, str], settings: Settings) -> pd.DataFrame:
    """Decisions about some people in the form of the decision log that `estimate --decisions` reads."""
    day, gone = days_of(settings), _gone()
    rows = [
        (
            settings.name, day(each.at), each.round, ids[each.person_id], each.coupons, number_text(each.probability),
            each.decided_by, _stratum(each, gone), "+".join(settings.plan_strata), f"{settings.plan_randomise:g}",
            each.seed, each.model,
        )
        for each in models.Decision.objects.order_by("round", "person").iterator(chunk_size=2_000)
        if each.person_id in ids
    ]  # fmt: skip
    return pd.DataFrame([tuple(map(str, row)) for row in rows], columns=list(LOG_COLUMNS), dtype=object)


def decision_details(ids: Mapping[str, str], settings: Settings) -> pd.DataFrame:
    """What was planned, decided and handed out to some people; reasons that somebody typed are left out."""
    day, gone = days_of(settings), _gone()
    rows = []
    for each in models.Decision.objects.order_by("round", "person").iterator(chunk_size=2_000):
        if each.person_id not in ids:
            continue
        typed = each.decided_by == DecidedBy.OVERRIDE
        reason = "" if each.person_id in gone else one_line(str(reason_from_text(each.reason)))
        rows.append(
            {
                "round": str(each.round),
                "date": day(each.at),
                "person": ids[each.person_id],
                "planned": "" if each.planned is None else str(each.planned),
                "decided": str(each.decided),
                "handed_out": str(each.coupons),
                "decided_by": each.decided_by,
                "model": each.model,
                "seed": str(each.seed),
                "stratum": _stratum(each, gone),
                "probability": number_text(each.probability),
                "reason": "decided by the coordinator; see the audit" if typed else reason,
            }
        )
    columns = ("round", "date", "person", "planned", "decided", "handed_out", "decided_by", "model", "seed", "stratum",
               "probability", "reason")  # fmt: skip
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def coupon_table(ids: Mapping[str, str], settings: Settings) -> pd.DataFrame:
    """Every coupon that some people handed on or came with; codes of seeds have no holder."""
    day = days_of(settings)
    used = {
        code: (ids.get(person, ""), day(at))
        for code, person, at in models.Redemption.objects.values_list("coupon_id", "person_id", "at").iterator()
    }
    rows = []
    for each in models.Coupon.objects.order_by("issued_at", "code").iterator(chunk_size=2_000):
        used_by, used_on = used.get(each.code, ("", ""))
        rows.append(
            {
                "coupon": code_text(each.code),
                "holder": ids.get(each.holder_id or "", ""),
                "site": each.site_id,
                "issued": day(each.issued_at),
                "first_day": each.first_day.isoformat(),
                "last_day": each.last_day.isoformat(),
                "void": "" if each.voided_at is None else day(each.voided_at),
                "used_by": used_by,
                "used": used_on,
                "imported": mark(each.imported),
            }
        )
    columns = ("coupon", "holder", "site", "issued", "first_day", "last_day", "void", "used_by", "used", "imported")
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def withdrawn_table(ids: Mapping[str, str], settings: Settings) -> pd.DataFrame:
    """Those of some people who withdrew, and when."""
    day = days_of(settings)
    gone = models.Person.objects.exclude(withdrawn_at=None).order_by("withdrawn_at", "person")
    rows = [(ids[each.person], day(each.withdrawn_at)) for each in gone if each.person in ids and each.withdrawn_at]
    return pd.DataFrame(rows, columns=["id", "withdrawn"], dtype=object)


def _gone() -> set[str]:
    """Who withdrew."""
    return set(models.Person.objects.exclude(withdrawn_at=None).values_list("person", flat=True))


def _stratum(decision: models.Decision, gone: set[str]) -> str:
    """The group of a person; one word for all who withdrew, whose answers it would tell."""
    return WITHDRAWN if decision.stratum and decision.person_id in gone else one_line(decision.stratum)

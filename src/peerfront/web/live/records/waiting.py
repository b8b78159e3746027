"""List who waits for coupons."""

from datetime import datetime, time
from zoneinfo import ZoneInfo

from django.db.models import Max, Q, QuerySet

from peerfront.web.live.records.models import Coupon, Event, Person
from peerfront.web.live.rules.study_settings import Settings


def waiting(settings: Settings) -> QuerySet[Person]:
    """Select people who answered, did not withdraw, and have neither coupons nor a decision to get none.

    Of imported people, select only those who came on or after the last day on which coupons were handed out before the
    import: the others were passed over then, or wanted none.
    """
    people = Person.objects.filter(withdrawn_at=None, answers__isnull=False, coupons=0, decisions__isnull=True)
    if not Event.objects.filter(kind="person_imported").exists():
        return people
    last = Coupon.objects.filter(imported=True, holder__isnull=False).aggregate(last=Max("issued_at"))["last"]
    if last is None:
        return people
    zone = ZoneInfo(settings.timezone)
    begin = datetime.combine(last.astimezone(zone).date(), time.min, zone)
    return people.filter(Q(imported="") | Q(enrolled_at__gte=begin))

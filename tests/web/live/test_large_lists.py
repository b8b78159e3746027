"""A study of 3,000 people: every list of the counter has pages, asks the database as often, and stays small."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from field_study import FieldStudy, words_of

from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role

MANY = 3_000
MOST_QUERIES = 30
MOST_BYTES = 150_000


@pytest.fixture
def large(one_database) -> FieldStudy:
    """Everybody came today with a coupon of the one before, and is owed for the interview and for recruiting."""
    study = FieldStudy()
    study.seed("p0")
    now, today = timezone.now(), timezone.localdate()
    site = models.Site.objects.get(site="north")
    rows = range(1, MANY)
    models.Person.objects.bulk_create(
        models.Person(
            person=f"p{n}", site=site, code=f"C{n:05d}", recruiter_id=f"p{n - 1}", enrolled_at=now, network_size=5,
            answers=[["area", "North"]] if n % 2 else None, coupons=0, imported="",
        ) for n in rows
    )  # fmt: skip
    models.Coupon.objects.bulk_create(
        models.Coupon(
            code=f"C{n:05d}", holder_id=f"p{n - 1}", site=site, issued_at=now, first_day=today,
            last_day=today + timedelta(days=5), why_void="", imported=False,
        ) for n in rows
    )  # fmt: skip
    models.Redemption.objects.bulk_create(
        models.Redemption(coupon_id=f"C{n:05d}", person_id=f"p{n}", at=now, site=site) for n in rows
    )
    return study


def test_3000_people_on_every_list_of_the_counter(large) -> None:
    client = large.client((Role.INTERVIEWER, Role.CASHIER, Role.COORDINATOR), "north")
    for page in ("/", "/arrive/", "/pay/", "/pay/?page=31", "/pay/?typed=p8", "/people/", "/people/p8/", "/coupons/"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            answered = client.get(page)
        assert answered.status_code == 200, page
        assert len(queries) <= MOST_QUERIES, page
        assert len(answered.content) < MOST_BYTES, page
    assert "Page 31 of 61" in words_of(client.get("/pay/?page=31"))
    assert "Owed to p9 " in words_of(client.get("/pay/?typed=p9"))

"""The made-up study: it is in its third week, and everything in it went through the rules."""

import pytest
from django.contrib.auth.models import User
from django_site import STUDY_FOLDER

from peerfront.web.live import django_settings as live_settings
from peerfront.web.live.operations.demo import USERS, make_demo, planned_for_one
from peerfront.web.live.operations.signed_heads import keep_head
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.records import PlanStatus

pytestmark = pytest.mark.usefixtures("one_database")


def test_the_demo_has_something_of_everything() -> None:
    make_demo()
    keep_head(STUDY_FOLDER)
    found = verify()
    assert found.whole, found.faults
    assert 60 <= models.Person.objects.count() <= 110
    statuses = list(models.Plan.objects.order_by("plan").values_list("status", flat=True))
    assert statuses == [PlanStatus.CLOSED, PlanStatus.APPROVED, PlanStatus.PROPOSED]
    waiting = models.PlanLine.objects.filter(plan_id=3)
    assert waiting.count() >= 5
    kinds = set(models.Event.objects.values_list("kind", flat=True))
    assert {"coupon_voided", "coupon_extended", "coupons_overridden", "answers_corrected", "person_withdrawn"} <= kinds
    reasons = set(models.Refusal.objects.values_list("reason", flat=True))
    assert {"mistyped", "used", "expired"} <= reasons
    assert models.Contact.objects.exists()
    assert {site for (site,) in models.Person.objects.values_list("site").distinct()} == {"north", "harbour"}
    open_coupons = models.Coupon.objects.filter(redemption=None, voided_at=None, last_day__gte=found_day())
    assert open_coupons.exists()


def found_day():
    from django.utils import timezone

    return timezone.now().date()


def test_every_role_has_a_user_with_a_password_of_its_own() -> None:
    logins = make_demo()
    assert {role for each in logins for role in each.member.roles} == set(Role)
    assert len({each.password for each in logins}) == len(USERS)
    assert live_settings.PASSWORD_HASHERS == ["peerfront.web.live.operations.tries.SmallArgon2"], "tests have another"
    assert all(User.objects.get(username=each.member.name).check_password(each.password) for each in logins[:2])


def test_its_plans_are_those_of_the_plain_rule() -> None:
    from peerfront.web.live.planning.arrival_plans import same_for_all
    from peerfront.web.live.planning.kept_models import SAME_FOR_ALL
    from peerfront.words.stored_text import reason_from_text

    one = same_for_all(100, 3)
    made = planned_for_one()
    assert (made.model, made.coupons, reason_from_text(made.reason)) == (SAME_FOR_ALL, one.coupons, one.reason)


def test_passwords_are_drawn_anew_each_time() -> None:
    first = make_demo()
    from django_site import empty_database, use_database

    use_database(empty_database("sqlite"))
    second = make_demo()
    assert not {each.password for each in first} & {each.password for each in second}
    assert DatabaseRecords().study() is not None

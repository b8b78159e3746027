"""The pages of the made-up study, each with somebody who may open it."""

from django.contrib.auth.models import User
from django.test import Client

from peerfront.web.live.records import models


def demo_pages() -> dict[str, list[str]]:
    """Addresses by user; nobody has logged in for those of ''."""
    coupon = models.Coupon.objects.filter(redemption=None, voided_at=None, site="north").exclude(holder=None)
    code, holder = coupon.order_by("-last_day").values_list("code", "holder_id")[0]
    waits = models.Person.objects.filter(site="north", withdrawn_at=None, decisions=None).exclude(answers=None)
    waiting = waits.order_by("-enrolled_at")[0].person
    plan = models.Plan.objects.order_by("-plan")[0].plan
    return {
        "": ["/login/", "/nowhere/"],
        "interviewer-north": [
            "/", "/arrive/", f"/enrol/?code={code}", f"/people/{waiting}/hand-out/", f"/people/{holder}/hand-out/",
            f"/people/{holder}/print/",
        ],
        "cashier": ["/", "/pay/", f"/pay/?typed={holder}"],
        "coordinator": [
            "/", "/add-seed/", "/coupons/", f"/coupons/{code}/", f"/coupons/{code}/extend/", f"/coupons/{code}/void/",
            "/people/", f"/people/{holder}/", f"/people/{holder}/correct/", f"/people/{holder}/withdraw/",
            f"/people/{holder}/contact/", "/trees/", "/progress/", "/plan/", f"/plan/{plan}/sheet/",
            f"/plan/{plan}/?coupons=3", f"/plan/{plan}/change/",
        ],
        "analyst": ["/", "/estimates/", "/export/"],
        "investigator": ["/", "/users/"],
        "manager": [
            "/", "/audit/", "/audit/verify/", "/users/", "/users/add/", "/settings/", "/sites/", "/import/",
            "/back-ups/", "/password/", f"/users/{User.objects.get(username='cashier').pk}/",
        ],
    }  # fmt: skip


def logged_in(user: str) -> Client:
    """A client of this user, who works at the north clinic; of nobody for ''."""
    client = Client(raise_request_exception=True)
    if user:
        client.force_login(
            User.objects.get(username=user), backend="peerfront.web.live.screens.staff_requests.StaffBackend"
        )
        session = client.session
        session["work_site"] = "north"
        session.save()
    return client

"""What the rules would answer now: shown before somebody presses a button. Nothing is recorded."""

from typing import cast

from django.http import HttpRequest
from django.utils import timezone

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.deciding import Answer, decide
from peerfront.web.live.rules.requests import Request, Wish
from peerfront.web.live.screens.staff_requests import AtWork, new_key


def would_answer(request: HttpRequest, wish: Wish) -> Answer:
    """The answer to a request as if it were sent now by the person who is logged in, at the site where they work."""
    at_work = cast(AtWork, request)
    asked = Request(new_key(), at_work.member, at_work.work_site, None, wish)
    return decide(DatabaseRecords(), asked, timezone.now())

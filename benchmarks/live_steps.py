"""Every step of work of a live study, as somebody does it: a page is opened, its form filled in, and sent.

For `live_faults.py`. A step is prepared first, with what it needs (a coupon that can be used, somebody who withdrew),
so that a fault can meet the sending alone; the same form can then be sent again, as a browser does.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

from live_browserless import Browserless, Form, Page
from live_site import PASSWORD
from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.rules import requests
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.events import Erasable, PlannedCoupons
from peerfront.web.live.rules.study_settings import Question, Settings

SITES = {"north": "North clinic", "south": "South street"}
SETTINGS = Settings(
    budget=100_000,
    cap=10,
    interview_payment=2000,
    recruiting_payment=500,
    name="Harbour",
    questions=(Question("area", "Where do you live?", choices=("north", "south")),),
)
STAFF = {
    "ida": (Role.INTERVIEWER, "north"),
    "cash": (Role.CASHIER, "north"),
    "cora": (Role.COORDINATOR, "north"),
    "cleo": (Role.COORDINATOR, None),
    "ann": (Role.ANALYST, None),
    "boss": (Role.MANAGER, None),
}
WHY = {"why": "a reason"}


class InProcess(Browserless):
    """Somebody who uses the pages in this very process: the same views and middleware, without a server."""

    def __init__(self) -> None:
        from django.test import Client

        super().__init__("http://127.0.0.1")
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False, SERVER_NAME="127.0.0.1")

    def _once(self, method: str, path: str, values: dict[str, Any] | None) -> tuple[int, str, str]:
        from django.core.files.uploadedfile import SimpleUploadedFile

        if method == "GET":
            response: Any = self.client.get(path)
        else:
            sent = {
                name: SimpleUploadedFile(name, value) if isinstance(value, bytes) else value
                for name, value in (values or {}).items()
            }
            if "file" in sent:
                sent["file"].name = "study.csv"
            response = self.client.post(path, sent)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        return response.status_code, response.headers.get("Location", ""), content.decode("utf-8", "replace")


@dataclass(frozen=True)
class Sending:
    """A form that is filled in and can be sent, as often as one likes."""

    step: str
    client: Browserless
    page: Page
    form: Form
    values: dict[str, Any]
    success: str
    """What the address of the page matches to which it leads."""
    events: tuple[str, ...] | None
    """The kinds of events that are then recorded under its key; None if each sending is noted anew."""
    extra: Callable[[], bool] = field(default=lambda: True)
    """What else must hold then."""

    @property
    def key(self) -> str:
        return self.form.fields.get("key", "")

    def send(self) -> Page:
        return self.client.send(self.page, self.form, **self.values)

    def succeeded(self, page: Page) -> bool:
        return page.status == 200 and re.search(self.success, page.path) is not None

    def recorded(self) -> tuple[str, ...]:
        """The kinds of events under its key."""
        from peerfront.web.live.records.models import Event

        mine = Event.objects.filter(request_key__startswith=self.key) if self.key else Event.objects.none()
        return tuple(mine.order_by("number").values_list("kind", flat=True))

    def problem(self) -> str:
        """What is missing or there twice after it was done; empty if nothing is."""
        recorded = self.recorded()
        if self.events is not None and sorted(recorded) != sorted(self.events):
            return f"{self.step}: recorded {recorded} in place of {self.events}"
        return "" if self.extra() else f"{self.step}: something beside the events is missing"


class Work:
    """A study in the open database with its staff, and every step of work in it."""

    def __init__(self, folder: LiveFolder, luck: random.Random) -> None:
        self.folder, self.luck, self._numbers = folder, luck, count(1)
        self._codes: list[str] = []
        self._begin()
        self.clients = {name: self._logged_in(name) for name in STAFF}
        self.steps: dict[str, Callable[[], Sending]] = {
            name.removeprefix("step_"): getattr(self, name) for name in dir(self) if name.startswith("step_")
        }

    def _begin(self) -> None:
        from django.contrib.auth.models import User

        from peerfront.web.live.operations.signed_heads import keep_head
        from peerfront.web.live.operations.staff import ask_here, begin_with_manager, staff_note, write_member

        begin_with_manager(SETTINGS, SITES, "boss")
        for name, (role, site) in STAFF.items():
            if name != "boss":
                ask_here(staff_note("added", name, (role,), site))
                write_member(name, (role,), site)
            user = User.objects.get(username=name)
            user.set_password(PASSWORD)
            user.save()
        self._do(requests.AddSeed("first"))
        self._do(requests.RecordAnswers("first", 10, (("area", "north"),)))
        self._propose_and_approve()
        keep_head(self.folder)

    def _logged_in(self, name: str) -> InProcess:
        from django.contrib.auth.models import User

        import_module("peerfront.web.live.operations.middleware")  # as a server does; it notes when a login begins
        client = InProcess()
        backend = "peerfront.web.live.screens.staff_requests.StaffBackend"
        client.client.force_login(User.objects.get(username=name), backend=backend)
        return client

    # What steps need ---------------------------------------------------------------------------------------------

    def _do(self, wish: Any, role: Role = Role.COORDINATOR, site: str | None = "north") -> Any:
        from peerfront.web.live.records.recording import answer
        from peerfront.web.live.rules.deciding import Accepted

        answered = answer(requests.Request(uuid4().hex, Member("cora", (role,), None), site, None, wish))
        assert isinstance(answered, Accepted), (wish, answered)
        return answered.events[0].fact

    def _new(self, what: str) -> str:
        return f"{what}{next(self._numbers)}"

    def _propose(self) -> int:
        lines = (PlannedCoupons("first", 1, "north", 0.5, "expected"),)
        plan: int = self._do(requests.ProposePlan("none", 7, lines), site=None).plan
        return plan

    def _propose_and_approve(self) -> None:
        self._do(requests.ApprovePlan(self._propose()), site=None)

    def _seed(self, coupons: int = 0) -> str:
        """Somebody who has answered, with so many coupons decided."""
        person = self._new("s")
        self._do(requests.AddSeed(person))
        self._do(requests.RecordAnswers(person, 10, (("area", "north"),)))
        if coupons:
            self._do(requests.OverrideCoupons(person, coupons, "for the work"))
        return person

    def _code(self) -> str:
        """A coupon that can be used."""
        if not self._codes:
            self._codes = list(self._do(requests.IssueCoupons(self._seed(10))).codes)
        return self._codes.pop()

    def _enrolled(self) -> tuple[str, str]:
        """Somebody who came with a coupon, and its code."""
        code, person = self._code(), self._new("p")
        self._do(requests.EnrolPerson(code, person))
        self._do(requests.RecordAnswers(person, 10, (("area", "north"),)))
        return person, code

    def _sending(
        self, step: str, who: str, path: str, field: str, success: str, events: tuple[str, ...] | None,
        extra: Callable[[], bool] = lambda: True, **values: Any,
    ) -> Sending:  # fmt: skip
        """Open a page, and fill in its form that has a field."""
        client = self.clients[who]
        page = client.get(path)
        form = page.form(field)
        assert page.status == 200, (step, page.status, page.text[:3000])
        assert form is not None, (step, page.path, page.text[:3000])
        return Sending(step, client, page, form, values, success, events, extra)

    # The steps ---------------------------------------------------------------------------------------------------

    def step_scan(self) -> Sending:
        return self._sending("scan", "ida", "/arrive/", "typed", "^/enrol/", ("coupon_scanned",), typed=self._code())

    def _enrolment(self, step: str, path: str, event: str) -> Sending:
        person = self._new("n")
        values = {"person": person, "network_size": "7", "question_area": "north", "consent": "on"}
        contact = {"contact_name": "Somebody", "contact_phone": "1234"}
        events = (event, "action_noted", "answers_recorded")
        who = "ida" if event == "person_enrolled" else "cora"
        reachable = lambda: self._contact_of(person) is not None  # noqa: E731
        return self._sending(
            step, who, path, "network_size", f"/people/{person}/", events, reachable, **values, **contact
        )

    def step_enrol(self) -> Sending:
        return self._enrolment("enrol", f"/enrol/?code={self._code()}", "person_enrolled")

    def step_add_seed(self) -> Sending:
        return self._enrolment("add_seed", "/add-seed/", "seed_added")

    def step_answers(self) -> Sending:
        code, person = self._code(), self._new("a")
        self._do(requests.EnrolPerson(code, person))
        values = {"network_size": "7", "question_area": "south"}
        path = f"/people/{person}/answers/"
        return self._sending("answers", "ida", path, "network_size", "/hand-out/", ("answers_recorded",), **values)

    def step_hand_out(self) -> Sending:
        path = f"/people/{self._seed(2)}/hand-out/"
        return self._sending("hand_out", "ida", path, "decided", "/print/", ("coupons_issued",))

    def step_print_again(self) -> Sending:
        person = self._seed(1)
        self._do(requests.IssueCoupons(person))
        path = f"/people/{person}/print/"
        return self._sending("print_again", "ida", path, "key", "request=", ("action_noted",))

    def step_pay(self) -> Sending:
        _, code = self._enrolled()
        page = self.clients["cash"].get(f"/pay/?typed={code}")
        due = next(each for each in page.forms if code in each.fields.get("typed", "") and "kind" in each.fields)
        return Sending("pay", self.clients["cash"], page, due, {}, "/receipt/", ("payment_made",))

    def step_void(self) -> Sending:
        path = f"/coupons/{self._code()}/void/"
        return self._sending("void", "cora", path, "why", r"/coupons/[^/]+/$", ("coupon_voided",), **WHY)

    def step_extend(self) -> Sending:
        path = f"/coupons/{self._code()}/extend/"
        return self._sending("extend", "cora", path, "why", r"/coupons/[^/]+/$", ("coupon_extended",), **WHY)

    def step_override(self) -> Sending:
        path = f"/people/{self._seed()}/coupons/"
        events = ("coupons_overridden",)
        return self._sending("override", "cora", path, "why", r"/people/\w+/$", events, coupons="2", **WHY)

    def step_correct(self) -> Sending:
        path, values = f"/people/{self._seed()}/correct/", {"network_size": "8", "question_area": "south"}
        events = ("answers_corrected",)
        return self._sending("correct", "cora", path, "why", r"/people/\w+/$", events, **values, **WHY)

    def step_withdraw(self) -> Sending:
        path = f"/people/{self._seed()}/withdraw/"
        return self._sending("withdraw", "cora", path, "why", r"/people/\w+/$", ("person_withdrawn",), **WHY)

    def step_erase(self) -> Sending:
        person = self._seed()
        self._do(requests.WithdrawPerson(person, False, "asked to"))
        path, values = f"/people/{person}/erase/", {"what": [each.value for each in Erasable]}
        return self._sending(
            "erase", "cora", path, "why", r"/people/\w+/$", ("answers_erased",),
            lambda: self._nothing_left_of(person), **values, **WHY,
        )  # fmt: skip

    def step_contact(self) -> Sending:
        person = self._seed()
        path, values = f"/people/{person}/contact/write/", {"name": "Somebody", "phone": "5678", "note": ""}
        return self._sending(
            "contact", "ida", path, "phone", r"/people/\w+/$", ("action_noted",),
            lambda: self._contact_of(person) == "5678", **values,
        )  # fmt: skip

    def step_forget_contact(self) -> Sending:
        person = self.step_contact()
        person.send()
        name = person.page.path.split("/")[2]
        return self._sending(
            "forget_contact", "cora", f"/people/{name}/contact/delete/", "key", r"/people/\w+/$", ("action_noted",),
            lambda: self._contact_of(name) is None,
        )  # fmt: skip

    def step_approve_plan(self) -> Sending:
        plan = self._propose()
        page = self.clients["cleo"].get(f"/plan/{plan}/")
        form = next(each for each in page.forms if each.action.endswith("/approve/"))
        return Sending("approve_plan", self.clients["cleo"], page, form, {}, rf"/plan/{plan}/$", ("plan_approved",))

    def step_stop_plan(self) -> Sending:
        path = f"/plan/{self._propose()}/stop/"
        return self._sending("stop_plan", "cleo", path, "why", r"/plan/\d+/$", ("plan_stopped",), **WHY)

    def step_site(self) -> Sending:
        short = self._new("site")
        values = {"name": f"Clinic {short}", "short": short}
        return self._sending("site", "boss", "/sites/", "short", "/sites/", ("site_added",), **values)

    def step_settings(self) -> Sending:
        values = {"name": f"Harbour {self._new('')}", **WHY}
        return self._sending("settings", "boss", "/settings/", "budget", "/settings/", ("settings_changed",), **values)

    def step_clock(self) -> Sending:
        from django.utils import timezone

        values = {"device_time": timezone.now().isoformat(), **WHY}
        return self._sending("clock", "boss", "/settings/clock/", "why", "/settings/", ("clock_accepted",), **values)

    def step_user(self) -> Sending:
        from django.contrib.auth.models import User

        name = self._new("user")
        values = {"name": name, "roles": "interviewer", "site": "north"}
        is_there = lambda: User.objects.filter(username=name, member__roles="interviewer").exists()  # noqa: E731
        return self._sending(
            "user", "boss", "/users/add/", "name", r"/users/\d+/", ("action_noted",), is_there, **values
        )

    def step_stop_user(self) -> Sending:
        from django.contrib.auth.models import User

        added = self.step_user()
        path = added.send().path
        name = added.values["name"]
        stopped = lambda: not User.objects.get(username=name).is_active  # noqa: E731
        client = self.clients["boss"]
        page = client.get(path)
        form = next(each for each in page.forms if "key" in each.fields)
        form = Form(urljoin(path, form.action), dict(form.fields))
        return Sending(
            "stop_user", client, page, form, {"do": "stop"}, r"/users/\d+/", ("action_noted",), stopped
        )  # fmt: skip

    def step_backup(self) -> Sending:
        from peerfront.web.live.operations.backup_files import BackupFile
        from peerfront.web.live.operations.backups import listed, remove_all_but

        remove_all_but(self.folder, 3)

        def is_good() -> bool:
            BackupFile(listed(self.folder)[0].path).check_signature(self.folder.keys)
            return True

        return self._sending("backup", "boss", "/back-ups/", "key", "/back-ups/", ("action_noted",), is_good)

    def step_export(self) -> Sending:
        page = self.clients["ann"].get("/export/")
        form = next(each for each in page.forms if each.action.endswith("/export/file/"))
        return Sending("export", self.clients["ann"], page, form, {}, "/export/file/", None)

    def step_import(self) -> Sending:
        first, second = self._new("f"), self._new("f")
        rows = (
            "id,own.coupon,coupon.1,date,site,area,network.size",
            f"{first},,c{first},2026-01-05,North clinic,north,12",
            f"{second},c{first},,2026-01-09,North clinic,south,7",
        )
        file = "\n".join(rows).encode() + b"\n"
        events = ("action_noted", "person_imported", "person_imported")
        return self._sending("import", "boss", "/import/", "key", "/import/", events, file=file)

    def step_login(self) -> Sending:
        client = InProcess()
        page = client.get("/login/")
        form = page.form("username", "password")
        assert form is not None
        return Sending("login", client, page, form, {"username": "ida", "password": PASSWORD}, "^/$", None)

    # What must hold afterwards -----------------------------------------------------------------------------------

    def _contact_of(self, person: str) -> str | None:
        from peerfront.web.live.records.contacts import read_contact

        contact = read_contact(person)
        return None if contact is None else contact.get("phone")

    def _nothing_left_of(self, person: str) -> bool:
        from peerfront.web.live.records.models import Person

        stored = Person.objects.get(person=person)
        return stored.answers in (None, []) and stored.network_size is None

    def faults(self) -> list[str]:
        """What `verify` finds."""
        from peerfront.web.live.operations.verification import verify

        return [str(each) for each in verify(self.folder).faults]

"""Somebody who uses the live study in tests: by Django's test client, and in a real browser."""

import threading
from contextlib import contextmanager, suppress

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from small_live import SETTINGS, SmallStudy

from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import keep_contact, sealed_contact
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.recording import ServerClock, answer
from peerfront.web.live.rules.actions import Role, roles_text
from peerfront.web.live.rules.study_settings import Settings

PASSWORD = "correct horse battery staple"
BACKEND = "peerfront.web.live.screens.staff_requests.StaffBackend"
CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


class _InDatabase(DatabaseRecords):
    def answer(self, request, now, draw_code):
        return answer(request, now, draw_code=draw_code)


class LiveStudy(SmallStudy):
    """The small study in the database of the test, with people who can log in; its clock is the real one.

    The computer has been on all the time, so that it is believed however long nothing was recorded.
    """

    def __init__(self, settings: Settings = SETTINGS) -> None:
        super().__init__(settings)
        clock = ServerClock()
        models.Study.objects.update(boot=clock.boot, booted_at=clock.booted_at)

    @property
    def journal(self):
        return _InDatabase()

    @journal.setter
    def journal(self, _) -> None:
        pass

    @property
    def state(self):
        return DatabaseRecords()

    @property
    def now(self):
        return timezone.now()

    @now.setter
    def now(self, _) -> None:
        pass

    def user(self, role: Role | tuple[Role, ...], site: str | None = None, name: str | None = None) -> User:
        """Somebody of a role (or several), for one site or for all; made once."""
        roles = (role,) if isinstance(role, Role) else role
        name = name or f"{'-'.join(roles)}-{site or 'all'}"
        user = User.objects.filter(username=name).first() or User.objects.create_user(name, password=PASSWORD)
        models.Member.objects.update_or_create(user=user, defaults={"roles": roles_text(roles), "site_id": site})
        return user

    def client(self, role: Role | tuple[Role, ...], site: str | None = None) -> Client:
        """A client that is logged in; with a role for all sites it works at the first one."""
        client = Client(raise_request_exception=True)
        client.force_login(self.user(role, site), backend=BACKEND)
        if site is None:
            session = client.session
            session["work_site"] = "north"
            session.save()
        return client


def write_contact(person: str, contact: dict[str, str]) -> None:
    """Encrypt and save contact details without a note about it."""
    keep_contact(person, sealed_contact(person, contact))


@contextmanager
def served(application=None):
    """Serve the study on a free port, in threads of this process; gives the address."""
    import waitress
    from django.core.wsgi import get_wsgi_application

    server = waitress.create_server(application or get_wsgi_application(), host="127.0.0.1", port=0, threads=8)

    def run() -> None:
        with suppress(OSError):  # its sockets are closed under it at the end
            server.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.close()
        thread.join(5)


def until(page, expression: str) -> None:
    """Wait for something in the page; Playwright's own `wait_for_function` breaks the content security policy."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {expression}")

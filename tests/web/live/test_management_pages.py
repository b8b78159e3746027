"""Management pages: users and links, sites, settings with questions, audit, verification, export, import, back-ups."""

import re
import zipfile
from datetime import timedelta
from io import BytesIO

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from django_site import STUDY_FOLDER
from field_study import words_of
from live_client import BACKEND, PASSWORD, LiveStudy, write_contact

from peerfront.web.live.operations import backups
from peerfront.web.live.operations.registers import state_registers
from peerfront.web.live.operations.signed_heads import keep_head
from peerfront.web.live.operations.staff import managers, new_link, user_of_link
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning.planning_jobs import tidy_up
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.requests import ScanCoupon
from peerfront.web.live.rules.study_settings import QuestionKind

pytestmark = pytest.mark.usefixtures("one_database")
NEW = "four words nobody knows"


@pytest.fixture
def study() -> LiveStudy:
    return LiveStudy()


@pytest.fixture
def manager(study) -> Client:
    return study.client(Role.MANAGER)


def key_of(page, form: int = 0) -> str:
    return re.findall(r'name="key" value="([\w-]+)"', page.content.decode())[form]


def link_in(page) -> str:
    return re.search(r"http://testserver(/first-login/[^<]+)<", page.content.decode())[1]


def notes() -> list[str]:
    return [each.data for each in models.Event.objects.filter(kind="action_noted").order_by("number")]


# Users ---------------------------------------------------------------------------------------------------------------


def _add(manager, **entries):
    page = manager.get("/users/add/")
    return manager.post(
        "/users/add/", {"key": key_of(page), "roles": "interviewer", "site": "north", **entries}, follow=True
    )


def test_somebody_is_added_follows_the_link_once_and_works(manager) -> None:
    page = _add(manager, name="ines")
    link = link_in(page)
    assert link_in_none(manager.get(page.request["PATH_INFO"])), "the link is shown once"
    assert '"ines"' in notes()[-1]
    assert "interviewer" in notes()[-1]
    visitor = Client()
    assert "ines" in visitor.get(link).content.decode()
    weak = visitor.post(link, {"new_password1": "short", "new_password2": "short"})
    assert weak.status_code == 200
    assert not User.objects.get(username="ines").has_usable_password()
    done = visitor.post(link, {"new_password1": NEW, "new_password2": NEW})
    assert done.status_code == 302
    assert visitor.get("/arrive/").status_code == 200, "logged in at once"
    assert Client().get(link).status_code == 410
    assert Client().post(link, {"new_password1": NEW * 2, "new_password2": NEW * 2}).status_code == 410
    assert User.objects.get(username="ines").check_password(NEW)


def link_in_none(page) -> bool:
    return "/first-login/" not in page.content.decode()


def test_a_form_sent_twice_adds_one_user_and_one_link(manager) -> None:
    page = manager.get("/users/add/")
    entries = {"key": key_of(page), "name": "ines", "roles": "cashier", "site": ""}
    link = link_in(manager.post("/users/add/", entries, follow=True))
    again = manager.post("/users/add/", entries, follow=True)
    assert again.status_code == 200
    assert User.objects.filter(username="ines").count() == 1
    assert len([each for each in notes() if '"ines"' in each]) == 1
    assert Client().get(link).status_code == 200, "the first link still works"


@pytest.mark.parametrize("name", ["", "two words", "<b>", "x" * 61, "MANAGER-ALL"])
def test_names_that_cannot_be_used_are_told(manager, name) -> None:
    page = _add(manager, name=name)
    assert 'class="errorlist"' in page.content.decode()
    assert User.objects.count() == 1


def test_links_end_by_age_by_a_newer_one_and_when_the_user_is_stopped(study, manager, settings_value) -> None:
    user = study.user(Role.CASHIER)
    first = new_link(user, "http://testserver").address
    second = new_link(user, "http://testserver").address
    assert _works(second)
    assert not _works(first)
    settings_value("PASSWORD_RESET_TIMEOUT", -1)
    assert not _works(second)
    settings_value("PASSWORD_RESET_TIMEOUT", 1000)
    user.is_active = False
    user.save()
    assert not _works(second)
    assert user_of_link("%%", "x") is None
    assert user_of_link("OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "x") is None


def _works(address: str) -> bool:
    return Client().get(address.removeprefix("http://testserver")).status_code == 200


@pytest.fixture
def settings_value(monkeypatch):
    from django.conf import settings

    return lambda name, value: monkeypatch.setattr(settings, name, value)


def _do(manager, user, what: str, **entries):
    address = f"/users/{user.pk}/"
    page = manager.get(address)
    return manager.post(address, {"do": what, "key": key_of(page) + what.replace(" ", ""), **entries}, follow=True)


def test_a_stopped_user_is_out_at_once_and_can_be_let_in_again(study, manager) -> None:
    user = study.user(Role.INTERVIEWER, "north")
    client = study.client(Role.INTERVIEWER, "north")
    assert client.get("/arrive/").status_code == 200
    _do(manager, user, "stop")
    assert client.get("/arrive/").status_code == 302
    assert client.post("/login/", {"username": user.username, "password": PASSWORD}).status_code == 200
    _do(manager, user, "let in")
    assert Client().post("/login/", {"username": user.username, "password": PASSWORD}).status_code == 302
    last = notes()[-4:]
    words = ("stopped", "failed", "let in again", "logged in")
    assert all(word in note for word, note in zip(words, last, strict=True)), last
    assert client.get("/arrive/").status_code == 302, "the session from before has ended for good"


def test_a_new_link_ends_the_old_password_and_sessions(study, manager) -> None:
    user, client = study.user(Role.CASHIER), study.client(Role.CASHIER)
    assert client.get("/pay/").status_code == 200
    page = _do(manager, user, "link")
    assert client.get("/pay/").status_code == 302
    assert Client().post("/login/", {"username": user.username, "password": PASSWORD}).status_code == 200
    assert _works(link_in(page))


def test_roles_are_changed_and_hold_at_once(study, manager) -> None:
    user, client = study.user(Role.INTERVIEWER, "north"), study.client(Role.INTERVIEWER, "north")
    _do(manager, user, "role", roles="cashier", site="south")
    assert client.get("/arrive/").status_code == 403
    assert client.get("/pay/").status_code == 200
    assert "cashier" in notes()[-1]


def test_nobody_changes_their_own_role_or_stops_themselves(study, manager) -> None:
    own = study.user(Role.MANAGER)
    for what in ("stop", "role"):
        entries = {"do": what, "key": f"own-{what}", "roles": "cashier", "site": ""}
        page = manager.post(f"/users/{own.pk}/", entries, follow=True)
        assert "Nobody changes their own roles" in page.content.decode()
    own.refresh_from_db()
    assert own.is_active
    assert own.member.roles == "manager"


def test_a_manager_of_one_site_does_not_count_as_one_of_the_study(study, manager) -> None:
    """The last one who manages the whole study stays, also if somebody manages a site."""
    study.user(Role.MANAGER, "north")
    second = study.user(Role.MANAGER, name="second")
    models.Member.objects.filter(user__username="manager-all").update(roles="analyst")
    client = Client()
    client.force_login(second, backend=BACKEND)
    other = User.objects.get(username="manager-north")
    _do(client, other, "stop")
    other.refresh_from_db()
    assert not other.is_active
    assert managers() == 1


def test_two_managers_cannot_remove_each_other_at_once(study, manager, monkeypatch) -> None:
    """The check is made where nobody else writes, so the second of two at once is refused."""
    other = study.user(Role.MANAGER, name="second")
    from peerfront.web.live.screens import users

    monkeypatch.setattr(users, "managers", lambda: 0)
    before = models.Event.objects.count()
    page = _do(manager, other, "stop")
    assert "Nobody would be left" in page.content.decode()
    other.refresh_from_db()
    assert other.is_active
    assert models.Event.objects.count() == before, "what did not happen is not noted"


def test_the_first_manager_may_choose_another_name(study) -> None:
    user = study.user(Role.MANAGER, name="manager")
    address = new_link(user, "").address
    client = Client()
    taken = client.post(address, {"user_name": "two words", "new_password1": NEW, "new_password2": NEW})
    assert taken.status_code == 200
    done = client.post(address, {"user_name": "maria", "new_password1": NEW, "new_password2": NEW})
    assert done.status_code == 302
    assert User.objects.get(pk=user.pk).username == "maria"
    assert "renamed to maria" in notes()[-1]


def test_everybody_changes_their_own_password(study) -> None:
    client, other = study.client(Role.CASHIER), study.client(Role.CASHIER)
    entries = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert client.post("/password/", entries | {"old_password": "wrong"}).status_code == 200
    assert client.post("/password/", entries).status_code == 302
    assert client.get("/pay/").status_code == 200
    assert Session.objects.count() == 1, "other sessions end"
    assert other.get("/pay/").status_code == 302


def test_sessions_that_have_ended_are_removed(study) -> None:
    study.client(Role.CASHIER), study.client(Role.ANALYST)
    session = Session.objects.order_by("pk").first()
    session.expire_date = timezone.now() - timedelta(minutes=1)
    session.save()
    tidy_up()
    assert Session.objects.count() == 1


# Sites and settings --------------------------------------------------------------------------------------------------


def test_sites_are_added_once(manager) -> None:
    entries = {"key": key_of(manager.get("/sites/")), "name": "East <b>", "short": "east"}
    assert manager.post("/sites/", entries).status_code == 302
    assert manager.post("/sites/", entries).status_code == 302, "a double click"
    again = manager.post("/sites/", entries | {"key": "other"})
    assert "There is a site east already" in again.content.decode()
    assert "East <b>" not in again.content.decode(), "what people type is no markup"
    assert "East &lt;b&gt;" in again.content.decode()


def _settings_entries(page) -> dict:
    """What a browser would send if nothing were changed."""
    from html import unescape

    html = page.content.decode()
    form = html[html.index('<form method="post">') :]
    entries = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = re.search(r'name="([^"]+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and ('type="checkbox"' not in tag or " checked" in tag):
            entries[name[1]] = unescape(value[1]) if value else "on" if 'type="checkbox"' in tag else ""
    for name, content in re.findall(r'<textarea name="([^"]+)"[^>]*>(.*?)</textarea>', form, re.S):
        entries[name] = unescape(content).strip()
    for name, content in re.findall(r'<select name="([^"]+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'value="([^"]*)" selected', content)
        entries[name] = unescape(chosen[1]) if chosen else ""
    return entries


def test_settings_are_changed_with_a_reason_and_unchanged_otherwise(manager) -> None:
    before = DatabaseRecords().study().settings
    entries = _settings_entries(manager.get("/settings/"))
    refused = manager.post("/settings/", entries | {"why": ""})
    assert refused.status_code == 200
    assert DatabaseRecords().study().settings == before
    assert manager.post("/settings/", entries | {"why": "as it is"}).status_code == 302
    assert DatabaseRecords().study().settings == before
    entries = _settings_entries(manager.get("/settings/"))
    more = {"why": "more money", "budget": "25", "interview_payment": "25.50", "deadline": "2030-01-31", "target": "90",
            "plan_randomise": "10", "timezone": "Europe/Lisbon", "at_least_one": "yes"}  # fmt: skip
    assert manager.post("/settings/", entries | more).status_code == 302
    after = DatabaseRecords().study().settings
    assert (after.budget, after.interview_payment, str(after.deadline), after.target) == (25, 2550, "2030-01-31", 90)
    assert (after.plan_randomise, after.timezone, after.cap) == (0.1, "Europe/Lisbon", before.cap)
    assert (before.at_least_one, after.at_least_one) == (None, True)
    assert "more money" in manager.get("/audit/").content.decode()


def test_a_study_that_begins_on_its_page_says_which_keys_it_has() -> None:
    user = User.objects.create_user("boss", password=PASSWORD)
    models.Member.objects.create(user=user, roles=Role.MANAGER.value)
    client = Client()
    client.force_login(user, backend=BACKEND)
    assert client.post("/settings/", _settings_entries(client.get("/settings/"))).status_code == 302
    assert DatabaseRecords().study() is not None
    assert verify().bound, "otherwise users and contact details are never compared"


def test_a_currency_without_cents_is_kept_in_its_own_unit(manager) -> None:
    entries = _settings_entries(manager.get("/settings/"))
    entries |= {"currency": "jpy", "interview_payment": "2000", "recruiting_payment": "500", "why": "Japan"}
    assert manager.post("/settings/", entries).status_code == 302
    after = DatabaseRecords().study().settings
    assert (after.currency, after.interview_payment) == ("JPY", 2000)


def test_what_another_manager_changed_meanwhile_is_not_undone(manager) -> None:
    opened = _settings_entries(manager.get("/settings/"))
    first = opened | {"budget": "25", "why": "more coupons"}
    assert manager.post("/settings/", first).status_code == 302
    refused = manager.post("/settings/", opened | {"key": "later", "name": "New name", "why": "new name"})
    assert "Somebody changed the settings after you opened this page" in refused.content.decode()
    assert 'value="New name"' in refused.content.decode(), "what was typed stays"
    for word in ("manager-all", "more coupons", "20 → 25"):
        assert word in words_of(refused), "who changed what meanwhile is told"
    assert DatabaseRecords().study().settings.budget == 25
    assert manager.post("/settings/", first).status_code == 302, "the same form, sent again"
    again = _settings_entries(manager.get("/settings/")) | {"name": "New name", "why": "new name"}
    assert manager.post("/settings/", again).status_code == 302
    assert (DatabaseRecords().study().settings.budget, DatabaseRecords().study().settings.name) == (25, "New name")


def test_amounts_are_not_rounded_without_a_word(manager) -> None:
    entries = _settings_entries(manager.get("/settings/")) | {"why": "less money"}
    refused = manager.post("/settings/", entries | {"interview_payment": "1.005"})
    assert "at most 2 digits after the point" in refused.content.decode()
    refused = manager.post("/settings/", entries | {"currency": "JPY", "recruiting_payment": "2.5"})
    assert "at most 0 digits after the point" in refused.content.decode()
    assert manager.post("/settings/", entries | {"interview_payment": "1.500"}).status_code == 302
    assert DatabaseRecords().study().settings.interview_payment == 150


def test_the_rules_refuse_settings_and_what_was_typed_stays(study, manager) -> None:
    study.seed("ana")
    study.approve(ana=3)
    entries = _settings_entries(manager.get("/settings/")) | {"budget": "2", "why": "less money", "name": "New name"}
    page = manager.post("/settings/", entries)
    words = page.content.decode()
    assert "3 coupons are asked for" in words
    assert 'value="New name"' in words
    assert key_of(page) != entries["key"]


def test_questions_are_added_changed_and_removed_without_scripts(manager) -> None:
    entries = _settings_entries(manager.get("/settings/"))
    page = manager.post("/settings/", entries | {"add_row": "yes", "name": "Typed", "budget": "not a number"})
    words = page.content.decode()
    assert 'value="Typed"' in words, "what was typed stays"
    assert "errorlist" not in words, "nothing is judged before it is saved"
    entries = _settings_entries(page) | {"budget": "20", "why": "first questions"}
    entries |= {"questions-0-text": "How old are you?", "questions-0-choices": "18-24\n25-34\n\n25-34\n"}
    assert manager.post("/settings/", entries).status_code == 302
    (question,) = DatabaseRecords().study().settings.questions
    assert (question.name, question.kind, question.choices) == (
        "how_old_are_you",
        QuestionKind.CHOICE,
        ("18-24", "25-34"),
    )
    assert question.for_planning
    page = manager.post("/settings/", _settings_entries(manager.get("/settings/")) | {"add_row": "yes"})
    entries = _settings_entries(page) | {"why": "another one"}
    entries |= {
        "questions-1-text": "Income",
        "questions-1-kind": "number",
        "questions-1-ORDER": "1",
        "questions-0-ORDER": "2",
    }
    entries.pop("questions-1-for_planning")
    assert manager.post("/settings/", entries).status_code == 302
    questions = DatabaseRecords().study().settings.questions
    assert [(each.name, each.for_planning) for each in questions] == [("income", False), ("how_old_are_you", True)]
    entries = _settings_entries(manager.get("/settings/")) | {"questions-0-DELETE": "on", "why": "too private"}
    assert manager.post("/settings/", entries).status_code == 302
    assert [each.name for each in DatabaseRecords().study().settings.questions] == ["how_old_are_you"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "Sex", "choices": "f"}, "at least two different choices"),
        ({"text": "\u4e2d", "choices": "a\nb"}, "small letters, digits and _"),
        ({"name": "sex", "choices": "a\nb"}, "Write the question"),
        ({"text": "Sex", "name": "Sex!", "choices": "a\nb"}, "small letters, digits and _"),
    ],
)
def test_questions_that_cannot_be_asked_are_told(manager, row, said) -> None:
    page = manager.post("/settings/", _settings_entries(manager.get("/settings/")) | {"add_row": "yes"})
    entries = _settings_entries(page) | {"why": "new"} | {f"questions-0-{name}": value for name, value in row.items()}
    refused = manager.post("/settings/", entries)
    assert refused.status_code == 200
    assert said in refused.content.decode()
    assert DatabaseRecords().study().settings.questions == ()


# Audit ---------------------------------------------------------------------------------------------------------------


def test_the_audit_tells_everything_but_answers(study, manager) -> None:
    code = study.seed("ana")
    study.approve(ana=2)
    study.issue("ana")
    study.ask(ScanCoupon(code))
    page = manager.get("/audit/").content.decode()
    for words in (
        "The study began", "Added the site North clinic", "Added ana as a seed", "Recorded the answers of ana",
        "Proposed plan 1 with 2 coupons for 1 person", "Approved plan 1; round 1 began",
        "Handed out 2 coupons to ana in round 1", "Refused (scan coupon)", "was used on",
    ):  # fmt: skip
        assert words in page, words
    assert "34" not in re.sub(r"\d{2}:\d{2}:\d{2}|\d{4}-\d\d-\d\d|\w{16,}|value=\"[^\"]*\"|datetime[^<]*", "", page)
    head = models.Event.objects.order_by("-number")[0].hash
    assert head in page


def test_the_audit_is_filtered(study, manager) -> None:
    code = study.seed("ana")
    study.seed("ben", "south")

    def count(**entries) -> int:
        page = manager.get("/audit/", entries).content.decode()
        return int(re.search(r"(\d+) events?, newest", page)[1])

    everything = count()
    assert everything == models.Event.objects.count()
    assert count(person="ana") == 2
    assert count(code=f"{code[:3]}-{code[3:7]}-{code[7:]}".lower()) == 1
    assert count(site="south") == 2
    assert count(kind="seed_added") == 2
    assert count(actor="the coordinator") == 2
    assert count(day="2020-01-01") == 0
    assert count(day="nonsense") == everything
    assert count(actor="<script>") == 0
    page = re.sub(r"<details.*?</details>", " ", manager.get("/audit/").content.decode(), flags=re.DOTALL)
    assert not re.search(r"[0-9a-f]{64}", page), "hashes are folded"


def test_every_kind_of_event_has_a_sentence_that_its_fields_fill() -> None:
    from dataclasses import fields
    from typing import get_origin, get_type_hints

    from peerfront.web.live.rules.actions import Action, Role
    from peerfront.web.live.rules.chain import KINDS
    from peerfront.web.live.rules.events import Event, PaymentKind, Stamp
    from peerfront.web.live.screens.audit import sentence

    samples = {int: 2, Action: Action.EXPORT, PaymentKind: PaymentKind.INTERVIEW}
    stamp = Stamp("ana", Role.MANAGER, None, None, timezone.now(), "key", "digest")
    for name, kind in KINDS.items():
        hints = get_type_hints(kind)
        values = {
            each.name: () if get_origin(hints[each.name]) is tuple else samples.get(hints[each.name], "value")
            for each in fields(kind)
        }
        words = sentence(Event(stamp, 1, kind(**values)))
        assert "{" not in words, name
        assert not words.startswith("audit."), name


def test_a_changed_plan_is_told_with_the_person_since_each_has_an_event() -> None:
    from peerfront.web.live.rules.actions import Role
    from peerfront.web.live.rules.events import Event, PlanChanged, Stamp
    from peerfront.web.live.screens.audit import sentence

    stamp = Stamp("ana", Role.COORDINATOR, None, None, timezone.now(), "key", "digest")
    told = [sentence(Event(stamp, 1, PlanChanged(3, lines, "late"))) for lines in ((("bea", 2),), (("a", 1), ("b", 0)))]
    assert told == ["Changed plan 3 for bea: late", "Changed plan 3 for 2 people: late"]


def test_verifying_again_with_the_same_form_is_fine(study, manager) -> None:
    study.seed("ana")
    state_registers()
    keep_head(STUDY_FOLDER)
    for _ in range(2):
        page = manager.post("/audit/verify/", {"key": "k1"}).content.decode()
        assert "Whole" in page
        assert "card bad" not in page


def test_verification_is_shown_and_noted_and_a_changed_row_is_found(study, manager) -> None:
    study.seed("ana")
    page = manager.post("/audit/verify/", {"key": "k0"}).content.decode()
    assert "could not be compared" in page, "no event says which keys this study has"
    state_registers()
    keep_head(STUDY_FOLDER)
    page = manager.post("/audit/verify/", {"key": "k1"})
    assert "All" in page.content.decode()
    assert '"whole","yes"' in notes()[-1].replace(" ", "")
    models.Person.objects.update(network_size=99)
    page = manager.post("/audit/verify/", {"key": "k2"}).content.decode()
    assert "Something else than this program changed the records" in page
    assert "network_size" in page
    assert "99" not in re.sub(r"\w{16,}", "", page), "contents are not told"


# Export, import, back-ups --------------------------------------------------------------------------------------------


def test_the_export_is_downloaded_and_noted_and_has_no_contacts(study) -> None:
    study.seed("ana")
    write_contact("ana", {"name": "Ana Lopes"})
    analyst = study.client(Role.ANALYST)
    page = analyst.get("/export/")
    response = analyst.post("/export/file/", {"key": key_of(page)})
    assert response["Content-Disposition"].startswith("attachment")
    with zipfile.ZipFile(BytesIO(response.getvalue())) as archive:
        assert {"study.csv", "schema.toml", "decisions.csv", "README.txt"} <= set(archive.namelist())
        assert b"Lopes" not in b"".join(archive.read(name) for name in archive.namelist())
    assert '"export"' in notes()[-1]
    assert analyst.post("/export/file/", {}).status_code == 302


def test_real_codes_are_a_choice_of_their_own_that_the_audit_names(study) -> None:
    study.seed("ana")
    study.approve(ana=2)
    code = shown_code(study.issue("ana")[0]).encode()
    assert study.client(Role.ANALYST).post("/export/codes/", {"key": "k"}).status_code == 403
    for role in (Role.MANAGER, Role.COORDINATOR):
        client = study.client(role)
        response = client.post("/export/codes/", {"key": key_of(client.get("/export/codes/"))})
        with zipfile.ZipFile(BytesIO(response.getvalue())) as archive:
            assert code in archive.read("coupons.csv")
        assert '"export_codes"' in notes()[-1]
    analyst = study.client(Role.ANALYST)
    response = analyst.post("/export/file/", {"key": key_of(analyst.get("/export/"))})
    with zipfile.ZipFile(BytesIO(response.getvalue())) as archive:
        assert code not in b"".join(archive.read(name) for name in archive.namelist())


def test_an_empty_study_has_nothing_to_export(study) -> None:
    analyst = study.client(Role.ANALYST)
    response = analyst.post("/export/file/", {"key": key_of(analyst.get("/export/"))})
    assert "Nobody takes part yet" in response.content.decode()


FILE = b"id,own.coupon,coupon.1,date,site,sex\n1,,a,2026-01-01,north,f\n2,a,,2026-01-05,north,m\n"


def _import(manager, content: bytes, name: str = "study.csv", **entries):
    key = key_of(manager.get("/import/"))
    sent = {"key": key, "site": "", "file": SimpleUploadedFile(name, content), **entries}
    return manager.post("/import/", sent, follow=True).content.decode()


def test_a_file_is_looked_at_and_imported_on_the_page(manager) -> None:
    assert "What the file would bring" in _import(manager, FILE, look="yes")
    assert models.Person.objects.count() == 0
    assert "2 people are imported" in _import(manager, FILE)
    assert models.Person.objects.get(person="2").recruiter_id == "1"
    assert "0 people are imported" in _import(manager, FILE)
    assert "Nothing of the file was imported" in _import(manager, FILE.replace(b"2,a,,2026-01-05", b"2,a,,2026-01-06"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("study.exe", FILE, "Choose a CSV"),
        ("study.csv", b"", "empty"),
        ("study.csv", b"just text\nwithout a study", "Nothing was imported"),
        ("study.xlsx", b"PK no workbook", "Nothing was imported"),
        ("<b>.csv", b"id,own.coupon,coupon.1\n1,,a\n1,,b\n", "Nothing was imported"),
        ("study.csv", b"id,own.coupon,coupon.1,site\n1,,a,West\n", "There is no site"),
    ],
)
def test_files_that_cannot_be_imported_are_told(manager, name, content, said) -> None:
    assert said in _import(manager, content, name)
    assert models.Person.objects.count() == 0


def test_back_ups_are_made_listed_and_downloaded(manager) -> None:
    key = key_of(manager.get("/back-ups/"))
    for _ in range(2):
        assert manager.post("/back-ups/", {"key": key}).status_code == 302
    (made,) = backups.listed(STUDY_FOLDER)
    page = manager.get("/back-ups/")
    assert made.name in page.content.decode()
    response = manager.post(f"/back-ups/{made.name}/", {"key": key_of(page, 1)})
    assert b"".join(response.streaming_content) == made.path.read_bytes()
    response.close()
    assert '"downloaded"' in notes()[-1]
    assert manager.post("/back-ups/keys.json/", {"key": "k"}).status_code == 404
    assert manager.post("/back-ups/..%2Fkeys.json/", {"key": "k"}).status_code == 404


def test_the_language_is_chosen(manager) -> None:
    manager.post("/language/", {"language": "es", "next": "/users/"})
    assert 'lang="es"' in manager.get("/users/").content.decode()
    manager.post("/language/", {"language": "xx"})
    assert 'lang="es"' in manager.get("/users/").content.decode()
    away = manager.post("/language/", {"language": "en", "next": "https://evil.example/"})
    assert away["Location"] == "/"

"""Edit the database and the files of a live study by hand, in many ways, and count what `verify` finds.

    python benchmarks/live_hand_edits.py [sqlite | postgresql]

Each edit is made in a transaction that is undone afterwards, mostly as by somebody who can write to the database but
has no keys; those of files need the folder. The last ones remain unnoticed: they show what only paper can tell.
"""

import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from peerfront.web.live.folder import Keys, LiveFolder
from peerfront.web.live.rules import requests
from peerfront.web.live.rules.actions import Action, Member, Role
from peerfront.web.live.rules.chain import FIRST, Link
from peerfront.web.live.rules.events import PaymentKind, PlannedCoupons
from peerfront.web.live.rules.study_settings import Settings

SITES = {"north": "North clinic", "south": "South street"}
SETTINGS = Settings(budget=50, cap=5, interview_payment=2000, recruiting_payment=500, name="Harbour")
Change = Callable[[LiveFolder], object]


def do(wish: Any, role: Role = Role.COORDINATOR, site: str | None = "north", alongside: Any = None) -> Any:
    """Ask for something as a page does; gives the first fact."""
    from peerfront.web.live.records.recording import answer

    member = Member("cora", (role,), None)
    answered = answer(requests.Request(uuid4().hex, member, site, None, wish), alongside=alongside)
    return answered.events[0].fact


def play(folder: LiveFolder) -> None:
    """Begin a small study with something of every kind, make a back-up, and go on for a while."""
    from peerfront.web.live.operations.backups import back_up_here
    from peerfront.web.live.operations.signed_heads import keep_head
    from peerfront.web.live.operations.staff import ask_here, begin_with_manager, member_note, staff_note, write_member

    boss = begin_with_manager(SETTINGS, SITES, "boss")
    boss.set_password("correct horse battery staple")
    boss.save()
    for name, role, site in (("ida", Role.INTERVIEWER, "north"), ("cash", Role.CASHIER, None)):
        ask_here(staff_note("added", name, (role,), site))
        user = write_member(name, (role,), site)
        user.set_password(f"the password of {name}")
        user.save()
    ask_here(member_note("stopped", user))
    user.is_active = False
    user.save(update_fields=["is_active"])
    for person in ("ana", "ben"):
        do(requests.AddSeed(person))
        do(requests.RecordAnswers(person, 10, (("age", "34"),)))
        write_contact(person, "1")
    write_contact("ana", "2")
    lines = tuple(PlannedCoupons(person, 2, "north", 0.5, "expected") for person in ("ana", "ben"))
    plan = do(requests.ProposePlan("model-1", 7, lines), site=None)
    do(requests.ApprovePlan(plan.plan), site=None)
    do(requests.OverrideCoupons("ben", 3, "brings many"))
    codes = do(requests.IssueCoupons("ana")).codes
    do(requests.EnrolPerson(codes[0], "dora"))
    do(requests.RecordAnswers("dora", 5, (("age", "20"),)))
    pay = requests.Pay(codes[0], PaymentKind.INTERVIEW)
    do(pay, Role.CASHIER)
    do(requests.ScanCoupon("no code"))
    do(requests.VoidCoupon(codes[1], "lost"))
    do(requests.WithdrawPerson("dora", False, "asked to"))
    back_up_here(folder, None)
    do(requests.Pay(codes[0], PaymentKind.RECRUITING), Role.CASHIER)
    keep_head(folder)
    do(requests.IssueCoupons("ben"))


def write_contact(person: str, phone: str) -> None:
    from peerfront.web.live.records.contacts import fingerprint, keep_contact, sealed_contact

    sealed = sealed_contact(person, {"name": person, "phone": phone})
    note = requests.NoteAction(Action.WRITE_CONTACT, person, fingerprint=fingerprint(person, sealed))
    do(note, alongside=lambda _: keep_contact(person, sealed))


def sql(*statements: str) -> Change:
    """Change the database by statements, each of which must change something."""

    def change(folder: LiveFolder) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                assert cursor.rowcount > 0, statement

    return change


def both(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def links() -> list[Link]:
    from peerfront.web.live.records import models
    from peerfront.web.live.records.database import link_of

    return [link_of(each) for each in models.Event.objects.order_by("number")]


def empty_tables(*, people_too: bool = False) -> None:
    """Delete what follows from the events, and the events; `people_too` contact details and users."""
    from django.contrib.auth.models import User
    from django.db import connection

    from peerfront.web.live.records import models

    tables = [*models.FOLLOWING.values(), models.Event]
    if people_too:
        tables += [models.Contact, models.Member, User]
    with connection.cursor() as cursor:
        for model in tables:
            cursor.execute(f"DELETE FROM {model._meta.db_table}")


def rehashed(change: Callable[[list[dict[str, Any]]], object], signed: str = "kept") -> Change:
    """Change the content of events, hash the chain again, and write all tables anew as they follow from it.

    Signatures are `kept` as they were, `blank`, made with the key of somebody else (`forged`), or with the `own` key.
    """

    def write(folder: LiveFolder) -> None:
        from peerfront.web.live.operations.backups import load
        from peerfront.web.live.records import models
        from peerfront.web.live.records.recording import signature

        before = list(models.Event.objects.order_by("number").values_list("signature", flat=True))
        contents = [link.data for link in links()]
        change(contents)
        chain, last = [], FIRST
        for number, data in enumerate(contents, start=1):
            bare = Link(number, last, data, "")
            chain.append(Link(number, last, data, bare.content_hash))
            last = chain[-1].hash
        empty_tables()
        load(chain)
        if signed == "own":
            return
        stranger = Keys.drawn()
        for link, kept in zip(chain, [*before, *[""] * len(chain)], strict=False):
            text = {"kept": kept, "blank": "", "forged": signature(link.number, link.hash, stranger)}[signed]
            models.Event.objects.filter(pk=link.number).update(signature=text)

    return write


def fact_of(contents: list[dict[str, Any]], kind: str) -> Any:
    return next(each["fact"] for each in contents if each["kind"] == kind)


def pay_more(contents: list[dict[str, Any]]) -> None:
    fact_of(contents, "payment_made")["amount"] = 9_000


def first_settings(contents: list[dict[str, Any]]) -> None:
    fact_of(contents, "study_begun")["settings"]["interview_payment"] = 9_000


def unbound(contents: list[dict[str, Any]]) -> None:
    del fact_of(contents, "study_begun")["keys"]


def without(number: int) -> Callable[[list[dict[str, Any]]], object]:
    """Leave out the newest events; more may follow from them, so few can be."""
    return lambda contents: contents.__delitem__(slice(-number, None))


def appended(contents: list[dict[str, Any]]) -> None:
    """A manager added with the event that says so."""
    noted = next(each for each in contents if ["done", "added"] in each["fact"].get("details", []))
    copy = json.loads(json.dumps(noted)) | {"part": 1}
    copy["stamp"] |= {"request_key": "forged", "server_time": contents[-1]["stamp"]["server_time"]}
    copy["fact"]["subject"] = "mallory"
    contents.append(copy)


def edited(kind: str, part: str, name: str, value: Any) -> Change:
    """Change the text of an event, and nothing else."""

    def write(folder: LiveFolder) -> None:
        from peerfront.web.live.records import models

        event = models.Event.objects.filter(kind=kind).first()
        data = json.loads(event.data)
        assert data[part][name] != value
        data[part][name] = value
        models.Event.objects.filter(pk=event.pk).update(data=json.dumps(data))

    return write


def other_study(folder: LiveFolder) -> None:
    """Put the database of another study in place of this one."""
    from django.test import override_settings

    other = LiveFolder(Path(tempfile.mkdtemp(dir=folder.path.parent)) / "other")
    other.create(folder.serving)
    empty_tables(people_too=True)
    keys = other.keys
    with override_settings(KEYS=keys, CONTACT_KEY=keys.contact_key, SECRET_KEY=keys.secret_key):
        play(other)


def keys_changed(*names: str) -> Change:
    """Put other keys into keys.json."""

    def write(folder: LiveFolder) -> None:
        drawn, keys = Keys.drawn(), vars(folder.keys)
        folder.write_keys(Keys(**keys | {name: getattr(drawn, name) for name in names}))

    return write


def backup_edited(folder: LiveFolder) -> None:
    """Make an interviewer a manager in a back-up, and write its manifest anew."""
    (path,) = folder.backups.iterdir()
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content["staff.jsonl"] = content["staff.jsonl"].replace(b"interviewer", b"manager")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def backup_of_other(folder: LiveFolder) -> None:
    """Leave a back-up among the others that a stranger's keys have signed."""
    from peerfront.web.live.operations.backups import write_backup

    other = LiveFolder(Path(tempfile.mkdtemp(dir=folder.path.parent)) / "other")
    other.create(folder.serving)
    write_backup(other, folder.backups / "backup-20260101T000000Z.zip")


def head_edited(folder: LiveFolder) -> None:
    folder.heads.write_text(folder.heads.read_text().replace('"number": ', '"number": 1'))


def heads_removed(folder: LiveFolder) -> None:
    folder.heads.unlink()


def no_traces(folder: LiveFolder) -> None:
    """Remove signed heads and back-ups, and leave one new head, as the server does after ten minutes."""
    from peerfront.web.live.operations.signed_heads import keep_head

    shutil.rmtree(folder.backups)
    folder.backups.mkdir()
    folder.heads.unlink()
    keep_head(folder)


_EVENT = "(SELECT number FROM records_event WHERE kind = 'coupon_voided')"
_USER = "(SELECT id FROM auth_user WHERE username = '{}')"
_MANAGER = (
    "INSERT INTO auth_user (username, password, is_superuser, is_staff, is_active, first_name, last_name, email, "
    "date_joined) SELECT 'mallory', password, is_superuser, is_staff, is_active, '', '', '', date_joined FROM "
    "auth_user WHERE username = 'boss'",
    f"INSERT INTO records_member (user_id, roles, password_seal) SELECT {_USER.format('mallory')}, roles, "
    f"password_seal FROM records_member WHERE user_id = {_USER.format('boss')}",
)
_SWAPPED = (
    "UPDATE records_contact SET sealed = (SELECT sealed FROM records_contact AS other WHERE other.person_id <> "
    "records_contact.person_id)"
)


def swap_contacts(folder: LiveFolder) -> None:
    from peerfront.web.live.records.models import Contact

    ana, ben = (bytes(Contact.objects.get(person_id=person).sealed) for person in ("ana", "ben"))
    Contact.objects.filter(person_id="ana").update(sealed=ben)
    Contact.objects.filter(person_id="ben").update(sealed=ana)


def write_contact_silently(folder: LiveFolder) -> None:
    """Write details that the study's own key encrypted, as a thief of the key would."""
    from peerfront.web.live.records import contacts

    contacts.keep_contact("ana", contacts.sealed_contact("ana", {"name": "somebody else"}))


def change_payment(folder: LiveFolder) -> None:
    from peerfront.web.live.records.models import Study

    study = Study.objects.get()
    study.settings["interview_payment"] = 9_000
    study.save()


def member(change: str, user: str = "ida") -> str:
    return f"UPDATE records_member SET {change} WHERE user_id = {_USER.format(user)}"


def users(change: str, user: str = "ida") -> str:
    return f"UPDATE auth_user SET {change} WHERE username = '{user}'"


def password_of(user: str, column: str = "password") -> str:
    return f"(SELECT {column} FROM auth_user AS other WHERE username = '{user}')"


EDITS: dict[str, Change] = {
    # Rows that follow from events
    "coupon: valid for longer": sql("UPDATE records_coupon SET last_day = '2030-01-01' WHERE holder_id = 'ben'"),
    "coupon: of another holder": sql("UPDATE records_coupon SET holder_id = 'ana' WHERE holder_id = 'ben'"),
    "coupon: no longer void": sql("UPDATE records_coupon SET voided_at = NULL WHERE voided_at IS NOT NULL"),
    "coupon: added": sql(
        "INSERT INTO records_coupon (code, holder_id, site_id, issued_at, first_day, last_day, why_void, imported) "
        "SELECT 'FORGED0000', holder_id, site_id, issued_at, first_day, last_day, '', imported FROM records_coupon "
        "WHERE code = (SELECT min(code) FROM records_coupon)"
    ),
    "coupon: deleted": sql("DELETE FROM records_coupon WHERE holder_id = 'ben'"),
    "redemption: by another person": sql("UPDATE records_redemption SET site_id = 'south' WHERE person_id = 'dora'"),
    "redemption: deleted": sql("DELETE FROM records_redemption WHERE person_id = 'dora'"),
    "payment: amount": sql("UPDATE records_payment SET amount = 9000"),
    "payment: to another person": sql("UPDATE records_payment SET person_id = 'ben' WHERE person_id = 'dora'"),
    "payment: deleted, to be paid again": sql("DELETE FROM records_payment WHERE kind = 'interview'"),
    "decision: coupons": sql("UPDATE records_decision SET coupons = 0 WHERE person_id = 'ana'"),
    "decision: chance": sql("UPDATE records_decision SET probability = 0.9 WHERE person_id = 'ana'"),
    "decision: deleted, to be given again": sql("DELETE FROM records_decision WHERE person_id = 'ana'"),
    "person: recruiter": sql("UPDATE records_person SET recruiter_id = 'ben' WHERE person = 'dora'"),
    "person: network size": sql("UPDATE records_person SET network_size = 99 WHERE person = 'ana'"),
    "person: site": sql("UPDATE records_person SET site_id = 'south' WHERE person = 'ana'"),
    "person: withdrawal undone": sql("UPDATE records_person SET withdrawn_at = NULL WHERE person = 'dora'"),
    "person: deleted": sql("DELETE FROM records_person WHERE person = 'dora'"),
    "answers: changed": sql("UPDATE records_person SET answers = '[[\"age\", \"99\"]]' WHERE person = 'ana'"),
    "plan: status": sql("UPDATE records_plan SET status = 'stopped'"),
    "plan: chance of a line": sql("UPDATE records_planline SET probability = 1 WHERE person_id = 'ben'"),
    "plan: line deleted": sql("DELETE FROM records_planline WHERE person_id = 'ben'"),
    "override: coupons": sql("UPDATE records_override SET coupons = 5"),
    "refusal: deleted": sql("DELETE FROM records_refusal"),
    "settings: payment": change_payment,
    "study: coupons left": sql("UPDATE records_study SET kept = 5000"),
    "study: prefix of its codes": sql("UPDATE records_study SET prefix = 'ZZ'"),
    "site: renamed": sql("UPDATE records_site SET name = 'Elsewhere' WHERE site = 'south'"),
    "site: added": sql("INSERT INTO records_site (site, name) VALUES ('west', 'West')"),
    # Events
    "event: text": edited("coupon_voided", "fact", "why", "found"),
    "event: answers": edited("answers_recorded", "fact", "answers", [["age", "99"]]),
    "event: actor": edited("coupon_voided", "stamp", "actor", "somebody"),
    "event: time": edited("coupon_voided", "stamp", "server_time", "2026-01-01T00:00:00.000000+00:00"),
    "event: site": edited("seed_added", "stamp", "site", "south"),
    "event: actor, only where the audit searches": sql(f"UPDATE records_event SET actor = 'x' WHERE number = {_EVENT}"),
    "event: deleted": sql(f"DELETE FROM records_event WHERE number = {_EVENT}"),
    "event: order of two swapped": sql(
        "UPDATE records_event SET number = -5 WHERE number = 5", "UPDATE records_event SET number = 5 WHERE number = 6",
        "UPDATE records_event SET number = 6 WHERE number = -5",
    ),
    "event: signature removed": sql(f"UPDATE records_event SET signature = '' WHERE number = {_EVENT}"),
    "event: manager added, with an event well hashed": both(rehashed(appended), sql(*_MANAGER)),
    "chain: hashed again from a payment on": rehashed(pay_more),
    "chain: hashed again, no signatures": rehashed(pay_more, "blank"),
    "chain: hashed again, signed by a stranger": rehashed(pay_more, "forged"),
    "chain: hashed again from the first event on": rehashed(first_settings),
    "chain: hashed again as if of 0.3": rehashed(unbound, "blank"),
    "chain: an older copy of the database": rehashed(without(3)),
    # Users
    "user: role raised": sql(member("roles = 'manager', site_id = NULL")),
    "user: one more role": sql(member("roles = 'interviewer, analyst'")),
    "user: for all sites": sql(member("site_id = NULL")),
    "user: manager added": sql(*_MANAGER),
    "user: let in again": sql(users("is_active = true", "cash")),
    "user: stopped": sql(users("is_active = false", "boss")),
    "user: renamed": sql(users("username = 'eve'")),
    "user: deleted": sql(f"DELETE FROM records_member WHERE user_id = {_USER.format('ida')}",
                         "DELETE FROM auth_user WHERE username = 'ida'"),
    "user: password hash of a known password": sql(users("password = 'md5$a$b'", "boss")),
    "user: password hash of another user": sql(users(f"password = {password_of('ida')}", "boss")),
    "user: password hash and seal of another user": sql(
        users(f"password = {password_of('ida')}", "boss"),
        member(f"password_seal = (SELECT password_seal FROM records_member AS other WHERE user_id = "
               f"{_USER.format('ida')})", "boss"),
    ),
    # Contact details
    "contact: of another person": sql(_SWAPPED),
    "contact: two swapped": swap_contacts,
    "contact: deleted": sql("DELETE FROM records_contact WHERE person_id = 'ben'"),
    "contact: added": sql("INSERT INTO records_contact (person_id, sealed, written_at) SELECT 'dora', sealed, "
                          "written_at FROM records_contact WHERE person_id = 'ana'"),
    "contact: changed with the key": write_contact_silently,
    # Files
    "keys.json: of another study": keys_changed("secret_key", "contact_key"),
    "keys.json: another secret key": keys_changed("secret_key"),
    "keys.json: another contact key": keys_changed("contact_key"),
    "database: of another study": other_study,
    "back-up: a role in it": backup_edited,
    "back-up: of another study among them": backup_of_other,
    "heads.jsonl: a line changed": head_edited,
    "heads.jsonl: removed": heads_removed,
}  # fmt: skip
ONLY_PAPER: dict[str, Change] = {
    "newest event removed, after the last signed head": rehashed(without(1)),
    "an older copy, and no heads and back-ups since": both(rehashed(without(3)), no_traces),
    "everything written again with the study's keys": both(rehashed(pay_more, "own"), no_traces),
}
"""What `verify` cannot find: somebody was quick, or has the folder and the keys; a hash on paper shows it."""


@contextmanager
def undone(folder: LiveFolder) -> Iterator[LiveFolder]:
    """A copy of the folder, and the same database, which is afterwards as it was before."""
    from django.db import transaction

    with tempfile.TemporaryDirectory() as top, transaction.atomic():
        yield LiveFolder(Path(shutil.copytree(folder.path, Path(top) / "study")))
        transaction.set_rollback(True)


def found_by_verify(folder: LiveFolder, change: Change) -> list[Any]:
    """Make an edit, and give what `verify` finds (its codes are in `.code`)."""
    from django.test import override_settings

    from peerfront.foundation.messages import note
    from peerfront.web.live.operations.verification import verify

    with undone(folder) as copy:
        change(copy)
        keys = copy.keys  # a process that begins now reads these
        with override_settings(KEYS=keys, CONTACT_KEY=keys.contact_key, SECRET_KEY=keys.secret_key):
            verified = verify(copy)
        return [*verified.faults, *([] if verified.bound else [note("live_records.not_bound")])]


def main() -> None:
    from live_site import begin  # beside this script

    database = sys.argv[1] if len(sys.argv) > 1 else "sqlite"
    with tempfile.TemporaryDirectory() as top:
        begin(Path(top), database)
        folder = LiveFolder(Path(top) / "study")
        play(folder)
        assert not found_by_verify(folder, lambda _: None)
        missed = []
        for name, change in (EDITS | ONLY_PAPER).items():
            found = found_by_verify(folder, change)
            print(f"{name:<55} {found[0] if found else 'NOT FOUND'}", flush=True)
            missed += [] if found else [name]
        assert not found_by_verify(folder, lambda _: None), "every edit was undone"
    by_design = [name for name in missed if name in ONLY_PAPER]
    print(f"{database}: {len(EDITS)} edits, {len(EDITS) - len(missed) + len(by_design)} found; "
          f"{len(ONLY_PAPER)} that only paper can show, {len(ONLY_PAPER) - len(by_design)} found")  # fmt: skip
    print("missed:", "; ".join(missed) or "none")


if __name__ == "__main__":
    main()

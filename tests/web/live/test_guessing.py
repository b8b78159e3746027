"""Guesses of passwords and codes are slowed down: by address, by name, by user; and few hashes run at once."""

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial

import pytest
from at_once import at_once
from axes.models import AccessAttempt
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client, RequestFactory, override_settings
from field_study import FieldStudy, form_with, words_of
from live_client import PASSWORD, LiveStudy

from peerfront.web.live.operations import tries
from peerfront.web.live.operations.serving import Server, listen
from peerfront.web.live.operations.staff import new_link
from peerfront.web.live.operations.tries import HASHES_AT_ONCE, HASHES_WAITING, About, Limit, TooMany, in_turn
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.screens.staff_requests import StaffBackend

SMALL = ["peerfront.web.live.operations.tries.SmallArgon2"]
WRONG = "a password that is wrong"


def _log_in(client: Client, name: str, password: str, address: str = "192.0.2.7"):
    return client.post("/login/", {"username": name, "password": password}, REMOTE_ADDR=address)


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> list[float]:
    """The clock of the limits, which stands still unless a test moves it."""
    now = [1000.0]
    monkeypatch.setattr(tries, "monotonic", lambda: now[0])
    return now


@pytest.mark.usefixtures("one_database")
def test_invented_names_from_one_address_are_refused_without_a_hash_or_a_row() -> None:
    name = LiveStudy().user(Role.INTERVIEWER, "north").username
    own = Client()
    assert _log_in(own, name, PASSWORD).status_code == 302
    del own.cookies["peerfront_session"]
    said = [_log_in(Client(), f"invented{n}", WRONG) for n in range(30)]
    assert [each.status_code for each in said] == [200] * 20 + [429] * 10
    assert said[-1]["Retry-After"] == "30"
    assert "Wait" in words_of(said[-1])
    assert AccessAttempt.objects.count() == 20, "what is refused is not written down"
    assert _log_in(Client(), name, PASSWORD).status_code == 429, "the address is refused, whatever the name"
    assert _log_in(Client(), name, PASSWORD, "192.0.2.8").status_code == 302, "others are not"
    assert _log_in(own, name, PASSWORD).status_code == 302, "nor a browser in which this user logged in before"


@pytest.mark.usefixtures("one_database")
def test_a_name_guessed_from_many_addresses_is_refused_but_in_its_own_browser() -> None:
    name = LiveStudy().user(Role.INTERVIEWER, "north").username
    own = Client()
    assert _log_in(own, name, PASSWORD).status_code == 302
    del own.cookies["peerfront_session"]
    said = [_log_in(Client(), name, WRONG, f"198.51.100.{n}").status_code for n in range(12)]
    assert said == [200] * 10 + [429] * 2
    assert _log_in(own, name, PASSWORD).status_code == 302
    del own.cookies["peerfront_session"]
    guessed = [_log_in(own, name, WRONG).status_code for _ in range(6)]
    assert guessed == [200] * 5 + [429], "there it is limited, too"


@pytest.mark.usefixtures("one_database")
def test_names_and_addresses_that_are_all_different_are_limited_together() -> None:
    study = LiveStudy()
    name = study.user(Role.INTERVIEWER, "north").username
    link = new_link(study.user(Role.CASHIER, "north"), "http://testserver").address
    own, new = Client(), Client()
    assert _log_in(own, name, PASSWORD).status_code == 302
    del own.cookies["peerfront_session"]
    said = [_log_in(Client(), f"invented{n}", WRONG, f"198.51.100.{n}").status_code for n in range(45)]
    assert said == [200] * 40 + [429] * 5
    assert _log_in(own, name, PASSWORD).status_code == 302
    words = "four or five words together"
    assert new.post(link, {"new_password1": words, "new_password2": words})["Location"] == "/"
    del new.cookies["peerfront_session"]
    assert _log_in(new, "cashier-north", words).status_code == 302, "the browser of a one-time link is known"


@pytest.mark.usefixtures("one_database")
def test_what_was_typed_is_not_lost_by_waiting() -> None:
    study = FieldStudy()
    user, tablet = study.user(Role.INTERVIEWER, "north"), Client()
    for _ in range(25):
        tries.OF_ADDRESS.count("192.0.2.7")
    asked = tablet.post("/arrive/", {"typed": "K7", "key": "k"})
    form = form_with(asked, "carried")
    sent = form.fields | {"username": user.username, "password": PASSWORD}
    waits = tablet.post(form.action, sent, REMOTE_ADDR="192.0.2.7")
    assert waits.status_code == 429
    assert PASSWORD not in waits.content.decode()
    again = form_with(waits, "carried")
    tries.OF_ADDRESS._full_at.clear()
    done = tablet.post(again.action, again.fields | {"username": user.username, "password": PASSWORD})
    assert form_with(done, "typed")["typed"] == "K7"


def test_a_limit_lets_one_more_try_through_from_time_to_time(clock) -> None:
    limit = Limit(About.CODES, 3, every=10)
    for _ in range(3):
        limit.check("a")
        limit.count("a")
    with pytest.raises(TooMany) as many:
        limit.check("a")
    assert (many.value.seconds, many.value.status) == (10, 429)
    limit.check("b")
    clock[0] += 10.1
    limit.check("a")
    limit.count("a")
    with pytest.raises(TooMany):
        limit.check("a")
    limit.count("a", -1)
    limit.check("a")
    for n in range(2 * tries.MOST_KEYS):
        limit.count(f"key{n}")
    assert len(limit._full_at) == tries.MOST_KEYS


# Where a browser is --------------------------------------------------------------------------------------------------


@contextmanager
def _serving(proxy: str | None):
    """A server that answers with the address from which it believes that a request comes."""

    def application(environ, start_response):
        said = tries.address_of(WSGIRequest(environ)).encode()
        start_response("200 OK", [("Content-Length", str(len(said)))])
        return [said]

    server = Server(application, listen("127.0.0.1", 0), proxy=proxy)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join(30)


@pytest.mark.parametrize(
    ("proxy", "forwarded", "address"),
    [
        ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "10.9.9.9, 203.0.113.9", "203.0.113.9"),  # the first was sent by the browser itself
        ("127.0.0.1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("192.0.2.1", "203.0.113.9", "127.0.0.1"),  # from somebody who is not the proxy
        (None, "203.0.113.9", "127.0.0.1"),
    ],
)
def test_the_address_behind_a_proxy_is_the_browsers_and_nobody_else_can_choose_it(proxy, forwarded, address) -> None:
    with _serving(proxy) as port, closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as asked:
        asked.request("GET", "/", headers={"X-Forwarded-For": forwarded, "X-Real-IP": "1.2.3.4"})
        assert asked.getresponse().read().decode() == address


# Hashes --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_database")
def test_hashes_of_earlier_versions_still_work_and_are_written_anew() -> None:
    user = LiveStudy().user(Role.INTERVIEWER, "north")
    with override_settings(PASSWORD_HASHERS=SMALL):
        user.password = Argon2PasswordHasher().encode(PASSWORD, "saltsaltsaltsaltsaltsa")
        user.save()
        assert "m=102400,t=2,p=8" in user.password
        assert _log_in(Client(), user.username, WRONG).status_code == 200
        assert _log_in(Client(), user.username, PASSWORD).status_code == 302
        user.refresh_from_db()
        assert "m=19456,t=2,p=1" in user.password
        assert _log_in(Client(), user.username, PASSWORD).status_code == 302


def test_an_old_hash_is_written_anew_once_by_logins_of_one_moment(database) -> None:
    user = LiveStudy().user(Role.INTERVIEWER, "north")
    with override_settings(PASSWORD_HASHERS=SMALL):
        for salt in ("saltsaltsaltsalt", "tlastlastlastlas", "salttlassalttlas"):
            user.password = Argon2PasswordHasher().encode(PASSWORD, salt)
            user.save()
            logins = [partial(StaffBackend().authenticate, None, user.username, PASSWORD)] * 3
            assert at_once(*logins) == [user] * 3
            user.refresh_from_db()
            assert "m=19456,t=2,p=1" in user.password
            assert user.member.password_seal == models.password_seal(user), "verify would tell of a stranger"


@pytest.mark.usefixtures("one_database")
def test_an_invented_name_costs_as_much_as_a_users(monkeypatch) -> None:
    """With hashes of two kinds in the database: one hash for any name, of the same kinds."""
    study = LiveStudy()
    before, now = Argon2PasswordHasher(), tries.SmallArgon2()
    monkeypatch.setattr(before, "memory_cost", 1024)
    monkeypatch.setattr(tries.SmallArgon2, "memory_cost", 512)
    for n, hasher in enumerate((before, now)):
        user = study.user(Role.INTERVIEWER, "north", f"user{n}")
        User.objects.filter(pk=user.pk).update(password=hasher.encode(PASSWORD, hasher.salt()))
    costs: list[str] = []
    real = Argon2PasswordHasher.verify

    def noted(hasher, password, encoded):
        costs.append(encoded.split("$")[3])
        return real(hasher, password, encoded)

    monkeypatch.setattr(Argon2PasswordHasher, "verify", noted)
    request, backend = RequestFactory().post("/login/"), StaffBackend()
    with override_settings(PASSWORD_HASHERS=SMALL):
        of_users = [backend.authenticate(request, f"user{n}", WRONG) for n in range(2)]
        seen, costs[:] = set(costs), []
        of_others = [backend.authenticate(request, f"invented{n}", WRONG) for n in range(20)]
        assert backend.authenticate(request, "invented", PASSWORD) is None, "their password opens nothing"
    assert {*of_users, *of_others} == {None}
    assert len(costs) == 21
    assert set(costs) == seen == {"m=1024,t=2,p=8", "m=512,t=2,p=1"}


@pytest.mark.usefixtures("one_database")
def test_two_hashes_at_once_a_few_wait_and_the_others_are_told_to() -> None:
    name = LiveStudy().user(Role.INTERVIEWER, "north").username
    under_way, most, lock, may_end = [0], [0], threading.Lock(), threading.Event()

    def hashing() -> None:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        may_end.wait(30)
        with lock:
            under_way[0] -= 1

    places = HASHES_AT_ONCE + HASHES_WAITING
    with ThreadPoolExecutor(places) as threads, override_settings(PASSWORD_HASHERS=SMALL):
        all_done = [threads.submit(in_turn, hashing) for _ in range(places)]
        while tries._places._value or under_way[0] < HASHES_AT_ONCE:  # threads start when the machine lets them
            may_end.wait(0.01)
        said = _log_in(Client(), name, PASSWORD)
        assert (said.status_code, said["Retry-After"]) == (503, "5")
        assert "Your password was not looked at" in words_of(said)
        may_end.set()
        assert [each.exception() for each in all_done] == [None] * places
        assert most == [HASHES_AT_ONCE]
        user = User.objects.get(username=name)
        user.set_password(PASSWORD)
        user.save()
        assert _log_in(Client(), name, PASSWORD).status_code == 302


@pytest.mark.usefixtures("one_database")
def test_guesses_of_the_present_password_are_limited() -> None:
    study = LiveStudy()
    client = study.client(Role.CASHIER)
    new = {"new_password1": "a b c d e f g h i j", "new_password2": "a b c d e f g h i j"}
    bad = {"new_password1": "short", "new_password2": "short", "old_password": PASSWORD}
    assert {client.post("/password/", bad).status_code for _ in range(8)} == {200}, "the present one was right"
    said = [client.post("/password/", new | {"old_password": f"guess {n}"}).status_code for n in range(7)]
    assert said == [200] * 5 + [429] * 2
    waits = client.post("/password/", new | {"old_password": PASSWORD})
    assert (waits.status_code, waits["Retry-After"]) == (429, "180")
    assert "present password was wrong" in words_of(waits)
    assert PASSWORD not in waits.content.decode()
    assert client.get("/pay/").status_code == 200, "nothing else is closed"


# Codes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize(
    ("role", "path", "page"),
    [
        (Role.INTERVIEWER, "/arrive/", "arrive"),
        (Role.INTERVIEWER, "/enrol/?code={code}", "enrol"),
        (Role.CASHIER, "/pay/", "pay"),
    ],
)
def test_unknown_codes_are_slowed_down_after_twenty(role, path, page) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    prefix = study.state.study().prefix
    client, other = study.client(role, "north"), study.client((role, Role.ANALYST), "north")

    def show(client: Client, code: str):
        where = path.format(code=code)
        return client.get(where) if page == "enrol" else client.post(where, {"typed": code, "key": f"k-{code}"})

    for _ in range(19):
        assert show(client, new_code(prefix)).status_code == 200
    assert show(client, code).status_code in (200, 302), "a right code is no guess"
    assert show(client, new_code(prefix)).status_code == 200
    waits = show(client, new_code(prefix))
    assert waits.status_code == 429
    assert waits["Retry-After"] == "10"
    assert "Many codes were not those of a coupon" in words_of(waits)
    assert show(client, code).status_code == 429, "who guesses does not learn which code is right"
    assert show(other, code).status_code in (200, 302), "others go on"
    assert client.get("/").status_code == 200
    if page != "enrol":
        kept = form_with(waits, "typed")
        tries.OF_CODES._full_at.clear()
        assert client.post(kept.action, kept.fields).status_code == 200

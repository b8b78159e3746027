"""A study that began in a spreadsheet goes on: what is imported, what is refused, and the same file once more."""

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_live import ANSWERS, MONDAY, SETTINGS, SmallStudy, imported, imported_coupon, importing

from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import new_code, read_code, shown_code
from peerfront.web.live.rules.deciding import Accepted, Journal
from peerfront.web.live.rules.events import ActionNoted, PaymentKind, PersonImported
from peerfront.web.live.rules.records import CouponRow, PersonRow, RedemptionRow
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import (
    CorrectAnswers,
    EnrolPerson,
    ExtendCoupon,
    ImportPeople,
    IssueCoupons,
    Pay,
    PlanForOne,
    ScanCoupon,
    VoidCoupon,
    WithdrawPerson,
)

A, B, C, D = (new_code("K7", lambda characters, at=at: characters[at]) for at in range(4))


@pytest.fixture
def study() -> SmallStudy:
    return SmallStudy()


def _names(answer: Accepted) -> list[str]:
    return [event.fact.person for event in answer.events if isinstance(event.fact, PersonImported)]


def test_people_come_after_their_recruiters_whatever_the_order_of_the_file(study) -> None:
    people = [imported("d", "c", C), imported("c", "b", B, C), imported("b", "a", A, B), imported("a", None, "", A)]
    answer = study.do(importing(*people))
    assert _names(answer) == ["a", "b", "c", "d"]
    assert [event.part for event in answer.events] == [1, 2, 3, 4, 5]
    assert answer.events[0].fact == ActionNoted(
        Action.IMPORT_STUDY, "study.xlsx", (("imported", "4"), ("there_before", "0"))
    )
    assert {row.person: row.recruiter for row in study.state.table(PersonRow).values()} == {
        "a": None, "b": "a", "c": "b", "d": "c",
    }  # fmt: skip
    assert Journal(study.journal.links).state == study.state


def test_rows_hold_what_the_file_said(study) -> None:
    came = datetime(2026, 2, 20, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    coupons = (imported_coupon(B, void=True), imported_coupon(A))
    study.do(importing(replace(imported("a", enrolled_at=came), coupons=coupons, site="south", answers=ANSWERS[::-1])))
    row = study.state.person("a")
    assert (row.site, row.recruiter, row.enrolled_at, row.network_size) == ("south", None, came, 7)
    assert (row.answers, row.coupons, row.withdrawn_at) == (ANSWERS, 2, None)
    assert row.last_issued_at == coupons[0].issued_at
    first, second = study.state.coupons_of("a")
    assert {first.code, second.code} == {A, B}
    assert all(each.imported and each.site == "south" and each.holder == "a" for each in (first, second))
    assert [study.state.coupon(code).voided_at for code in (A, B)] == [None, study.now]
    own = study.state.coupon(row.code)
    assert (own.holder, own.imported) == (None, True), "a code of the study's own, used at once"
    assert own.first_day == came.astimezone(UTC).date()
    assert study.state.redemption(row.code) == RedemptionRow(row.code, "a", came, "south")


def test_imported_coupons_are_not_of_the_budget_and_count_towards_the_cap(study) -> None:
    study.do(importing(imported("a", None, "", A, B), imported("b", None, "", C), imported("c", "b", C)))
    assert study.state.study().kept == SETTINGS.budget
    study.approve(a=1, b=2)
    assert len(study.issue("a")) == 1
    assert study.state.person("a").coupons == 3 == SETTINGS.cap
    assert study.state.study().kept == SETTINGS.budget - 1


def test_somebody_with_more_coupons_than_the_cap_is_imported_and_gets_none(study) -> None:
    study.do(importing(imported("a", None, "", A, B, C, D), imported("b")))
    assert study.state.person("a").coupons == 4 > SETTINGS.cap
    study.approve(a=0, b=1)
    assert study.issue("a") == ()
    study.plan(a=0)
    for_one = PlanForOne("model-1", 1, 1, "", 1.0, "")
    study.approve(b=0)
    assert study.ask(IssueCoupons("a", plan_for_one=for_one)).reason is Reason.OVER_CAP


def test_a_file_that_knows_only_recruiters_gets_codes_of_the_studys_own(study) -> None:
    study.do(importing(imported("a"), imported("b", "a"), imported("c", "a")))
    codes = [study.state.person(name).code for name in "bc"]
    assert sorted(codes) == [each.code for each in study.state.coupons_of("a")]
    assert study.state.person("a").coupons == 2
    assert all(study.state.coupon(code).imported for code in codes)
    assert study.state.study().kept == SETTINGS.budget
    study.do(Pay(codes[0], PaymentKind.RECRUITING))
    assert study.ask(VoidCoupon(codes[0], "x")).reason is Reason.USED


def test_open_coupons_are_used_here_and_both_are_paid(study) -> None:
    study.do(importing(imported("a", None, "", A, B), imported("b", "a", B)))
    study.enrol("c", A, site="south")
    assert study.state.person("c").recruiter == "a"
    for kind in PaymentKind:
        study.do(Pay(A, kind))
    study.do(importing(imported("d", "c")))


def test_what_was_paid_before_is_not_paid_again(study) -> None:
    people = imported("a", None, "", A), imported("b", "a", A, paid=(PaymentKind.INTERVIEW,))
    study.do(importing(*people))
    assert study.ask(Pay(A, PaymentKind.INTERVIEW)).reason is Reason.PAID
    study.do(Pay(A, PaymentKind.RECRUITING))
    study.do(importing(*people))


def test_coupons_handed_out_here_can_be_used_by_people_of_a_later_file(study) -> None:
    study.seed("ana")
    study.approve(ana=2)
    used, void = study.issue("ana")
    study.do(VoidCoupon(void, "lost"))
    study.days(2)
    assert study.ask(importing(imported("b", "ana", void))).reason is Reason.IMPORT_CODE
    study.do(importing(imported("b", "ana", used)))
    assert study.ask(importing(imported("c", "ana", used))).reason is Reason.IMPORT_COUPON_TWICE


def test_the_same_file_can_be_imported_again_whatever_happened_since(study) -> None:
    people = [imported("a", None, "", A, B), imported("b", "a", A), imported("c", "a")]
    study.do(importing(*people))
    study.do(CorrectAnswers("b", 3, (), "typing error"))
    study.do(VoidCoupon(B, "lost"))
    study.do(WithdrawPerson("c", True, "asked to"))
    n_people = len(study.state.table(PersonRow))
    (event,) = study.do(importing(*people)).events
    assert event.fact.details == (("imported", "0"), ("there_before", "3"))
    answer = study.do(importing(imported("d", "b"), *reversed(people)))
    assert _names(answer) == ["d"]
    assert len(study.state.table(PersonRow)) == n_people + 1


def test_people_of_the_study_who_are_alike_in_the_file_are_passed_over(study) -> None:
    """Such as those of an export."""
    study.seed("ana")
    row = study.state.person("ana")
    same = replace(imported("ana", None, row.code), enrolled_at=row.enrolled_at, network_size=10, answers=row.answers)
    assert _names(study.do(importing(same))) == []
    assert _names(study.do(importing(replace(same, code="")))) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"site": "south"}, "site"),
        ({"recruiter": "a"}, "recruiter"),
        ({"code": B}, "code"),
        ({"enrolled_at": MONDAY}, "enrolment_time"),
        ({"network_size": None}, "network_size"),
        ({"answers": None}, "answers"),
        ({"coupons": ()}, "coupons"),
        ({"coupons": (imported_coupon(C, void=True),)}, "coupons"),
        ({"paid": (PaymentKind.INTERVIEW,)}, "payments"),
    ],
)
def test_somebody_who_is_there_with_other_content_is_a_conflict(study, change, name) -> None:
    person = imported("b", None, A, C)
    study.do(importing(imported("a"), person))
    before = study.state.copy()
    answer = study.ask(importing(replace(person, **change)))
    assert (answer.reason, dict(answer.refusal.arguments)) == (Reason.IMPORT_CONFLICT, {"person": "b", "name": name})
    assert study.state.table(CouponRow) == before.table(CouponRow)
    assert study.state.table(PersonRow) == before.table(PersonRow)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"person": "Maria Lopez"}, "person"),
        ({"site": "the north"}, "site"),
        ({"recruiter": "Maria Lopez"}, "recruiter"),
        ({"enrolled_at": MONDAY + timedelta(days=1)}, "enrolment_time"),
        ({"enrolled_at": datetime.max.replace(tzinfo=UTC)}, "enrolment_time"),
        ({"enrolled_at": datetime.min.replace(tzinfo=UTC)}, "enrolment_time"),
        ({"enrolled_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))}, "enrolment_time"),
        ({"network_size": -1}, "network_size"),
        ({"answers": (("age", "1"), ("age", "2"))}, "answers"),
        ({"answers": (("age", "x" * 1001),)}, "answers"),
        ({"answers": (("age", "3\0"),)}, "answers"),
        ({"answers": (("age\ud800", "3"),)}, "answers"),
        ({"code": "x" * 41}, "code"),
        ({"paid": (PaymentKind.RECRUITING,)}, "payments"),
        ({"coupons": (imported_coupon(" "),)}, "coupon_code"),
        ({"coupons": (imported_coupon("\ud800"),)}, "coupon_code"),
        ({"coupons": (replace(imported_coupon(A), issued_at=MONDAY + timedelta(days=1)),)}, "issue_time"),
        ({"coupons": (replace(imported_coupon(A), last_day=date(2026, 1, 1)),)}, "first_day"),
        ({"coupons": (replace(imported_coupon(A), last_day=date.max),)}, "last_day"),
        ({"coupons": tuple(imported_coupon(str(number)) for number in range(1001))}, "coupons"),
    ],
)
def test_entries_that_cannot_be_used_are_told_by_number_and_not_by_what_they_hold(study, change, name) -> None:
    answer = study.ask(importing(imported("a"), replace(imported("b"), **change)))
    assert (answer.reason, dict(answer.refusal.arguments)) == (Reason.IMPORT_ENTRY, {"entry": "2", "name": name})
    assert "Maria" not in str(study.journal.links[-1].data)


@pytest.mark.parametrize(
    ("people", "reason"),
    [
        ([imported("a", None, "", A, A)], Reason.IMPORT_COUPON_TWICE),
        ([imported("a", None, "", A, A.lower())], Reason.IMPORT_COUPON_TWICE),
        ([imported("a", None, A), imported("b", None, A)], Reason.IMPORT_COUPON_TWICE),
        ([imported("a", None, "", A), imported("b", None, A)], Reason.IMPORT_COUPON_TWICE),
        ([imported("a", None, "", A), imported("b", "a", A), imported("c", "a", A)], Reason.IMPORT_COUPON_TWICE),
        ([imported("a", None, A), imported("b", "a", A)], Reason.IMPORT_COUPON_TWICE),
        ([imported("a", None, "", A), imported("b"), imported("c", "b", A)], Reason.IMPORT_CODE),
        ([imported("a"), imported("b", "a", A)], Reason.IMPORT_CODE),
        (
            [replace(imported("a"), coupons=(imported_coupon(A, void=True),)), imported("b", "a", A)],
            Reason.IMPORT_CODE,
        ),
        ([imported("a", "a")], Reason.IMPORT_CYCLE),
        ([imported("x"), imported("a", "c"), imported("b", "a"), imported("c", "b")], Reason.IMPORT_CYCLE),
        ([imported("a", "b"), imported("b", "c")], Reason.IMPORT_RECRUITER),
        ([replace(imported("a"), site="west")], Reason.NO_SITE),
        ([], Reason.OUT_OF_RANGE),
    ],
)
def test_files_that_contradict_themselves_are_refused_whole(study, people, reason) -> None:
    assert study.ask(importing(*people)).reason is reason
    assert not study.state.table(PersonRow)


def test_codes_that_are_in_the_study_are_not_issued_again(study) -> None:
    study.do(importing(imported("a", None, B, A)))
    for code, other in ((A, "a"), (B, "a")):
        answer = study.ask(importing(imported("b", None, "", code)))
        assert dict(answer.refusal.arguments) == {"person": "b", "other": other}
        assert study.ask(importing(imported("b", None, code))).reason is Reason.IMPORT_COUPON_TWICE


def test_codes_are_not_drawn_that_the_file_holds(study) -> None:
    drawn = itertools.chain([A, B, C], itertools.repeat(D))
    request = study.request(importing(imported("a", None, "", A), imported("b", None, B)))
    study.journal.answer(request, study.now, lambda _: next(drawn))
    assert study.state.person("a").code == C


def test_imports_concern_the_whole_study(study) -> None:
    assert study.ask(importing(imported("a")), own_site="north").reason is Reason.WHOLE_STUDY
    (event, _) = study.do(importing(imported("a")), site="north").events
    assert event.stamp.site is None
    assert study.ask(ImportPeople((imported("b"),), "x" * 101)).reason is Reason.TEXT_LENGTH


def test_times_need_a_zone_and_noon_of_today_may_be_still_to_come(study) -> None:
    study.do(importing(imported("a", enrolled_at=MONDAY + timedelta(hours=3))))
    with pytest.raises(ValueError, match="no time zone"):
        study.ask(importing(imported("b", enrolled_at=datetime(2026, 3, 1))))


def test_imported_people_can_be_in_a_plan_at_once_and_open_coupons_are_extended(study) -> None:
    later = replace(imported_coupon(A), issued_at=MONDAY + timedelta(hours=3))
    study.do(importing(replace(imported("a"), coupons=(later,))))
    study.now += timedelta(minutes=5)
    study.approve(a=1)
    study.do(ExtendCoupon(A, later.last_day + timedelta(days=1), "was ill"))


def test_long_chains_are_sorted(study) -> None:
    people = [imported("p0"), *(imported(f"p{number}", f"p{number - 1}") for number in range(1, 3_000))]
    assert _names(study.do(importing(*reversed(people)))) == [each.person for each in people]


LONG = "0000000000000000012345"


@pytest.mark.parametrize(
    ("code", "typed"),
    [
        (LONG, f" {LONG}\n"),
        ("ab-17 x", "AB-17  X"),
        ("007", "\uff10\uff107"),
        ("\u202ekarte 5", "KARTE 5"),
        ("O123456789", "o123456789"),
        ("=1+1", "=1+1"),
    ],
)
def test_coupons_with_codes_of_another_system_are_found_as_they_are_typed(study, code, typed) -> None:
    study.do(importing(imported("a", None, "", code)))
    (stored,) = (each.code for each in study.state.coupons_of("a"))
    (event,) = study.do(ScanCoupon(typed)).events
    assert event.fact.code == stored
    study.enrol("b", typed)
    answer = study.ask(ScanCoupon(typed))
    assert (answer.reason, dict(answer.refusal.arguments)["code"]) == (Reason.USED, stored)
    assert answer.events[0].fact.code == stored, "a coupon of the study, so it is kept"
    study.do(Pay(shown_code(stored), PaymentKind.RECRUITING))
    assert study.state.study().kept == SETTINGS.budget


def _ten_digits_that_have_our_form() -> str:
    return next(code for number in range(100) if read_code(code := f"12345678{number:02d}"))


def test_codes_that_happen_to_have_our_form_are_found_as_they_are_written_and_shown(study) -> None:
    code = _ten_digits_that_have_our_form()
    twin = code.replace("1", "I")
    assert read_code(twin) == code
    assert not code.startswith(study.state.study().prefix)
    assert study.ask(ScanCoupon(code)).reason is Reason.OTHER_STUDY
    study.do(importing(imported("a", None, "", code, twin)))
    for typed, found in ((code, code), (shown_code(code), code), (twin, twin), (shown_code(twin), twin)):
        (event,) = study.do(ScanCoupon(typed)).events
        assert event.fact.code == found


@pytest.mark.parametrize("stored", [str, shown_code])
def test_coupons_of_another_study_of_ours_are_scanned_and_typed_however_the_file_wrote_them(study, stored) -> None:
    """Exports write codes in groups; the QR code on the coupon holds the code alone."""
    code = new_code("9X", study.codes.choice)
    study.do(importing(imported("a", None, "", stored(code))))
    for typed in (code, shown_code(code), code.lower(), shown_code(code).replace("-", " ")):
        study.do(ScanCoupon(typed))
    study.do(EnrolPerson(code, "b"))
    assert study.ask(EnrolPerson(shown_code(code), "c")).reason is Reason.USED


def test_own_codes_come_first(study) -> None:
    """Also those that are imported, such as from an export: they are read as people type them."""
    study.do(importing(imported("a", None, "", shown_code(A).lower(), "17")))
    study.do(EnrolPerson(shown_code(A), "b"))
    assert study.ask(importing(imported("c", None, "", A.replace("0", "O")))).reason is Reason.IMPORT_COUPON_TWICE


@pytest.mark.parametrize("again", ["AB  17", "ab 17", "ab\u00a017", "\uff41b 17", "ab 17\u200f"])
def test_two_spellings_of_one_code_are_refused(study, again) -> None:
    assert study.ask(importing(imported("a", None, "", "ab 17", again))).reason is Reason.IMPORT_COUPON_TWICE
    study.do(importing(imported("a", None, "", "ab 17")))
    assert study.ask(importing(imported("b", None, "", again))).reason is Reason.IMPORT_COUPON_TWICE


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("0000000000000000012346", Reason.UNLISTED),
        (A[:-1], Reason.UNLISTED),
        ("", Reason.UNLISTED),
        ("x" * 10**6, Reason.UNLISTED),
        (A[:-1] + ("1" if A[-1] != "1" else "2"), Reason.MISTYPED),
        (B, Reason.UNKNOWN),
        (new_code("9X", lambda characters: characters[4]), Reason.OTHER_STUDY),
    ],
)
def test_codes_that_are_not_imported_are_refused(study, typed, reason) -> None:
    study.do(importing(imported("a", None, "", LONG)))
    assert study.ask(ScanCoupon(typed)).reason is reason


@given(st.text(min_size=1, max_size=30))
def test_what_is_typed_and_is_no_known_code_is_not_kept(typed) -> None:
    study = SmallStudy()
    study.do(importing(imported("a", None, "", LONG)))
    answer = study.ask(ScanCoupon(typed))
    if answer.reason is Reason.UNLISTED:
        assert (answer.refusal.arguments, answer.events[0].fact.code) == ((), "")

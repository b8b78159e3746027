"""What is allowed and what is refused in a running study, request by request, with the words that people read."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from small_live import ANSWERS, MONDAY, SETTINGS, SmallStudy, imported, importing

from peerfront.web.live.rules.actions import Action, Member, Role, is_allowed
from peerfront.web.live.rules.codes import new_code, shown_code
from peerfront.web.live.rules.deciding import Accepted, Answer, Journal, Refused, clock_doubt, decide
from peerfront.web.live.rules.effects import State
from peerfront.web.live.rules.events import (
    ActionNoted,
    CouponsIssued,
    CouponVoided,
    DecidedBy,
    PaymentKind,
    PaymentMade,
    PersonEnrolled,
    PlannedCoupons,
    RequestRefused,
)
from peerfront.web.live.rules.records import PlanStatus, RefusalRow, Row
from peerfront.web.live.rules.refusals import Reason, Refusal
from peerfront.web.live.rules.requests import (
    NOTED,
    AcceptClock,
    AddSeed,
    AddSite,
    ApprovePlan,
    BeginStudy,
    ChangePlan,
    ChangeSettings,
    CorrectAnswers,
    EnrolPerson,
    EraseAnswers,
    ExtendCoupon,
    IssueCoupons,
    NoteAction,
    OverrideCoupons,
    Pay,
    PlanForOne,
    ProposePlan,
    RecordAnswers,
    Request,
    ScanCoupon,
    StopPlan,
    VoidCoupon,
    WithdrawPerson,
)
from peerfront.web.live.rules.study_settings import Question, QuestionKind
from peerfront.words.messages import sentences

ROWS = Row.__subclasses__()
FOR_ONE = PlanForOne("model-1", 8, 2, "north", 1.0, "came after the plan")


@pytest.fixture
def study() -> SmallStudy:
    """A seed with two coupons in round 1, on the day on which they become valid."""
    study = SmallStudy()
    study.seed("ana")
    study.approve(ana=2)
    study.codes_of_ana = study.issue("ana")
    study.days(1)
    return study


def _unknown(study: SmallStudy) -> Answer:
    return study.ask(ScanCoupon(new_code("K7")))


def _not_yet(study: SmallStudy) -> Answer:
    study.seed("bea")
    code, _ = study.issue("bea", plan_for_one=FOR_ONE)
    return study.ask(ScanCoupon(code))


def _expired(study: SmallStudy) -> Answer:
    study.days(14)
    return study.ask(EnrolPerson(study.codes_of_ana[0], "bea"))


def _used(study: SmallStudy) -> Answer:
    study.enrol("bea", study.codes_of_ana[0], site="south")
    return study.ask(EnrolPerson(study.codes_of_ana[0], "cleo"))


def _voided(study: SmallStudy) -> Answer:
    study.do(VoidCoupon(study.codes_of_ana[0], "lost"))
    return study.ask(ScanCoupon(study.codes_of_ana[0]))


def _cycle(study: SmallStudy) -> Answer:
    study.enrol("bea", study.codes_of_ana[0])
    codes = study.issue("bea", plan_for_one=FOR_ONE)
    study.days(1)
    study.enrol("cleo", codes[0])
    (code, _) = study.issue("cleo", plan_for_one=FOR_ONE)
    study.days(1)
    return study.ask(EnrolPerson(code, "ana"))


def _already_enrolled(study: SmallStudy) -> Answer:
    study.seed("bea")
    return study.ask(EnrolPerson(study.codes_of_ana[0], "bea"))


def _over_cap(study: SmallStudy) -> Answer:
    study.approve(ana=1)
    study.issue("ana")
    study.approve(ana=0)
    return study.ask(OverrideCoupons("ana", 1, "asked for more"))


def _over_budget(study: SmallStudy) -> Answer:
    people = {f"p{number}": 3 for number in range(6)}
    for person in people:
        study.seed(person)
    study.approve(**people)  # 18 are kept, all are promised
    study.seed("bea")
    return study.ask(IssueCoupons("bea", plan_for_one=FOR_ONE))


def _no_decision(study: SmallStudy) -> Answer:
    study.seed("bea")
    return study.ask(IssueCoupons("bea"))


def _other_model(study: SmallStudy) -> Answer:
    study.seed("bea")
    return study.ask(IssueCoupons("bea", plan_for_one=replace(FOR_ONE, model="model-0")))


def _over_decision(study: SmallStudy) -> Answer:
    study.seed("bea")
    return study.ask(IssueCoupons("bea", coupons=3, plan_for_one=FOR_ONE))


def _stopped(study: SmallStudy) -> Answer:
    study.do(StopPlan(1, "harm was reported"))
    study.seed("bea")
    return study.ask(IssueCoupons("bea", plan_for_one=FOR_ONE))


def _plan_not_open(study: SmallStudy) -> Answer:
    return study.ask(ChangePlan(1, (("ana", 0),), "too late"))


def _not_in_plan(study: SmallStudy) -> Answer:
    study.seed("bea")
    return study.ask(ChangePlan(study.plan(bea=1), (("ana", 1),), "because"))


def _outdated(study: SmallStudy) -> Answer:
    study.seed("bea")
    plan = study.plan(bea=2)
    study.issue("bea", plan_for_one=FOR_ONE)
    return study.ask(ApprovePlan(plan))


def _withdrawn(study: SmallStudy) -> Answer:
    study.seed("bea")
    study.do(WithdrawPerson("bea", True, "asked to"))
    return study.ask(IssueCoupons("bea", plan_for_one=FOR_ONE))


def _no_answers(study: SmallStudy) -> Answer:
    study.do(AddSeed("bea"))
    return study.ask(IssueCoupons("bea", plan_for_one=FOR_ONE))


def _paid(study: SmallStudy) -> Answer:
    study.enrol("bea", study.codes_of_ana[0])
    study.do(Pay(study.codes_of_ana[0], PaymentKind.RECRUITING))
    return study.ask(Pay(study.codes_of_ana[0], PaymentKind.RECRUITING))


def _key_reused(study: SmallStudy) -> Answer:
    study.do(ScanCoupon(study.codes_of_ana[0]), key="form-1")
    return study.ask(ScanCoupon(study.codes_of_ana[1]), key="form-1")


def _server_clock(study: SmallStudy) -> Answer:
    study.now -= timedelta(hours=25)
    return study.ask(ScanCoupon(study.codes_of_ana[0]))


def _doubted(study: SmallStudy, doubt: Refusal | None) -> Answer:
    answer = decide(study.state, study.request(ScanCoupon(study.codes_of_ana[0])), study.now, doubt=doubt)
    study.journal.add(answer.events, study.journal.head)
    return answer


CASES: dict[Reason, tuple[Callable[[SmallStudy], Answer], str]] = {
    Reason.MISTYPED: (lambda study: study.ask(ScanCoupon("K7M-4RT9-XC1")), "two are swapped"),
    Reason.UNLISTED: (lambda study: study.ask(ScanCoupon("Maria Lopez")), "No coupon has the code that was typed"),
    Reason.OTHER_STUDY: (lambda study: study.ask(ScanCoupon(new_code("9X"))), "a coupon of another study"),
    Reason.UNKNOWN: (_unknown, "was handed out in this study"),
    Reason.NOT_YET_ACTIVE: (_not_yet, "is valid from 2026-03-04; today is 2026-03-03"),
    Reason.EXPIRED: (_expired, "was valid until 2026-03-16; today is 2026-03-17"),
    Reason.USED: (_used, "was used on 2026-03-03 at South street"),
    Reason.VOIDED: (_voided, "was made void on 2026-03-03"),
    Reason.OWN_COUPON: (lambda study: study.ask(EnrolPerson(study.codes_of_ana[0], "ana")), "handed out to ana"),
    Reason.CYCLE: (_cycle, "comes from somebody whom ana recruited"),
    Reason.ALREADY_ENROLLED: (_already_enrolled, "takes part already, since 2026-03-03 at North clinic"),
    Reason.SETTINGS_CHANGED: (
        lambda study: study.ask(ChangeSettings(SETTINGS, "x", shown="those of yesterday")),
        "Nothing of yours is saved yet",
    ),
    Reason.PSEUDONYM_TAKEN: (
        lambda study: study.ask(EnrolPerson(study.codes_of_ana[0], "ana"), own_site="south", site="south"),
        "The pseudonym ana cannot be used here. Choose another.",
    ),
    Reason.OVER_CAP: (_over_cap, "4 coupons in all; nobody gets more than 3"),
    Reason.OVER_BUDGET: (_over_budget, "2 coupons are asked for; 0 of the budget are free"),
    Reason.OVER_DECISION: (_over_decision, "3 coupons are asked for; 2 were decided for bea"),
    Reason.SECOND_TIME: (lambda study: study.ask(IssueCoupons("ana")), "2 coupons in round 1 already, on 2026-03-02"),
    Reason.NO_APPROVED_PLAN: (_stopped, "no approved plan"),
    Reason.NO_DECISION: (_no_decision, "no number of coupons for bea"),
    Reason.OTHER_MODEL: (_other_model, "planned with model model-0; approved is model-1"),
    Reason.PLAN_NOT_OPEN: (_plan_not_open, "Plan 1 is approved"),
    Reason.PLAN_OUTDATED: (_outdated, "Since plan 2 was made, bea got coupons"),
    Reason.ROLE: (
        lambda study: study.ask(ScanCoupon(study.codes_of_ana[0]), role=Role.CASHIER),
        "The role cashier does not allow this (scan coupon). Ask somebody who may: interviewer, coordinator.",
    ),
    Reason.SITE: (
        lambda study: study.ask(VoidCoupon(study.codes_of_ana[0], "x"), own_site="south", site="south"),
        "This belongs to North clinic; your role is for South street",
    ),
    Reason.CLOCK: (
        lambda study: study.ask(ScanCoupon(study.codes_of_ana[0]), device_time=study.now + timedelta(minutes=16)),
        "says 2026-03-03 09:16+00:00; the server's says 2026-03-03 09:00+00:00",
    ),
    Reason.SERVER_CLOCK: (_server_clock, "recorded at 2026-03-02 09:00"),
    Reason.CLOCK_JUMP: (
        lambda study: _doubted(study, clock_doubt(study.now, MONDAY, study.now - timedelta(hours=12))),
        "says 2026-03-03 09:00+00:00; by the time that has passed it should say 2026-03-02 21:00+00:00",
    ),
    Reason.CLOCK_GAP: (
        lambda study: _doubted(study, clock_doubt(study.now, study.now - timedelta(days=15), None)),
        "the last thing was recorded at 2026-02-16 09:00+00:00, before the computer was started",
    ),
    Reason.NOT_BEGUN: (
        lambda study: _begun_by(Journal(), study.request(AddSite("north", "North"))),
        "has not begun",
    ),
    Reason.BEGUN: (lambda study: study.ask(BeginStudy(SETTINGS, "9X")), "has begun already"),
    Reason.NO_SITE: (lambda study: study.ask(AddSeed("bea"), site="west"), "no site west"),
    Reason.SITE_EXISTS: (lambda study: study.ask(AddSite("north", "Again")), "a site north already"),
    Reason.NO_PERSON: (lambda study: study.ask(IssueCoupons("bea")), "no person bea"),
    Reason.WITHDRAWN: (_withdrawn, "bea withdrew from the study on 2026-03-03"),
    Reason.NOT_WITHDRAWN: (lambda study: study.ask(EraseAnswers("ana", "asked to")), "ana takes part in the study"),
    Reason.NO_ANSWERS: (_no_answers, "answers of bea are not recorded"),
    Reason.ANSWERS_RECORDED: (lambda study: study.ask(RecordAnswers("ana", 9, ANSWERS)), "are recorded already"),
    Reason.NO_PLAN: (lambda study: study.ask(ApprovePlan(9)), "no plan 9"),
    Reason.PAID: (_paid, "recruiting payment for coupon"),
    Reason.NOT_OWED: (
        lambda study: study.ask(Pay(study.codes_of_ana[0], PaymentKind.INTERVIEW)),
        "No interview payment",
    ),
    Reason.NOT_ISSUED: (
        lambda study: study.ask(VoidCoupon(study.state.person("ana").code, "x")),
        "is the code of a seed",
    ),
    Reason.NOT_LATER: (
        lambda study: study.ask(ExtendCoupon(study.codes_of_ana[0], date(2026, 3, 16), "x")),
        "valid until 2026-03-16 already",
    ),
    Reason.NO_REASON: (lambda study: study.ask(VoidCoupon(study.codes_of_ana[0], "  ")), "No reason was given"),
    Reason.OUT_OF_RANGE: (
        lambda study: study.ask(CorrectAnswers("ana", -1, (), "x")),
        "The network size given is -1. Allowed is 0 to 1000000.",
    ),
    Reason.TEXT_LENGTH: (
        lambda study: study.ask(VoidCoupon(study.codes_of_ana[0], "x" * 1001)),
        "1001 characters. Allowed are 0 to 1000",
    ),
    Reason.BAD_NAME: (lambda study: study.ask(AddSeed("Maria Lopez")), "The person given, of 11 characters"),
    Reason.TWICE: (
        lambda study: study.ask(CorrectAnswers("ana", 1, (("age", "1"), ("age", "2")), "x")),
        "A question is given twice",
    ),
    Reason.CURRENCY: (lambda study: study.ask(ChangeSettings(replace(SETTINGS, currency="euro"), "x")), "such as EUR"),
    Reason.TIMEZONE: (
        lambda study: study.ask(ChangeSettings(replace(SETTINGS, timezone="Mars/Olympus"), "x")),
        "such as Europe/Lisbon",
    ),
    Reason.QUESTIONS: (
        lambda study: study.ask(ChangeSettings(replace(SETTINGS, plan_strata=("district",)), "x")),
        "groups of plans are made of questions",
    ),
    Reason.NOT_IN_PLAN: (_not_in_plan, "Plan 2 has no line for ana"),
    Reason.WHOLE_STUDY: (
        lambda study: study.ask(ApprovePlan(1), own_site="north"),
        "concerns all sites; your role is for north",
    ),
    Reason.KEY_REUSED: (_key_reused, "sent before with other entries"),
    Reason.IMPORT_ENTRY: (
        lambda study: study.ask(importing(imported("x1"), imported("x2", enrolled_at=study.now + timedelta(days=1)))),
        "The enrolment time of person number 2 in the file cannot be used",
    ),
    Reason.IMPORT_PERSON_TWICE: (lambda study: study.ask(importing(imported("x1"), imported("x1"))), "x1 stands"),
    Reason.IMPORT_COUPON_TWICE: (
        lambda study: study.ask(importing(imported("x1", None, "", "77"), imported("x2", None, "", "78", "77"))),
        "x2 has a coupon code that x1 has, too",
    ),
    Reason.IMPORT_RECRUITER: (lambda study: study.ask(importing(imported("x1", "x2"))), "x2, who recruited x1, is"),
    Reason.IMPORT_CYCLE: (
        lambda study: study.ask(importing(imported("x1", "x2"), imported("x2", "x1"))),
        "recruited by one of their own recruits",
    ),
    Reason.IMPORT_CODE: (
        lambda study: study.ask(importing(imported("x1", "ana", "77"))),
        "no valid coupon of ana",
    ),
    Reason.IMPORT_CONFLICT: (
        lambda study: study.ask(importing(imported("ana"))),
        "ana takes part already, and the file says otherwise about: enrolment time",
    ),
}


def _begun_by(journal: Journal, request: Request) -> Answer:
    return journal.answer(request, MONDAY)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_to_refuse(study, reason) -> None:
    ask, words = CASES[reason]
    answer = ask(study)
    assert isinstance(answer, Refused)
    assert answer.reason is reason
    assert words in str(answer.refusal), str(answer.refusal)
    assert str(answer.refusal.messages[1])
    assert "{" not in str(answer.refusal)
    if reason is Reason.KEY_REUSED:
        assert answer.events == ()
        return
    (event,) = answer.events
    assert isinstance(event.fact, RequestRefused)
    assert (event.fact.reason, event.fact.arguments) == (reason.value, answer.refusal.arguments)
    if reason is not Reason.NOT_BEGUN:
        assert study.journal.links[-1].event == event, "every refusal is recorded"
        assert study.state.table(RefusalRow)[event.stamp.request_key,].reason == reason.value


def test_every_reason_has_words() -> None:
    for part in ("refusal_found", "refusal_to_do"):
        assert {code for code in sentences() if code.startswith(f"{part}.")} == {
            f"{part}.{reason}" for reason in Reason
        }


def test_the_path_of_one_recruit_from_scan_to_payment(study) -> None:
    code = study.codes_of_ana[1]
    typed = shown_code(code).lower()
    study.do(ScanCoupon(typed))
    (enrolled,) = study.do(EnrolPerson(typed, "bea"), device_time=study.now - timedelta(hours=5)).events
    assert enrolled.fact == PersonEnrolled("bea", code, "ana")
    assert study.ask(Pay(code, PaymentKind.INTERVIEW)).reason is Reason.NOT_OWED, "not before the answers"
    study.do(RecordAnswers("bea", 12, ANSWERS))
    assert study.state.person("bea").answers == ANSWERS
    codes = study.issue("bea", plan_for_one=FOR_ONE)
    assert len(codes) == 2
    (paid,) = study.do(Pay(code, PaymentKind.INTERVIEW)).events
    assert paid.fact == PaymentMade(code, PaymentKind.INTERVIEW, "bea", 2000, "EUR")
    (paid,) = study.do(Pay(code, PaymentKind.RECRUITING)).events
    assert paid.fact == PaymentMade(code, PaymentKind.RECRUITING, "ana", 500, "EUR")
    assert study.state.study().kept == 20 - 4


def test_seeds_are_paid_for_their_interview_alone(study) -> None:
    code = study.state.person("ana").code
    study.do(Pay(code, PaymentKind.INTERVIEW))
    assert study.ask(Pay(code, PaymentKind.RECRUITING)).reason is Reason.NOT_OWED
    assert study.state.study().kept == 18, "the code of a seed is not of the budget"


def test_a_decision_keeps_all_that_led_to_it(study) -> None:
    decision = study.state.decision(1, "ana")
    assert (decision.coupons, decision.planned, decision.decided_by) == (2, 2, DecidedBy.PLAN)
    assert (decision.model, decision.seed, decision.stratum, decision.probability) == ("model-1", 7, "north", 0.5)
    assert decision.reason == "expected"
    study.seed("bea")
    study.do(OverrideCoupons("bea", 3, "knows many"))
    (event,) = study.do(IssueCoupons("bea", coupons=1, why_fewer="wants only one")).events
    fact = event.fact
    assert isinstance(fact, CouponsIssued)
    assert (fact.decided, len(fact.codes), fact.planned) == (3, 1, None)
    assert (fact.decided_by, fact.reason, fact.why_fewer) == (DecidedBy.OVERRIDE, "knows many", "wants only one")
    assert (fact.first_day, fact.last_day) == (date(2026, 3, 4), date(2026, 3, 17)), "14 days from the day after"
    assert study.state.override(1, "bea").actor == "the coordinator"
    assert study.state.plan(1).promised == 0


def test_somebody_who_gets_none_is_recorded_and_gets_none_later_in_the_round(study) -> None:
    study.seed("bea")
    assert study.issue("bea", plan_for_one=replace(FOR_ONE, coupons=0)) == ()
    assert study.state.decision(1, "bea").coupons == 0
    assert study.ask(IssueCoupons("bea", plan_for_one=FOR_ONE)).reason is Reason.SECOND_TIME


def test_fewer_coupons_need_a_reason(study) -> None:
    study.seed("bea")
    assert study.ask(IssueCoupons("bea", coupons=1, plan_for_one=FOR_ONE)).reason is Reason.NO_REASON


def test_who_arrives_does_not_get_what_others_were_promised(study) -> None:
    study.seed("bea")
    study.seed("cleo")
    study.do(ChangeSettings(replace(SETTINGS, budget=5), "less money"))
    study.approve(bea=2)  # three are kept, two of them promised
    assert study.ask(IssueCoupons("cleo", plan_for_one=FOR_ONE)).reason is Reason.OVER_BUDGET
    assert len(study.issue("cleo", plan_for_one=replace(FOR_ONE, coupons=1))) == 1
    assert len(study.issue("bea")) == 2
    assert study.state.study().kept == 0
    assert study.ask(ChangeSettings(replace(SETTINGS, budget=4), "less")).reason is Reason.OVER_BUDGET


def test_a_plan_is_changed_with_a_reason_and_both_numbers_are_kept(study) -> None:
    study.seed("bea")
    plan = study.plan(bea=3)
    study.do(ChangePlan(plan, (("bea", 1),), "lives far away"))
    assert study.ask(ChangePlan(plan, (), "x")).reason is Reason.OUT_OF_RANGE
    assert study.ask(ChangePlan(plan, (("bea", 1), ("bea", 2)), "x")).reason is Reason.TWICE
    assert study.ask(ChangePlan(plan, (("bea", 4),), "x")).reason is Reason.OVER_CAP
    study.do(ApprovePlan(plan))
    assert (study.state.plan(1).status, study.state.plan(plan).round) == (PlanStatus.CLOSED, 2)
    assert len(study.issue("bea")) == 1
    decision = study.state.decision(2, "bea")
    assert (decision.planned, decision.decided, decision.decided_by) == (3, 1, DecidedBy.OVERRIDE)
    assert decision.reason == "lives far away"


def test_a_newer_proposal_replaces_the_one_that_waits(study) -> None:
    first = study.plan(ana=1)
    second = study.plan(ana=0)
    assert study.ask(ApprovePlan(first)).reason is Reason.PLAN_NOT_OPEN
    study.do(ApprovePlan(second))
    assert study.state.study().rounds == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (PlannedCoupons("ana", 2, "s", 0.5, "r"), Reason.OVER_CAP),  # two before
        (PlannedCoupons("nobody", 1, "s", 0.5, "r"), Reason.NO_PERSON),
        (PlannedCoupons("ana", -1, "s", 0.5, "r"), Reason.OUT_OF_RANGE),
        (PlannedCoupons("ana", 1, "s", 0.0, "r"), Reason.OUT_OF_RANGE),
        (PlannedCoupons("ana", 1, "s", float("nan"), "r"), Reason.OUT_OF_RANGE),
        (PlannedCoupons("ana", 1, "s" * 1001, 0.5, "r"), Reason.TEXT_LENGTH),
    ],
)
def test_plans_with_a_bad_line_are_refused(study, line, reason) -> None:
    assert study.ask(ProposePlan("model-1", 7, (line,))).reason is reason


def test_a_person_in_two_lines_is_refused(study) -> None:
    line = PlannedCoupons("ana", 1, "s", 0.5, "r")
    assert study.ask(ProposePlan("model-1", 7, (line, line))).reason is Reason.TWICE


def test_a_plan_gives_nothing_to_who_got_coupons_while_it_was_made(study) -> None:
    """Plans are made in minutes, and work at the sites goes on."""
    study.seed("bea")
    study.days(0.1)
    read_at = study.now
    study.days(0.1)
    study.issue("bea", plan_for_one=FOR_ONE)
    study.days(0.1)
    line = PlannedCoupons("bea", 1, "s", 0.5, "r")
    assert study.ask(ProposePlan("model-1", 1, (line,), read_at)).reason is Reason.PLAN_OUTDATED
    study.do(ProposePlan("model-1", 1, (replace(line, coupons=0),), read_at))
    study.do(ProposePlan("model-1", 1, (line,), study.now))


def test_withdrawal_makes_open_coupons_void_if_asked(study) -> None:
    used, unused = study.codes_of_ana
    study.enrol("bea", used)
    events = study.do(WithdrawPerson("ana", True, "asked to")).events
    assert [event.part for event in events] == [1, 2]
    voided = events[1].fact
    assert isinstance(voided, CouponVoided)
    assert (voided.code, voided.why, voided.person) == (unused, "asked to", "ana")
    assert study.ask(ScanCoupon(unused)).reason is Reason.VOIDED
    study.do(Pay(used, PaymentKind.RECRUITING))  # what is owed is still paid
    assert study.state.study().kept == 18, "what is void was handed out"


def test_withdrawal_leaves_coupons_in_others_hands_valid(study) -> None:
    study.do(WithdrawPerson("ana", False, "moved away"))
    study.enrol("bea", study.codes_of_ana[0])


def test_withdrawal_frees_what_was_promised(study) -> None:
    study.seed("bea")
    study.approve(bea=3)
    study.do(WithdrawPerson("bea", True, "asked to"))
    assert study.state.plan(2).promised == 0


def test_an_expired_coupon_can_be_extended(study) -> None:
    code = study.codes_of_ana[0]
    study.days(20)
    assert study.ask(ScanCoupon(code)).reason is Reason.EXPIRED
    study.do(ExtendCoupon(code, study.now.date(), "was ill"))
    study.enrol("bea", code)


def test_answers_are_corrected_with_a_reason(study) -> None:
    study.do(CorrectAnswers("ana", 11, (("age", "35"),), "typing error"))
    assert (study.state.person("ana").network_size, study.state.person("ana").answers) == (11, (("age", "35"),))


def test_coupons_are_valid_by_the_days_of_the_studys_own_calendar() -> None:
    study = SmallStudy(replace(SETTINGS, timezone="Pacific/Auckland", active_after_days=0, valid_days=1))
    study.seed("ana")
    study.approve(ana=1)
    (code,) = study.issue("ana")  # 22:00 on 2 March there
    study.now += timedelta(hours=1, minutes=59)
    study.do(ScanCoupon(code))
    study.now += timedelta(minutes=1)
    assert study.ask(ScanCoupon(code)).reason is Reason.EXPIRED


def test_a_retry_gives_the_same_answer_and_no_second_effect(study) -> None:
    study.seed("bea")
    wish = IssueCoupons("bea", plan_for_one=FOR_ONE)
    first = study.ask(wish, key="form-7")
    n_events = len(study.journal.links)
    study.days(400)
    again = study.ask(replace(wish, plan_for_one=None), key="form-7", device_time=study.now)
    assert isinstance(again, Accepted)
    assert (again.events, again.repeated) == (first.events, True)
    refused = study.ask(wish, key="form-8")
    assert study.ask(wish, key="form-8").refusal == refused.refusal
    assert len(study.journal.links) == n_events + 1


def test_what_is_typed_and_is_no_code_is_not_kept(study) -> None:
    study.ask(ScanCoupon("Maria Lopez, 5 Harbour Road"))
    study.ask(ScanCoupon("k7m-4rt9-xc1"))
    name, code = (link.event.fact for link in study.journal.links[-2:])
    assert (name.code, code.code) == ("", "K7M4RT9XC1")
    assert "Maria" not in str(study.journal.links[-2].data)


@pytest.mark.parametrize("key", ["", "x" * 101, "form\n1", "fôrm"])
def test_a_bad_key_is_refused_and_not_recorded(study, key) -> None:
    request = replace(study.request(ScanCoupon(study.codes_of_ana[0])), key=key)
    answer = study.journal.answer(request, study.now)
    assert (answer.reason, answer.events) == (Reason.BAD_NAME, ())


def test_device_clocks_out_of_all_bounds_are_refused_and_recorded(study) -> None:
    for device in (datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), datetime.max.replace(tzinfo=UTC)):
        answer = study.ask(ScanCoupon(study.codes_of_ana[0]), device_time=device)
        assert answer.reason is Reason.CLOCK
    Journal(study.journal.links)
    with pytest.raises(ValueError, match="no time zone"):
        study.ask(ScanCoupon(study.codes_of_ana[0]), device_time=datetime(2026, 3, 3))


def test_small_steps_back_of_the_servers_clock_are_made_up_for(study) -> None:
    study.do(ScanCoupon(study.codes_of_ana[0]))
    before = study.state.study().last_time
    study.now -= timedelta(minutes=4)
    (event,) = study.do(ScanCoupon(study.codes_of_ana[0])).events
    assert event.stamp.server_time == before


def test_a_refusal_under_a_wrong_server_clock_does_not_stop_the_study(study) -> None:
    right = study.now
    study.now += timedelta(days=3_000)
    assert study.ask(ScanCoupon(study.codes_of_ana[0]), device_time=right).reason is Reason.CLOCK
    study.now = right
    study.do(ScanCoupon(study.codes_of_ana[0]), device_time=right)


def test_what_is_only_noted_is_noted_by_a_wrong_clock_and_stops_nobody(study) -> None:
    right = study.now
    for hours in (12, -12):
        study.now = right + timedelta(hours=hours)
        (event,) = study.do(NoteAction(Action.BACK_UP, "b.zip")).events
        assert event.stamp.server_time == study.now
    study.now = right
    study.do(ScanCoupon(study.codes_of_ana[0]))


@pytest.mark.parametrize("days", [0.5, 1_000])
def test_a_clock_that_was_ahead_is_accepted_by_the_manager_and_the_study_goes_on(study, days) -> None:
    right, proposed = study.now, study.plan(ana=1)
    study.days(days)
    study.seed("bea")
    study.approve(bea=2)
    study.issue("bea")
    waits = study.plan(ana=1)
    study.now = right + timedelta(hours=1)
    assert study.ask(AddSeed("cleo")).reason is Reason.SERVER_CLOCK
    assert study.ask(AcceptClock(" ")).reason is Reason.NO_REASON
    device = {"device_time": study.now - timedelta(hours=1)}
    assert study.ask(AcceptClock("compared"), **device).reason is Reason.CLOCK, "two clocks must agree"
    (event,) = study.do(AcceptClock("compared"), device_time=study.now).events
    assert event.stamp.server_time == study.now == study.state.study().last_time
    assert study.ask(ApprovePlan(waits)).reason is Reason.PLAN_NOT_OPEN
    study.days(0.01)
    study.seed("cleo")
    study.approve(bea=1, cleo=1)
    assert len(study.issue("bea")) == 1, "coupons of a time to come are not later than this plan"
    assert study.state.plan(proposed).status is PlanStatus.CLOSED
    assert Journal(study.journal.links).state == study.state


def test_one_site_does_not_decide_for_the_whole_study(study) -> None:
    plan = study.plan(ana=1)
    assert study.ask(ApprovePlan(plan), own_site="north", site="north").reason is Reason.WHOLE_STUDY
    study.do(StopPlan(plan, "harm"), own_site="north", site="north")


def test_people_of_another_site_are_out_of_reach(study) -> None:
    study.seed("bea", site="south")
    north = {"own_site": "north", "site": "north"}
    assert study.ask(IssueCoupons("bea", plan_for_one=FOR_ONE), **north).reason is Reason.SITE
    assert study.ask(WithdrawPerson("bea", True, "x"), **north).reason is Reason.SITE
    assert study.ask(CorrectAnswers("bea", 1, (), "x"), **north).reason is Reason.SITE
    assert study.ask(OverrideCoupons("bea", 1, "x"), **north).reason is Reason.SITE
    assert study.ask(Pay(study.state.person("bea").code, PaymentKind.INTERVIEW), **north).reason is Reason.SITE
    south = {"own_site": "south", "site": "south"}
    study.do(EnrolPerson(study.codes_of_ana[0], "cleo"), **south)  # coupons are valid at every site


def test_what_changes_no_row_is_noted_in_the_same_chain(study) -> None:
    before = {kind: dict(study.state.table(kind)) for kind in ROWS}
    study.days(1)
    (event,) = study.do(NoteAction(Action.EXPORT, "study.csv", (("people", "1"),))).events
    assert event.fact == ActionNoted(Action.EXPORT, "study.csv", (("people", "1"),))
    assert (event.stamp.role, event.stamp.site) == (Role.ANALYST, None)
    (event,) = study.do(NoteAction(Action.WRITE_CONTACT, "ana")).events
    assert event.stamp.site == "north"
    assert study.journal.links[-1].event == event
    assert {kind: dict(study.state.table(kind)) for kind in ROWS} == before


def test_notes_of_a_person_need_somebody_who_is_known_and_within_reach(study) -> None:
    study.seed("bea", site="south")
    north = {"own_site": "north", "site": "north"}
    for noted in (action for action in NOTED if action.declared.about_person):
        study.do(NoteAction(noted, "ana"), **north)
        assert study.ask(NoteAction(noted, "bea"), **north).reason is Reason.SITE
        assert study.ask(NoteAction(noted, "nobody")).reason is Reason.NO_PERSON
        assert study.ask(NoteAction(noted, "Maria Lopez")).reason is Reason.BAD_NAME
    study.do(WithdrawPerson("ana", True, "asked to"))
    assert study.ask(NoteAction(Action.WRITE_CONTACT, "ana")).reason is Reason.WITHDRAWN
    study.do(NoteAction(Action.DELETE_CONTACT, "ana"))


def test_notes_of_the_whole_study_need_a_role_for_all_sites(study) -> None:
    for noted in (action for action in NOTED if not action.declared.about_person):
        study.do(NoteAction(noted), site=None)
        answer = study.ask(NoteAction(noted), own_site="north", site=None)
        if is_allowed(noted, answer.events[0].stamp.role, own_site=False):
            assert isinstance(answer, Accepted)
        else:
            assert answer.reason is Reason.WHOLE_STUDY
    study.do(NoteAction(Action.SEE_PEOPLE), own_site="north", site="north")
    assert study.ask(NoteAction(Action.BACK_UP), own_site="north", site="north").reason is Reason.WHOLE_STUDY


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        (NoteAction(Action.EXPORT, "x" * 101), Reason.TEXT_LENGTH),
        (NoteAction(Action.EXPORT, "", (("people", "x" * 1001),)), Reason.TEXT_LENGTH),
        (NoteAction(Action.EXPORT, "", (("a name", "x"),)), Reason.BAD_NAME),
        (NoteAction(Action.EXPORT, "", (("people", "1"), ("people", "2"))), Reason.TWICE),
        (NoteAction(Action.EXPORT, "", tuple((f"d{number}", "") for number in range(51))), Reason.OUT_OF_RANGE),
    ],
)
def test_notes_are_short(study, note, reason) -> None:
    assert study.ask(note).reason is reason


def test_what_has_an_event_of_its_own_cannot_be_noted() -> None:
    for action in set(Action) - NOTED:
        with pytest.raises(ValueError, match="event of its own"):
            NoteAction(action, "ana")


WISHES = [
    BeginStudy(SETTINGS, "K7"), ChangeSettings(SETTINGS, "x"), AcceptClock("x"), AddSite("west", "West"),
    AddSeed("bea"),
    ScanCoupon("K7M4RT9XC0"), EnrolPerson("K7M4RT9XC0", "bea"), RecordAnswers("ana", 1, ()),
    CorrectAnswers("ana", 1, (), "x"), WithdrawPerson("ana", True, "x"), EraseAnswers("ana", "x"),
    ProposePlan("m", 1, ()), ChangePlan(1, (), "x"), ApprovePlan(1), StopPlan(1, "x"), OverrideCoupons("ana", 1, "x"),
    IssueCoupons("ana"), VoidCoupon("K7M4RT9XC0", "x"), ExtendCoupon("K7M4RT9XC0", date(2027, 1, 1), "x"),
    Pay("K7M4RT9XC0", PaymentKind.INTERVIEW), importing(imported("bea")),
    *(NoteAction(noted, "ana") for noted in sorted(NOTED)),
]  # fmt: skip


@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.action.value)
@pytest.mark.parametrize("role", Role)
def test_every_request_is_held_to_the_table_of_roles(study, wish, role) -> None:
    request = Request("key", Member("x", (role,), None), "north", None, wish)
    refused = decide(study.state, request, study.now)
    allowed = is_allowed(wish.action, role, own_site=True)
    assert (isinstance(refused, Refused) and refused.reason is Reason.ROLE) == (not allowed)
    here = Request("key", Member("x", (role,), "south"), "north", None, wish)
    if allowed and not is_allowed(wish.action, role, own_site=False) and wish.action is not Action.BEGIN_STUDY:
        assert decide(study.state, here, study.now).reason in (Reason.SITE, Reason.WHOLE_STUDY)


def test_settings_out_of_range_are_refused() -> None:
    manager = Member("m", (Role.MANAGER,), None)
    for bad in (
        replace(SETTINGS, budget=-1),
        replace(SETTINGS, cap=0),
        replace(SETTINGS, valid_days=0),
        replace(SETTINGS, currency="euro"),
        replace(SETTINGS, timezone="Mars/Olympus"),
        replace(SETTINGS, timezone="../../etc/passwd"),
        replace(SETTINGS, questions=(Question("Age", "How old?"),)),
        replace(SETTINGS, questions=(Question("age", "How old?", choices=("young",)),)),
        replace(SETTINGS, questions=(Question("age", "How old?", QuestionKind.NUMBER),) * 2),
        replace(SETTINGS, name=" "),
    ):
        answer = decide(State(), Request("k", manager, None, None, BeginStudy(bad, "K7")), MONDAY)
        refused = (Reason.OUT_OF_RANGE, Reason.CURRENCY, Reason.TIMEZONE, Reason.QUESTIONS, Reason.TEXT_LENGTH)
        assert answer.reason in refused, bad


def test_the_rules_need_the_standard_library_alone() -> None:
    """Nothing that is installed is loaded: neither NumPy nor a web framework."""
    script = (
        "import sys; before = set(sys.modules); import peerfront.web.live.rules.deciding; "
        "names = {name.split('.')[0] for name in set(sys.modules) - before if '_sysconfigdata' not in name}; "
        "print(sorted(names - set(sys.stdlib_module_names) - {'peerfront'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

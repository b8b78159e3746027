"""Whatever people do, in whatever order, twice, at once, with wrong clocks: the invariants of a study hold.

The invariants are checked on the events alone, by plain counting, not by the code that decides.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from small_live import ANSWERS, SmallStudy, imported, importing

from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.chain import erased_data, event_data, event_from, parts_of
from peerfront.web.live.rules.codes import LENGTH, new_code
from peerfront.web.live.rules.deciding import Accepted, Journal, Refused, decide, digest_of
from peerfront.web.live.rules.effects import Contradiction, rebuild
from peerfront.web.live.rules.events import (
    ActionNoted,
    ClockAccepted,
    CouponExtended,
    CouponsIssued,
    CouponVoided,
    DecidedBy,
    Erasable,
    PaymentKind,
    PaymentMade,
    PersonEnrolled,
    PersonImported,
    PersonWithdrawn,
    PlanApproved,
    PlanChanged,
    PlannedCoupons,
    PlanProposed,
    RequestRefused,
    SeedAdded,
    SettingsChanged,
    StudyBegun,
)
from peerfront.web.live.rules.records import PersonRow
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import (
    NOTED,
    AcceptClock,
    AddSeed,
    ApprovePlan,
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
    ScanCoupon,
    StopPlan,
    VoidCoupon,
    WithdrawPerson,
)
from peerfront.web.live.rules.study_settings import Settings

SMALL = Settings(budget=8, cap=3, active_after_days=1, valid_days=5, interview_payment=20, recruiting_payment=5)
NUMBERS = st.integers(0, 10_000)
"""Which of the people, coupons or requests that there are, counted round."""
COUPONS = st.integers(0, 4)
SITES = st.sampled_from(["north", "south"])


def codes_issued(fact) -> list[str]:
    """Coupons that somebody got by a fact, here or before."""
    if isinstance(fact, PersonImported):
        drawn = [fact.code] if fact.drawn and fact.recruiter is not None else []
        return [each.code for each in fact.coupons] + drawn
    return list(fact.codes) if isinstance(fact, CouponsIssued) else []


class RunningStudy(RuleBasedStateMachine):
    """People, clerks and clocks at a study of eight coupons."""

    @initialize()
    def begin(self) -> None:
        self.study = SmallStudy(SMALL)
        self.events = []  # those of the journal, read once
        for person in ("p0", "p1"):
            self.study.seed(person)
        self.study.approve(p0=2, p1=1)
        self.asked = []
        self.imports = []
        self.erased = []
        self.last_good_time = self.study.now

    # People and coupons by number

    def person(self, number: int) -> str:
        """Somebody who takes part or, one time in so many, somebody new."""
        return f"p{number % (self.n_people() + 1)}"

    def waiting(self, number: int) -> str:
        """Mostly somebody who can get coupons now."""
        state = self.study.state
        people = [
            row for row in state.table(PersonRow).values() if row.withdrawn_at is None and row.answers is not None
        ]
        people = [row for row in people if state.decision(state.study().rounds, row.person) is None]
        ready = sorted(row.person for row in people if row.coupons < SMALL.cap)
        return ready[number // 4 % len(ready)] if ready and number % 4 else self.person(number // 4)

    def n_people(self) -> int:
        return sum(isinstance(fact, SeedAdded | PersonEnrolled | PersonImported) for _, fact in self.facts())

    def coupon(self, number: int) -> str:
        """Any code or, mostly, a coupon that nobody used, so that more than refusals happen."""
        issued = [code for _, fact in self.facts() for code in codes_issued(fact)]
        used = {fact.code for _, fact in self.facts() if isinstance(fact, PersonEnrolled | PersonImported)}
        unused = [code for code in issued if code not in used]
        codes = issued + [fact.code for _, fact in self.facts() if isinstance(fact, SeedAdded)]
        codes = unused if unused and number % 4 else codes
        return codes[number // 4 % len(codes)]

    def wait_for(self, code: str) -> None:
        """Let days pass until a coupon is valid."""
        while self.study.state.coupon(code).first_day > self.study.now.date():
            self.study.days(1)

    def facts(self):
        links = self.study.journal.links
        self.events.extend(link.event for link in links[len(self.events) :])
        return [(event, event.fact) for event in self.events]

    def ask(self, wish, **how):
        request = self.study.request(wish, **how)
        answer = self.study.journal.answer(request, self.study.now, self.study.draw)
        self.asked.append((request, answer))
        if isinstance(answer, Accepted):
            self.last_good_time = self.study.state.study().last_time
        return answer

    # What people do

    @rule(site=SITES)
    def seed(self, site) -> None:
        person = f"p{self.n_people()}"
        self.ask(AddSeed(person), site=site)
        self.ask(RecordAnswers(person, 3, ANSWERS), site=site)

    @rule(coupon=NUMBERS, person=NUMBERS, site=SITES, answers=st.booleans())
    def come_with_coupon(self, coupon, person, site, answers) -> None:
        person, code = self.person(person), self.coupon(coupon)
        self.ask(ScanCoupon(code), site=site)
        if answers:
            self.wait_for(code)
        self.ask(EnrolPerson(code.lower(), person), site=site)
        if answers:
            self.ask(RecordAnswers(person, 3, ANSWERS), site=site)

    @rule(coupon=NUMBERS, site=SITES)
    def new_person_comes(self, coupon, site) -> None:
        """The ordinary case, so that studies grow: somebody new, on a day on which the coupon is valid."""
        code = self.coupon(coupon)
        self.wait_for(code)
        person = f"p{self.n_people()}"
        if isinstance(self.ask(EnrolPerson(code, person), site=site), Accepted):
            self.ask(RecordAnswers(person, 3, ANSWERS), site=site)
            self.ask(IssueCoupons(person, plan_for_one=PlanForOne("model-1", 1, 1, "", 1.0, "")), site=site)

    @rule(coupon=NUMBERS, person=NUMBERS)
    def enrolled_person_comes(self, coupon, person) -> None:
        code = self.coupon(coupon)
        self.wait_for(code)
        assert isinstance(self.ask(EnrolPerson(code, f"p{person % self.n_people()}")), Refused)

    @rule(coupon=NUMBERS, late=st.integers(0, 1), void=st.booleans())
    def new_person_comes_late(self, coupon, late, void) -> None:
        """On the last day on which a coupon is valid, or the day after; with a coupon that is void, or not."""
        code = self.coupon(coupon)
        last_day = self.study.state.coupon(code).last_day + timedelta(days=late)
        while self.study.now.date() < last_day:
            self.study.days(1)
        if void:
            self.void(coupon)
        self.ask(EnrolPerson(code, f"p{self.n_people()}"))

    @rule(person=NUMBERS, coupons=st.none() | COUPONS, planned=COUPONS, model=st.sampled_from(["model-1", "model-2"]))
    def hand_out(self, person, coupons, planned, model) -> None:
        for_one = PlanForOne(model, 1, planned, "", 1.0, "came later")
        self.ask(IssueCoupons(self.waiting(person), coupons, "took fewer", for_one))

    @rule(person=NUMBERS, coupons=COUPONS)
    def override(self, person, coupons) -> None:
        self.ask(OverrideCoupons(self.waiting(person), coupons, "because"))

    @rule(coupon=NUMBERS, kind=st.sampled_from(PaymentKind))
    def pay(self, coupon, kind) -> None:
        self.ask(Pay(self.coupon(coupon), kind))

    @rule(coupon=NUMBERS)
    def void(self, coupon) -> None:
        self.ask(VoidCoupon(self.coupon(coupon), "lost"))

    @rule(coupon=NUMBERS, days=st.integers(-10, 30))
    def extend(self, coupon, days) -> None:
        self.ask(ExtendCoupon(self.coupon(coupon), self.study.now.date() + timedelta(days=days), "was ill"))

    @rule(person=NUMBERS, void=st.booleans())
    def withdraw(self, person, void) -> None:
        self.ask(WithdrawPerson(self.person(person), void, "asked to"))

    @rule(person=NUMBERS, withdraw=st.booleans(), what=st.sets(st.sampled_from(Erasable), min_size=1))
    def erase(self, person, withdraw, what) -> None:
        if withdraw:
            self.withdraw(person, True)
        n_asked, answer = len(self.asked), self.ask(EraseAnswers(self.person(person), "asked to", tuple(sorted(what))))
        if isinstance(answer, Accepted):
            self.erased.append((n_asked, len(self.study.journal.links), answer.events[0].fact))
            self.events = []  # they are others now

    def as_it_is_now(self, place, events):
        """Events that were an answer, without what was erased since."""
        for n_asked, _, fact in self.erased:
            if place < n_asked:
                events = tuple(event_from(erased_data(event_data(event), fact.person, fact.what)) for event in events)
        return events

    def is_erased(self, number, person, *what) -> bool:
        """Whether one of these was erased about a person after an event."""
        return any(number < at and person == fact.person and {*what} & {*fact.what} for _, at, fact in self.erased)

    @rule(person=NUMBERS)
    def correct(self, person) -> None:
        self.ask(CorrectAnswers(self.person(person), 4, ANSWERS, "typing error"))

    @rule(lines=st.dictionaries(NUMBERS, st.integers(0, 3), max_size=4), model=st.sampled_from(["model-1", "model-2"]))
    def propose(self, lines, model) -> None:
        numbers = {self.waiting(number): coupons for number, coupons in lines.items()}
        self.ask(ProposePlan(model, 1, tuple(PlannedCoupons(who, n, "s", 0.5, "r") for who, n in numbers.items())))

    @rule(lines=st.dictionaries(NUMBERS, st.integers(0, 3), max_size=4), one=NUMBERS)
    def next_round(self, lines, one) -> None:
        """The ordinary case: a plan for some people, approved at once, and one of them comes."""
        self.propose(lines, "model-1")
        self.approve(0)
        self.hand_out(one, None, 3, "model-1")

    @rule(first=NUMBERS, second=NUMBERS, third=NUMBERS, one=st.none() | NUMBERS)
    def slow_approval(self, first, second, third, one) -> None:
        """While a plan for all coupons waits for approval, somebody comes under the one before."""
        if one is None:
            self.seed("north")
        left, lines = self.study.state.study().kept, {}
        for person in (first, second, third):
            lines[person] = min(2, left)
            left -= min(2, left)
        self.propose(lines, "model-1")
        if one is None:
            newest = f"p{self.n_people() - 1}"
            self.ask(IssueCoupons(newest, plan_for_one=PlanForOne("model-1", 1, 2, "", 1.0, "")))
        else:
            self.hand_out(one, None, 1, "model-1")
        self.approve(0)

    @rule(person=NUMBERS, coupons=COUPONS)
    def change_plan(self, person, coupons) -> None:
        self.ask(ChangePlan(self.study.state.study().last_plan, ((self.person(person), coupons),), "because"))

    @rule(back=st.integers(0, 2))
    def approve(self, back) -> None:
        self.ask(ApprovePlan(self.study.state.study().last_plan - back))

    @rule(back=st.integers(0, 1))
    def stop(self, back) -> None:
        self.ask(StopPlan(self.study.state.study().last_plan - back, "harm"))

    @rule(budget=st.integers(0, 15), cap=st.integers(1, 4))
    def change_settings(self, budget, cap) -> None:
        self.ask(ChangeSettings(replace(SMALL, budget=budget, cap=cap), "other money"))

    @rule(person=NUMBERS, noted=st.sampled_from(sorted(NOTED)), site=SITES)
    def note(self, person, noted, site) -> None:
        """Notes stand in the chain and promise nobody anything: all rows but the study's time stay."""
        before = self.study.state.study()
        answer = self.ask(NoteAction(noted, self.person(person), (("copies", "2"),)), site=site)
        after = self.study.state.study()
        assert replace(after, last_time=before.last_time) == before
        assert self.study.journal.links[-1].event == answer.events[0]

    @rule(coupon=NUMBERS, recruiter=NUMBERS, n_coupons=st.integers(0, 5), paid=st.sets(st.sampled_from(PaymentKind)))
    def import_people(self, coupon, recruiter, n_coupons, paid) -> None:
        """A seed with coupons and a recruit, somebody who came with a coupon, somebody of whom only the recruiter."""
        new, code = self.n_people(), self.coupon(coupon)
        own = [new_code("K7", self.study.codes.choice) for _ in range(n_coupons // 2)]
        coupons = own + [f"ab {new:020d}-{number}" for number in range(n_coupons - len(own))]
        people = [
            imported(f"p{new}", f"p{new + 1}", coupons[-1] if coupons else "", paid=tuple(paid)),
            imported(f"p{new + 1}", None, "", *coupons),
            imported(f"p{new + 2}", f"p{recruiter % new}"),
        ]
        if coupon % 2:
            people.append(imported(f"p{new + 3}", self.study.state.coupon(code).holder, code))
        wish = importing(*people)
        if isinstance(self.ask(wish), Accepted):
            self.imports.append(wish)

    @rule(number=NUMBERS)
    def import_again(self, number) -> None:
        """Whatever has happened to the people since, a file that was imported can be imported again."""
        if self.imports:
            wish = self.imports[number % len(self.imports)]
            assert len(self.ask(wish).events) == 1, "the note alone"

    # What goes wrong

    @rule(number=NUMBERS)
    def retry(self, number) -> None:
        """The same request again: the same answer, and nothing is recorded."""
        if self.asked:
            place = number % len(self.asked)
            request, answer = self.asked[place]
            before = self.study.journal.head
            later = replace(request, device_time=self.study.now)
            again = self.study.journal.answer(later, self.study.now, self.study.draw)
            assert again.repeated
            assert again.events == self.as_it_is_now(place, answer.events)
            if isinstance(answer, Refused):
                assert again.refusal == answer.refusal
            assert self.study.journal.head == before

    @rule(number=NUMBERS, coupon=NUMBERS)
    def reuse_key(self, number, coupon) -> None:
        """The key of another request: refused, and nothing is recorded.

        If only the reason is another, which refusals do not keep and erasures take away, the answer may be the same.
        """
        if self.asked:
            request, _ = self.asked[number % len(self.asked)]
            other = replace(request, wish=VoidCoupon(self.coupon(coupon), f"another wish {number}"))
            before = self.study.journal.head
            answer = self.study.journal.answer(other, self.study.now)
            assert answer.repeated
            assert digest_of(other) == digest_of(request) or answer.reason is Reason.KEY_REUSED
            assert self.study.journal.head == before

    @rule(coupon=NUMBERS, person=NUMBERS, which=st.integers(0, 3))
    def two_at_once(self, coupon, person, which) -> None:
        """Two clerks decide on the same records; the slower one has to decide again."""
        code, somebody, new = self.coupon(coupon), self.person(person), self.n_people()
        for_one = PlanForOne("model-1", 1, 1, "", 1.0, "")
        wishes = [
            (EnrolPerson(code, f"p{new}"), EnrolPerson(code, f"p{new}")),
            (Pay(code, PaymentKind.INTERVIEW), Pay(code, PaymentKind.INTERVIEW)),
            (IssueCoupons(somebody, plan_for_one=for_one), IssueCoupons(somebody, plan_for_one=for_one)),
            (EnrolPerson(code, f"p{new}"), VoidCoupon(code, "lost")),
        ][which]
        journal, head, old = self.study.journal, self.study.journal.head, self.study.state.copy()
        requests = [self.study.request(wish, site=site) for wish, site in zip(wishes, ("north", "south"), strict=True)]
        first, second = (decide(old, request, self.study.now, self.study.draw) for request in requests)
        journal.add(first.events, head)
        try:
            journal.add(second.events, head)
            raise AssertionError("the second was added although it knew nothing of the first")
        except Contradiction:
            pass
        if isinstance(first, Accepted) and isinstance(second, Accepted) and which < 3:
            try:  # even with the right head: the rows' unique keys stop it
                journal.state.copy().add(second.events[0])
                raise AssertionError("done twice")
            except Contradiction:
                pass
        again = journal.answer(requests[1], self.study.now, self.study.draw)
        assert isinstance(again, Refused) or not isinstance(first, Accepted)
        self.asked.append((requests[0], first))
        self.asked.append((requests[1], again))
        if isinstance(first, Accepted):
            self.last_good_time = self.study.state.study().last_time

    @rule(coupon=NUMBERS, place=st.integers(0, 8), person=NUMBERS)
    def swapped_code(self, coupon, place, person) -> None:
        code = self.coupon(coupon)
        if len(code) != LENGTH:
            return  # a code of another system has no check character
        swapped = code[:place] + code[place + 1] + code[place] + code[place + 2 :]
        if swapped != code:
            assert self.ask(EnrolPerson(swapped, self.person(person))).reason is Reason.MISTYPED

    @rule(prefix=st.sampled_from(["K7", "9X"]))
    def made_up_code(self, prefix) -> None:
        answer = self.ask(EnrolPerson(new_code(prefix, self.study.codes.choice), f"p{self.n_people()}"))
        assert isinstance(answer, Refused)

    @rule(days=st.integers(0, 4))
    def days_pass(self, days) -> None:
        self.study.days(days)

    @rule(minutes=st.integers(6, 100_000), coupon=NUMBERS)
    def server_clock_jumps_back(self, minutes, coupon) -> None:
        code = self.coupon(coupon)
        self.wait_for(code)
        self.ask(ScanCoupon(code))
        right = self.study.now
        self.study.now = self.last_good_time - timedelta(minutes=minutes)
        assert self.ask(EnrolPerson(code, f"p{self.n_people()}")).reason is Reason.SERVER_CLOCK
        self.study.now = right

    @rule(minutes=st.integers(6, 100_000), coupon=NUMBERS)
    def server_clock_was_ahead_and_is_put_right(self, minutes, coupon) -> None:
        """What is noted by a wrong clock stops nobody; what is recorded by it waits for the manager."""
        right = self.study.now
        self.study.now += timedelta(minutes=minutes)
        self.ask(NoteAction(Action.BACK_UP))
        scanned = self.ask(ScanCoupon(self.coupon(coupon)))
        self.study.now = right
        refused = self.ask(AddSeed(f"p{self.n_people()}"))
        assert (
            (refused.reason is Reason.SERVER_CLOCK) if isinstance(scanned, Accepted) else isinstance(refused, Accepted)
        )
        if isinstance(scanned, Accepted):
            self.ask(AcceptClock("compared"))
            assert self.study.state.study().last_time == right

    @rule(seconds=st.integers(1, 299))
    def server_clock_is_corrected(self, seconds) -> None:
        self.study.now = max(self.study.now - timedelta(seconds=seconds), self.last_good_time - timedelta(seconds=299))

    @rule(hours=st.integers(-200_000, 200_000).filter(lambda hours: not -72 <= hours <= 0), coupon=NUMBERS)
    def device_clock_jumps(self, hours, coupon) -> None:
        device = self.study.now + timedelta(hours=hours)
        answer = self.ask(EnrolPerson(self.coupon(coupon), f"p{self.n_people()}"), device_time=device)
        assert answer.reason is Reason.CLOCK

    # What holds all the time

    @invariant()
    def promises_can_be_kept(self) -> None:
        study = self.study.state.study()
        plan = None if study.approved_plan is None else self.study.state.plan(study.approved_plan)
        promised = 0 if plan is None else plan.promised
        assert 0 <= promised <= study.kept

    def teardown(self) -> None:
        if not hasattr(self, "study"):
            return
        self.coupons_and_payments_are_used_once()
        self.budget_and_caps_hold()
        self.redemptions_are_in_time_and_make_a_tree()
        self.requests_have_one_answer()
        self.events_rebuild_the_state()

    def coupons_and_payments_are_used_once(self) -> None:
        redeemed = Counter(
            fact.code for _, fact in self.facts() if isinstance(fact, PersonEnrolled | SeedAdded | PersonImported)
        )
        paid = Counter((fact.code, fact.kind) for _, fact in self.facts() if isinstance(fact, PaymentMade))
        paid.update(
            (fact.code, kind) for _, fact in self.facts() if isinstance(fact, PersonImported) for kind in fact.paid
        )
        assert max(redeemed.values()) == 1
        assert max(paid.values(), default=1) == 1
        assert {code for code, _ in paid} <= redeemed.keys()
        issued = [code for _, fact in self.facts() for code in codes_issued(fact)]
        assert len(issued) == len(set(issued))

    def budget_and_caps_hold(self) -> None:
        budget = cap = issued = 0
        of_person: Counter[str] = Counter()
        of_round = set()
        approved = 0
        withdrawn = set()
        proposed, last_issued, plan = {}, {}, 0
        for place, (_, fact) in enumerate(self.facts()):
            if isinstance(fact, StudyBegun | SettingsChanged):
                budget, cap = fact.settings.budget, fact.settings.cap
            elif isinstance(fact, PlanApproved):
                approved += 1
                assert fact.round == approved
                plan = fact.plan
            elif isinstance(fact, PlanProposed):
                proposed[fact.plan] = place
            elif isinstance(fact, PersonWithdrawn):
                withdrawn.add(fact.person)
            elif isinstance(fact, CouponsIssued):
                assert fact.round == approved
                assert (fact.round, fact.person) not in of_round, "twice in a round"
                of_round.add((fact.round, fact.person))
                assert len(fact.codes) <= fact.decided
                assert fact.person not in withdrawn
                if fact.decided_by is DecidedBy.PLAN and fact.codes:
                    assert last_issued.get(fact.person, -1) < proposed[plan], "the plan did not know of coupons"
                last_issued[fact.person] = place
                of_person[fact.person] += len(fact.codes)
                assert not fact.codes or of_person[fact.person] <= cap
                issued += len(fact.codes)
            elif isinstance(fact, PersonImported):  # more than the cap, and not of the budget
                of_person[fact.person] += len(fact.coupons)
                if fact.drawn and fact.recruiter is not None:
                    of_person[fact.recruiter] += 1
            assert issued <= budget
        assert issued + self.study.state.study().kept == budget
        people = self.study.state.table(PersonRow).values()
        assert {row.person: row.coupons for row in people if row.coupons} == +of_person

    def redemptions_are_in_time_and_make_a_tree(self) -> None:
        holder, days, void, recruiter = {}, {}, set(), {}
        for event, fact in self.facts():
            if isinstance(fact, SeedAdded):
                assert fact.person not in recruiter
                recruiter[fact.person] = None
            elif isinstance(fact, CouponsIssued):
                for code in fact.codes:
                    holder[code], days[code] = fact.person, (fact.first_day, fact.last_day)
            elif isinstance(fact, CouponExtended):
                days[fact.code] = (days[fact.code][0], fact.last_day)
            elif isinstance(fact, CouponVoided):
                assert fact.code not in void
                void.add(fact.code)
            elif isinstance(fact, PersonImported):
                assert fact.person not in recruiter, "enrolled twice"
                recruiter[fact.person] = fact.recruiter
                for each in fact.coupons:
                    holder[each.code], days[each.code] = fact.person, (each.first_day, each.last_day)
                if fact.recruiter is not None:
                    assert fact.recruiter in recruiter
                    assert fact.code not in void
                    assert fact.drawn or fact.recruiter == holder[fact.code] != fact.person
            elif isinstance(fact, PersonEnrolled):
                first, last = days[fact.code]
                assert first <= event.stamp.server_time.date() <= last
                assert fact.code not in void
                assert fact.recruiter == holder[fact.code] != fact.person
                assert fact.person not in recruiter, "enrolled twice"
                assert fact.recruiter in recruiter, "recruiters come before recruits, so there is no cycle"
                recruiter[fact.person] = fact.recruiter

    def requests_have_one_answer(self) -> None:
        parts = defaultdict(list)
        for event, _ in self.facts():
            parts[event.stamp.request_key].append(event)
        for events in parts.values():
            assert [event.part for event in events] == list(range(1, len(events) + 1))
            assert len({event.stamp for event in events}) == 1
            refused = [event for event in events if isinstance(event.fact, RequestRefused)]
            assert not refused or len(events) == 1
        assert {request.key for request, _ in self.asked} <= parts.keys(), "what was answered is recorded"

    def events_rebuild_the_state(self) -> None:
        again = Journal(self.study.journal.links)
        assert again.state == self.study.state
        assert rebuild(event for event, _ in self.facts()) == self.study.state
        for number, (_, fact) in enumerate(self.facts(), start=1):
            self.texts_are_there_until_they_are_erased(number, fact)
        times = []
        for event, fact in self.facts():
            if isinstance(fact, ClockAccepted):
                times = []
            elif not isinstance(fact, RequestRefused | ActionNoted):
                times.append(event.stamp.server_time)
                assert times == sorted(times), "time never runs backwards unless the manager accepts it"

    def texts_are_there_until_they_are_erased(self, number, fact) -> None:
        for part in parts_of(fact):
            person = fact.lines[0][0] if isinstance(fact, PlanChanged) else getattr(part, "person", "")
            about = {"answers"} if hasattr(part, "answers") else {"answers", "network_size"}
            if getattr(part, "decided_by", None) == "override":
                about.add("words")
            for salt, commitment, what in (
                ("salt", "commitment", about),
                ("size_salt", "size_commitment", {"network_size"}),
                ("words_salt", "words_commitment", {"words"}),
            ):
                if getattr(part, commitment, ""):
                    assert bool(getattr(part, salt)) != self.is_erased(number, person, *what)
            if self.is_erased(number, person, "words"):
                assert not getattr(part, "why", "")
                assert not getattr(part, "why_fewer", "")
            if self.is_erased(number, person, "network_size"):
                assert getattr(part, "network_size", None) is None


TestRunningStudy = RunningStudy.TestCase
TestRunningStudy.settings = settings(max_examples=150, stateful_step_count=50)

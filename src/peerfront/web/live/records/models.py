"""The tables of a running study, on SQLite and PostgreSQL.

Tables of `FOLLOWING` follow from the events alone (`rules.effects`); nothing else writes them, and `verify` rebuilds
them from the events and compares. Their unique keys carry the invariants whatever two tablets do at once: one
redemption of a coupon, one payment for a coupon and kind, one decision for a person and round, one event for a request
and part, and no two events after the same one.

Fields have the names of the row they store (`rules.records`); the field of a coupon's code is `coupon`.
"""

from enum import StrEnum
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.signals import post_save, pre_save
from django.dispatch import receiver

from peerfront.web.live.rules import records

NAME = 40  # characters of an identifier
CODE = 40


class Study(models.Model):
    """The study; a database holds one, in row 1."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    prefix = models.CharField(max_length=8)
    settings = models.JSONField()
    kept = models.IntegerField()
    last_plan = models.IntegerField()
    approved_plan = models.ForeignKey("Plan", models.PROTECT, null=True, related_name="+")
    rounds = models.IntegerField()
    last_time = models.DateTimeField()
    boot = models.CharField(max_length=64, default="")
    """Which start of the computer the next column is of; these two follow from no event (`recording.ServerClock`)."""
    booted_at = models.DateTimeField(null=True)
    """When that was, by the clock by which the last record was made."""

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="one_study"),
            models.CheckConstraint(condition=models.Q(kept__gte=0), name="budget_kept"),
        ]


class Site(models.Model):
    site = models.CharField(max_length=NAME, primary_key=True)
    name = models.CharField(max_length=100)

    class Meta:
        ordering: ClassVar = ["name", "site"]

    def __str__(self) -> str:
        return self.name


class Person(models.Model):
    person = models.CharField(max_length=NAME, primary_key=True)
    site = models.ForeignKey(Site, models.PROTECT)
    code = models.CharField(max_length=CODE, unique=True)
    recruiter = models.ForeignKey("self", models.PROTECT, null=True, related_name="recruits")
    enrolled_at = models.DateTimeField(db_index=True)
    network_size = models.IntegerField(null=True)
    answers = models.JSONField(null=True)
    coupons = models.IntegerField()
    last_issued_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)
    imported = models.CharField(max_length=128)

    class Meta:
        ordering: ClassVar = ["person"]
        indexes: ClassVar = [
            models.Index(fields=["-enrolled_at", "person"], name="people_newest"),
            models.Index(fields=["site", "-enrolled_at", "person"], name="people_of_site"),
            # The groups of the list of people, which are small in a large study.
            models.Index(
                fields=["site"], name="people_no_coupons", condition=models.Q(coupons=0, withdrawn_at__isnull=True)
            ),
            models.Index(fields=["site"], name="people_unanswered", condition=models.Q(answers__isnull=True)),
            models.Index(fields=["site"], name="people_withdrawn", condition=models.Q(withdrawn_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.person


HANDED_OUT = models.Q(holder__isnull=False)
"""Selects coupons that were handed out; the others are codes of seeds. Indexes have this very condition."""


class Coupon(models.Model):
    code = models.CharField(max_length=CODE, primary_key=True)
    holder = models.ForeignKey(Person, models.PROTECT, null=True, related_name="held")
    site = models.ForeignKey(Site, models.PROTECT)
    issued_at = models.DateTimeField(db_index=True)
    first_day = models.DateField()
    last_day = models.DateField(db_index=True)
    voided_at = models.DateTimeField(null=True)
    why_void = models.TextField()
    imported = models.BooleanField()

    class Meta:
        ordering: ClassVar = ["code"]
        indexes: ClassVar = [
            models.Index(fields=["-issued_at", "code"], name="coupons_newest", condition=HANDED_OUT),
            models.Index(fields=["site", "-issued_at", "code"], name="coupons_of_site", condition=HANDED_OUT),
            models.Index(
                fields=["last_day", "first_day", "site", "code"],
                name="coupons_by_day",
                condition=HANDED_OUT & models.Q(voided_at__isnull=True),
            ),
            models.Index(fields=["site"], name="coupons_void", condition=models.Q(voided_at__isnull=False)),
        ]


class Redemption(models.Model):
    """A coupon is used once, and a person came with one coupon."""

    coupon = models.OneToOneField(Coupon, models.PROTECT, primary_key=True)
    person = models.OneToOneField(Person, models.PROTECT)
    at = models.DateTimeField(db_index=True)
    site = models.ForeignKey(Site, models.PROTECT)


class Plan(models.Model):
    plan = models.IntegerField(primary_key=True)
    model = models.CharField(max_length=NAME)
    seed = models.BigIntegerField()
    proposed_at = models.DateTimeField()
    status = models.CharField(max_length=10)
    round = models.IntegerField(null=True, unique=True)
    promised = models.IntegerField()


class PlanLine(models.Model):
    plan = models.ForeignKey(Plan, models.PROTECT, related_name="lines")
    person = models.ForeignKey(Person, models.PROTECT, related_name="plan_lines")
    coupons = models.IntegerField()
    planned = models.IntegerField()
    stratum = models.TextField()
    probability = models.FloatField()
    reason = models.TextField()
    why_changed = models.TextField()

    class Meta:
        ordering: ClassVar = ["plan", "person"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["plan", "person"], name="one_line")]


class Override(models.Model):
    round = models.IntegerField()
    person = models.ForeignKey(Person, models.PROTECT, related_name="overrides")
    coupons = models.IntegerField()
    actor = models.CharField(max_length=150)
    why = models.TextField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["round", "person"], name="one_override")]


class Decision(models.Model):
    """Nobody gets coupons twice in a round."""

    round = models.IntegerField()
    person = models.ForeignKey(Person, models.PROTECT, related_name="decisions")
    coupons = models.IntegerField()
    planned = models.IntegerField(null=True)
    decided = models.IntegerField()
    decided_by = models.CharField(max_length=10)
    model = models.CharField(max_length=NAME)
    seed = models.BigIntegerField()
    stratum = models.TextField()
    probability = models.FloatField(null=True)
    reason = models.TextField()
    why_fewer = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["round", "person"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["round", "person"], name="one_decision")]


class Payment(models.Model):
    """Each kind is paid once for a coupon."""

    coupon = models.ForeignKey(Coupon, models.PROTECT, related_name="payments")
    kind = models.CharField(max_length=10)
    person = models.ForeignKey(Person, models.PROTECT, related_name="payments")
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    at = models.DateTimeField()
    site = models.ForeignKey(Site, models.PROTECT)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["coupon", "kind"], name="paid_once")]


class Refusal(models.Model):
    request_key = models.CharField(max_length=100, primary_key=True)
    action = models.CharField(max_length=30)
    reason = models.CharField(max_length=30)
    code = models.CharField(max_length=CODE)
    at = models.DateTimeField(db_index=True)
    site = models.CharField(max_length=NAME, null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["code"], name="refusals_of_code")]


FOLLOWING: dict[type[records.Row], type[models.Model]] = {
    records.StudyRow: Study,
    records.SiteRow: Site,
    records.PersonRow: Person,
    records.CouponRow: Coupon,
    records.RedemptionRow: Redemption,
    records.PlanRow: Plan,
    records.PlanLineRow: PlanLine,
    records.OverrideRow: Override,
    records.DecisionRow: Decision,
    records.PaymentRow: Payment,
    records.RefusalRow: Refusal,
}
"""The table of each row that follows from the events."""


class Event(models.Model):
    """What happened, chained by hashes (`rules.chain`). Rows are added, never changed or removed.

    The exception are texts that were erased on request; the hashes stay (`rules.chain`).
    """

    number = models.BigIntegerField(primary_key=True)
    before = models.CharField(max_length=64, unique=True)
    hash = models.CharField(max_length=64)
    request_key = models.CharField(max_length=100)
    part = models.IntegerField()
    kind = models.CharField(max_length=30, db_index=True)
    actor = models.CharField(max_length=150)
    site = models.CharField(max_length=NAME, null=True)
    at = models.DateTimeField(db_index=True)
    data = models.TextField()
    """The event as JSON text; the columns above only serve searches."""
    signature = models.CharField(max_length=64, default="")
    """Number and hash signed with the study's secret key, which is not in the database; empty before 0.4."""

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["request_key", "part"], name="one_answer")]
        indexes: ClassVar = [
            models.Index(fields=["kind", "number"], name="events_of_kind"),
            models.Index(fields=["kind", "at"], name="events_of_kind_by_time"),
        ]


class Member(models.Model):
    """The roles of a user in the study, for one site or (None) for all."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="member")
    roles = models.CharField(max_length=200)
    """With commas between them (`rules.actions.roles_text`)."""
    site = models.ForeignKey(Site, models.PROTECT, null=True, blank=True)
    password_seal = models.CharField(max_length=64, default="")
    """The hash of the password, signed with the study's secret key whenever peerfront sets one."""


def password_seal(user: Any) -> str:
    """What shows that peerfront, and not somebody in the database, has set the present password of a user."""
    return str(settings.KEYS.signature("password", f"{user.pk} {user.password}"))


@receiver(pre_save, sender=settings.AUTH_USER_MODEL)
def _seal_password(instance: Any, update_fields: Any, **_: Any) -> None:
    """Seal a new password; not if the one before had no seal, for it was perhaps a stranger who logged in with it."""
    if instance._state.adding or (update_fields is not None and "password" not in update_fields):
        return
    member = Member.objects.filter(user_id=instance.pk).select_related("user").first()
    if member is None:
        return
    if not instance.has_usable_password() or member.password_seal == password_seal(member.user):
        Member.objects.filter(pk=member.pk).update(password_seal=password_seal(instance))


@receiver(post_save, sender=Member)
def _seal_password_of_member(instance: Member, created: bool, **_: Any) -> None:
    if created:
        Member.objects.filter(pk=instance.pk).update(password_seal=password_seal(instance.user))


class Contact(models.Model):
    """A person's contact details: kept apart, encrypted, and deletable without breaking anything."""

    person = models.OneToOneField(Person, models.PROTECT, primary_key=True)
    sealed = models.BinaryField()
    """Encrypted with a key that is not in the database (`records.contacts`)."""
    written_at = models.DateTimeField()


class PlanningStep(StrEnum):
    """The steps of a planning job."""

    READING = "reading"
    FITTING = "fitting"
    PLANNING = "planning"
    SAVING = "saving"


class JobKind(StrEnum):
    """What is done in a process of its own."""

    PLAN = "plan"
    IMPORT = "import"


class PlanningJob(models.Model):
    """A fit and plan, or an import, in a process of its own: its present step, and how it ended."""

    kind = models.CharField(max_length=10, default=JobKind.PLAN.value)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    state = models.CharField(max_length=10, default="waiting")
    """waiting, running, done, failed or stopped."""
    step = models.CharField(max_length=200, default="")
    share = models.FloatField(default=0.0)
    """The share of the work that is done, 0 to 1."""
    seen_at = models.DateTimeField(null=True)
    """Time of the last heartbeat."""
    ended_at = models.DateTimeField(null=True)
    plan = models.ForeignKey(Plan, models.PROTECT, null=True)
    """The plan that was made; from the start if the job is to look again at a plan that was changed by hand."""
    message = models.TextField(default="")
    """Why it failed, or its result, as JSON."""

"""What 0.4 adds to the tables of 0.3.

A user may have several roles. Notes do not move the study's time any more, and the clock is compared with the seconds
that the computer counts. Events and passwords carry signatures, so that `verify` finds what was changed in the database
alone. Imports are jobs, too. Indexes for lists of large studies.
"""

from typing import ClassVar

from django.db import migrations, models

_NOTES = ("action_noted", "request_refused")


def _without_notes(apps, _editor) -> None:  # type: ignore[no-untyped-def]
    events = apps.get_model("records", "Event").objects.exclude(kind__in=_NOTES).order_by("-number")
    last = events.values_list("at", flat=True).first()
    if last is not None:
        apps.get_model("records", "Study").objects.update(last_time=last)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("records", "0001_initial")]

    operations: ClassVar = [
        migrations.RenameField("member", "role", "roles"),
        migrations.AlterField("member", "roles", models.CharField(max_length=200)),
        migrations.AddField("member", "password_seal", models.CharField(default="", max_length=64)),
        migrations.AddField("study", "boot", models.CharField(max_length=64, default="")),
        migrations.AddField("study", "booted_at", models.DateTimeField(null=True)),
        migrations.AddField("event", "signature", models.CharField(default="", max_length=64)),
        migrations.AddField("planningjob", "kind", models.CharField(default="plan", max_length=10)),
        migrations.AddIndex(
            model_name="coupon",
            index=models.Index(
                condition=models.Q(("holder__isnull", False)), fields=["-issued_at", "code"], name="coupons_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="coupon",
            index=models.Index(
                condition=models.Q(("holder__isnull", False)),
                fields=["site", "-issued_at", "code"],
                name="coupons_of_site",
            ),
        ),
        migrations.AddIndex(
            model_name="coupon",
            index=models.Index(
                condition=models.Q(("holder__isnull", False), ("voided_at__isnull", True)),
                fields=["last_day", "first_day", "site", "code"],
                name="coupons_by_day",
            ),
        ),
        migrations.AddIndex(
            model_name="coupon",
            index=models.Index(condition=models.Q(("voided_at__isnull", False)), fields=["site"], name="coupons_void"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["kind", "number"], name="events_of_kind"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["kind", "at"], name="events_of_kind_by_time"),
        ),
        migrations.AddIndex(
            model_name="person",
            index=models.Index(fields=["-enrolled_at", "person"], name="people_newest"),
        ),
        migrations.AddIndex(
            model_name="person",
            index=models.Index(fields=["site", "-enrolled_at", "person"], name="people_of_site"),
        ),
        migrations.AddIndex(
            model_name="person",
            index=models.Index(
                condition=models.Q(("coupons", 0), ("withdrawn_at__isnull", True)),
                fields=["site"],
                name="people_no_coupons",
            ),
        ),
        migrations.AddIndex(
            model_name="person",
            index=models.Index(
                condition=models.Q(("answers__isnull", True)), fields=["site"], name="people_unanswered"
            ),
        ),
        migrations.AddIndex(
            model_name="person",
            index=models.Index(
                condition=models.Q(("withdrawn_at__isnull", False)), fields=["site"], name="people_withdrawn"
            ),
        ),
        migrations.AddIndex(
            model_name="refusal",
            index=models.Index(fields=["code"], name="refusals_of_code"),
        ),
        migrations.RunPython(_without_notes, migrations.RunPython.noop),
    ]

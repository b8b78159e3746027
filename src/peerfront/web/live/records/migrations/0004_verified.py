"""Events and passwords carry signatures, so that `verify` finds what was changed in the database alone."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("records", "0003_clock")]

    operations: ClassVar = [
        migrations.AddField("event", "signature", models.CharField(default="", max_length=64)),
        migrations.AddField("member", "password_seal", models.CharField(default="", max_length=64)),
    ]

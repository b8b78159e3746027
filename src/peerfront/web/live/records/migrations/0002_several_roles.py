"""A user may have several roles."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("records", "0001_initial")]

    operations: ClassVar = [
        migrations.RenameField("member", "role", "roles"),
        migrations.AlterField("member", "roles", models.CharField(max_length=200)),
    ]

"""Runs that wait for the same days are one: of several the first stays."""

from django.conf import settings
from django.db import migrations, models

END_REPEATED = """
UPDATE reports_reportrun AS later
SET status = 'failed', finished_at = now(), error = 'The same days were waiting already.'
FROM reports_reportrun AS first
WHERE later.status = 'queued' AND first.status = 'queued' AND first.id < later.id
    AND first.first_day = later.first_day AND first.last_day = later.last_day
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(END_REPEATED, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="reportrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "queued")),
                fields=("first_day", "last_day"),
                name="report_days_wait_once",
            ),
        ),
    ]

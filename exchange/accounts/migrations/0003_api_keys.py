import datetime

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

SCOPES = [
    ("eligibility:read", "Ask which campaigns are eligible"),
    ("explain:read", "Ask why a campaign is eligible or not"),
    ("manage:write", "Change parties, edges, campaigns and bookings"),
    ("reports:read", "Read reports"),
    ("snapshot:read", "Download snapshots, which hold everybody's targeting"),
]
# Keys from before had one use and perhaps no end.
END_OLD_KEYS = """
    UPDATE accounts_apikey SET expires_at = least(
        coalesce(expires_at, now() + interval '180 days'), created_at + interval '366 days'
    )
"""


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0002_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="start",
            field=models.CharField(
                default="", help_text="The text's first letters, to tell keys by.", max_length=8
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="apikey",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(choices=SCOPES, max_length=20),
                default=["eligibility:read"],
                size=None,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="apikey",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="last_used_at",
            field=models.DateTimeField(
                blank=True,
                help_text="To within a minute; servers write it down now and then.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="created_at",
            field=models.DateTimeField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.RunSQL(END_OLD_KEYS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="apikey",
            name="expires_at",
            field=models.DateTimeField(),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=Q(
                    scopes__len__gt=0, scopes__contained_by=[scope for scope, _ in SCOPES]
                ),
                name="api_key_scopes_are_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=Q(expires_at__lte=F("created_at") + datetime.timedelta(days=366)),
                name="api_key_ends_within_a_year",
            ),
        ),
    ]

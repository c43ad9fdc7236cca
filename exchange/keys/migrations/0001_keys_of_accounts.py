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


def move_content_type(apps, schema_editor, *, to):
    """With it go the permissions, and the admin's log, that name it."""
    content_types = apps.get_model("contenttypes", "ContentType").objects
    rows = content_types.using(schema_editor.connection.alias)
    rows.filter(app_label__in=["accounts", "keys"], model="apikey").update(app_label=to)


def to_keys(apps, schema_editor):
    move_content_type(apps, schema_editor, to="keys")


def to_accounts(apps, schema_editor):
    move_content_type(apps, schema_editor, to="accounts")


class Migration(migrations.Migration):
    """Takes the table over that `accounts` made, under its name: no row moves."""

    dependencies = [
        ("accounts", "0006_keys_leave"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("market", "0009_values_named"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="ApiKey",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        ("name", models.CharField(max_length=120)),
                        ("hash", models.CharField(max_length=64, unique=True)),
                        (
                            "start",
                            models.CharField(
                                help_text="The text's first letters, to tell keys by.", max_length=8
                            ),
                        ),
                        (
                            "scopes",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.CharField(choices=SCOPES, max_length=20),
                                size=None,
                            ),
                        ),
                        ("is_demo", models.BooleanField(default=False)),
                        (
                            "created_at",
                            models.DateTimeField(default=django.utils.timezone.now, editable=False),
                        ),
                        ("expires_at", models.DateTimeField()),
                        ("revoked_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "last_used_at",
                            models.DateTimeField(
                                blank=True,
                                help_text="To within a minute; servers write it down now and then.",
                                null=True,
                            ),
                        ),
                        (
                            "created_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "organisation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="api_keys",
                                to="accounts.organisation",
                            ),
                        ),
                        (
                            "publishers",
                            models.ManyToManyField(
                                limit_choices_to={"kind": "publisher"},
                                related_name="api_keys",
                                to="market.party",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "accounts_apikey",
                        "ordering": ["-id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=Q(hash__regex="^[0-9a-f]{64}$"),
                                name="api_key_holds_a_hash",
                            ),
                            models.CheckConstraint(
                                condition=Q(
                                    scopes__len__gt=0,
                                    scopes__contained_by=[scope for scope, _ in SCOPES],
                                ),
                                name="api_key_scopes_are_known",
                            ),
                            models.CheckConstraint(
                                condition=Q(
                                    expires_at__lte=F("created_at") + datetime.timedelta(days=366)
                                ),
                                name="api_key_ends_within_a_year",
                            ),
                        ],
                    },
                ),
            ],
        ),
        migrations.RunPython(to_keys, to_accounts),
    ]

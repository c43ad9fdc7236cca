"""Sums of eligible visits by day and publisher, kept by triggers once per statement; what was
counted of whole days; and a publisher's rows in one index."""

import django.db.models.deletion
from django.db import migrations, models

CREATE = """
CREATE FUNCTION sum_eligible_visits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        UPDATE reports_eligiblesums SET eligible_visits = 0, changes = changes + 1;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO reports_eligiblesums AS sums (day, publisher_id, eligible_visits, changes)
        SELECT day, publisher_id, sum(eligible_visits), 1 FROM added GROUP BY day, publisher_id
        ON CONFLICT (day, publisher_id) DO UPDATE SET
            eligible_visits = sums.eligible_visits + excluded.eligible_visits,
            changes = sums.changes + 1;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        UPDATE reports_eligiblesums AS sums SET
            eligible_visits = sums.eligible_visits - lost.eligible_visits,
            changes = sums.changes + 1
        FROM (
            SELECT day, publisher_id, sum(eligible_visits) AS eligible_visits
            FROM removed GROUP BY day, publisher_id
        ) AS lost
        WHERE (sums.day, sums.publisher_id) = (lost.day, lost.publisher_id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sum_inserted AFTER INSERT ON reports_eligiblevisits
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION sum_eligible_visits();
CREATE TRIGGER sum_updated AFTER UPDATE ON reports_eligiblevisits
    REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION sum_eligible_visits();
CREATE TRIGGER sum_deleted AFTER DELETE ON reports_eligiblevisits
    REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION sum_eligible_visits();
CREATE TRIGGER sum_truncated AFTER TRUNCATE ON reports_eligiblevisits
    FOR EACH STATEMENT EXECUTE FUNCTION sum_eligible_visits();
INSERT INTO reports_eligiblesums (day, publisher_id, eligible_visits, changes)
SELECT day, publisher_id, sum(eligible_visits), 1
FROM reports_eligiblevisits GROUP BY day, publisher_id;
"""
DROP = """
DROP TRIGGER sum_inserted ON reports_eligiblevisits;
DROP TRIGGER sum_updated ON reports_eligiblevisits;
DROP TRIGGER sum_deleted ON reports_eligiblevisits;
DROP TRIGGER sum_truncated ON reports_eligiblevisits;
DROP FUNCTION sum_eligible_visits();
"""


class Migration(migrations.Migration):
    dependencies = [("market", "0007_graph_version"), ("reports", "0002_days_wait_once")]

    operations = [
        migrations.CreateModel(
            name="EligibleSums",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("eligible_visits", models.BigIntegerField()),
                ("changes", models.BigIntegerField()),
                (
                    "publisher",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="market.party",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("day", "publisher"), name="eligible_sums_once_per_day"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="KeptCampaigns",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=100, unique=True)),
                ("count", models.PositiveBigIntegerField()),
                ("first", models.JSONField()),
            ],
        ),
        migrations.AddIndex(
            model_name="eligiblevisits",
            index=models.Index(
                fields=["publisher", "day"],
                include=("campaign", "eligible_visits"),
                name="eligible_at_publisher",
            ),
        ),
        migrations.RunSQL(CREATE, DROP),
    ]

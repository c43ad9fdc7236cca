"""Notes every change of the market, also under bulk and raw SQL.

Once per statement over its rows, with the id of the transaction: a serial number alone would lose
rows that commit late. A save that changes nothing (the version says so) is no change. A statement
that touches very many rows is noted as one: naming them would cost more than the build that follows.
Of edges and parties the former row is kept too: which paths move depends on both.
"""

from django.db import migrations

MANY = 20_000
# table, kind
TABLES = [
    ("market_attribute", "attribute"),
    ("market_audience", "audience"),
    ("market_booking", "booking"),
    ("market_campaign", "campaign"),
    ("market_edge", "edge"),
    ("market_party", "party"),
    ("market_valuelist", "value list"),
]

CREATE_FUNCTIONS = f"""
CREATE FUNCTION note_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM changed LIMIT {MANY} + 1) AS first_rows) > {MANY} THEN
        INSERT INTO snapshots_change (kind, object_id, xid)
            VALUES (TG_ARGV[0], NULL, pg_current_xact_id());
    ELSE
        INSERT INTO snapshots_change (kind, object_id, xid)
            SELECT TG_ARGV[0], id, pg_current_xact_id() FROM changed;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION note_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM changed LIMIT {MANY} + 1) AS first_rows) > {MANY} THEN
        INSERT INTO snapshots_change (kind, object_id, xid)
            SELECT TG_ARGV[0], NULL, pg_current_xact_id() FROM changed JOIN former USING (id)
            WHERE changed.version <> former.version LIMIT 1;
    ELSE
        INSERT INTO snapshots_change (kind, object_id, xid, former)
            SELECT TG_ARGV[0], id, pg_current_xact_id(),
                CASE WHEN TG_ARGV[0] IN ('edge', 'party') THEN to_jsonb(former) END
            FROM changed JOIN former USING (id)
            WHERE changed.version <> former.version;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION note_organisation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO snapshots_change (kind, object_id, xid)
        VALUES ('organisation', NEW.id, pg_current_xact_id());
    RETURN NULL;
END $$;
-- Whose names everybody may use depends on it.
CREATE TRIGGER note_organisation AFTER UPDATE ON accounts_organisation FOR EACH ROW
    WHEN (OLD.is_operator <> NEW.is_operator) EXECUTE FUNCTION note_organisation();
"""
DROP_FUNCTIONS = """
DROP TRIGGER note_organisation ON accounts_organisation;
DROP FUNCTION note_organisation();
DROP FUNCTION note_updated();
DROP FUNCTION note_inserted();
"""

CREATE = """
CREATE TRIGGER note_inserted AFTER INSERT ON {table}
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_inserted('{kind}');
CREATE TRIGGER note_updated AFTER UPDATE ON {table}
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION note_updated('{kind}');
"""
DROP = """
DROP TRIGGER note_inserted ON {table};
DROP TRIGGER note_updated ON {table};
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_api_keys"),
        ("market", "0003_rules"),
        ("snapshots", "0002_delta_log"),
    ]

    operations = [
        migrations.RunSQL(CREATE_FUNCTIONS, DROP_FUNCTIONS),
        *(
            migrations.RunSQL(
                CREATE.format(table=table, kind=kind), DROP.format(table=table, kind=kind)
            )
            for table, kind in TABLES
        ),
    ]

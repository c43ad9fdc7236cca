"""Rules between tables that no check constraint can hold, also under bulk and raw SQL.

A booking carries its campaign's advertiser; pinned edges exist; a list has its current version; an
attribute and a list keep their type and an attribute its name, because expressions rely on them.
"""

from django.db import migrations

ADVERTISER = """
CREATE FUNCTION booking_takes_advertiser() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT advertiser_id INTO NEW.advertiser_id FROM market_campaign WHERE id = NEW.campaign_id;
    RETURN NEW;
END $$;
CREATE TRIGGER booking_takes_advertiser BEFORE INSERT OR UPDATE ON market_booking
    FOR EACH ROW WHEN (NEW.advertiser_id IS NULL) EXECUTE FUNCTION booking_takes_advertiser();
ALTER TABLE market_campaign ADD CONSTRAINT campaign_with_advertiser UNIQUE (id, advertiser_id);
ALTER TABLE market_booking ADD CONSTRAINT booking_has_campaigns_advertiser
    FOREIGN KEY (campaign_id, advertiser_id) REFERENCES market_campaign (id, advertiser_id)
    ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
DROP_ADVERTISER = """
ALTER TABLE market_booking DROP CONSTRAINT booking_has_campaigns_advertiser;
ALTER TABLE market_campaign DROP CONSTRAINT campaign_with_advertiser;
DROP TRIGGER booking_takes_advertiser ON market_booking;
DROP FUNCTION booking_takes_advertiser();
"""

PINS = """
CREATE FUNCTION booking_pins_exist() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (
            SELECT DISTINCT unnest(pinned_edges) AS edge_id FROM changed WHERE policy = 'pinned'
        ) AS pins
        WHERE NOT EXISTS (SELECT 1 FROM market_edge WHERE market_edge.id = pins.edge_id)
    ) THEN
        RAISE EXCEPTION 'a pinned edge does not exist' USING
            ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'booking_pins_exist';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER booking_pins_exist_on_insert AFTER INSERT ON market_booking
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION booking_pins_exist();
CREATE TRIGGER booking_pins_exist_on_update AFTER UPDATE ON market_booking
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION booking_pins_exist();
"""
DROP_PINS = """
DROP TRIGGER booking_pins_exist_on_insert ON market_booking;
DROP TRIGGER booking_pins_exist_on_update ON market_booking;
DROP FUNCTION booking_pins_exist();
"""

LIST_VERSION = """
ALTER TABLE market_valuelist ADD CONSTRAINT value_list_has_its_version
    FOREIGN KEY (id, current_number) REFERENCES market_valuelistversion (value_list_id, number)
    DEFERRABLE INITIALLY DEFERRED;
"""
DROP_LIST_VERSION = "ALTER TABLE market_valuelist DROP CONSTRAINT value_list_has_its_version;"

# table, column, what is said
FIXED = [
    ("market_attribute", "type", "the type of an attribute cannot change"),
    ("market_attribute", "name", "the name of an attribute cannot change"),
    ("market_valuelist", "type", "the type of a list cannot change"),
]
CREATE_FIXED = """
CREATE FUNCTION {table}_{column}_is_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{said}' USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME,
        CONSTRAINT = '{table}_{column}_is_fixed';
END $$;
CREATE TRIGGER {table}_{column}_is_fixed BEFORE UPDATE OF {column} ON {table}
    FOR EACH ROW WHEN (OLD.{column} IS DISTINCT FROM NEW.{column})
    EXECUTE FUNCTION {table}_{column}_is_fixed();
"""
DROP_FIXED = """
DROP TRIGGER {table}_{column}_is_fixed ON {table};
DROP FUNCTION {table}_{column}_is_fixed();
"""


def fix_column(table: str, column: str, said: str) -> migrations.RunSQL:
    names = {"table": table, "column": column, "said": said}
    return migrations.RunSQL(CREATE_FIXED.format(**names), DROP_FIXED.format(**names))


class Migration(migrations.Migration):
    dependencies = [("market", "0002_party_kinds")]

    operations = [
        migrations.RunSQL(ADVERTISER, DROP_ADVERTISER),
        migrations.RunSQL(PINS, DROP_PINS),
        migrations.RunSQL(LIST_VERSION, DROP_LIST_VERSION),
        *(fix_column(*fixed) for fixed in FIXED),
    ]

"""Keeps every edge, campaign and booking at parties of the right kind, also under bulk and raw SQL.

A party's kind never changes, so it is enough to check the rows that point to parties. Once per
statement over the changed rows, not once per row: a COPY of a million bookings pays one join.
"""

from django.db import migrations

# table, column, kinds that are refused, name of the rule, its message
ENDS = [
    (
        "market_edge",
        "seller_id",
        "= 'advertiser'",
        "edge_seller_may_sell",
        "an advertiser cannot sell",
    ),
    (
        "market_edge",
        "buyer_id",
        "= 'publisher'",
        "edge_buyer_may_buy",
        "a publisher cannot buy",
    ),
    (
        "market_campaign",
        "advertiser_id",
        "<> 'advertiser'",
        "campaign_is_of_an_advertiser",
        "a campaign belongs to an advertiser",
    ),
    (
        "market_booking",
        "publisher_id",
        "<> 'publisher'",
        "booking_is_with_a_publisher",
        "a booking is with a publisher",
    ),
]

CREATE = """
CREATE FUNCTION {rule}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed JOIN market_party ON market_party.id = changed.{column}
        WHERE market_party.kind {refused}
    ) THEN
        RAISE EXCEPTION '{message}' USING
            ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = '{rule}';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER {rule}_on_insert AFTER INSERT ON {table}
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION {rule}();
CREATE TRIGGER {rule}_on_update AFTER UPDATE ON {table}
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION {rule}();
"""

DROP = """
DROP TRIGGER {rule}_on_insert ON {table};
DROP TRIGGER {rule}_on_update ON {table};
DROP FUNCTION {rule}();
"""

CREATE_FIXED_KIND = """
CREATE FUNCTION party_kind_is_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the kind of a party cannot change' USING
        ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'party_kind_is_fixed';
END $$;
CREATE TRIGGER party_kind_is_fixed BEFORE UPDATE OF kind ON market_party
    FOR EACH ROW WHEN (OLD.kind IS DISTINCT FROM NEW.kind) EXECUTE FUNCTION party_kind_is_fixed();
"""

DROP_FIXED_KIND = """
DROP TRIGGER party_kind_is_fixed ON market_party;
DROP FUNCTION party_kind_is_fixed();
"""


def check_end(table: str, column: str, refused: str, rule: str, message: str) -> migrations.RunSQL:
    names = {"table": table, "column": column, "refused": refused, "rule": rule, "message": message}
    return migrations.RunSQL(CREATE.format(**names), DROP.format(**names))


class Migration(migrations.Migration):
    dependencies = [("market", "0001_initial")]

    operations = [
        *(check_end(*end) for end in ENDS),
        migrations.RunSQL(CREATE_FIXED_KIND, DROP_FIXED_KIND),
    ]

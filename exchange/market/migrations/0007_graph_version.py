"""Counts the changes of what paths are found over, also under bulk and raw SQL.

The sum of all rows is the version of the graph: whoever sees a change, sees another sum. Each
connection of the database counts in a row of its own, since one row for all would let everybody who
changes an edge wait for whoever else does. The table is nobody's model: what empties all tables
between tests must not let the count begin again.
"""

from django.db import migrations

CREATE_TABLE = """
CREATE TABLE market_graphversion (
    backend integer PRIMARY KEY,
    changes bigint NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE FUNCTION count_graph_change() RETURNS void LANGUAGE sql AS $$
    INSERT INTO market_graphversion AS counted VALUES (pg_backend_pid(), 1, clock_timestamp())
    ON CONFLICT (backend)
        DO UPDATE SET changes = counted.changes + 1, changed_at = clock_timestamp();
$$;
CREATE FUNCTION note_graph_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_graph_change();
    RETURN NULL;
END $$;
"""
DROP_TABLE = """
DROP FUNCTION note_graph_change();
DROP FUNCTION count_graph_change();
DROP TABLE market_graphversion;
"""
# table, what paths depend on
TABLES = [
    ("market_edge", "id, seller_id, buyer_id, fee_percent, is_active, retired_at"),
    ("market_party", "id, name"),
]
CREATE = """
CREATE FUNCTION note_updated_graph_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT {columns} FROM changed EXCEPT SELECT {columns} FROM former) THEN
        PERFORM count_graph_change();
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER note_updated_graph AFTER UPDATE ON {table}
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION note_updated_graph_{table}();
CREATE TRIGGER note_graph_change AFTER INSERT OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION note_graph_change();
"""
DROP = """
DROP TRIGGER note_graph_change ON {table};
DROP TRIGGER note_updated_graph ON {table};
DROP FUNCTION note_updated_graph_{table}();
"""


class Migration(migrations.Migration):
    dependencies = [("market", "0006_booking_between")]

    operations = [
        migrations.RunSQL(CREATE_TABLE, DROP_TABLE),
        *(
            migrations.RunSQL(
                CREATE.format(table=table, columns=columns), DROP.format(table=table)
            )
            for table, columns in TABLES
        ),
    ]

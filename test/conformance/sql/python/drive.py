"""python drive.py <library> host port database user password: what Superset and notebooks do by the library.

Prints `ok check` or `not ok check: why` for each.
"""

import sys

library, host, port, database, user, password = sys.argv[1:]


def check(name, run):
    try:
        run()
        print(f"ok {name}")
    except Exception as cause:
        print(f"not ok {name}: {type(cause).__name__} {cause}".replace("\n", " "))


def expect(holds, found):
    if not holds:
        raise AssertionError(f"found {found}")


def refused(run, *wanted):
    try:
        run()
    except Exception as cause:
        for text in wanted:
            expect(text in str(cause), cause)
        return
    raise AssertionError("no refusal")


def clickhouse_connect_client():
    import clickhouse_connect

    made = {"host": host, "port": int(port), "username": user, "database": database}
    client = clickhouse_connect.get_client(password=password, **made)
    check("version", lambda: expect("." in client.server_version, client.server_version))
    asked = "SELECT service, count() AS n, sum(cost_usd) FROM records WHERE service = {s:String} GROUP BY service"

    def parameters():
        rows = client.query(asked, parameters={"s": "search"}).result_rows
        expect(len(rows) == 1 and rows[0][1] > 0, rows)

    check("a question with parameters", parameters)
    check("a stream", lambda: expect(sum(1 for _ in rows_of(client)) > 0, "no rows"))
    check("an unknown column", lambda: refused(lambda: client.query("SELECT nothing FROM records"), "47", "nothing"))
    check("a table that is not there", lambda: refused(lambda: client.query("SELECT * FROM attributions"), "497"))
    check(
        "a wrong password",
        lambda: refused(lambda: clickhouse_connect.get_client(password="x", **made), "516", "not valid"),
    )


def rows_of(client):
    with client.query_rows_stream("SELECT id, service FROM records") as stream:
        yield from stream


def sqlalchemy(scheme):
    import sqlalchemy as sa

    engine = sa.create_engine(f"{scheme}://{user}:{password}@{host}:{port}/{database}")
    inspected = sa.inspect(engine)

    def names(found, *wanted):
        expect(all(name in found for name in wanted), found)

    check("schemas", lambda: names(inspected.get_schema_names(), database))
    check("tables", lambda: names(inspected.get_table_names(), "records", "usage"))
    check("tables of a schema", lambda: names(inspected.get_table_names(schema=database), "records", "usage"))
    check("has_table", lambda: expect(inspected.has_table("usage", schema=database), "none"))
    check("views", lambda: inspected.get_view_names(schema=database))
    columns = lambda: [column["name"] for column in inspected.get_columns("records", schema=database)]
    check("columns", lambda: names(columns(), "id", "service", "cost_usd", "tags"))
    check("primary key", lambda: inspected.get_pk_constraint("records", schema=database))
    check("indexes", lambda: inspected.get_indexes("records", schema=database))
    check("comment", lambda: expect(inspected.get_table_comment("records", schema=database)["text"], "none"))
    table = lambda: sa.Table("usage", sa.MetaData(), autoload_with=engine)
    check("reflection", lambda: names(table().columns.keys(), "bucket", "cost_usd"))

    def run(query, **values):
        with engine.connect() as connection:
            return connection.execute(sa.text(query), values).fetchall()

    def question():
        rows = run(
            "SELECT toStartOfDay(toDateTime(event_time)) AS __timestamp, service AS service, sum(cost_usd) AS usd "
            "FROM records WHERE service = :service GROUP BY toStartOfDay(toDateTime(event_time)), service "
            "ORDER BY usd DESC LIMIT 1000",
            service="search",
        )
        expect(len(rows) > 0 and rows[0][1] == "search", rows)

    check("a question of Superset", question)
    functions = "SELECT name FROM system.functions UNION ALL SELECT name FROM system.table_functions LIMIT 10000"
    check("functions of Superset's editor", lambda: names([row[0] for row in run(functions)], "toStartOfDay"))
    check("an unknown column", lambda: refused(lambda: run("SELECT nothing FROM records"), "47", "nothing"))
    check("a table that is not there", lambda: refused(lambda: run("SELECT * FROM attributions"), "497"))


DRIVEN = {
    "clickhouse-connect": clickhouse_connect_client,
    "clickhouse-connect-sqlalchemy": lambda: sqlalchemy("clickhousedb"),
    "clickhouse-sqlalchemy": lambda: sqlalchemy("clickhouse+http"),
}
DRIVEN[library]()

"""Flight SQL with ADBC, `flightsql-dbapi` and pyarrow."""

import adbc_driver_flightsql.dbapi
import adbc_driver_manager
import flightsql
import pyarrow as pa
import pyarrow.flight
import pytest
from adbc_driver_flightsql import DatabaseOptions
from data import items

ROWS = 5_000


@pytest.fixture
def rows(database, name):
    """The name of a table with some rows."""
    database.create_table(name, items(ROWS))
    return name


def test_adbc_runs_a_query(adbc, rows):
    with adbc.cursor() as cursor:
        cursor.execute(f"SELECT id, name FROM {rows} WHERE id < 3 ORDER BY id")
        assert cursor.fetchall() == [(0, "item 0"), (1, "item 1"), (2, "item 2")]
        cursor.execute(f"SELECT * FROM {rows}")
        assert cursor.fetch_arrow_table().num_rows == ROWS


def test_adbc_binds_parameters(adbc, rows):
    with adbc.cursor() as cursor:
        for placeholder in ["?", "$1"]:
            cursor.execute(f"SELECT name FROM {rows} WHERE id = {placeholder}", (7,))
            assert cursor.fetchall() == [("item 7",)]
        cursor.execute("SELECT ? + ?", (1, 2))
        assert cursor.fetchall() == [(3,)]
        schema = cursor.adbc_prepare(f"SELECT id FROM {rows} WHERE name = $1 AND id < $2")
        assert schema.types == [pa.string(), pa.int64()]


@pytest.mark.parametrize("is_fetched", [True, False])
def test_adbc_changes_rows(adbc, database, rows, is_fetched):
    statements = [
        (f"INSERT INTO {rows} SELECT * FROM {rows} WHERE id < 3", (), 3),
        (f"INSERT INTO {rows} SELECT * FROM {rows} WHERE id = ?", (4,), 1),
        (f"UPDATE {rows} SET name = 'new' WHERE id = 10", (), 1),
        (f"DELETE FROM {rows} WHERE id = ?", (11,), 1),
    ]
    for statement, parameters, count in statements:
        with adbc.cursor() as cursor:
            cursor.execute(statement, parameters)
            if is_fetched:
                assert cursor.fetchall() == [(count,)]
    table = database.open_table(rows)
    assert table.count_rows() == ROWS + 3
    assert table.count_rows("name = 'new'") == 1


def test_adbc_creates_and_drops_a_table(adbc, database, name):
    for statement in [
        f"CREATE TABLE {name} (id BIGINT, name TEXT)",
        f"INSERT INTO {name} VALUES (1, 'one')",
        f"DROP TABLE {name}",
    ]:
        with adbc.cursor() as cursor:
            cursor.execute(statement)
    assert name not in database.table_names()


def test_adbc_alters_columns_and_writes_the_rows_of_a_search(adbc, rows, name):
    with adbc.cursor() as cursor:
        search = "vector_search(?, 'vector', ?, 3)"
        vector = [0.0] * 16
        cursor.execute(
            f"CREATE TABLE {name}_near AS SELECT CAST(id AS INT) AS id FROM {search} WHERE id >= 10",
            (rows, vector),
        )
        cursor.execute(f"ALTER TABLE {name}_near ALTER COLUMN id TYPE BIGINT")
        cursor.execute(f"SELECT * FROM {name}_near ORDER BY id")
        found = cursor.fetch_arrow_table()
        assert found.schema.types == [pa.int64()]
        assert found.num_rows == 3
        assert min(found["id"].to_pylist()) >= 10


def test_adbc_reads_the_rows_of_a_filter(adbc, server, rows):
    key, id = server.create_key()
    with adbc.cursor() as cursor:
        cursor.execute(f"GRANT SELECT ON TABLE {rows} TO 'key:{id}' WHERE id < 5")
    options = {"username": "anyone", "password": key}
    with (
        adbc_driver_flightsql.dbapi.connect(
            f"grpc://127.0.0.1:{server.sql_port}", db_kwargs=options, autocommit=True
        ) as filtered,
        filtered.cursor() as cursor,
    ):
        cursor.execute(f"SELECT count(*), max(id) FROM {rows}")
        assert cursor.fetchall() == [(5, 4)]
        # The condition fails for a hidden row.
        cursor.execute(f"SELECT id FROM {rows} WHERE 1 / (id - ?) <= 0 ORDER BY id", (5,))
        assert [id for (id,) in cursor.fetchall()] == [0, 1, 2, 3, 4]
        cursor.execute(f"SELECT id FROM vector_search('{rows}', 'vector', ?, 100)", ([9.0] * 16,))
        assert sorted(id for (id,) in cursor.fetchall()) == [0, 1, 2, 3, 4]
        assert cursor.adbc_prepare(f"SELECT name FROM {rows} WHERE id = $1").types == [pa.int64()]
        schemas = filtered.adbc_get_objects(depth="tables").read_all()["catalog_db_schemas"]
        tables = [
            table["table_name"]
            for schema in schemas[0].as_py()
            for table in schema["db_schema_tables"]
        ]
        assert tables == [rows]


def test_adbc_reports_errors(adbc):
    with adbc.cursor() as cursor:
        with pytest.raises(adbc_driver_manager.ProgrammingError, match="no_such_table"):
            cursor.execute("SELECT * FROM no_such_table")
        with pytest.raises(adbc_driver_manager.NotSupportedError, match="information_schema"):
            cursor.execute("SHOW TABLES")


def test_adbc_lists_the_catalog(adbc, rows):
    objects = adbc.adbc_get_objects(depth="all", table_name_filter=rows).read_all().to_pylist()
    [catalog] = [entry for entry in objects if entry["catalog_name"] == "joust"]
    [public] = [
        schema for schema in catalog["catalog_db_schemas"] if schema["db_schema_name"] == "public"
    ]
    [table] = public["db_schema_tables"]
    assert table["table_name"] == rows
    assert "vector" in [column["column_name"] for column in table["table_columns"]]
    assert adbc.adbc_get_table_types() == ["TABLE"]
    assert adbc.adbc_get_table_schema(rows, db_schema_filter="public").names[0] == "id"
    assert adbc.adbc_get_info()["vendor_name"] == "joust"


def test_adbc_sends_the_key_as_a_header(server, rows):
    header = f"{DatabaseOptions.RPC_CALL_HEADER_PREFIX.value}namespace-path"
    options = {
        DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {server.key}",
        header: "public",
    }
    with adbc_driver_flightsql.dbapi.connect(
        f"grpc://127.0.0.1:{server.sql_port}", db_kwargs=options, autocommit=True
    ) as connection:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {rows}")
            assert cursor.fetchone() == (ROWS,)


def test_a_wrong_key_is_refused(server):
    with pytest.raises(adbc_driver_manager.Error, match="API key"):
        with adbc_driver_flightsql.dbapi.connect(
            f"grpc://127.0.0.1:{server.sql_port}",
            db_kwargs={"username": "anyone", "password": "joust_wrong"},
            autocommit=True,
        ) as connection:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")


def test_flightsql_dbapi(server, rows):
    client = flightsql.FlightSQLClient(
        host="127.0.0.1", port=server.sql_port, token=server.key, insecure=True
    )
    with flightsql.connect(client) as connection:
        cursor = connection.cursor()
        cursor.execute(f"SELECT name FROM {rows} WHERE id < 2 ORDER BY id")
        assert [tuple(row) for row in cursor.fetchall()] == [("item 0",), ("item 1",)]
    info = client.get_tables(include_schema=True)
    tables = client.do_get(info.endpoints[0].ticket).read_all()
    assert rows in tables["table_name"].to_pylist()


def test_flightsql_dbapi_changes_rows(server, database, rows):
    client = flightsql.FlightSQLClient(
        host="127.0.0.1", port=server.sql_port, token=server.key, insecure=True
    )
    cursor = flightsql.connect(client).cursor()
    cursor.execute(f"DELETE FROM {rows} WHERE id < 5")
    assert [tuple(row) for row in cursor.fetchall()] == [(5,)]
    assert database.open_table(rows).count_rows() == ROWS - 5


def test_pyarrow_authenticates_with_a_password(server):
    with pyarrow.flight.connect(f"grpc://127.0.0.1:{server.sql_port}") as client:
        header = client.authenticate_basic_token("anyone", server.key)
        assert header == (b"authorization", f"Bearer {server.key}".encode())
        options = pyarrow.flight.FlightCallOptions(headers=[header])
        actions = {action.type for action in client.list_actions(options)}
        assert "CreatePreparedStatement" in actions
        with pytest.raises(pyarrow.flight.FlightUnauthenticatedError):
            client.list_actions()

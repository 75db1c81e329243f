"""What the server says about itself over Flight SQL is true: each answer that a statement can prove is proven."""

import adbc_driver_flightsql.dbapi
import adbc_driver_manager
import flightsql
import pyarrow as pa
import pytest

SERVER_NAME, STATEMENT_TIMEOUT, EXTRA_CHARACTERS, CONVERT = 0, 100, 514, 517
FUNCTIONS = {"numeric": 509, "string": 510, "system": 511, "datetime": 512}
CODES = [*range(6), *range(8, 12), 100, 101, *range(500, 577)]


@pytest.fixture(scope="module")
def client(server):
    return flightsql.FlightSQLClient(
        host="127.0.0.1", port=server.sql_port, token=server.key, insecure=True
    )


def fetch(client, info):
    return client.do_get(info.endpoints[0].ticket).read_all().to_pylist()


@pytest.fixture(scope="module")
def info(client):
    """The answers by their codes."""
    rows = fetch(client, client.get_sql_info([]))
    return {row["info_name"]: row["value"] for row in rows}


@pytest.fixture(scope="module")
def run(server):
    """The function that runs a statement and returns its rows."""
    options = {"username": "anyone", "password": server.key}
    with adbc_driver_flightsql.dbapi.connect(
        f"grpc://127.0.0.1:{server.sql_port}", db_kwargs=options, autocommit=True
    ) as connection:

        def statement(sql, *parameters):
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters or None)
                return cursor.fetch_arrow_table()

        statement("CREATE SCHEMA info")
        statement("CREATE TABLE info.t (id INT NOT NULL, name TEXT)")
        statement("CREATE TABLE info.u (id INT, name TEXT)")
        statement("INSERT INTO info.t VALUES (1, 'a'), (2, NULL)")
        statement("INSERT INTO info.u VALUES (2, 'b'), (3, 'c')")
        yield statement


def refused(run, sql):
    with pytest.raises(adbc_driver_manager.Error) as failure:
        run(sql)
    return str(failure.value)


def test_adbc_reads_the_info(server):
    options = {"username": "anyone", "password": server.key}
    with adbc_driver_flightsql.dbapi.connect(
        f"grpc://127.0.0.1:{server.sql_port}", db_kwargs=options, autocommit=True
    ) as connection:
        found = connection.adbc_get_info()
    assert (found["vendor_name"], found["vendor_arrow_version"]) == ("joust", "1.3")


def test_bulk_ingestion_is_supported(info):
    """`test_flight_sql_ingest.py` proves it."""
    assert info[10] is True


def test_every_code_has_an_answer(info):
    """All codes of the specification, except the versions of Substrait, which joust does not serve."""
    assert sorted(info) == CODES


TRUE = [
    # Aliases, ORDER BY, GROUP BY.
    (515, True, "SELECT id AS other FROM info.t ORDER BY other"),
    (520, True, "SELECT id FROM info.t ORDER BY id + 1"),
    (521, True, "SELECT id FROM info.t ORDER BY name"),
    (522, 0b11, "SELECT count(*) FROM info.t GROUP BY name"),
    (518, True, "SELECT x.id FROM info.t AS x"),
    (519, False, "SELECT t.id FROM info.t AS t"),
    # Outer joins.
    (528, 0b110, "SELECT t.id FROM info.t AS t FULL OUTER JOIN info.u AS u ON t.id = u.id"),
    # Unions.
    (540, 0b11, "SELECT id FROM info.t UNION SELECT id FROM info.u"),
    (540, 0b11, "SELECT id FROM info.t UNION ALL SELECT id FROM info.u"),
    # Subqueries in comparisons, EXISTS, IN, and with ANY and ALL; correlated ones.
    (538, 0b1111, "SELECT id FROM info.t WHERE id < (SELECT max(id) FROM info.u)"),
    (538, 0b1111, "SELECT id FROM info.t WHERE id IN (SELECT id FROM info.u)"),
    (538, 0b1111, "SELECT id FROM info.t WHERE id = ANY (SELECT id FROM info.u)"),
    (538, 0b1111, "SELECT id FROM info.t WHERE id <= ALL (SELECT id FROM info.u)"),
    (539, True, "SELECT id FROM info.t AS t WHERE EXISTS "
                "(SELECT 1 FROM info.u AS u WHERE u.id = t.id)"),
    # Schemas in the definitions of indexes and privileges.
    (533, 0b110, "CREATE INDEX ON info.u (id)"),
    (533, 0b110, "GRANT SELECT ON info.u TO 'user:issuer#somebody'"),
    (501, True, "CREATE SCHEMA info.inner"),
    (501, True, "DROP SCHEMA info.inner"),
    (502, True, "CREATE TABLE info.other (id INT NOT NULL)"),
    (502, True, "DROP TABLE info.other"),
    # The minimum grammar of ODBC.
    (525, 0b1, "UPDATE info.u SET name = 'x' WHERE id = 3"),
    (525, 0b1, "DELETE FROM info.u WHERE id = 4"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "value", "sql"), TRUE)
def test_what_is_supported_runs(run, info, code, value, sql):
    assert info[code] == value
    run(sql)


FALSE = [
    (500, False, "CREATE DATABASE other"),
    (523, False, "SELECT name FROM info.t WHERE name LIKE 'x!_' ESCAPE '!'"),
    (532, False, "SELECT * FROM joust.info.t"),
    (535, 0, "DELETE FROM info.t WHERE CURRENT OF c"),
    (536, False, "SELECT * FROM info.t FOR UPDATE"),
    (537, False, "CALL f()"),
    (563, False, "BEGIN"),
    (573, False, "SAVEPOINT s"),
    (524, True, "INSERT INTO info.t VALUES (NULL, 'x')"),
    (545, 1, "CREATE INDEX ON info.t (id, name)"),
    (557, 65_536, f"SELECT 1 {' ' * 65_536}"),
    (559, 128, f"CREATE TABLE info.{'t' * 129} (id INT)"),
    (560, 32, f"SELECT 1 FROM {', '.join(f'info.t AS t{at}' for at in range(33))}"),
]


@pytest.mark.parametrize(("code", "value", "sql"), FALSE)
def test_what_is_not_supported_is_refused(run, info, code, value, sql):
    assert info[code] == value
    refused(run, sql)


def test_the_largest_sizes_are_accepted(run):
    run(f"SELECT 1{' ' * (65_536 - 8)}")
    run(f"CREATE TABLE info.{'t' * 128} (id INT)")
    run(f"SELECT 1 FROM {', '.join(f'(SELECT 1) AS t{at}' for at in range(16))}")


def test_nulls_and_names(run, info):
    assert info[507] == 0  # the highest value
    assert run("SELECT name FROM info.t ORDER BY name")["name"].to_pylist() == ["a", None]
    assert info[516] is True
    assert run("SELECT NULL || 'x' AS x")["x"].to_pylist() == [None]
    assert info[504] == '"'
    assert run('SELECT 1 AS "a b", 2 AS "A b"').column_names == ["a b", "A b"]
    name = f"x{info[EXTRA_CHARACTERS]}"
    assert run(f"SELECT 1 AS {name}").column_names == [name]


def test_catalog_patterns_have_an_escape(client, run, info):
    run("CREATE TABLE info.a_b (id INT)")
    run("CREATE TABLE info.axb (id INT)")
    for pattern, names in [("a_b", ["a_b", "axb"]), (f"a{info[513]}_b", ["a_b"])]:
        found = fetch(client, client.get_tables(table_name_filter_pattern=pattern))
        assert sorted(row["table_name"] for row in found) == names


@pytest.mark.parametrize("subject", FUNCTIONS)
def test_functions_are_available(run, info, subject):
    names = info[FUNCTIONS[subject]]
    assert len(names) > 10
    for name in names:
        # Most have arguments: the error is about them, and not about the function.
        try:
            run(f"SELECT {name}()")
        except adbc_driver_manager.Error as error:
            assert "is not available" not in str(error)
            assert "Invalid function" not in str(error)
    assert "is not available" in refused(run, "SELECT generate_series(1, 2)")


# The names in SQL of the types of conversions, and a value of each.
TYPES = {
    0: ("BIGINT", "1"), 2: ("BOOLEAN", "true"), 4: ("DATE", "'2026-01-02'"),
    5: ("DECIMAL(9, 2)", "1"), 6: ("FLOAT", "1"), 7: ("INT", "1"), 13: ("REAL", "1"),
    14: ("SMALLINT", "1"), 15: ("TIME", "'01:02:03'"), 16: ("TIMESTAMP", "'2026-01-02T03:04:05'"),
    17: ("TINYINT", "1"), 18: ("BYTEA", "'x'"), 19: ("TEXT", None),
}  # fmt: skip


def test_conversions_are_casts(run, info):
    for source, targets in info[CONVERT]:
        for target in targets:
            name, value = TYPES[target]
            if source != 19:
                name_of_source, value = TYPES[source]
                value = f"CAST({value} AS {name_of_source})"
            run(f"SELECT CAST({value or repr('x')} AS {name})")


def test_types_are_those_of_columns(client, run):
    types = {row["type_name"]: row for row in fetch(client, client.get_xdbc_type_info(None))}
    arrow = {
        "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(),
        "INTEGER": pa.int32(), "BIGINT": pa.int64(), "TINYINT UNSIGNED": pa.uint8(),
        "SMALLINT UNSIGNED": pa.uint16(), "INTEGER UNSIGNED": pa.uint32(),
        "BIGINT UNSIGNED": pa.uint64(), "REAL": pa.float32(), "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(), "BYTEA": pa.binary(), "DATE": pa.date32(),
        "TIME": pa.time64("ns"), "TIMESTAMP": pa.timestamp("ns"),
    }  # fmt: skip
    for name, wanted in arrow.items():
        table = f"info.\"type of {name}\""
        run(f"CREATE TABLE {table} (x {name})")
        assert run(f"SELECT * FROM {table}").schema.field("x").type == wanted, name
        assert types[name]["unsigned_attribute"] in (None, name.endswith("UNSIGNED"))
    [parameters] = [types["DECIMAL"][key] for key in ["create_params"]]
    assert parameters == ["precision", "scale"]
    largest = types["DECIMAL"]["column_size"]
    run(f"CREATE TABLE info.decimals (x DECIMAL({largest}, {types['DECIMAL']['maximum_scale']}))")
    refused(run, f"CREATE TABLE info.more (x DECIMAL({largest + 1}, 0))")
    for name in ["list", "fixed_size_list", "struct", "map", "duration", "float16", "INTERVAL"]:
        assert name in types


def test_types_of_other_clients_are_served(database, name, run):
    struct = pa.struct([("a", pa.int32())])
    columns = {
        "list": pa.array([[1, 2]]),
        "fixed_size_list": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)),
        "struct": pa.array([{"a": 1}], struct),
        "duration": pa.array([5], pa.duration("s")),
        "float16": pa.array([1.5], pa.float16()),
        "large_string": pa.array(["x"], pa.large_string()),
        "large_binary": pa.array([b"x"], pa.large_binary()),
        "fixed_size_binary": pa.array([b"xy"], pa.binary(2)),
    }
    database.create_table(name, pa.table(columns))
    served = run(f"SELECT * FROM {name}")
    assert {field.name: field.type for field in served.schema} == {
        key: column.type for key, column in columns.items()
    }
    served = run("SELECT INTERVAL '1 day' AS i, MAP {'a': 1} AS m")
    assert [pa.types.is_interval(served["i"].type), pa.types.is_map(served["m"].type)] == [True] * 2

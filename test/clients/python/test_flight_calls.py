"""Calls of Flight SQL that drivers seldom make: exchanges, options of a session, deadlines, cancellation."""

import adbc_driver_flightsql.dbapi
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import DatabaseOptions
from data import items

ROWS = 10_000
SQL = "type.googleapis.com/arrow.flight.protocol.sql."


def field(number, value):
    """A field of a protobuf message: a text, bytes or a message."""
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)


def query(sql):
    """CommandStatementQuery."""
    return field(1, SQL + "CommandStatementQuery") + field(2, field(1, sql))


def long_query(rows):
    """A query of minutes, which finds no row."""
    return f"SELECT a.* FROM {rows} a CROSS JOIN {rows} b WHERE sha512(a.name || b.name) = sha512('x')"


@pytest.fixture
def client(server):
    client = fl.connect(f"grpc://127.0.0.1:{server.sql_port}")
    yield client
    client.close()


@pytest.fixture
def headers(server):
    return fl.FlightCallOptions(headers=[(b"x-api-key", server.key.encode())])


@pytest.fixture
def rows(database, name):
    """The name of a table with some rows."""
    database.create_table(name, items(ROWS))
    return name


@pytest.mark.parametrize("name_of_parameter", ["1", "least"])
def test_an_exchange_runs_a_query_with_its_parameters(client, headers, rows, name_of_parameter):
    sql = f"SELECT id FROM {rows} WHERE id < ${name_of_parameter} ORDER BY id"
    descriptor = fl.FlightDescriptor.for_command(query(sql))
    writer, reader = client.do_exchange(descriptor, headers)
    parameters = pa.record_batch({name_of_parameter: pa.array([3], pa.int64())})
    with writer:
        writer.begin(parameters.schema)
        writer.write_batch(parameters)
        writer.done_writing()
        assert reader.read_all().to_pydict() == {"id": [0, 1, 2]}


def test_adbc_sets_the_schema_of_its_session(server, database, name):
    database.create_namespace([name])
    database.create_table("only_here", items(4), namespace_path=[name])
    options = {
        "username": "anyone",
        "password": server.key,
        DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value: "true",
    }
    address = f"grpc://127.0.0.1:{server.sql_port}"
    with adbc_driver_flightsql.dbapi.connect(
        address, db_kwargs=options, autocommit=True
    ) as adbc, adbc.cursor() as cursor:
        adbc.adbc_current_db_schema = name
        assert adbc.adbc_current_db_schema == name
        assert adbc.adbc_current_catalog == "joust"
        cursor.execute("SELECT count(*) FROM only_here")
        assert cursor.fetchall() == [(4,)]


def test_a_call_ends_at_its_grpc_timeout(server, client, rows):
    options = fl.FlightCallOptions(
        timeout=0.5, headers=[(b"x-api-key", server.key.encode())]
    )
    with pytest.raises(fl.FlightTimedOutError):
        client.do_get(fl.Ticket(field(2, query(long_query(rows)))), options).read_all()


def test_a_long_change_sends_its_columns_and_is_cancelled(client, headers, database, rows):
    """The server sends the columns after 10 s, long before the end of the statement."""
    descriptor = fl.FlightDescriptor.for_command(query(f"INSERT INTO {rows} {long_query(rows)}"))
    info = client.get_flight_info(descriptor, headers)
    [endpoint] = info.endpoints
    reader = client.do_get(endpoint.ticket, headers)
    assert reader.schema == pa.schema([pa.field("count", pa.int64(), nullable=False)])
    action = fl.Action("CancelFlightInfo", field(1, info.serialize()))
    [result] = client.do_action(action, headers)
    # CancelFlightInfoResult.status 2: what the change has done is not known yet.
    assert result.body.to_pybytes() == bytes([1 << 3, 2])
    with pytest.raises(pa.ArrowCancelled):
        reader.to_reader().read_all()
    assert database.open_table(rows).count_rows() == ROWS


def test_compressed_parameters_are_refused(client, headers, rows):
    """A compressed buffer names its size: the server does not allocate what a client says."""
    descriptor = fl.FlightDescriptor.for_command(query(f"SELECT id FROM {rows} WHERE id < $1"))
    writer, reader = client.do_exchange(descriptor, headers)
    parameters = pa.record_batch({"1": pa.array([3], pa.int64())})
    with pytest.raises(pa.ArrowInvalid, match="compressed"):
        writer.begin(parameters.schema, pa.ipc.IpcWriteOptions(compression="lz4"))
        writer.write_batch(parameters)
        writer.done_writing()
        reader.read_all()


@pytest.mark.parametrize("count", [1, 2])
def test_many_rows_may_have_bytes(adbc, name, count):
    values = [(number, bytes([0, 255, number])) for number in range(count)]
    with adbc.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (id BIGINT, content BYTEA)")
        cursor.fetchall()
        cursor.executemany(f"INSERT INTO {name} VALUES (?, ?)", values)
        cursor.execute(f"SELECT id, content FROM {name} ORDER BY id")
        assert cursor.fetchall() == values

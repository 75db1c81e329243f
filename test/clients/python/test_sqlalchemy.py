"""SQLAlchemy with the dialect of `flightsql-dbapi`, as Superset uses it."""

import pytest
import sqlalchemy
from data import items


@pytest.fixture
def engine(server):
    return sqlalchemy.create_engine(
        f"datafusion://127.0.0.1:{server.sql_port}?token={server.key}&insecure=true"
    )


@pytest.fixture
def rows(database, name):
    """The name of a table with some rows."""
    database.create_table(name, items(100))
    return name


def test_a_statement_gives_rows(engine, rows):
    with engine.connect() as connection:
        result = connection.execute(sqlalchemy.text(f"SELECT name FROM {rows} WHERE id = 7"))
        assert result.fetchall() == [("item 7",)]


def test_an_expression_gives_rows(engine, rows):
    """Superset builds its statements from such expressions."""
    table = sqlalchemy.table(rows, *map(sqlalchemy.column, ["category", "price"]))
    count = sqlalchemy.func.count().label("count")
    select = (
        sqlalchemy.select(table.c.category, count)
        .where(table.c.price >= 25)
        .where(table.c.category.in_(["c0", "c1"]))
        .group_by(table.c.category)
        .order_by(sqlalchemy.desc("count"), table.c.category)
        .limit(10)
    )
    with engine.connect() as connection:
        assert connection.execute(select).fetchall() == [("c0", 10), ("c1", 10)]


def test_the_inspector_lists_schemas_tables_and_columns(engine, rows):
    inspector = sqlalchemy.inspect(engine)
    assert "public" in inspector.get_schema_names()
    assert rows in inspector.get_table_names("public")
    columns = {column["name"]: column["type"] for column in inspector.get_columns(rows, "public")}
    assert list(columns) == ["id", "name", "category", "price", "vector"]
    assert isinstance(columns["id"], sqlalchemy.BIGINT)
    assert isinstance(columns["price"], sqlalchemy.FLOAT)

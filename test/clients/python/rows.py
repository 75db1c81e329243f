"""Reads a remote table of the LanceDB SDK."""


def ids(table) -> list[int]:
    """The `id` of all rows, sorted."""
    return sorted(table.search().select(["id"]).limit(10_000).to_arrow()["id"].to_pylist())


def values(table, column: str) -> dict[int, object]:
    """`column` of all rows by `id`."""
    found = table.search().select(["id", column]).limit(10_000).to_arrow()
    return dict(zip(found["id"].to_pylist(), found[column].to_pylist()))

"""The tests call every operation that a namespace client offers."""

import inspect
import re
from pathlib import Path

import lance_namespace_urllib3_client as generated
import pytest
from lance.namespace import RestNamespace

HERE = Path(__file__).parent
GENERATED_APIS = [
    generated.BranchApi,
    generated.DataApi,
    generated.IndexApi,
    generated.MaterializedViewApi,
    generated.MetadataApi,
    generated.NamespaceApi,
    generated.TableApi,
    generated.TagApi,
    generated.TransactionApi,
]

NOT_DRIVEN_BY_PYLANCE = {
    # Inherited methods that the client answers itself: not implemented.
    "batch_commit_tables",
    "batch_create_table_versions",
    "update_field_metadata",
    # The older name of declare_table.
    "create_empty_table",
    # pylance 14 sends every action as `{}`.
    "alter_transaction",
    # Concerns the client and not the server.
    "namespace_id",
    "reset_ops_metrics",
    "retrieve_ops_metrics",
}


def operations(*apis: type) -> set[str]:
    variants = ("_with_http_info", "_without_preload_content")
    return {
        name
        for api in apis
        for name, _ in inspect.getmembers(api, inspect.isfunction)
        if not name.startswith("_") and not name.endswith(variants)
    }


def called(pattern: str) -> set[str]:
    sources = (path.read_text() for path in HERE.glob(pattern))
    return set(re.findall(r"\.(\w+)[(,]", "".join(sources)))


@pytest.mark.parametrize(
    ("apis", "tests", "not_driven", "count"),
    [
        (GENERATED_APIS, "test_lance_namespace*.py", set(), 54),
        ([RestNamespace], "test_pylance*.py", NOT_DRIVEN_BY_PYLANCE, 58),
    ],
    ids=["generated", "pylance"],
)
def test_every_operation_is_called(apis, tests, not_driven, count):
    offered = operations(*apis)
    assert len(offered) == count
    assert offered - called(tests) == not_driven

"""Creates and refreshes views whose rows a Python function makes, as curl would."""

import inspect
import textwrap
from dataclasses import dataclass

from function_columns import FunctionColumns

WORDS = """
def words(text):
    for position, word in enumerate(text.split()):
        yield {"word": word, "size": len(word)}
"""
OUTPUTS = [
    {"column": "word", "data_type": {"type": "utf8"}},
    {"column": "size", "data_type": {"type": "int64"}},
]


@dataclass
class ChunkerView:
    columns: FunctionColumns
    name: str

    def create(self, query: str, function=WORDS, **members) -> dict:
        """`function`: a Python function, whose source is sent, or the source of `words`."""
        is_source = isinstance(function, str)
        source = function if is_source else textwrap.dedent(inspect.getsource(function))
        entry = "words" if is_source else function.__name__
        body = {name: members.pop(name) for name in list(members) if name in REQUEST}
        spec = {
            "python": {"source": source, "entry": entry},
            "input_columns": ["text"],
            "outputs": OUTPUTS,
            **members,
        }
        spec = {name: value for name, value in spec.items() if value is not None}
        return self.send({"kind": "chunker", "source_query": query, "udtf_spec": spec, **body})

    def send(self, body: dict) -> dict:
        return self.columns.post(f"/v1/materialized_view/{self.name}/create", body)

    def refresh(self, **options) -> dict:
        """The result of a refresh."""
        ended = self.ended(**options)
        assert ended["job_state"] == "DONE", ended
        return ended["result"]

    def ended(self, **options) -> dict:
        return self.columns.ended(self.start(**options))

    def start(self, **options) -> str:
        return self.columns.post(f"/v1/materialized_view/{self.name}/refresh", options)["job_id"]

    def describe(self) -> dict:
        return self.columns.post(f"/v1/materialized_view/{self.name}/describe", {})

    def errors(self, job: str | None = None) -> dict:
        return self.columns.post(f"/v1/table/{self.name}/errors", {"job_id": job})


REQUEST = ("with_no_data", "auto_refresh", "auto_refresh_interval_seconds", "output_schema")

"""Declares and fills virtual columns over HTTP, as curl would."""

import inspect
import json
import textwrap
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

from joust_server import JoustServer

ENDED = ("DONE", "FAILED", "CANCELLED")


@dataclass
class FunctionColumns:
    server: JoustServer
    table: str

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(
            self.server.url + path,
            json.dumps(body).encode(),
            {"authorization": f"Bearer {self.server.key}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.code}: {error.read().decode()}") from error

    def declare(self, column: str, function, inputs: list[str], type: object, **members) -> None:
        """`function`: a Python function or class, whose source is sent, or the source and `entry`."""
        is_source = isinstance(function, str)
        source = function if is_source else textwrap.dedent(inspect.getsource(function))
        entry = members.pop("entry") if is_source else function.__name__
        if not source.startswith("from __future__"):
            source = f"import pyarrow as pa\n{source}"
        python = {"source": source, "entry": entry}
        python |= {"requirements": members.pop("requirements", [])}
        declaration = {"input_columns": inputs, "data_type": type, "python": python, **members}
        self.add(column, declaration)

    def add(self, column: str, declaration: dict) -> None:
        new = {"name": column, "virtual_column": declaration}
        self.post(f"/v1/table/{self.table}/add_columns", {"new_columns": [new]})

    def start(self, column: str, **options) -> str:
        body = {"column": column, **options}
        return self.post(f"/v1/table/{self.table}/backfill_column", body)["job_id"]

    def job(self, job: str) -> dict:
        return self.post("/v1/jobs/describe", {"job_id": job})

    def ended(self, job: str) -> dict:
        deadline = time.monotonic() + 120
        while (described := self.job(job))["job_state"] not in ENDED:
            assert time.monotonic() < deadline, described
            time.sleep(0.05)
        return described

    def fill(self, column: str, **options) -> dict:
        """The result of a backfill."""
        ended = self.ended(self.start(column, **options))
        assert ended["job_state"] == "DONE", ended
        return ended["result"]

    def failure(self, column: str) -> str:
        """The message of a backfill that fails."""
        ended = self.ended(self.start(column))
        assert ended["job_state"] == "FAILED", ended
        return ended["failure"]["message"]

    def refusal(self, column: str) -> str:
        """The reply to a backfill that is refused at once."""
        try:
            self.start(column)
        except AssertionError as error:
            return str(error)
        raise AssertionError("the backfill was accepted")

    def errors(self, column: str) -> dict[int, str]:
        """The messages of failed rows by their offset."""
        body = {"column": column, "limit": 1000}
        records = self.post(f"/v1/table/{self.table}/errors", body)["records"]
        return {one["row_offset"]: one["error_message"] for one in records}

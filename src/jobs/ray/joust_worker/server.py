"""The requests of a job to the server that started it."""

import http.client
import json
import os
import secrets
import time
import urllib.error
import urllib.request

# How long a server may be away: a restart, or a job that it has not started again yet.
PATIENCE_SECONDS = 600
MOST_DELAY_SECONDS = 5
TIMEOUT_SECONDS = 60


class Ended(Exception):
    """The server needs nothing more of this job."""


class Refused(Exception):
    """The work cannot be done, or the server cannot use its result. The message says why."""


class Server:
    """A job of a server. Tasks get copies."""

    def __init__(self, url, job, token):
        self.url, self.job, self.token = url.rstrip("/"), job, token

    @classmethod
    def of_environment(cls):
        take = os.environ.pop
        return cls(take("JOUST_URL"), take("JOUST_JOB"), take("JOUST_TOKEN"))

    def claim(self, versions):
        """Replaces the token of the environment, which every user of the Ray cluster can read."""
        replacement = f"joust_{secrets.token_urlsafe(32)}"
        try:
            self.post("claim", {"versions": versions, "replacement": replacement})
        except Ended as ended:
            # A request whose reply was lost has perhaps taken effect. If not, the next request fails.
            print(f"the token is perhaps replaced already: {ended}", flush=True)
        self.token = replacement

    def report(self, key, units):
        """Reports how much of a task is done. Returns whether its result is still needed."""
        return self.post("report", {"progress": {"key": key, "units": units}})["wanted"]

    def hand_over(self, key, result):
        """Hands over the result of a task. Returns whether it was needed."""
        return self.post("report", {"part": {"key": key, "result": result}})["wanted"]

    def post(self, call, members):
        """Sends a request until there is a reply."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        delay = 0.2
        while True:
            try:
                return self._post_once(call, members)
            except urllib.error.HTTPError as error:
                message = message_of(error)
                if error.code in (401, 403):
                    raise Ended(message) from error
                if error.code < 500 and error.code not in (408, 429):
                    raise Refused(message) from error
            except (OSError, http.client.HTTPException) as error:
                message = str(error)
            if time.monotonic() > deadline:
                raise Ended(f"the server {self.url} is away: {message}")
            time.sleep(delay)
            delay = min(2 * delay, MOST_DELAY_SECONDS)

    def _post_once(self, call, members):
        body = {"job_id": self.job, "token": self.token, **members}
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        request = urllib.request.Request(
            f"{self.url}/v1/jobs/worker/{call}", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
            return json.load(reply)


def message_of(error):
    """The sentence in an error reply."""
    try:
        body = json.load(error)
    except (OSError, ValueError):
        return str(error)
    return body.get("detail") or body.get("error") or str(error)

"""Stands for AWS STS. What it gives is a new user of the S3 server, who may do what the session policy permits.

Only AWS has AssumeRole. The S3 server applies the policy to each request, so it is as with temporary credentials, except
that the token is empty and the user does not expire.
"""

import datetime
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from s3_store import S3Store, User

ANSWER = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>{id}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken></SessionToken>
<Expiration>{expires}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


class StubSts:
    def __init__(self, store: S3Store) -> None:
        self.store = store
        self.users: list[User] = []
        # The access keys that signed the requests.
        self.signers: set[str] = set()

    def __enter__(self) -> "StubSts":
        sts = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                answer = sts._assume_role(form, self.headers["authorization"]).encode()
                self.send_response(200)
                self.send_header("content-type", "text/xml")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _assume_role(self, form: dict[str, str], authorization: str) -> str:
        assert form["Action"] == "AssumeRole", form
        self.signers.add(re.search(r"Credential=([^/]+)/", authorization)[1])
        user = self.store.create_user(form["RoleSessionName"], json.loads(form["Policy"]))
        self.users.append(user)
        lifetime = datetime.timedelta(seconds=int(form["DurationSeconds"]))
        expires = datetime.datetime.now(datetime.timezone.utc) + lifetime
        time = expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        return ANSWER.format(id=user.id, secret=user.secret, expires=time)

"""The token of a driver whose first reply is lost."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from joust_worker.server import Ended, Server


class Joust(BaseHTTPRequestHandler):
    """A server that replaces the token of a claim, and ends the connection before the first reply."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = self.server.known
        is_valid = body["token"] == known["token"]
        assert self.headers["authorization"] == f"Bearer {body['token']}"
        if self.path.endswith("claim") and is_valid:
            known["token"] = body["replacement"]
            self.close_connection = True
            return
        self.send_response(200 if is_valid else 401)
        self.end_headers()
        self.wfile.write(b"{}" if is_valid else b'{"error": "invalid"}')

    def log_message(self, *_):
        pass


@pytest.fixture
def joust():
    with ThreadingHTTPServer(("127.0.0.1", 0), Joust) as server:
        server.known = {"token": "first"}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def driver(joust, token: str) -> Server:
    return Server(f"http://127.0.0.1:{joust.server_address[1]}", "a", token)


def test_a_claim_whose_reply_was_lost_has_taken_effect(joust):
    server = driver(joust, "first")
    server.claim({})
    assert server.token == joust.known["token"] != "first"
    assert server.post("order", {"known": ""}) == {}


def test_the_first_token_is_good_for_one_claim(joust):
    driver(joust, "first").claim({})
    late = driver(joust, "first")
    late.claim({})
    with pytest.raises(Ended):
        late.post("order", {"known": ""})

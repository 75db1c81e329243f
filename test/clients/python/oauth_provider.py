"""An OAuth 2.0 authorization server on loopback with the grant `client_credentials`, whose tokens are JWTs."""

import base64
import json
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

CLIENT = "loader"
SECRET = "a secret"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class OAuthProvider:
    def __enter__(self) -> "OAuthProvider":
        self._folder = tempfile.TemporaryDirectory(prefix="joust-oauth-")
        self._key = Path(self._folder.name) / "key.pem"
        self._openssl("genrsa", "-out", self._key, "2048")
        self.tokens = 0
        """How many tokens it has given."""
        self.lifetime = 3_600
        """Of later tokens, in seconds."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self._answer(*provider._document(self.path))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                self._answer(*provider._token(self.headers.get("authorization", ""), form))

            def _answer(self, status, document):
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    def _openssl(self, *arguments, **options) -> bytes:
        return subprocess.check_output(
            ["openssl", *arguments], stderr=subprocess.DEVNULL, **options
        )

    def _document(self, path):
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint": f"{self.issuer}/token",
                "authorization_endpoint": f"{self.issuer}/authorize",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        if path == "/keys":
            modulus = self._openssl("rsa", "-in", self._key, "-noout", "-modulus")
            number = bytes.fromhex(modulus.decode().strip().removeprefix("Modulus="))
            key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one"}
            return 200, {"keys": [{**key, "n": encoded(number), "e": "AQAB"}]}
        return 404, {}

    def _token(self, authorization, form):
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        spaced = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '+')}".encode()).decode()
        known = authorization in (f"Basic {basic}", f"Basic {spaced}") or (
            form.get("client_id") == CLIENT and form.get("client_secret") == SECRET
        )
        if not known or form.get("grant_type") != "client_credentials":
            return 401, {"error": "invalid_client"}
        self.tokens += 1
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": "joust",
            "sub": CLIENT,
            "groups": ["writers"],
            "iat": now,
            "exp": now + self.lifetime,
        }
        parts = [{"alg": "RS256", "typ": "JWT", "kid": "one"}, claims]
        signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        signature = self._openssl("dgst", "-sha256", "-sign", self._key, input=signed.encode())
        token = f"{signed}.{encoded(signature)}"
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime}

"""A real S3 server with users, on a temporary directory. Its log says which user sent each request."""

import datetime
import hashlib
import hmac
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from joust_server import free_port

REGION = "us-east-1"
INSTALL = "go install github.com/versity/versitygw/cmd/versitygw@latest"
# Owner, bucket, time, address, user, id, operation, key, URI and status of a request.
LINE = re.compile(r"\S+ (\S+) \[.*?\] \S+ (\S+) \S+ (\S+) (.*?) /\S* (\d+) ")
# They need the right to create an object.
CREATING = (
    "s3_PutObject",
    "s3_CreateMultipartUpload",
    "s3_UploadPart",
    "s3_CompleteMultipartUpload",
)


def find_versitygw() -> str | None:
    go = os.environ.get("GOPATH", Path.home() / "go")
    directories = [os.environ.get("GOBIN", ""), str(Path(go, "bin")), os.environ.get("PATH", "")]
    return shutil.which("versitygw", path=os.pathsep.join(filter(None, directories)))


def why_missing() -> str | None:
    """Why there is no S3 server with users; None if there is one."""
    if PROGRAM is None:
        return f"versitygw is not installed ({INSTALL})"
    known = subprocess.run([PROGRAM, "iam", "--help"], capture_output=True)
    has_users = b"--private-ports" in known.stdout
    return None if has_users else f"versitygw has no users with policies, as 1.8 has ({INSTALL})"


PROGRAM = find_versitygw()
MISSING = why_missing()


@dataclass
class User:
    """An access key and its secret."""

    id: str
    secret: str

    def options(self) -> dict[str, str]:
        return {"aws_access_key_id": self.id, "aws_secret_access_key": self.secret}


@dataclass
class Request:
    """A line of the log."""

    user: str
    operation: str
    # With its bucket.
    object: str
    status: int

    @property
    def writes(self) -> bool:
        return not self.operation.startswith(("s3_Get", "s3_Head", "s3_List"))

    @property
    def creates(self) -> bool:
        return self.operation in CREATING


@dataclass
class S3Store:
    """`owner` may do everything."""

    owner: User = field(default_factory=lambda: User("joust", "joust-on-loopback"))

    def __enter__(self) -> "S3Store":
        # A socket has a path of at most 107 bytes.
        self._directory = Path(tempfile.mkdtemp(prefix="joust-s3-", dir="/tmp"))
        self.objects = self._directory / "objects"
        self._log = self._directory / "access.log"
        self.endpoint = f"http://127.0.0.1:{free_port()}"
        self._users = f"http://127.0.0.1:{free_port()}"
        self._processes: list[subprocess.Popen] = []
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_all(self) -> None:
        private = self._directory / "users.sock"
        for name in ("objects", "users"):
            (self._directory / name).mkdir()
        self._start(self._users, "iam", "--dir", private.with_name("users"), "--private-ports", private)
        wait_for(private.exists)
        store = ["--iam-standalone-endpoint", private, "--access-log", self._log]
        self._start(self.endpoint, *store, "posix", self.objects)
        wait_for(lambda: accepts(self._users) and accepts(self.endpoint))

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(timeout=30)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _start(self, url: str, *arguments: object) -> None:
        general = ["--port", url.removeprefix("http://"), "--quiet", "--region", REGION]
        general += ["--access", self.owner.id, "--secret", self.owner.secret]
        command = [PROGRAM, *general, *arguments]
        with open(self._directory / "output", "ab") as output:
            self._processes.append(subprocess.Popen(command, stdout=output, stderr=output))

    def options(self, user: User | None = None) -> dict[str, str]:
        """With which a user reaches the store; without a user, only its address."""
        own = {} if user is None else user.options()
        general = {"aws_endpoint": self.endpoint, "aws_region": REGION, "aws_allow_http": "true"}
        return {**general, **own}

    def create_bucket(self, name: str) -> Path:
        """The directory whose files are its objects."""
        path = self.objects / name
        path.mkdir()
        return path

    def create_user(self, name: str, policy: dict) -> User:
        """A user who may do what a policy permits, and nothing else."""
        self._call("CreateUser", UserName=name)
        self._call(
            "PutUserPolicy", UserName=name, PolicyName="own", PolicyDocument=json.dumps(policy)
        )
        answer = self._call("CreateAccessKey", UserName=name)
        members = ("AccessKeyId", "SecretAccessKey")
        return User(*(answer.find(f".//{{*}}{member}").text for member in members))

    def requests(self) -> list[Request]:
        """What the store has answered so far."""
        found = []
        # The last line may have no end yet.
        for line in self._log.read_text().split("\n")[:-1]:
            if match := LINE.match(line):
                bucket, user, operation, key, status = match.groups()
                found.append(Request(user, operation, f"{bucket}/{key}", int(status)))
        return found

    def _call(self, action: str, **members: str) -> xml.etree.ElementTree.Element:
        body = urllib.parse.urlencode({"Action": action, "Version": "2010-05-08", **members})
        request = signed(self._users, body.encode(), self.owner)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return xml.etree.ElementTree.fromstring(reply.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{action}: {error.code}: {error.read().decode()}") from error


def signed(url: str, body: bytes, user: User) -> urllib.request.Request:
    """A request to the interface for users, with a signature of version 4."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    content = hashlib.sha256(body).hexdigest()
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "host": url.removeprefix("http://"),
        "x-amz-content-sha256": content,
        "x-amz-date": now,
    }
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = f"POST\n/\n\n{lines}\n{names}\n{content}"
    scope = f"{now[:8]}/{REGION}/iam/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{user.secret}".encode()
    for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest}"):
        key = hmac.digest(key, part.encode(), "sha256")
    credential = f"Credential={user.id}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 {credential}"
    return urllib.request.Request(f"{url}/", body, headers)


def accepts(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port))).close()
    except OSError:
        return False
    return True


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the S3 server does not start"
        time.sleep(0.05)

"""A server whose tables are in a bucket and whose jobs run on Ray, and what the workers do in the bucket."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lance
from joust_server import JoustServer, free_port
from ray_head import RayHead
from ray_jobs import options
from s3_store import Request, S3Store, User
from stub_sts import StubSts
from unnamed_files import Manifests, unnamed

ROLE = "arn:aws:iam::123456789012:role/workers"


@dataclass
class Tables:
    server: JoustServer
    store: S3Store
    # `s3://...` of its root, and the directory whose files are the objects of the root.
    root: str
    directory: Path
    # The users of the workers; those of the server without others.
    workers: list[User]

    def location(self, table: str) -> str:
        return f"{self.root}/{table}.lance"

    def stored(self, table: str) -> lance.LanceDataset:
        options = self.store.options(self.store.owner)
        return lance.dataset(self.location(table), storage_options=options)

    def files(self, *path: str) -> set[str]:
        directory = self.directory.joinpath(*path)
        return {one.name for one in directory.iterdir()} if directory.exists() else set()

    def unnamed(self, table: str) -> list[str]:
        """The objects of a table that no version names."""
        directory = self.directory / f"{table}.lance"
        found = [path for path in unnamed(directory) if path.suffix != ".committing"]
        manifests = Manifests(directory)
        for index in directory.glob("_indices/*"):
            # A manifest lists the files of an index.
            files = (path for path in index.rglob("*") if path.is_file())
            found += [path for path in files if not manifests.have(name_in(index, path))]
        return [str(path.relative_to(directory)) for path in found]

    def of_workers(self, requests: list[Request]) -> list[Request]:
        ids = {user.id for user in self.workers}
        return [one for one in requests if one.user in ids]

    def of_server(self, requests: list[Request]) -> list[Request]:
        return [one for one in requests if one.user == self.store.owner.id]


def name_in(index: Path, file: Path) -> bytes:
    return str(file.relative_to(index)).encode()


def workers_policy(bucket: str, prefix: str) -> dict:
    """Permits what the documents say: to read, and to create files of data and of indexes."""
    bucket = f"arn:aws:s3:::{bucket}"
    listed = {"StringLike": {"s3:prefix": [f"{prefix}/*"]}}
    created = [f"{bucket}/{prefix}/*/{folder}/*" for folder in ("data", "_indices")]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{bucket}/{prefix}/*"},
            {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": bucket, "Condition": listed},
            {"Effect": "Allow", "Action": "s3:PutObject", "Resource": created},
        ],
    }


def repeated(option: str, values: dict[str, str]) -> list[str]:
    return [part for name, value in values.items() for part in (option, f"{name}={value}")]


@contextlib.contextmanager
def serve(head: RayHead, store: S3Store, bucket: str, credentials: str) -> Iterator[Tables]:
    """`credentials` of the workers: those of the `server`, `own` ones of the configuration, or `temporary` ones."""
    directory = store.create_bucket(bucket) / "tables"
    port = free_port()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="joust-clients-"))
        workers = []
        arguments = [*options(head, port), "--catalog", f"{folder}/catalog.db"]
        arguments += repeated("--storage-option", store.options(store.owner))
        if credentials == "server":
            workers = [store.owner]
        elif credentials == "own":
            workers = [store.create_user(bucket, workers_policy(bucket, "tables"))]
            arguments += repeated("--ray-storage-option", store.options(workers[0]))
        else:
            sts = stack.enter_context(StubSts(store))
            workers = sts.users
            arguments += ["--ray-vend-role", ROLE, "--vend-endpoint", sts.url]
            # The server assumes the role with its own keys.
            stack.callback(lambda: check_signers(sts, store))
        root = f"s3://{bucket}/tables"
        server = stack.enter_context(JoustServer(root, port=port, arguments=arguments))
        yield Tables(server, store, root, directory, workers)


def check_signers(sts: StubSts, store: S3Store) -> None:
    assert sts.signers == {store.owner.id}

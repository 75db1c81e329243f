"""What jobs leave below the directory of a table: files that no version of it names."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import lance
from joust_server import REPOSITORY

# Version clean-up keeps younger files that no version names: a writer may be about to commit them.
OLD = 8 * 24 * 3600


def check_clean_up(root: str) -> None:
    """Version clean-up leaves only files that a version names. No server runs, and no worker of one."""
    tables = [path for path in Path(root).iterdir() if path.suffix == ".lance"]
    assert tables
    make_old(tables)
    command = ["node", REPOSITORY / "dist/cli/main.js", "maintain", root, "--keep-versions", "0s"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JOUST_")}
    subprocess.run(command, env=environment, check=True)
    left = [str(path.relative_to(root)) for table in tables for path in unnamed(table)]
    assert left == [], "files that no version names, after version clean-up"


def make_old(tables: list[Path]) -> None:
    then = time.time() - OLD
    for table in tables:
        for path in [table, *table.rglob("*")]:
            os.utime(path, (then, then))


def unnamed(table: Path) -> Iterator[Path]:
    files, manifests = named(table), Manifests(table)
    for path in sorted(one for one in table.rglob("*") if not one.is_dir()):
        name = str(path.relative_to(table))
        if name not in files and not manifests.name(*name.split("/")):
            yield path


def named(table: Path) -> set[str]:
    """The data files, deletion files and transaction files of all versions, and the hint."""
    names = {"_versions/latest_version_hint.json"}
    for one in lance.dataset(str(table)).versions():
        version = lance.dataset(str(table), version=one["version"])
        for fragment in version.get_fragments():
            names |= {f"data/{file.path}" for file in fragment.data_files()}
            if (deletions := fragment.deletion_file()) is not None:
                names.add(deletions)
        if (transaction := version.read_transaction(version.version)) is not None:
            names.add(f"_transactions/{transaction.read_version}-{transaction.uuid}.txn")
    return names


class Manifests:
    """The manifests of a table, for what pylance does not show: indexes of joust's own types, and functions."""

    def __init__(self, table: Path) -> None:
        paths = (table / "_versions").glob("*.manifest")
        self.contents = {path.name: path.read_bytes() for path in paths}

    def name(self, directory: str, *names: str) -> bool:
        if directory == "_versions":
            return "/".join(names) in self.contents
        if directory == "_indices":
            return self.have(UUID(names[0]).bytes)
        # Of a column or a view.
        return directory == "_udfs" and self.have(names[0].encode())

    def have(self, value: bytes) -> bool:
        return any(value in content for content in self.contents.values())

"""Tags the wheel with the oldest glibc that its binaries support, from their symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

APP = "src/joust/_app"
MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}
# The folder of uWebSockets.js. If it does not load, joust uses the HTTP server of Node, so it does not restrict the
# platform.
OPTIONAL = "uws"


class PlatformTag(BuildHookInterface):
    """A build hook that Hatch calls before it packs the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(Path(self.root) / APP)}"


def platform_tag(app: Path) -> str:
    """The platform tag of a staged server, such as ``manylinux_2_35_x86_64``.

    Raises:
        ValueError: no binary has glibc symbols, or the binaries are for several machines.
    """
    binaries = [path for path in sorted(app.rglob("*.node")) if OPTIONAL not in path.relative_to(app).parts]
    machines = set()
    versions: set[tuple[int, int]] = set()
    for path in binaries:
        with path.open("rb") as file:
            try:
                elf = ELFFile(file)
            except ELFError as error:
                raise ValueError(f"{path.name} is not an ELF file: build wheels on Linux") from error
            machines.add(MACHINES[elf["e_machine"]])
            versions.update(glibc_versions(elf))
    if not versions or len(machines) != 1:
        raise ValueError(f"{app} must contain binaries of one machine that need glibc, not of {machines}")
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{machines.pop()}"


def glibc_versions(elf: ELFFile) -> Iterator[tuple[int, int]]:
    """The versions of glibc whose symbols a binary needs."""
    for section in elf.iter_sections():
        if not isinstance(section, GNUVerNeedSection):
            continue
        for _, symbols in section.iter_versions():
            for symbol in symbols:
                if match := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", symbol.name):
                    yield int(match[1]), int(match[2])

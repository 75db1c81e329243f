"""Compares the tag of the wheel with the output of binutils."""

import os
import re
import subprocess
import zipfile
from pathlib import Path

WHEEL = Path(os.environ["JOUST_WHEEL"])


def needed(binary: Path) -> tuple[int, int]:
    symbols = subprocess.run(["objdump", "-T", binary], capture_output=True, text=True, check=True).stdout
    return max((int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))


def test_the_tag_is_the_glibc_of_the_binaries(tmp_path):
    with zipfile.ZipFile(WHEEL) as archive:
        names = [name for name in archive.namelist() if name.endswith(".node") and "/uws/" not in name]
        archive.extractall(tmp_path, names)
    major, minor = max(needed(tmp_path / name) for name in names)
    machine = os.uname().machine
    assert WHEEL.name.endswith(f"-py3-none-manylinux_{major}_{minor}_{machine}.whl")
    assert any(Path(name).name.startswith("joust.linux-") for name in names)


def test_the_wheel_has_the_binaries_of_one_platform():
    with zipfile.ZipFile(WHEEL) as archive:
        names = archive.namelist()
    binaries = [name for name in names if Path(name).suffix in {".node", ".so", ".dylib", ".dll", ".exe"}]
    assert any("@libsql" in name for name in binaries)
    assert [name for name in binaries if re.search(r"darwin|win32|musl", name)] == []
    assert len([name for name in names if Path(name).name.startswith("uws_")]) == 1


def test_the_license_and_the_types_are_inside():
    with zipfile.ZipFile(WHEEL) as archive:
        names = archive.namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "joust/py.typed" in names


def test_the_licences_of_the_crates_and_of_uwebsockets_are_inside():
    with zipfile.ZipFile(WHEEL) as archive:
        licences = [name for name in archive.namelist() if name.endswith("-gnu/THIRD-PARTY-LICENSES")]
        assert len(licences) == 1
        assert re.search(r"^lance \d", archive.read(licences[0]).decode(), re.MULTILINE)
        assert any(name.endswith("-gnu/uws/NOTICE") for name in archive.namelist())

"""gateway.capture_files: bounded, whole lines, nobody else's to read."""

import errno
import gzip
import json
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from gateway import capture_files
from gateway.capture_files import CaptureFiles
from lint.traffic.reading import Tally, requests
from prefix.errors import ConfigError

NOW = 1_700_000_000.0


def line(number: int, size: int = 100) -> bytes:
    """A request, of about so many bytes."""
    return json.dumps({"request": {"prompt": f"{number:06} " + "x" * size}}).encode()


def in_file(path: Path) -> Iterator[str]:
    """The number in each line; fails on a line that is not whole."""
    raw = path.read_bytes()
    for one in (gzip.decompress(raw) if path.name.endswith(".gz") else raw).splitlines():
        yield json.loads(one)["request"]["prompt"].split(" ")[0]


def read(folder: Path) -> list[str]:
    """The numbers in a folder, the oldest file first."""
    return [number for path in sorted(folder.iterdir()) for number in in_file(path)]


def test_full_files_are_compressed_and_the_oldest_deleted(tmp_path: Path) -> None:
    """Never more files than may be, none larger than may be, and the newest lines in order."""
    files = CaptureFiles(tmp_path / "c", 4096, 3)
    for number in range(400):
        files.write(line(number), NOW + number)
        held = sorted((tmp_path / "c").iterdir())
        assert len(held) <= 3
        assert all(path.stat().st_size <= 4096 for path in held)
    files.close()
    assert [path.name.endswith(".gz") for path in held] == [True, True, False]
    found = read(tmp_path / "c")
    assert found == [f"{number:06}" for number in range(400 - len(found), 400)]
    assert len(found) > 60


def test_files_are_their_owners(tmp_path: Path) -> None:
    """0600, compressed too, in a folder of 0700."""
    files = CaptureFiles(tmp_path / "c", 4096, 9)
    for number in range(60):
        files.write(line(number), NOW)
    files.close()
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "c").iterdir()}
    assert modes == {0o600}


CRASH = """
import sys
from pathlib import Path
from gateway.capture_files import CaptureFiles
files = CaptureFiles(Path(sys.argv[1]), 4096, 100000)
number = 0
while True:
    files.write(b'{"request": {"prompt": "%06d x"}}' % number, 1.7e9)
    number += 1
    if number == 500:
        print("on", flush=True)
"""


def test_a_crash_costs_no_line_but_the_last(tmp_path: Path) -> None:
    """Killed while it writes: nothing is missing up to the end, and the next writer begins files of its own."""
    with subprocess.Popen([sys.executable, "-c", CRASH, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    crashed = sorted(tmp_path.iterdir())
    files = CaptureFiles(tmp_path, 4096, 100000)
    files.write(line(7), NOW)
    files.close()
    assert len(list(tmp_path.iterdir())) == len(crashed) + 1
    found = {number for path in crashed if path.suffix != ".part" for number in in_file(path)}
    assert len(found) > 400
    assert found == {f"{number:06}" for number in range(len(found))}


def test_half_a_line_spoils_no_other(tmp_path: Path) -> None:
    """Where it stays, the linter says that it breaks off, and reads on in the next file."""
    half = tmp_path / "capture-20231114T221319-00000000-000001.jsonl"
    half.write_bytes(line(1) + b"\n" + line(2)[:50])
    files = CaptureFiles(tmp_path, 4096, 9)
    files.write(line(3), NOW)
    files.close()
    tally, found = Tally(), []
    for path in sorted(tmp_path.iterdir()):
        with path.open("rb") as file:
            found += [body["prompt"][:6] for _, body in requests(path.name, file, tally)]
    assert found == ["000001", "000003"]
    assert (tally.bad, "breaks off" in tally.first_bad[1]) == (1, True)


def test_files_that_somebody_deletes(tmp_path: Path) -> None:
    """Captures that were read and cleared away, with their folder: the next line is in a new file."""
    folder = tmp_path / "c"
    files = CaptureFiles(folder, 4096, 9)
    files.write(line(1), NOW)
    shutil.rmtree(folder)
    files.write(line(2), NOW)
    files.close()
    assert read(folder) == ["000002"]


@pytest.mark.parametrize("name", ["file/below", "no/such/folder"])
def test_a_folder_that_cannot_be(tmp_path: Path, name: str) -> None:
    """Known at start, with its path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=rf"capture: folder .*{name}: "):
        CaptureFiles(tmp_path / name, 4096, 9)


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the test: a file is tried."""

    def refused(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(capture_files.tempfile, "TemporaryFile", refused)
    with pytest.raises(ConfigError, match=f"capture: folder {tmp_path}: Permission denied"):
        CaptureFiles(tmp_path, 4096, 9)


class Full(FileIO):
    """A file on a disk with so much room."""

    room = 1 << 20

    def write(self, data: Any, /) -> int:
        taken = data[: Full.room]
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        Full.room -= len(taken)
        return super().write(taken)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that takes half of a line and then none is taken back; the next one that succeeds goes on."""
    monkeypatch.setattr(capture_files, "FileIO", Full)
    files = CaptureFiles(tmp_path, 4096, 9)
    files.write(line(1), NOW)
    monkeypatch.setattr(Full, "room", 60)
    with pytest.raises(OSError, match="No space left"):
        files.write(line(2), NOW)
    assert read(tmp_path) == ["000001"]
    monkeypatch.setattr(Full, "room", 1 << 20)
    files.write(line(3), NOW)
    files.close()
    assert read(tmp_path) == ["000001", "000003"]


def test_no_room_to_compress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The full file stays as it is, and the next line has a new one."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(capture_files.shutil, "copyfileobj", full)
    files = CaptureFiles(tmp_path, 4096, 9)
    for number in range(60):
        files.write(line(number), NOW)
    files.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl", ".jsonl"]
    assert read(tmp_path) == [f"{number:06}" for number in range(60)]


def test_writers_share_a_folder(tmp_path: Path) -> None:
    """Four at once, rotating: every line is whole, and once there."""

    def write(start: int) -> None:
        files = CaptureFiles(tmp_path, 4096, 1000)
        for number in range(start, start + 200):
            files.write(line(number), NOW)
        files.close()

    threads = [threading.Thread(target=write, args=(start,)) for start in range(0, 800, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read(tmp_path)) == [f"{number:06}" for number in range(800)]

"""Files are whole or not there; what lies there keeps its links and its permissions."""

import contextlib
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import default_signals

from ingest import files
from ingest.errors import IngestError, UsageError
from ingest.files import check_target, read_json_object, write_all, write_folder, write_whole


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "shelf").mkdir()
    real, link, second = tmp_path / "shelf/real.csv", tmp_path / "link.csv", tmp_path / "second.csv"
    real.write_text("old")
    link.symlink_to(real)
    second.symlink_to("link.csv")
    write_whole(second, "new")
    assert (link.is_symlink(), second.is_symlink(), real.read_text()) == (True, True, "new")
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "second.csv", "shelf"]
    assert os.listdir(tmp_path / "shelf") == ["real.csv"]


def test_a_link_to_what_is_not_there_yet_makes_it(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "later")
    write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "later").read_bytes() == b"x"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664, 0o755])
def test_a_file_that_is_there_keeps_its_permissions(tmp_path, kept):
    path = tmp_path / "secret.json"
    path.write_text("old")
    path.chmod(kept)
    write_whole(path, "new")
    assert (mode(path), path.read_text()) == (kept, "new")


def test_a_new_file_has_the_permissions_that_the_mask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new") == 0o640


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(IngestError, match=r"--output: '.*/a' cannot be written: Too many levels of symbolic links"):
        write_whole(tmp_path / "a", "x")
    assert (tmp_path / "a").is_symlink()


def test_a_link_into_a_folder_that_is_not_there_is_refused_before_the_work(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "absent/file")
    with pytest.raises(IngestError, match=r"'.*/link' cannot be written: No such file or directory"):
        check_target(tmp_path / "link")


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    long, found = b"through" * 100_000, b""  # more than a pipe holds
    writer = threading.Thread(target=lambda: write_all({pipe: long, tmp_path / "file": "x"}))
    writer.start()
    while select.select([heard], [], [], 20)[0] and (part := os.read(heard, len(long))):
        found += part
    writer.join(20)
    os.close(heard)
    assert found == long
    assert pipe.is_fifo()


def test_a_pipe_that_nothing_reads_and_a_socket_are_refused(tmp_path):
    (tmp_path / "a").write_text("old")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(tmp_path):  # the path of a socket is short
        made.bind("socket")
    for name, why in (("pipe", "no program reads this pipe"), ("socket", "not a regular file")):
        with pytest.raises(IngestError, match=f"^--output: '.*/{name}' cannot be written: {why}$"):
            write_all({tmp_path / "a": "new", tmp_path / name: "x"})
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a", "pipe", "socket"]


def test_a_file_may_be_read_and_replaced_outside_a_command(tmp_path):
    path = tmp_path / "measure.json"
    path.write_text("{}")
    files.note_outputs([path])
    try:
        read_json_object(path, "an object")
        with pytest.raises(UsageError, match=r"^-o: '.*measure.json' is also read; expected another file$"):
            write_whole(path, "new")
    finally:
        files.forget_outputs()
    read_json_object(path, "an object")
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_none_is_replaced_where_one_cannot_be_written(tmp_path):
    (tmp_path / "a").write_text("old")
    name = "n" * 250  # room for itself, but not for its temporary name
    with pytest.raises(IngestError, match="cannot be written: File name too long"):
        write_all({tmp_path / "a": "new", tmp_path / name: "x"})
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_that_is_asked_to_end_leaves_no_half_file(tmp_path, number):
    """The signal comes between writing and renaming: `os.replace` waits for it."""
    script = (
        "import os, signal, sys, time\n"
        # Who started the tests may ignore signals (nohup, a background job, a CI runner), and children inherit that.
        f"signal.signal({int(number)}, signal.SIG_DFL)\n"
        "from pathlib import Path\nfrom ingest.files import write_whole\n"
        "def wait(*_):\n    print('written', flush=True)\n    time.sleep(60)\n"
        "os.replace = wait\nwrite_whole(sys.argv[1], 'new')\n"
    )
    target = tmp_path / "answer.json"
    target.write_text("old")
    words = [sys.executable, "-c", script, str(target)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=default_signals) as running:  # noqa: PLW1509
        assert running.stdout is not None
        assert running.stdout.readline() == "written\n"
        assert len(os.listdir(tmp_path)) == 2
        running.send_signal(number)
        assert running.wait(30) == 128 + number
    assert os.listdir(tmp_path) == ["answer.json"]
    assert target.read_text() == "old"


def test_handlers_are_as_before_and_those_that_were_set_stay(tmp_path):
    def own(*_):
        pass

    hangup = signal.getsignal(signal.SIGHUP)  # ignored under nohup
    before = signal.signal(signal.SIGTERM, own)
    try:
        write_whole(tmp_path / "a", "x")
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    write_whole(tmp_path / "a", "x")
    assert signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGHUP) == hangup


def test_a_folder_is_named_with_its_path():
    with pytest.raises(UsageError, match=r"^-o: '/' holds"):
        write_folder("/", {}, force=False)

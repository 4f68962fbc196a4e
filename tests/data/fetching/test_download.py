import hashlib
import socket

import pytest

from heedful.data.fetching import download as module
from heedful.data.fetching.download import checksum_of, download, local_path
from heedful.errors import DataError
from support.file_server import FileServer, serve

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server():
    with serve(FileServer({"/set/a.bin": CONTENT}, tags={"/set/a.bin": '"v1"'})) as running:
        yield running


def get(server, folder, report=None):
    return download(f"{server.address}/set/a.bin", folder, report)


def beside(path, suffix):
    return path.with_name(path.name + suffix)


def test_a_file_is_kept_by_host_and_path_with_its_checksum(server, tmp_path):
    path = get(server, tmp_path)
    assert path == local_path(f"{server.address}/set/a.bin", tmp_path)
    assert path.read_bytes() == CONTENT
    assert beside(path, ".sha256").read_text() == f"{hashlib.sha256(CONTENT).hexdigest()}  a.bin\n"
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.bin", "a.bin.sha256"]


def test_a_file_that_is_there_is_not_asked_for_again(server, tmp_path):
    get(server, tmp_path)
    get(server, tmp_path)
    assert len(server.asked) == 1


def test_progress_is_reported(server, tmp_path):
    seen = []
    get(server, tmp_path, lambda *progress: seen.append(progress))
    assert seen[-1] == ("a.bin", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_an_interrupted_download_goes_on_where_it_ended(server, tmp_path):
    server.cut_after = 100_000
    with pytest.raises(DataError, match="it ended after 100,000 of 256,000 bytes.*the same command goes on from there"):
        get(server, tmp_path)
    path = local_path(f"{server.address}/set/a.bin", tmp_path)
    assert beside(path, ".part").stat().st_size == 100_000
    assert not path.exists()
    server.cut_after = None
    assert get(server, tmp_path).read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [None, "bytes=100000-"]


def test_a_file_that_changed_meanwhile_is_begun_again(server, tmp_path):
    server.cut_after = 100_000
    with pytest.raises(DataError):
        get(server, tmp_path)
    changed = CONTENT[::-1]
    server.cut_after, server.files["/set/a.bin"], server.tags["/set/a.bin"] = None, changed, '"v2"'
    assert get(server, tmp_path).read_bytes() == changed


@pytest.mark.parametrize("tag", ["", '"v1"'])
def test_a_server_that_knows_no_ranges_sends_all_again(server, tmp_path, tag):
    server.tags["/set/a.bin"], server.knows_ranges, server.cut_after = tag, False, 100_000
    with pytest.raises(DataError):
        get(server, tmp_path)
    server.cut_after = None
    assert get(server, tmp_path).read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_thrown_away(server, tmp_path):
    path = local_path(f"{server.address}/set/a.bin", tmp_path)
    path.parent.mkdir(parents=True)
    beside(path, ".part").write_bytes(CONTENT + b"more")
    assert get(server, tmp_path).read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == ["bytes=256004-", None]


def test_a_later_download_is_held_to_the_first_checksum(server, tmp_path):
    get(server, tmp_path).unlink()
    server.files["/set/a.bin"] = CONTENT[:-1] + b"!"
    with pytest.raises(DataError, match=r"the SHA-256 \w{64}, but the first download had .*delete .*a\.bin\.sha256"):
        get(server, tmp_path)
    path = local_path(f"{server.address}/set/a.bin", tmp_path)
    assert not path.exists() and not beside(path, ".part").exists()
    server.files["/set/a.bin"] = CONTENT
    assert get(server, tmp_path).read_bytes() == CONTENT


def test_a_file_that_was_edited_on_disk_is_noticed(server, tmp_path):
    path = get(server, tmp_path)
    path.write_bytes(b"edited")
    with pytest.raises(DataError, match="the file was changed or damaged"):
        get(server, tmp_path)
    assert get(server, tmp_path).read_bytes() == CONTENT


def test_a_missing_file_is_named_with_the_answer(server, tmp_path):
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1:\d+/other answers 404 Not Found"):
        download(f"{server.address}/other", tmp_path)


def test_no_connection_is_said(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(DataError, match=rf"no connection to 127\.0\.0\.1:{port}, .*refused.*Is there a network\?"):
        download(f"http://127.0.0.1:{port}/a", tmp_path)


def test_an_unknown_host_is_said(tmp_path):
    with pytest.raises(DataError, match="no connection to nowhere.invalid"):
        download("http://nowhere.invalid/a", tmp_path)


def test_a_server_that_is_silent_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(DataError, match="no connection to .*timed out"):
            download(f"http://127.0.0.1:{silent.getsockname()[1]}/a", tmp_path)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://a/b", "a.txt", "http://host", "http://host/", "http:///a"]
)
def test_only_files_on_the_web_are_downloaded(address, tmp_path):
    with pytest.raises(DataError, match="an address must be http"):
        download(address, tmp_path)


def test_no_address_leaves_the_folder(tmp_path):
    path = local_path("http://host:80/a/../../%2e%2e/../b.txt", tmp_path)
    assert path == tmp_path / "host_80" / "a" / "b.txt"
    assert tmp_path in path.resolve().parents


def test_a_checksum_is_that_of_the_content(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert checksum_of(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

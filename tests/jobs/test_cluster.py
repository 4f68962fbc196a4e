"""Clusters of our own, closed to everybody else; and those of others."""

import os
import platform
import signal
import socket
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from distributed.security import Security

from heedful.errors import SettingError
from heedful.jobs.executors import _private_folder, connected, cores, has_workers


def test_no_scheduler_is_the_users_error():
    with pytest.raises(SettingError, match="none answers at 'nonsense://1'.*Start one"), connected("nonsense://1"):
        pass


def test_a_machine_has_a_core():
    assert cores() >= 1


@pytest.fixture(scope="module")
def own():
    with connected(workers=1) as client:
        yield client


def address_of(client: Client) -> str:
    return client.scheduler.address


@pytest.mark.cluster
def test_a_cluster_of_our_own_works(own):
    assert own.submit(sum, [3, 4]).result() == 7
    assert has_workers(own)


@pytest.mark.cluster
@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_a_client_without_credentials_is_refused(own, protocol):
    address = address_of(own).replace("tls://", f"{protocol}://")
    with pytest.raises(SettingError, match=f"none answers at '{address}'"), connected(address):
        pass


@pytest.mark.cluster
def test_the_scheduler_talks_to_nobody_who_shows_no_certificate(own):
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    host, port = address_of(own).removeprefix("tls://").split(":")
    with (
        socket.create_connection((host, int(port)), timeout=10) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
        anybody.wrap_socket(plain) as encrypted,
    ):
        encrypted.recv(1)


@pytest.mark.cluster
def test_a_client_with_credentials_of_its_own_making_is_refused(own):
    with pytest.raises(OSError, match="[Cc]ertificate|SSL|timed out"):
        Client(address_of(own), security=Security.temporary(), timeout=3, set_as_default=False)


@pytest.mark.cluster
def test_workers_take_no_orders_without_credentials_either(own):
    for worker in own.scheduler_info()["workers"]:
        assert worker.startswith("tls://127.0.0.1:")
    for info in own.scheduler_info()["workers"].values():
        assert info["nanny"].startswith("tls://127.0.0.1:")


@pytest.mark.cluster
def test_the_web_servers_of_dask_show_nothing(own):
    info = own.scheduler_info()
    ports = [info["services"]["dashboard"], *(each["services"]["dashboard"] for each in info["workers"].values())]
    for port in ports:
        for page in ("", "status", "health", "metrics", "info/main/workers.html", "json/counts.json"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5)
            refused.value.close()
            assert refused.value.code == 404


def blocked_signals() -> set[signal.Signals]:
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, []))


def folder_mode(dask_worker) -> int:
    return os.stat(os.path.dirname(os.path.dirname(dask_worker.local_directory))).st_mode & 0o777


@pytest.mark.cluster
def test_workers_do_not_hear_ctrl_c_and_write_where_nobody_else_may(own):
    assert signal.SIGINT in own.submit(blocked_signals, pure=False).result()
    assert signal.SIGINT not in blocked_signals()
    assert set(own.run(folder_mode).values()) == {0o700}


def test_folders_of_killed_processes_are_cleared_away(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    host = platform.node()
    names = {number: f"heedful-workers-{host}-{number}-abc" for number in (ended.pid, os.getpid(), "x")}
    for name in names.values():
        (tmp_path / name / "below").mkdir(parents=True)
    with _private_folder() as folder:
        assert Path(folder).parent == tmp_path and Path(folder).stat().st_mode & 0o777 == 0o700
        assert not (tmp_path / names.pop(ended.pid)).exists()
    assert {path.name for path in tmp_path.iterdir()} == set(names.values())


@pytest.mark.cluster
def test_a_ctrl_c_while_the_cluster_starts_waits_until_it_can_be_closed(monkeypatch):
    class Interrupted(LocalCluster):
        closed = 0

        def __init__(self, **options):
            os.kill(os.getpid(), signal.SIGINT)
            super().__init__(**{**options, "n_workers": 0, "processes": False})

        def __exit__(self, *error):
            Interrupted.closed += 1
            return super().__exit__(*error)

    monkeypatch.setattr("heedful.jobs.executors.LocalCluster", Interrupted)
    with pytest.raises(KeyboardInterrupt), connected(workers=1):
        pytest.fail("started although it was stopped")
    assert Interrupted.closed == 1


def test_a_cluster_without_workers_is_seen():
    with (
        LocalCluster(
            n_workers=0, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as made,
        connected(made.scheduler_address) as client,
    ):
        assert not has_workers(client)

"""The server process: where it listens, how it ends, and that nothing waits for a browser."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request

import numpy as np
import psutil
import pytest
import tornado.httpclient
import tornado.ioloop
import tornado.websocket

from robosim import OptionError, StateError
from robosim.errors import ViewerError
from robosim.viz import Viewer, page
from robosim.viz.scene import Contacts, FrameEncoder, encode_scene

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals")


def wait_until(condition, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def listening(process: psutil.Process) -> list[tuple[str, int]]:
    family = [process, *process.children(recursive=True)]
    return [
        (connection.laddr.ip, connection.laddr.port)
        for member in family
        for connection in member.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM
    ]


def test_listens_on_the_loopback_address_and_nowhere_else(robot):
    me = psutil.Process()
    before = set(listening(me))
    with Viewer(robot) as viewer:
        new = set(listening(me)) - before
        assert new == {("127.0.0.1", viewer.port)}
        assert viewer.url == f"http://127.0.0.1:{viewer.port}/"
        assert urllib.request.urlopen(viewer.url, timeout=5).status == 200
    assert set(listening(me)) == before


def test_other_names_for_this_machine_and_foreign_pages_are_refused(robot):
    with Viewer(robot) as viewer:
        request = urllib.request.Request(viewer.url, headers={"Host": f"evil.test:{viewer.port}"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=5)
        assert refused.value.code == 403
        refused.value.close()

        async def watch():
            await tornado.websocket.websocket_connect(
                tornado.httpclient.HTTPRequest(
                    f"ws://127.0.0.1:{viewer.port}/frames", headers={"Origin": "http://evil.test"}
                )
            )

        with pytest.raises(tornado.httpclient.HTTPClientError, match="403"):
            tornado.ioloop.IOLoop().run_sync(watch, timeout=5)


def test_a_browser_gets_the_scene_and_then_the_newest_frame(robot, state):
    with Viewer(robot, ground=False) as viewer:
        viewer.update(**state, time=1.25)
        contacts = Contacts(state["contact_positions"], state["contact_forces"])
        frame = FrameEncoder(robot).encode(1.25, state["x"], state["q"], contacts)

        async def watch():
            url = f"ws://127.0.0.1:{viewer.port}/frames"
            connection = await tornado.websocket.websocket_connect(url)
            received = [await connection.read_message(), await connection.read_message()]
            connection.close()
            return received

        scene, shown = tornado.ioloop.IOLoop().run_sync(watch, timeout=10)
        assert scene == bytes(4) + encode_scene(robot, ground=False)
        assert shown == (1).to_bytes(4, "little") + frame


def test_update_takes_well_under_a_millisecond_without_a_browser(robot, state):
    with Viewer(robot) as viewer:
        times = []
        for k in range(2000):
            begin = time.perf_counter()
            viewer.update(**state, time=k * 1e-3)
            times.append(time.perf_counter() - begin)
        assert np.median(times) < 5e-4
        # Some may be the machine's; a blocking send would be the rule.
        assert np.percentile(times, 90) < 5e-3


@posix
def test_update_does_not_wait_for_a_server_that_hangs_and_close_ends_it(robot, state):
    viewer = Viewer(robot)
    os.kill(viewer.pid, signal.SIGSTOP)
    begin = time.perf_counter()
    end = begin + 0.5
    while time.perf_counter() < end:
        viewer.update(**state)
    assert viewer.alive
    assert time.perf_counter() - begin < 1.0
    viewer.close()
    assert not psutil.pid_exists(viewer.pid)
    assert time.perf_counter() - begin < 8.0


@posix
def test_a_browser_that_hangs_does_not_hold_up_the_server(robot, state):
    with Viewer(robot) as viewer, socket.create_connection(("127.0.0.1", viewer.port)) as hung:
        hung.sendall(
            f"GET /frames HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        for k in range(30):  # it never reads
            viewer.update(**state, time=k / 60)
            time.sleep(1 / 60)
        assert urllib.request.urlopen(viewer.url, timeout=5).status == 200


@posix
def test_a_killed_server_is_noticed_and_ignored(robot, state):
    viewer = Viewer(robot)
    os.kill(viewer.pid, signal.SIGKILL)
    assert wait_until(lambda: not viewer.alive)
    for _ in range(10):
        viewer.update(**state)
        time.sleep(0.01)
    viewer.close()
    viewer.close()
    assert not viewer.alive


def test_close_ends_the_server_and_a_forgotten_viewer_does_too(robot):
    viewer = Viewer(robot)
    assert viewer.alive
    viewer.close()
    assert not viewer.alive
    assert not psutil.pid_exists(viewer.pid)
    viewer = Viewer(robot)
    pid = viewer.pid
    del viewer
    assert wait_until(lambda: not psutil.pid_exists(pid))


SCRIPT = textwrap.dedent(
    """
    import signal, sys, time
    import numpy as np
    from robosim import Body, Joint, Mechanism
    from robosim.viz import Viewer
    # A shell lets what it runs in the background ignore this, and what that starts as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    robot = Mechanism(
        "b", (Body("b", 1.0, np.eye(3)),), (Joint("j", "floating", None, "b"),)
    )
    viewer = Viewer(robot)
    print(viewer.pid, flush=True)
    if sys.argv[1] == "wait":
        time.sleep(60)
    """
)


@posix
@pytest.mark.parametrize("end", ["return", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_the_program(end):
    how = "return" if end == "return" else "wait"
    program = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    pid = int(program.stdout.readline())
    program.stdout.close()
    if end != "return":
        assert psutil.pid_exists(pid)
        program.send_signal(end)
    program.wait(10)

    def gone() -> bool:
        # Where nothing reaps orphans, an ended process is left as a zombie.
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    assert wait_until(gone)


def test_a_port_that_is_taken_is_named(robot):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ViewerError, match=f"port {port}"):
            Viewer(robot, port=port)


@pytest.mark.parametrize("port", [-1, 65536, "7000", 7000.0, True])
def test_ports_that_are_none_are_refused(robot, port):
    with pytest.raises(OptionError, match="port must be an integer"):
        Viewer(robot, port=port)


def test_wrong_arguments_are_refused_by_name(robot, state):
    with pytest.raises(OptionError, match="robot must be a Mechanism, not str"):
        Viewer("a1")
    with Viewer(robot) as viewer, pytest.raises(StateError, match="x must have shape"):
        viewer.update(**{**state, "x": np.zeros(3)})


def test_importing_the_viewer_is_light():
    heavy = ("numba", "IPython", "matplotlib", "trimesh", "tornado")
    code = f"import sys, robosim.viz; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_has_the_viewer_that_it_was_written_for_and_no_other(tmp_path, monkeypatch):
    """meshcat's script is put into pages: one that was changed, or is away, is refused."""
    bundle = page._meshcat_viewer() / page.BUNDLE
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() == page.BUNDLE_SHA256
    assert bundle.read_text(encoding="utf-8") in page.live_page("title")
    monkeypatch.setattr(page, "_meshcat_viewer", lambda: tmp_path)
    with pytest.raises(ViewerError, match=r"cannot be read: .*main\.min\.js.*pip install"):
        page.live_page("title")
    (tmp_path / "dist").mkdir()
    (tmp_path / page.BUNDLE).write_bytes(bundle.read_bytes() + b" ")
    with pytest.raises(ViewerError, match=r"not the viewer of meshcat 0\.3\.2.*pip install"):
        page.live_page("title")

"""What goes between browsers and the simulation: who is let in, what is taken, what is kept."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import replace

import numpy as np
import pytest
import tornado.httpclient
import tornado.ioloop
import tornado.websocket

import robosim
from robosim import Frame, OptionError
from robosim.viz import Viewer
from robosim.viz.viewer import MAX_ITEMS

SCENE, FRAME, DOCUMENT, ROWS = range(4)


def browse(viewer: Viewer, action, *, query: str = "", origin: str | None = None):
    """What `action(connection)` returns, on a web socket of its own."""

    async def visit():
        headers = {} if origin is None else {"Origin": origin}
        address = f"ws://127.0.0.1:{viewer.port}/frames{query}"
        request = tornado.httpclient.HTTPRequest(address, headers=headers)
        connection = await tornado.websocket.websocket_connect(request)
        try:
            return await action(connection)
        finally:
            connection.close()

    return tornado.ioloop.IOLoop(make_current=False).run_sync(visit, timeout=20)


def decode(message: bytes):
    kind = int.from_bytes(message[:4], "little")
    if kind != DOCUMENT:
        return kind, message[4:]
    end = 8 + int.from_bytes(message[4:8], "little")
    return kind, (message[8:end].decode(), json.loads(message[end:]) if message[end:] else None)


async def everything(connection, seconds: float = 0.5) -> list:
    """All messages until none has come for some time."""
    found = []
    while True:
        try:
            found.append(decode(await asyncio.wait_for(connection.read_message(), seconds)))
        except TimeoutError:
            return found


def samples(found: list) -> list:
    """(chart, numbers) of all blocks of rows among messages."""
    blocks = []
    for content in (content for kind, content in found if kind == ROWS):
        at = 0
        while at < len(content):
            chart, count = np.frombuffer(content, "<u4", 2, at)
            blocks.append((int(chart), np.frombuffer(content, "<f4", count, at + 8)))
            at += 8 + 4 * int(count)
    return blocks


def commands_of(viewer: Viewer, count: int) -> list:
    found: list = []
    end = time.monotonic() + 5
    while len(found) < count and time.monotonic() < end:
        viewer.wait(0.1)
        found += viewer.commands()
    return found


def test_what_a_browser_asks_for_arrives_checked(robot, caplog):
    async def ask(connection):
        for text in (
            '{"do": "pause"}',
            '{"do": "speed", "value": 1e99}',
            "play",
            '{"do":\n"play"}',
            '{"do": "joint", "index": 0, "value": 0.5}',
        ):
            await connection.write_message(text)
        await asyncio.sleep(0.2)

    with Viewer(robot) as viewer, caplog.at_level(logging.WARNING, "robosim.viz"):
        browse(viewer, ask, origin=f"http://127.0.0.1:{viewer.port}")
        assert commands_of(viewer, 2) == [
            {"do": "pause"},
            {"do": "joint", "index": 0, "value": 0.5},
        ]
        assert viewer.commands() == []
    said = [record.getMessage() for record in caplog.records]
    assert sum("dropped a message" in text for text in said) == len(said) == 3
    assert any("cannot have the value" in text for text in said)
    assert any("not JSON" in text for text in said)
    assert any("control characters" in text for text in said)


@pytest.mark.parametrize("text", ["x" * 3000, b"\x00\x01", "x" * 100_000])
def test_what_is_too_long_or_no_text_is_dropped(robot, caplog, text):
    async def ask(connection):
        await connection.write_message(text, binary=isinstance(text, bytes))
        await asyncio.sleep(0.2)

    with Viewer(robot) as viewer, caplog.at_level(logging.WARNING, "robosim.viz"):
        browse(viewer, ask)
        assert viewer.commands() == []
        assert urllib.request.urlopen(viewer.url, timeout=5).status == 200
    if len(text) < 32768:  # otherwise the connection was closed before it was read
        assert "not a text of at most 2048 bytes" in caplog.text


def test_a_flood_is_cut_off_and_what_waits_is_bounded(robot, caplog):
    async def flood(connection):
        for _ in range(2000):
            await connection.write_message('{"do": "pause"}')
        await asyncio.sleep(0.3)

    with Viewer(robot) as viewer, caplog.at_level(logging.WARNING, "robosim.viz"):
        browse(viewer, flood)
        taken = viewer.commands()
        assert 100 <= len(taken) <= 256
    assert "more than 150 messages a second" in caplog.text


def test_a_page_from_elsewhere_can_neither_read_nor_steer(robot):
    async def read(connection):
        return await connection.read_message()

    with Viewer(robot) as viewer:
        for origin in ("http://evil.test", "null", f"http://127.0.0.1:{viewer.port + 1}"):
            with pytest.raises(tornado.httpclient.HTTPClientError, match="403"):
                browse(viewer, read, origin=origin)
        # It cannot lay its own page over this one either.
        with urllib.request.urlopen(viewer.url, timeout=5) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert answer.headers["Access-Control-Allow-Origin"] is None
        assert policy == "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"


def test_other_machines_need_the_token(robot):
    with Viewer(robot, host="0.0.0.0") as viewer:
        token = urllib.parse.parse_qs(urllib.parse.urlsplit(viewer.url).query)["token"][0]
        assert len(token) >= 24
        bare = f"http://127.0.0.1:{viewer.port}/"
        assert viewer.url == f"{bare}?token={token}"
        for address in (bare, f"{bare}?token=", f"{bare}?token={token[:-1]}", f"{bare}?token=%ff"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(address, timeout=5)
            assert refused.value.code in (400, 403)
            refused.value.close()
        # By whatever name this machine has there.
        request = urllib.request.Request(viewer.url, headers={"Host": f"robot.lan:{viewer.port}"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            assert answer.status == 200
            assert token not in answer.read().decode()

        async def read(connection):
            return decode(await connection.read_message())[0]

        with pytest.raises(tornado.httpclient.HTTPClientError, match="403"):
            browse(viewer, read)
        assert browse(viewer, read, query=f"?token={token}") == SCENE
        with pytest.raises(tornado.httpclient.HTTPClientError, match="403"):
            browse(viewer, read, query=f"?token={token}", origin="http://evil.test")
    with Viewer(robot, host="127.0.0.1") as viewer:
        assert "?token=" in viewer.url


def test_the_token_is_not_in_the_list_of_processes(robot):
    import psutil

    with Viewer(robot, host="127.0.0.1") as viewer:
        token = viewer.url.partition("token=")[2]
        assert not any(token in part for part in psutil.Process(viewer.pid).cmdline())


def test_a_browser_that_comes_later_sees_the_whole_scene(robot, state):
    with Viewer(robot) as viewer:
        viewer.document("status", {"paused": False})
        viewer.document("status", {"paused": True})
        viewer.marker("goal", (1, 2, 3))
        viewer.arrow("gone", (0, 0, 0), (1, 0, 0))
        viewer.remove("gone")
        viewer.rows([[0.0, 1.0], [0.1, 2.0]])
        viewer.update(**state, time=1.0)
        time.sleep(0.3)
        for _ in range(2):
            found = browse(viewer, everything)
            assert found[0][0] == SCENE
            documents = dict(content for kind, content in found if kind == DOCUMENT)
            assert documents["status"] == {"paused": True}
            assert documents["item goal"]["position"] == [1, 2, 3]
            assert documents.get("item gone") is None
            assert [chart for chart, _ in samples(found)] == [0]
            np.testing.assert_allclose(samples(found)[0][1], [0, 1, 0.1, 2], rtol=1e-6)
            assert found[-1][0] == FRAME


def test_a_browser_that_watches_is_told_what_changes(robot, state):
    with Viewer(robot) as viewer:
        viewer.marker("goal", (1, 2, 3))

        async def watch(connection):
            before = await everything(connection)
            viewer.remove("goal")
            viewer.layers(names=True)
            viewer.update(**state, time=2.0)
            return before, await everything(connection)

        before, after = browse(viewer, watch)
        assert ("item goal") in [content[0] for kind, content in before if kind == DOCUMENT]
        documents = dict(content for kind, content in after if kind == DOCUMENT)
        assert documents == {"item goal": None, "layer names": {"on": True}}
        assert [kind for kind, _ in after].count(FRAME) == 1


def test_trails_are_of_chosen_points(robot):
    with Viewer(robot) as viewer:
        viewer.trails({"arm": (0, 0, -0.3)})
        with pytest.raises(robosim.ModelError, match="no body or frame 'leg'"):
            viewer.trails({"leg": (0, 0, 0)})
        documents = dict(
            content for kind, content in browse(viewer, everything) if kind == DOCUMENT
        )
    assert documents["trails"] == {"points": [{"name": "arm", "body": 1, "point": [0, 0, -0.3]}]}
    assert documents["layer trails"] == {"on": True}


def test_trails_of_frames(robot):
    """In the axes of the frame, which stand a quarter of a turn about x in those of the body."""
    r = np.sqrt(0.5)
    tip = Frame("tip", (1, 2, 3), (r, r, 0, 0))
    bodies = [
        replace(body, frames=(*body.frames, tip)) if body.name == "arm" else body
        for body in robot.bodies
    ]
    with Viewer(replace(robot, bodies=tuple(bodies))) as viewer:
        viewer.trails({"tip": (0.5, 0, 0.25)})
        documents = dict(
            content for kind, content in browse(viewer, everything) if kind == DOCUMENT
        )
    (told,) = documents["trails"]["points"]
    assert (told["name"], told["body"]) == ("tip", 1)
    np.testing.assert_allclose(told["point"], (1.5, 1.75, 3), rtol=1e-12)


def test_several_browsers_at_once(robot, state):
    async def watch(connection):
        async with asyncio.TaskGroup() as group:
            address = f"ws://127.0.0.1:{viewer.port}/frames"
            more = [
                group.create_task(everything(await tornado.websocket.websocket_connect(address)))
                for _ in range(5)
            ]
            first = group.create_task(everything(connection))
        return [first.result(), *(task.result() for task in more)]

    with Viewer(robot) as viewer:
        viewer.update(**state)
        for found in browse(viewer, watch):
            assert [kind for kind, _ in found] == [SCENE, FRAME]


@pytest.mark.parametrize("handles", [None, 64])
def test_connections_are_bounded_and_others_are_answered(robot, handles):
    """More than the server takes, and more than it has file handles for; watchers go on."""
    import psutil

    with Viewer(robot) as viewer:
        process = psutil.Process(viewer.pid)
        if handles is not None:
            if not hasattr(process, "rlimit"):
                pytest.skip("no limit of handles can be set here")
            process.rlimit(psutil.RLIMIT_NOFILE, (handles, handles))

        async def crowd(connection):
            await everything(connection, 0.3)
            held = [socket.create_connection(("127.0.0.1", viewer.port)) for _ in range(300)]
            try:
                await asyncio.sleep(1.0)
                before = sum(process.cpu_times()[:2])
                for _ in range(3):
                    answer = await tornado.httpclient.AsyncHTTPClient().fetch(viewer.url)
                    assert answer.code == 200
                await asyncio.sleep(1.0)
                # It neither spins nor keeps more than it may.
                assert sum(process.cpu_times()[:2]) - before < 0.5
                assert process.num_fds() < 128 + 32 + 24
                viewer.marker("goal", (1, 2, 3))
                return await everything(connection)
            finally:
                for each in held:
                    each.close()

        assert ("item goal") in [found[1][0] for found in browse(viewer, crowd)]


def test_memory_is_bounded_however_long_it_runs(robot, state):
    import psutil

    with Viewer(robot) as viewer:
        for k in range(2000):
            viewer.document(f"item {k % 10}", {"text": "x" * 500, "k": k})
            viewer.rows(np.zeros((6, 50)))
            viewer.update(**state, time=k * 1e-3)
            if k == 1000:
                time.sleep(0.5)
                before = psutil.Process(viewer.pid).memory_info().rss
        time.sleep(0.5)
        assert psutil.Process(viewer.pid).memory_info().rss - before < 4e6


@pytest.mark.parametrize(
    ("put", "what"),
    [
        (lambda v: v.marker("m", (0, 0)), "position must be finite numbers"),
        (lambda v: v.marker("m", (0, 0, np.nan)), "position must be finite numbers"),
        (lambda v: v.marker("m", (0, 0, 0), radius=0), "a size must be positive"),
        (lambda v: v.marker("m", (0, 0, 0), color="red"), "a color must be of the form #rrggbb"),
        (lambda v: v.marker("", (0, 0, 0)), "name of an item"),
        (lambda v: v.line("l", np.zeros((0, 3))), "points must be 1 to"),
        (lambda v: v.line("l", [[0, 0, 0], [1, 1]]), "points must be finite numbers"),
        (lambda v: v.text("t", (0, 0, 0), "x" * 501), "at most 500 characters"),
        (lambda v: v.layers(everything=True), "no layer 'everything' .known: visual"),
    ],
)
def test_items_that_are_none_are_refused_by_name(robot, put, what):
    with Viewer(robot) as viewer, pytest.raises(OptionError, match=what):
        put(viewer)


def test_items_are_bounded(robot, monkeypatch):
    monkeypatch.setattr("robosim.viz.viewer.MAX_ITEMS", 3)
    assert MAX_ITEMS > 3
    with Viewer(robot) as viewer:
        for k in range(3):
            viewer.marker(f"m{k}", (0, 0, 0))
        viewer.marker("m0", (1, 0, 0))
        with pytest.raises(OptionError, match="more than 3 items"):
            viewer.marker("m3", (0, 0, 0))


def test_a_viewer_shows_a_simulation_or_a_pose(robot):
    async def last(connection):
        found = await everything(connection)
        return np.frombuffer(found[-1][1], "<f4")

    with Viewer(robot) as viewer:
        viewer.pose()
        frame = browse(viewer, last)
        assert np.isnan(frame[0])
        np.testing.assert_allclose(frame[4:7], robot.home[:3], atol=1e-7)
        sim = robosim.Simulation(robot)
        sim.set_state([1.0, 2.0, 3.0, 1, 0, 0, 0, 0.0])
        viewer.show(sim)
        frame = browse(viewer, last)
        np.testing.assert_allclose(frame[4:7], [1, 2, 3], atol=1e-7)
        assert "<iframe" in viewer._repr_html_()
        assert viewer.url in viewer._repr_html_()


def test_sliders_and_buttons_of_a_script(robot, caplog):
    async def use(connection):
        for text in (
            '{"do": "slider", "name": "height", "value": 0.3}',
            '{"do": "press", "name": "kick"}',
            '{"do": "press", "name": "kick"}',
            '{"do": "slider", "name": "height", "value": 7}',
            '{"do": "slider", "name": "kick", "value": 0}',
            '{"do": "press", "name": "height"}',
            '{"do": "pause"}',
        ):
            connection.write_message(text)
        return await everything(connection)

    with Viewer(robot) as viewer, caplog.at_level(logging.WARNING, "robosim.viz"):
        height = viewer.slider("height", 0.2, 0.4, 0.25, unit="m")
        kick = viewer.button("kick")
        assert (height.value, kick.pressed()) == (0.25, False)
        browse(viewer, use)
        # Whoever asks the run for what is asked of it takes in what the controls are told.
        assert commands_of(viewer, 1) == [{"do": "pause"}]
        assert height.value == 0.3
        assert [kick.pressed() for _ in range(3)] == [True, True, False]
        said = " ".join(record.getMessage() for record in caplog.records)
        assert "'height' goes from 0.2 to 0.4" in said
        assert said.count("no such control") == 2
        height.value = 0.35
        viewer.remove("kick")
        told = dict(content for kind, content in browse(viewer, everything) if kind == DOCUMENT)
        assert told["controls"]["controls"] == [
            {
                "kind": "slider",
                "name": "height",
                "low": 0.2,
                "high": 0.4,
                "value": 0.35,
                "unit": "m",
            }
        ]


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda v: v.slider("go", 0, 1), "name of a button already.*remove\\('go'\\)"),
        (lambda v: v.button("k"), "name of a slider already"),
        (lambda v: v.slider("s", 1, 1), "must differ and rise"),
        (lambda v: v.slider("s", 0, float("inf")), "must be finite"),
        (lambda v: v.slider("s", 0, 1, 2), "from 0 to 1, not 2"),
        (lambda v: v.slider("", 0, 1), "short text"),
        (lambda v: setattr(v.slider("s", 0, 1), "value", "x"), "must be a number"),
        (lambda v: v.plot("energy", 1.0), "one of the run itself.*such as 'my energy'"),
        (lambda v: v.plot("e", {"a": 1.0}), "has the lines e, not a.*remove\\('e'\\)"),
        (lambda v: v.plot("f", {}), "1 to 200 named lines"),
        (lambda v: v.plot("f", "high"), "must be a number"),
        (lambda v: v.plot("f", 1.0, time=float("nan")), "time must be finite"),
    ],
)
def test_controls_and_charts_that_cannot_be(robot, ask, why):
    with Viewer(robot) as viewer:
        viewer.document("panel", {"charts": [{"title": "energy", "unit": "J", "names": ["total"]}]})
        viewer.button("go")
        viewer.slider("k", 0, 1)
        viewer.plot("e", 1.0)
        with pytest.raises(OptionError, match=why):
            ask(viewer)


def test_charts_of_a_script_come_with_their_samples(robot, state):
    with Viewer(robot) as viewer:
        viewer.update(**state, time=2.0)
        viewer.plot("height", {"is": 0.1, "wanted": 0.3}, unit="m")
        for k in range(3):
            viewer.plot("error", float(k), time=0.5 * k)
        time.sleep(0.4)
        found = browse(viewer, everything)
        charts = dict(content for kind, content in found if kind == DOCUMENT)["signals"]["charts"]
        assert [(c["title"], c["unit"], c["names"]) for c in charts] == [
            ("height", "m", ["is", "wanted"]),
            ("error", "", ["error"]),
        ]
        got: dict = {}
        for chart, numbers in samples(found):
            got[chart] = [*got.get(chart, []), *numbers.tolist()]
        # The first at the time that was shown, the others when they say.
        assert got[charts[0]["id"]] == pytest.approx([2.0, 0.1, 0.3])
        assert got[charts[1]["id"]] == pytest.approx([0, 0, 0.5, 1, 1, 2])
        # A chart that was taken away may come again with other lines.
        viewer.remove("error")
        viewer.plot("error", {"x": 0.0})


def test_another_robot_takes_the_place_of_the_first_in_open_browsers(robot, state):
    other = robosim.load("double_pendulum")

    async def watch(connection):
        before = await everything(connection, 0.3)
        viewer.replace(other)
        viewer.pose()
        return before, await everything(connection)

    with Viewer(robot) as viewer:
        viewer.update(**state, time=1.0)
        viewer.marker("goal", (1, 2, 3))
        viewer.rows([[0.0, 1.0]])
        before, after = browse(viewer, watch)
        assert before[0][0] == SCENE
        kinds = [kind for kind, _ in after]
        # The scene first, no rows or frames of the robot before, items again.
        assert kinds[0] == SCENE
        assert kinds.count(SCENE) == 1
        assert b"double_pendulum" in after[0][1]
        assert ROWS not in kinds
        assert "item goal" in dict(c for kind, c in after if kind == DOCUMENT)
        frames = [content for kind, content in after if kind == FRAME]
        assert {len(content) for content in frames} == {4 * (4 + 7 * 2)}
        assert [kind for kind, _ in browse(viewer, everything)].count(SCENE) == 1

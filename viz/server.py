"""The process that serves the live view: run as a script, fed through its standard input.

It knows nothing of robots. From the standard input it reads messages, each a kind (one byte), a
length (uint32, little-endian) and the content: ``P`` the page, ``S`` the scene, ``F`` a frame.
The page is served over HTTP, the scene and the newest frame over a web socket, on 127.0.0.1 and
nothing else. A browser that is slow skips frames. When the standard input ends, so does this.

Once it has a scene, it reports one line of JSON on its standard output: ``{"port": 7000}``; or
``{"error": "..."}``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from typing import Any, BinaryIO

import tornado.httpserver
import tornado.web
import tornado.websocket

ADDRESS = "127.0.0.1"
FIRST_PORT = 7000
TRIED_PORTS = 100
_SCENE = (0).to_bytes(4, "little")
_FRAME = (1).to_bytes(4, "little")


class Feed:
    """What there is to show, and who is watching."""

    def __init__(self) -> None:
        self.page = b""
        self.scene = b""
        self.frame = b""
        self.serial = 0
        self.ready = asyncio.Event()
        self.watchers: set[Watcher] = set()

    def take(self, kind: bytes, content: bytes) -> None:
        """Takes in a message."""
        if kind == b"P":
            self.page = content
        elif kind == b"S":
            self.scene = _SCENE + content
            self.ready.set()
        else:
            self.frame = _FRAME + content
            self.serial += 1
            for watcher in self.watchers:
                watcher.wake.set()


class _LocalOnly:
    """Refuses a page that reaches this address under another name (DNS rebinding)."""

    request: Any

    def prepare(self) -> None:
        if self.request.host_name not in (ADDRESS, "localhost"):
            raise tornado.web.HTTPError(403)


class PageHandler(_LocalOnly, tornado.web.RequestHandler):
    """Serves the page."""

    def initialize(self, feed: Feed) -> None:
        self.feed = feed

    def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(self.feed.page)


class Watcher(_LocalOnly, tornado.websocket.WebSocketHandler):
    """A browser: gets the scene, then always the newest frame once the last one has left."""

    def initialize(self, feed: Feed) -> None:
        self.feed = feed
        self.wake = asyncio.Event()

    def open(self, *args: str, **kwargs: str) -> None:
        self.set_nodelay(True)
        self.feed.watchers.add(self)
        self.wake.set()
        self.task = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        with contextlib.suppress(tornado.websocket.WebSocketClosedError):
            await self.write_message(self.feed.scene, binary=True)
            sent = 0
            while True:
                await self.wake.wait()
                self.wake.clear()
                if self.feed.serial != sent:
                    sent = self.feed.serial
                    await self.write_message(self.feed.frame, binary=True)

    def on_message(self, message: str | bytes) -> None:
        """Nothing is taken from a browser."""

    def on_close(self) -> None:
        self.feed.watchers.discard(self)
        self.task.cancel()


def bind(port: int | None) -> socket.socket:
    """A listening socket on the loopback address: `port`, or the first free one from 7000."""
    candidates = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + TRIED_PORTS), 0]
    for candidate in candidates:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            if os.name == "posix":
                # Reuse of a port just left; elsewhere this option would let two share it.
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((ADDRESS, candidate))
            listener.listen(16)
        except OSError:
            listener.close()
            if candidate == candidates[-1]:
                raise
            continue
        listener.setblocking(False)
        return listener
    raise OSError("no port to try")


def _read(stream: BinaryIO, count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content


def read_messages(stream: BinaryIO, feed: Feed, loop: asyncio.AbstractEventLoop) -> None:
    """Hands messages to the event loop until the stream ends, then stops the process."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            kind = _read(stream, 1)
            length = int.from_bytes(_read(stream, 4), "little")
            content = _read(stream, length)
            loop.call_soon_threadsafe(feed.take, kind, content)
    # Time for the last frame to leave; not a clean shutdown of the loop, as a browser that hangs
    # must not keep this alive.
    time.sleep(0.1)
    os._exit(0)


def leave_with(parent: int) -> None:
    """Ends the process when `parent` is gone.

    The end of the standard input normally says so; not when a fork of the parent still holds
    the other end of it.
    """
    if os.getppid() != parent:
        os._exit(0)
    asyncio.get_running_loop().call_later(1.0, leave_with, parent)


async def serve(listener: socket.socket, open_browser: bool, parent: int) -> None:
    """Serves for ever."""
    feed = Feed()
    loop = asyncio.get_running_loop()
    application = tornado.web.Application(
        [(r"/", PageHandler, {"feed": feed}), (r"/frames", Watcher, {"feed": feed})],
        websocket_ping_interval=20,
    )
    port = listener.getsockname()[1]
    tornado.httpserver.HTTPServer(application).add_socket(listener)
    threading.Thread(target=read_messages, args=(sys.stdin.buffer, feed, loop), daemon=True).start()
    if os.name == "posix":
        leave_with(parent)
    await feed.ready.wait()
    print(json.dumps({"port": port}), flush=True)
    if open_browser:
        # In a thread: some browsers are programs that run until they are closed.
        address = f"http://{ADDRESS}:{port}/"
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    await asyncio.Event().wait()


def main() -> None:
    """Entry point of the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--open-browser", action="store_true")
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args()
    logging.disable()
    if hasattr(os, "nice"):
        os.nice(5)  # where cores are few, the simulation goes first
    try:
        listener = bind(options.port)
    except OSError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(1)
    asyncio.run(serve(listener, options.open_browser, options.parent))


if __name__ == "__main__":
    main()

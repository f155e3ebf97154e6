"""The process that serves the live view: run as a script, fed through its standard input.

The process knows nothing of robots. It reads messages from the standard input. A message is a kind
(one byte), a length (uint32, little-endian) and the content. Kinds are ``T``, the token that
browsers must send, ``P``, the page, ``S``, a scene, ``F``, a frame, ``R``, rows for the charts, and
``D``, a document: the length of its name (one byte), its name, its JSON. An empty document is
deleted. The page is served over HTTP, the rest over a web socket: first the scene, all documents
and the last rows, then changes. A new scene starts all of this again. A slow browser skips frames
and old states of documents. The process ends when the standard input ends.

Once it has a scene, the process writes one line of JSON to the standard output,
``{"port": 7000}`` or ``{"error": "..."}``. Then it writes each message from a browser as a line.
Messages that are not short texts, or too frequent, are dropped, and ``{"dropped": "why"}`` reports
this once a second.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hmac
import json
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from collections import deque
from typing import Any, BinaryIO

import tornado.httpserver
import tornado.ioloop
import tornado.iostream
import tornado.web
import tornado.websocket

LOOPBACK = "127.0.0.1"
FIRST_PORT = 7000
TRIED_PORTS = 100
MAX_WATCHERS = 32
MAX_CONNECTIONS = 128  # without those of watchers: of browsers that are being answered
OWN_HANDLES = 24  # files that this process needs beside its connections
LONGEST_REQUEST = 10.0  # [s], also between two of one connection
MAX_MESSAGE = 2048  # [bytes]: with it a line is shorter than what a pipe takes at once
MAX_RATE = 150.0  # messages a second from one browser
ROWS_KEPT = 1200  # messages of rows, which are a tenth of a second each, of the run and of scripts
_SCENE, _FRAME, _DOCUMENT, _ROWS = (k.to_bytes(4, "little") for k in range(4))
# Who may show the page in a frame: notebooks on this machine, and nobody who could lay something
# invisible over its buttons.
FRAMES = "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"


class Feed:
    """The data to show, and the browsers that show it."""

    def __init__(self) -> None:
        self.page = b""
        self.scene = b""
        self.scenes = 0
        self.token = b""
        self.frame = b""
        self.frames = 0
        self.documents: dict[bytes, tuple[int, bytes]] = {}
        self.forgotten: deque[tuple[int, bytes]] = deque(maxlen=1000)
        self.changes = 0
        self.rows: deque[bytes] = deque(maxlen=ROWS_KEPT)
        self.rows_taken = 0
        self.ready = asyncio.Event()
        self.watchers: set[Watcher] = set()
        self._reported = 0.0

    def take(self, kind: bytes, content: bytes) -> None:
        """Takes in a message."""
        if kind == b"T":
            self.token = content
        elif kind == b"P":
            self.page = content
        elif kind == b"S":
            self.scene = _SCENE + content
            self.scenes += 1
            self.frame = b""  # which was of the robot before
            self.rows.clear()
            self.ready.set()
        elif kind == b"D":
            end = 1 + content[0]
            self._take_document(content[1:end], content[end:])
        elif kind == b"R":
            self.rows.append(_ROWS + content)
            self.rows_taken += 1
        else:
            self.frame = _FRAME + content
            self.frames += 1
        for watcher in self.watchers:
            watcher.wake.set()

    def _take_document(self, name: bytes, content: bytes) -> None:
        self.changes += 1
        message = _DOCUMENT + len(name).to_bytes(4, "little") + name + content
        if content:
            self.documents[name] = self.changes, message
        elif self.documents.pop(name, None):
            self.forgotten.append((self.changes, message))

    def admits(self, handler: Any) -> bool:
        """Whether a request may be answered: it has the token, or addresses this machine by name.

        Another name for the loopback address is a sign of DNS rebinding: a page whose own name
        resolves to this machine. With a token such a page is harmless.
        """
        if self.token:
            shown = handler.get_query_argument("token", "").encode()
            return hmac.compare_digest(shown, self.token)
        return handler.request.host_name in (LOOPBACK, "localhost")

    def drop(self, reason: str) -> None:
        """Report that a message was dropped, at most once a second."""
        now = time.monotonic()
        if now - self._reported >= 1.0:
            self._reported = now
            report({"dropped": reason})


def report(what: dict[str, Any] | str) -> None:
    """Write a line to the standard output; the line is lost if earlier ones have not been read."""
    line = what if isinstance(what, str) else json.dumps(what)
    with contextlib.suppress(BlockingIOError, BrokenPipeError):
        os.write(sys.stdout.fileno(), line.encode() + b"\n")


class _Guarded:
    """Refuses requests that `Feed.admits` does not allow."""

    feed: Feed

    def initialize(self, feed: Feed) -> None:
        self.feed = feed

    def prepare(self) -> None:
        if not self.feed.admits(self):
            raise tornado.web.HTTPError(403)


class PageHandler(_Guarded, tornado.web.RequestHandler):
    """Serves the page."""

    def get(self) -> None:
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", FRAMES),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            self.set_header(name, value)
        self.finish(self.feed.page)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        said = "403: open the whole address that robosim printed, with its token"
        self.finish(said if status_code == 403 else f"{status_code}")


class Watcher(_Guarded, tornado.websocket.WebSocketHandler):
    """A browser: receives the scene, then the newest data whenever the last message has been sent.

    Tornado refuses browsers on a page of another origin beforehand.
    """

    def prepare(self) -> None:
        super().prepare()
        if len(self.feed.watchers) >= MAX_WATCHERS:
            raise tornado.web.HTTPError(503)

    def open(self, *args: str, **kwargs: str) -> None:
        self.wake = asyncio.Event()
        self.budget, self.last = MAX_RATE, time.monotonic()
        self.set_nodelay(True)
        self.feed.watchers.add(self)
        self.wake.set()
        self.task = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        feed = self.feed
        with contextlib.suppress(tornado.websocket.WebSocketClosedError):
            frames = changes = rows = scenes = 0
            while True:
                await self.wake.wait()
                self.wake.clear()
                if feed.scenes != scenes:
                    scenes, changes = feed.scenes, 0
                    await self.write_message(feed.scene, binary=True)
                news = [(k, text) for k, text in feed.documents.values() if k > changes]
                if changes:
                    news += [(k, text) for k, text in feed.forgotten if k > changes]
                changes = feed.changes
                for _, text in sorted(news):
                    await self.write_message(text, binary=True)
                new = min(feed.rows_taken - rows, len(feed.rows))
                rows = feed.rows_taken
                for row in list(feed.rows)[len(feed.rows) - new :]:
                    await self.write_message(row, binary=True)
                # While a message leaves, another scene may come, which is not that of the frame.
                if feed.frames != frames and feed.frame and feed.scenes == scenes:
                    frames = feed.frames
                    await self.write_message(feed.frame, binary=True)

    def on_message(self, message: str | bytes) -> None:
        now = time.monotonic()
        self.budget = min(MAX_RATE, self.budget + MAX_RATE * (now - self.last)) - 1.0
        self.last = now
        if self.budget < 0.0:
            self.budget = 0.0
            self.feed.drop(f"more than {MAX_RATE:g} messages a second")
        elif not isinstance(message, str) or len(message.encode()) > MAX_MESSAGE:
            self.feed.drop(f"not a text of at most {MAX_MESSAGE} bytes")
        elif not message.isprintable():
            self.feed.drop("a text with control characters")
        else:
            report(message)

    def on_close(self) -> None:
        self.feed.watchers.discard(self)
        self.task.cancel()


class Server(tornado.httpserver.HTTPServer):
    """An HTTP server with a bounded number of connections: a new one replaces the oldest.

    So idle connections cannot block other requests. Web sockets of watchers, which `MAX_WATCHERS`
    bounds, do not count.
    """

    def __init__(self, application: tornado.web.Application) -> None:
        super().__init__(
            application,
            idle_connection_timeout=LONGEST_REQUEST,
            body_timeout=LONGEST_REQUEST,
            max_body_size=MAX_MESSAGE,
            max_header_size=16 * MAX_MESSAGE,
        )
        self._open: dict[Any, None] = {}  # streams, the oldest first
        self._most = MAX_CONNECTIONS
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource  # not on Windows, where handles are plenty

            handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            if handles != resource.RLIM_INFINITY:
                left = handles - OWN_HANDLES - MAX_WATCHERS
                self._most = max(min(MAX_CONNECTIONS, left), 4)

    def listen_on(self, listener: socket.socket) -> None:
        """Accept connections from now on."""
        self._listener = listener
        loop = tornado.ioloop.IOLoop.current()
        loop.add_handler(listener, self._accept, loop.READ)

    def _accept(self, *event: Any) -> None:
        """Accept waiting connections; if file handles have run out, close the oldest or wait."""
        for _ in range(16):
            try:
                connection, address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                if self._close_oldest():
                    continue
                loop = tornado.ioloop.IOLoop.current()
                loop.remove_handler(self._listener)
                loop.call_later(0.1, self.listen_on, self._listener)
                return
            while len(self._open) >= self._most:
                self._close_oldest()
            stream = tornado.iostream.IOStream(connection, max_buffer_size=64 * MAX_MESSAGE)
            self._open[stream] = None
            self.handle_stream(stream, address)

    def _close_oldest(self) -> bool:
        """Close the oldest connection; returns whether there was one."""
        stream = next(iter(self._open), None)
        if stream is None:
            return False
        del self._open[stream]
        stream.close()
        return True

    def on_close(self, server_conn: Any) -> None:
        """Called by tornado when a connection has been closed, or become a web socket."""
        self._open.pop(server_conn.stream, None)
        super().on_close(server_conn)


def bind(host: str, port: int | None) -> socket.socket:
    """A listening socket on an address of this machine: `port`, or the first free from 7000."""
    candidates = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + TRIED_PORTS), 0]
    family, _, _, _, found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    for candidate in candidates:
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            if os.name == "posix":
                # Reuse of a port just left; elsewhere this option would let two share it.
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((found[0], candidate))
            listener.listen(MAX_CONNECTIONS)
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
    """End the process when the process `parent` has ended.

    Normally the standard input ends then, but not if a fork of the parent still holds its other
    end.
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
        websocket_max_message_size=16 * MAX_MESSAGE,
    )
    port = listener.getsockname()[1]
    threading.Thread(target=read_messages, args=(sys.stdin.buffer, feed, loop), daemon=True).start()
    if os.name == "posix":
        leave_with(parent)
        os.set_blocking(sys.stdout.fileno(), False)
    await feed.ready.wait()
    Server(application).listen_on(listener)
    report({"port": port})
    if open_browser:
        # In a thread: some browsers are programs that run until they are closed.
        token = f"?token={feed.token.decode()}" if feed.token else ""
        address = f"http://{LOOPBACK}:{port}/{token}"
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    await asyncio.Event().wait()


def main() -> None:
    """Entry point of the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default=LOOPBACK)
    parser.add_argument("--port", type=int)
    parser.add_argument("--open-browser", action="store_true")
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args()
    logging.disable()
    if hasattr(os, "nice"):
        os.nice(5)  # where cores are few, the simulation goes first
    try:
        listener = bind(options.host, options.port)
    except OSError as error:
        report({"error": str(error)})
        sys.exit(1)
    asyncio.run(serve(listener, options.open_browser, options.parent))


if __name__ == "__main__":
    main()

"""A network connection that can be cut."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress


class Cable(socketserver.ThreadingTCPServer):
    """Leads from a port of the loopback address to where ``connect`` connects."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self.connect = connect
        self.is_cut = False
        self._ends: list[socket.socket] = []
        super().__init__(("127.0.0.1", 0), _Pull)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        """The address of this end, for HTTP."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def keep(self, *ends: socket.socket) -> None:
        self._ends += ends

    def cut(self) -> None:
        """End every connection, and refuse new ones until ``is_cut`` is False."""
        self.is_cut = True
        for end in self._ends:
            _end(end)
        self._ends.clear()


class _Pull(socketserver.BaseRequestHandler):
    server: Cable

    def handle(self) -> None:
        if self.server.is_cut:
            return
        near = self.request
        with suppress(OSError), self.server.connect() as far:
            self.server.keep(near, far)
            back = threading.Thread(target=_pump, args=(far, near), daemon=True)
            back.start()
            _pump(near, far)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # cut
        while piece := source.recv(65536):
            sink.sendall(piece)
    for end in (source, sink):
        _end(end)


def _end(end: socket.socket) -> None:
    with suppress(OSError):  # ended already
        end.shutdown(socket.SHUT_RDWR)

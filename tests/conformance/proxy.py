"""A proxy before PostgreSQL that loses an answer on purpose: the server's to a chosen statement."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class LosesAnswer:
    """Passes everything on; what follows a client's `COMMIT` reaches the server and is never answered, once."""

    def __init__(self, host: str, port: int, *, statement: bytes = b"COMMIT") -> None:
        self._behind = (host, port)
        self._statement = statement
        self._armed = True
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._behind)
                lost = threading.Event()
                threading.Thread(target=self._to_server, args=(client, server, lost), daemon=True).start()
                threading.Thread(target=self._to_client, args=(server, client, lost), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket, lost: threading.Event) -> None:
        with suppress(OSError):
            while sent := client.recv(65536):
                if self._armed and self._statement in sent:
                    self._armed = False
                    lost.set()
                server.sendall(sent)
            server.shutdown(socket.SHUT_WR)

    @staticmethod
    def _to_client(server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        with suppress(OSError):
            while answer := server.recv(65536):
                if lost.is_set():
                    break
                client.sendall(answer)
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

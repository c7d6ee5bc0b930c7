"""File descriptors between two processes: connections one way, pipes of operators' requests the other.

A socket pair of whole messages (SOCK_SEQPACKET), each one byte and one descriptor. Full means busy: nothing blocks.
"""

import asyncio
import socket
from collections.abc import Callable


class Ends:
    """One end of the pair. taken: called with each socket that the other end passes; gone: when it has gone."""

    def __init__(
        self, pair_end: socket.socket, taken: Callable[[socket.socket], None], gone: Callable[[], None]
    ) -> None:
        pair_end.setblocking(False)
        self._end, self._taken, self._gone = pair_end, taken, gone
        asyncio.get_running_loop().add_reader(pair_end, self._read)

    def give(self, passed: socket.socket) -> None:
        """Pass a socket on; ours may be closed then. Raises OSError when the other end is busy or has gone."""
        socket.send_fds(self._end, [b"\0"], [passed.fileno()])

    def stop(self) -> None:
        """Take what is there and nothing more; what is passed to the other end still arrives."""
        self._read()
        asyncio.get_running_loop().remove_reader(self._end)

    def close(self) -> None:
        """Nothing more is passed."""
        if self._end.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._end)
            self._end.close()

    def _read(self) -> None:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._end, 1, 1, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return
            except ConnectionError:
                data, descriptors = b"", []
            if not data:
                self.close()
                self._gone()
                return
            for descriptor in descriptors:
                self._taken(socket.socket(fileno=descriptor))

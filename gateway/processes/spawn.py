"""Starting a child: a fresh interpreter with one end of two socket pairs, nothing else inherited.

Not a fork: an event loop, its threads and its locks do not survive one.
"""

import socket
import subprocess
import sys
from typing import NamedTuple


class Spawned(NamedTuple):
    """A child that was started. wire: for messages; ends: for file descriptors."""

    process: subprocess.Popen[bytes]
    wire: socket.socket
    ends: socket.socket


def spawn() -> Spawned:
    """Start a child. Raises OSError when the machine cannot."""
    wire, its_wire = socket.socketpair()
    ends, its_ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its_wire, its_ends:
        inherited = its_wire.fileno(), its_ends.fileno()
        command = [sys.executable, "-m", "gateway.processes", *map(str, inherited)]
        process = subprocess.Popen(command, pass_fds=inherited, stdin=subprocess.DEVNULL)  # noqa: S603
    return Spawned(process, wire, ends)

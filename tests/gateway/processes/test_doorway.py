"""gateway.processes.doorway and ends: connections are taken once, and each goes to who has the fewest."""

import asyncio
import socket

from gateway.processes.doorway import Doorway
from gateway.processes.ends import Ends
from gateway.serve import bind
from tests.gateway.running import until


class Taking:
    """A taker in this process. refuses: it takes nothing."""

    def __init__(self, *, has: int = 0, refuses: bool = False) -> None:
        self.open = has
        self.refuses = refuses
        self.taken: list[socket.socket] = []

    def give(self, connection: socket.socket) -> bool:
        if self.refuses:
            return False
        self.open += 1
        self.taken.append(connection.dup())
        return True


async def test_connections_are_shared_out() -> None:
    """To the one with the fewest, of equals by turns; who cannot take is passed over; they wait for somebody."""
    listener = bind("127.0.0.1", 0)
    takers: list[Taking] = []
    doorway = Doorway(listener, lambda: takers)
    doorway.open()
    clients = [socket.create_connection(listener.getsockname()) for _ in range(9)]
    await asyncio.sleep(0.05)
    one, two, full = Taking(), Taking(has=3), Taking(refuses=True)
    takers.extend((one, two, full))
    doorway.open()
    await until(lambda: len(one.taken) + len(two.taken) == 9)
    assert (one.open, two.open, full.taken) == (6, 6, [])
    assert {each.getpeername() for each in one.taken + two.taken} == {each.getsockname() for each in clients}
    doorway.close()
    for each in (*clients, *one.taken, *two.taken):
        each.close()


async def test_a_connection_passes_from_process_to_process() -> None:
    """What is given at one end is taken at the other, the same socket; an end that goes is told."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    taken: list[socket.socket] = []
    gone = asyncio.Event()
    left, right = Ends(ours, taken.append, gone.set), Ends(theirs, taken.append, gone.set)
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()) as client:
        left.give(client)
        await until(lambda: bool(taken))
        assert taken[0].getsockname() == client.getsockname()
        taken[0].close()
    right.close()
    await until(gone.is_set)
    left.close()

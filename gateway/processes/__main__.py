"""A child process: `python -m gateway.processes WIRE ENDS`, two inherited descriptors. Not for people."""

import asyncio
import signal
import socket
import sys

from gateway.processes.child import serve
from gateway.server import collect_rarely, new_loop, set_up_logs


def main() -> None:
    """Serve until the parent has it end. A terminal's signals are the parent's business."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    set_up_logs()
    wire, ends = (socket.socket(fileno=int(each)) for each in sys.argv[1:3])
    collect_rarely()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(wire, ends))


main()

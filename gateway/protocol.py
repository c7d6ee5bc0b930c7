"""uvicorn's HTTP/1.1 protocol, and the offer to upgrade to HTTP/2 that it would lose a request over.

Java's HttpClient sends `Upgrade: h2c` with its first request to every plain http:// address. A server may ignore that
(RFC 9110 7.8), but llhttp takes what follows the head for another protocol, so the body is gone. The line is taken
out before the head is parsed; what is left is the plain request that a client must be content with. An offer that
arrives in pieces is refused (gateway.incoming).
"""

import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OFFER = re.compile(rb"\r\nupgrade:[ \t]*h2c[ \t]*(?=\r\n)", re.IGNORECASE)


class ClientProtocol(HttpToolsProtocol):
    """One connection of a client's."""

    def data_received(self, data: bytes) -> None:
        if (self.cycle is None or self.cycle.response_complete) and b"h2c" in data:
            end = data.find(b"\r\n\r\n")
            offer = _OFFER.search(data, 0, end + 2) if end >= 0 else None
            if offer is not None:
                data = data[: offer.start()] + data[offer.end() :]
        super().data_received(data)

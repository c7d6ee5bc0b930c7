"""Requests that offer to upgrade, served as plain HTTP/1.1.

One idea: a server may ignore an Upgrade header (RFC 9110 7.8), and clients such as `curl --http2` rely on it. llhttp
stops at the end of such a request's head and takes its body for another protocol, so uvicorn answers without the body
and loses the connection. Here the head is read once more, without the offer, and the body with it.
"""

from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OFFER: Final = frozenset((b"upgrade", b"http2-settings"))


class PlainHttp(HttpToolsProtocol):
    """uvicorn's protocol, to be used with `ws="none"`."""

    def data_received(self, data: bytes) -> None:
        """Bytes from the client."""
        self._unset_keepalive_if_required()
        try:
            while data:
                try:
                    self.parser.feed_data(data)
                    return
                except httptools.HttpParserUpgrade as upgrade:
                    data = self._without_offer() + data[upgrade.args[0] :]
                    self.parser = httptools.HttpRequestParser(self)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def on_headers_complete(self) -> None:
        """The head is there; with an offer in it it will be read again."""
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there."""
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _without_offer(self) -> bytes:
        """The head that was just read. Raises HttpParserError for CONNECT, which is no offer."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            raise httptools.HttpParserError("this is no forward proxy")
        lines = [b"%s %s HTTP/%s" % (method, self.url, self.parser.get_http_version().encode())]
        for name, value in self.headers:
            if name == b"connection":
                tokens = [token.strip() for token in value.split(b",")]
                value = b", ".join(token for token in tokens if token.lower() not in _OFFER)
            if name not in _OFFER:
                lines.append(b"%s: %s" % (name, value))
        return b"\r\n".join([*lines, b"", b""])

"""Where engines are found: each source tells, whenever that changed, which URLs there are and which may get requests.

`gateway.discovery.fleet` adds what appears, drains what is about to leave, removes what is gone.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

Endpoints = Mapping[str, bool]
"""Engine URL -> whether it may get new requests; False: it is there, and should finish what it has."""


class Source(Protocol):
    """One place to look at."""

    def watch(self) -> AsyncIterator[Endpoints]:
        """The engines as they are now, then again after each change, for ever.

        Never raises: what cannot be read is logged once, and the last answer stands until it can.
        """

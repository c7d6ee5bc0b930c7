"""How sharing goes, for operators: the `redis` section of GET /workers, and its metrics."""

from typing import Any, Protocol

from gateway.shared.replica import Replica
from telemetry.catalog import SHARED_CONNECTED, SHARED_LAG, SHARED_MESSAGES, SHARED_REPLICAS
from telemetry.points import Family, by_label, by_labels


class Link(Protocol):
    """A transport, as operators see it: see gateway.shared.redis_link."""

    @property
    def state(self) -> str: ...
    @property
    def why(self) -> str | None: ...
    @property
    def lag_s(self) -> float | None: ...
    @property
    def publish_failures(self) -> int: ...


class Sharing:
    """A replica and what carries its messages. url: without a password."""

    def __init__(self, url: str | None, replica: Replica, link: Link) -> None:
        self._url = url
        self._replica = replica
        self._link = link

    def described(self) -> dict[str, Any]:
        """The `redis` section. Counts are since the start; lag_ms: age of what was applied last."""
        link, inbox = self._link, self._replica.inbox
        return {
            "state": link.state,
            "why": link.why,
            "url": self._url,
            "replica": self._replica.outbox.replica,
            "lag_ms": None if link.lag_s is None else round(1000 * link.lag_s, 1),
            "publish_failures": link.publish_failures,
            "waiting": len(self._replica.outbox),
            **self._counts(),
            "replicas": [
                {"id": name, "name": peer.name, "release": peer.release, "open_requests": len(peer.flights)}
                for name, peer in inbox.peers.items()
            ],
        }

    def families(self) -> tuple[Family, ...]:
        """The metrics. Safe to call from another thread."""
        link = self._link
        lag: dict[tuple[str, ...], float] = {} if link.lag_s is None else {(): link.lag_s}
        return (
            by_label(SHARED_MESSAGES, {**self._counts(), "publish_failures": link.publish_failures}),
            by_labels(SHARED_CONNECTED, {(): int(link.state == "connected")}),
            by_labels(SHARED_REPLICAS, {(): 1 + len(self._replica.inbox.peers)}),
            by_labels(SHARED_LAG, lag),
        )

    def _counts(self) -> dict[str, int]:
        outbox, inbox = self._replica.outbox, self._replica.inbox
        return {
            "sent": outbox.told,
            "dropped": outbox.dropped,
            "applied": inbox.applied,
            "unplaceable": inbox.unplaceable,
            "repeated": inbox.repeated,
            "missed": inbox.missed,
            "unreadable": inbox.unreadable,
            "unknown_version": inbox.unknown_version,
        }


ALONE: dict[str, Any] = {"state": "disabled"}
"""The section of a gateway that shares nothing."""

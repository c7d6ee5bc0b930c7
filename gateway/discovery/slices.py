"""EndpointSlices as far as they are read, and the engines they stand for. Pure.

https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/: conditions that are absent
count as ready; a terminating pod is not ready and may still serve; one endpoint may be in two slices for a moment;
of several addresses any will do. A pod that is not ready stays, drained, and keeps what is known of its cache.
"""

from collections.abc import Iterable

import msgspec

from gateway.discovery.dns import bracketed
from gateway.discovery.settings import KubernetesConfig


class Conditions(msgspec.Struct):
    """What the pod's probes say; None: not said."""

    ready: bool | None = None
    terminating: bool | None = None


class Endpoint(msgspec.Struct):
    """One pod."""

    addresses: list[str] = []
    conditions: Conditions | None = None


class Port(msgspec.Struct):
    """One port of all pods of a slice."""

    name: str | None = None
    port: int | None = None


class Meta(msgspec.Struct, rename="camel"):
    """Which slice, at which version."""

    name: str = ""
    resource_version: str = ""


class Slice(msgspec.Struct, rename="camel"):
    """One EndpointSlice."""

    metadata: Meta
    address_type: str = ""
    endpoints: list[Endpoint] | None = None
    ports: list[Port] | None = None


class SliceList(msgspec.Struct):
    """The answer to a list."""

    metadata: Meta
    items: list[Slice]


class Event(msgspec.Struct):
    """One line of a watch; what `object` is depends on the type."""

    type: str
    object: msgspec.Raw


class Status(msgspec.Struct):
    """The object of an ERROR event."""

    code: int = 0
    message: str = ""


def engines(slices: Iterable[Slice], config: KubernetesConfig) -> dict[str, bool]:
    """URL -> whether it may get new requests, of every endpoint with the port asked for."""
    found: dict[str, bool] = {}
    for each in slices:
        port = _port(each, config.port)
        if port is None or each.address_type not in ("IPv4", "IPv6"):
            continue
        for endpoint in each.endpoints or ():
            if endpoint.addresses:
                url = f"{config.scheme}://{bracketed(endpoint.addresses[0])}:{port}"
                found[url] = found.get(url, False) or _ready(endpoint.conditions)
    return found


def _ready(conditions: Conditions | None) -> bool:
    return conditions is None or (conditions.ready is not False and not conditions.terminating)


def _port(each: Slice, wanted: str | int | None) -> int | None:
    ports = each.ports or []
    if wanted is None:
        return ports[0].port if len(ports) == 1 else None
    return next((port.port for port in ports if wanted in (port.name, port.port)), None)

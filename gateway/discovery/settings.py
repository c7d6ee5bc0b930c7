"""What discovery can be told."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from prefix.errors import ConfigError

Scheme = Literal["http", "https"]


class KubernetesConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Endpoints of a Service. service: its name, or selector: any label selector of EndpointSlices.

    namespace: None is the pod's own. port: name or number, None while slices have one port only. api: the API
    server's URL, None is the cluster this runs in. account: folder of the service account's token, ca.crt, namespace.
    """

    service: str | None = None
    selector: str | None = None
    namespace: str | None = None
    port: str | int | None = None
    scheme: Scheme = "http"
    api: str | None = None
    account: str = "/var/run/secrets/kubernetes.io/serviceaccount"

    @property
    def labels(self) -> str:
        """The label selector."""
        return self.selector or f"kubernetes.io/service-name={self.service}"


class DiscoveryConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sources of engines besides `engines`. files: lists of URLs. dns: dns://name:port, one engine an address.

    interval_s: how often files and names are looked at.
    """

    files: tuple[str, ...] = ()
    dns: tuple[str, ...] = ()
    kubernetes: tuple[KubernetesConfig, ...] = ()
    interval_s: Annotated[float, msgspec.Meta(gt=0)] = 2.0

    def __bool__(self) -> bool:
        return bool(self.files or self.dns or self.kubernetes)

    def check(self) -> None:
        """Raises ConfigError for what cannot be looked at."""
        for url in self.dns:
            dns_target(url)
        for each in self.kubernetes:
            if (each.service is None) == (each.selector is None):
                raise ConfigError("kubernetes: give either a service or a selector")


def dns_target(url: str) -> tuple[Scheme, str, int]:
    """Scheme, name and port of `dns://name:port` (engines speak http) or `dns+https://name:port`."""
    wrong = ConfigError(f"{url!r} must look like dns://name:port")
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("dns", "dns+https") or not name or not port or parts.path.strip("/"):
        raise wrong
    return ("https" if parts.scheme == "dns+https" else "http"), name, port

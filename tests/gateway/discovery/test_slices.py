"""gateway.discovery.slices: which engines EndpointSlices stand for."""

from typing import Any

import msgspec
import pytest

from gateway.discovery.settings import KubernetesConfig
from gateway.discovery.slices import Slice, engines

HTTP = {"name": "http", "port": 30000}


def made(*endpoints: dict[str, Any], ports: Any = (HTTP,), kind: str = "IPv4", name: str = "s") -> Slice:
    """A slice as the API server writes it."""
    body = {"metadata": {"name": name, "resourceVersion": "1"}, "addressType": kind}
    return msgspec.convert(body | {"endpoints": list(endpoints), "ports": list(ports)}, Slice)


def found(*slices: Slice, **config: Any) -> dict[str, bool]:
    """The engines."""
    return engines(slices, KubernetesConfig(service="s", **config))


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        (None, True),
        ({}, True),
        ({"ready": None}, True),
        ({"ready": True}, True),
        ({"ready": False}, False),
        ({"ready": False, "serving": True, "terminating": True}, False),
        ({"ready": True, "terminating": True}, False),
        ({"ready": True, "serving": True, "terminating": False}, True),
    ],
)
def test_conditions(conditions: dict[str, bool | None] | None, ready: bool) -> None:
    """What is not said counts as ready; who terminates finishes what it has."""
    endpoint: dict[str, Any] = {"addresses": ["10.0.0.1"], "conditions": conditions}
    assert found(made(endpoint)) == {"http://10.0.0.1:30000": ready}


def test_addresses() -> None:
    """Of several any will do; IPv6 has brackets; names are not resolved here."""
    assert found(made({"addresses": ["10.0.0.1", "10.0.0.2"]})) == {"http://10.0.0.1:30000": True}
    assert found(made({"addresses": ["fd00::1"]}, kind="IPv6"), scheme="https") == {"https://[fd00::1]:30000": True}
    assert found(made({"addresses": ["a.example"]}, kind="FQDN")) == {}
    assert found(made({"addresses": []})) == {}


def test_ports() -> None:
    """By name or number, or the only one; a slice without it has no engines."""
    two = made({"addresses": ["10.0.0.1"]}, ports=[{"name": "grpc", "port": 1}, HTTP])
    assert found(two, port="http") == found(two, port=30000) == {"http://10.0.0.1:30000": True}
    assert found(two, port="nope") == found(two) == {}
    assert found(made({"addresses": ["10.0.0.1"]}, ports=[])) == {}


def test_an_endpoint_in_two_slices() -> None:
    """While the controller moves it, it is ready if one says so."""
    one = made({"addresses": ["10.0.0.1"], "conditions": {"ready": False}})
    assert found(one, made({"addresses": ["10.0.0.1"]}, name="t")) == {"http://10.0.0.1:30000": True}

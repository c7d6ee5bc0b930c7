"""Where the configuration comes from: a file, overridden by the command line; nothing else is read.

The file is YAML (so JSON works too). A key that does not exist is an error that names the nearest valid one.
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from gateway.capture_settings import CaptureConfig
from gateway.config import Config, CustomerConfig, RouteConfig, check, check_engine_url
from gateway.discovery.settings import DiscoveryConfig, KubernetesConfig
from gateway.limits import Limits
from gateway.otlp_settings import TracingConfig
from gateway.shared.settings import RedisConfig
from prefix.errors import ConfigError
from prefix.hoist import Hoist

_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`(?: - at `(?P<path>[^`]*)`)?")


class _Yaml(yaml.SafeLoader):
    """YAML 1.2's booleans: `level: off` is a word, not false."""


_Yaml.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Yaml.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


def load_config(path: Path | None, overrides: Mapping[str, Any]) -> Config:
    """The configuration of a file (none: the defaults) with the command line's values on top.

    Raises ConfigError with file, key and what would be valid.
    """
    values: dict[str, Any] = {}
    where = "command line"
    if path is not None:
        where = str(path)
        values = _read(path)
    for key, value in overrides.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            values[key] = values[key] | value
        elif value is not None:
            values[key] = value
    try:
        config = msgspec.convert(values, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_explain(str(error))}") from None
    keys = {url if url == "*" else check_engine_url(url): key for url, key in config.engine_credentials.items()}
    engines = tuple(check_engine_url(url) for url in config.engines)
    config = msgspec.structs.replace(config, engines=engines, engine_credentials=keys)
    check(config, where)
    return config


def _read(path: Path) -> dict[str, Any]:
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _Yaml)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path}:{line}: not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must be a mapping of settings, such as `engines: [http://127.0.0.1:30000]`")
    return values


def _explain(message: str) -> str:
    """msgspec's sentence, with the nearest valid name when a key is unknown."""
    unknown = _UNKNOWN.search(message)
    if unknown is None:
        return message.replace("`$.", "`")
    path = unknown["path"] or "$"
    inner: dict[str, type[msgspec.Struct]] = {
        "$.routes[...]": RouteConfig,
        "$.routes[...].hoist": Hoist,
        "$.customers[...]": CustomerConfig,
        "$.customers[...].limits": Limits,
        "$.limits": Limits,
        "$.redis": RedisConfig,
        "$.tracing": TracingConfig,
        "$.discovery": DiscoveryConfig,
        "$.capture": CaptureConfig,
        "$.discovery.kubernetes[...]": KubernetesConfig,
    }
    valid = inner.get(re.sub(r"\[\d+\]", "[...]", path), Config).__struct_fields__
    near = difflib.get_close_matches(unknown["name"], valid, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"valid keys: {', '.join(valid)}"
    return f"unknown key {unknown['name']!r}{path.replace('$', ' in ').rstrip(' in')}: {hint}"

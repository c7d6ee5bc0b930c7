"""Redis is there only for those who ask for it: its client takes long to import, and is an extra."""

import importlib
from types import ModuleType

from prefix.errors import ConfigError


def redis_link() -> ModuleType:
    """gateway.shared.redis_link. Raises ConfigError when the client is not installed."""
    try:
        return importlib.import_module("gateway.shared.redis_link")
    except ModuleNotFoundError as error:
        if error.name != "redis":
            raise
        raise ConfigError("sharing over Redis needs its client: pip install 'prefixgate[redis]'") from None

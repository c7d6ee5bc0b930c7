"""What the gateway can be told about KV events."""

from pathlib import Path
from typing import Annotated

import msgspec

from prefix.errors import ConfigError


class PromptFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What renders a model's prompts. tokenizer: the model's folder, or its tokenizer.json. chat_template: a Jinja
    file, None: the folder's own (`chat_template.jinja`, or in `tokenizer_config.json`)."""

    tokenizer: str
    chat_template: str | None = None


class KvSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an engine publishes, of DP rank 0: rank r uses the ports behind. replay: None where there is none."""

    endpoint: str
    replay: str | None = None
    topic: str = ""

    def of_rank(self, rank: int) -> tuple[str, str | None]:
        """Both endpoints of a rank."""
        return _offset(self.endpoint, rank), None if self.replay is None else _offset(self.replay, rank)


class KvEventsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """enabled: listen to the engines that publish. models: by base model, what makes their prompts exact. engines: by
    engine URL, where those publish that do not say so (vLLM). max_lag_s: events that are older are not used."""

    enabled: bool = False
    models: dict[str, PromptFiles] = {}
    engines: dict[str, KvSource] = {}
    max_lag_s: Annotated[float, msgspec.Meta(gt=0)] = 1.0

    def check(self) -> None:
        """Raise ConfigError for files that are not there and endpoints that cannot be."""
        for name, files in self.models.items():
            for path in (files.tokenizer, files.chat_template):
                if path is not None and not Path(path).exists():
                    raise ConfigError(f"models: {name}: {path} is not there")
        for url, source in self.engines.items():
            for endpoint in (source.endpoint, source.replay):
                if endpoint is not None and not (
                    endpoint.startswith("tcp://") and endpoint.rpartition(":")[2].isdigit()
                ):
                    raise ConfigError(f"engines: {url}: {endpoint!r} must look like tcp://host:port")


def _offset(endpoint: str, rank: int) -> str:
    host, _, port = endpoint.rpartition(":")
    return f"{host}:{int(port) + rank}"

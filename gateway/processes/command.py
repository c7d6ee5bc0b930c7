"""`prefixgate serve --processes N`, from its first moment: children start while the parent loads its own world."""

from collections.abc import Callable

from gateway.config import Config
from gateway.processes.spawn import spawn


def run(config: Config, reload: Callable[[], Config]) -> None:
    """As gateway.serve.run, with `config.processes` children. Raises ConfigError."""
    children = [spawn() for _ in range(config.processes)]
    from gateway.processes.parent import Parent

    Parent(config, reload, children).run()

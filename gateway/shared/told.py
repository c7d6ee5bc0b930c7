"""Who hears of the requests that are placed here, to tell other gateways: the outbox, as the models know it."""

from collections.abc import Sequence
from typing import Protocol

from gateway.router import Route


class Told(Protocol):
    """Called on the request path. now: seconds of the process's monotonic clock."""

    def placed(
        self,
        model: str,
        route: Route,
        blocks: Sequence[int],
        prompt_tokens: int,
        max_output_tokens: int | None,
        now: float,
    ) -> None: ...
    def first_token(self, route: Route, now: float) -> None: ...
    def released(self, route: Route, now: float, cached_tokens: int | None, output_tokens: int) -> None: ...
    def forgot(self, worker: str) -> None: ...

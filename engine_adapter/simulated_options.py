"""What a simulated engine can be told, in code and on the command line."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine_adapter.engine_request import EngineConfig
from engine_adapter.engine_timing import PROFILES


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """A simulated engine. port 0: any free one. speed: engine seconds per second. stream_interval: tokens a chunk.

    response_store: keep responses, as by --enable-response-store. embedding: answer embeddings too, as by
    --is-embedding (which SGLang does instead of generating).
    dp: DP ranks, each with all of `config`.
    kv_events: port on which rank 0 publishes its KV events (the others behind, replays after all of them); 0: any
    free ones, with one rank; None: it publishes none.
    remember: of how many of the last generation requests `received` keeps path, headers and body.
    """

    host: str = "127.0.0.1"
    port: int = 0
    model: str = "simulated"
    config: EngineConfig = field(default_factory=EngineConfig)
    speed: float = 1.0
    stream_interval: int = 1
    cache_report: bool = True
    response_store: bool = False
    embedding: bool = False
    remember: int = 16
    dp: int = 1
    kv_events: int | None = None


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _rate(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def read_options(arguments: Sequence[str] | None) -> EngineOptions:
    """The options of a command line; exits with 2 and a line about a wrong one."""
    parser = argparse.ArgumentParser(
        prog="python -m engine_adapter.simulated", description="A simulated SGLang engine."
    )
    defaults = EngineOptions()
    config = defaults.config
    parser.add_argument("--host", default=defaults.host)
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--model", default=defaults.model)
    parser.add_argument("--page-size", type=_count, default=config.page_tokens)
    parser.add_argument("--kv-capacity", type=_count, default=config.kv_capacity_tokens, metavar="TOKENS")
    parser.add_argument("--context-length", type=_count, default=config.context_tokens, metavar="TOKENS")
    parser.add_argument("--chunked-prefill-size", type=_count, default=config.chunk_tokens, metavar="TOKENS")
    parser.add_argument("--max-running", type=_count, default=config.max_running, metavar="REQUESTS")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="8b", help="the timing model")
    parser.add_argument("--prefill-tokens-per-s", type=_rate, help="instead of the profile's")
    parser.add_argument("--decode-step-ms", type=_rate, help="instead of the profile's")
    parser.add_argument("--speed", type=_rate, default=defaults.speed, help="engine seconds per second")
    parser.add_argument("--stream-interval", type=_count, default=defaults.stream_interval, help="tokens per chunk")
    parser.add_argument(
        "--dp", type=_count, default=defaults.dp, metavar="RANKS", help="caches and queues of its own"
    )
    parser.add_argument("--no-cache-report", action="store_true", help="never say how many tokens were cached")
    parser.add_argument("--enable-response-store", action="store_true", help="keep responses for later requests")
    parser.add_argument("--is-embedding", action="store_true", help="answer embeddings too")
    parser.add_argument(
        "--kv-events", type=_count, metavar="PORT", help="publish KV events over ZMQ, ranks behind it"
    )
    given = parser.parse_args(arguments)
    timing = PROFILES[given.profile]
    if given.prefill_tokens_per_s is not None:
        timing = replace(timing, prefill_tokens_per_s=given.prefill_tokens_per_s)
    if given.decode_step_ms is not None:
        timing = replace(timing, decode_step_s=given.decode_step_ms / 1000)
    return EngineOptions(
        host=given.host,
        port=given.port,
        model=given.model,
        config=EngineConfig(
            page_tokens=given.page_size,
            kv_capacity_tokens=given.kv_capacity,
            context_tokens=given.context_length,
            chunk_tokens=given.chunked_prefill_size,
            max_running=given.max_running,
            timing=timing,
        ),
        speed=given.speed,
        stream_interval=given.stream_interval,
        cache_report=not given.no_cache_report,
        response_store=given.enable_response_store,
        embedding=given.is_embedding,
        remember=0,
        dp=given.dp,
        kv_events=given.kv_events,
    )

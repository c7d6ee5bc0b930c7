"""One ordinary request record, to vary."""

from collections.abc import Callable

import msgspec
import pytest

from prefix.record import RequestRecord

ORDINARY = RequestRecord(
    request_id="r1",
    started=1_760_000_000.0,
    path="/v1/chat/completions",
    route="default",
    customer="anonymous",
    prompt_version="v1",
    prompt_version_declared=True,
    model="m1",
    worker="w1",
    policy="expected-ttft",
    reason="overlap",
    stream=True,
    status=200,
    outcome="ok",
    error_type=None,
    input_tokens=1000,
    cached_tokens=640,
    output_tokens=101,
    expected_cached_tokens=704,
    best_fleet_tokens=704,
    prompt_bytes=4000,
    changes=0,
    retries=0,
    ttft_s=0.1,
    duration_s=1.1,
    overhead_s=0.0004,
)


@pytest.fixture(scope="session")
def make_record() -> Callable[..., RequestRecord]:
    """An ordinary record with some fields replaced."""

    def make(**fields: object) -> RequestRecord:
        return msgspec.structs.replace(ORDINARY, **fields)

    return make

"""gateway.guard: customers do not steer engines, however they spell it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config import CustomerConfig
from gateway.errors import Refusal
from gateway.guard import FIELDS, HEADERS, check_fields, check_headers
from gateway.identity import new_key
from prefix.body import CONTROL_KEYS, parse_body
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, chat, error_of, running

OK = whole(b"{}")
NAMED = "priority routed_dp_rank bootstrap_host bootstrap_port bootstrap_room custom_logit_processor lora_path rid"
"""DESIGN 5, and the salts."""


def refusal(body: bytes, *allowed: str) -> Refusal | None:
    """Why a body is refused."""
    try:
        check_fields(parse_body(body), allowed)
    except Refusal as error:
        return error
    return None


@pytest.mark.parametrize("name", [*NAMED.split(), "cache_salt", "extra_key"])
def test_every_control_field_is_guarded(name: str) -> None:
    """403 with its pointer; not when it is null or granted."""
    found = refusal(json.dumps({"model": "m", name: 1}).encode())
    assert found is not None
    assert (found.kind.status, found.code, found.param) == (403, "field_not_allowed", f"/{name}")
    assert "allow_fields" in found.message
    assert refusal(json.dumps({name: None}).encode()) is None
    assert refusal(json.dumps({name: 1}).encode(), name) is None
    assert refusal(json.dumps({name: 1, "rid": "x"}).encode(), name) is not None or name == "rid"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"pri\\u006Frity": 1}', "/priority"),
        (b'{"\\u0070riority": 1}', "/priority"),
        (b'{"priority" : [1]}', "/priority"),
        (b'{"priority": NaN}', "/priority"),
        (b'{"lora_path": ["a", null]}', "/lora_path"),
        (b'{"cache_salt": ["a"]}', "/cache_salt"),
        (b'{"data_parallel_rank": 0}', "/data_parallel_rank"),
        (b'{"session_params": {"id": "of another"}}', "/session_params"),
        (b'{"request_id": "resp_of_another"}', "/request_id"),
        (b'{"kv_transfer_params": {"do_remote_decode": true}}', "/kv_transfer_params"),
        (b'{"sampling_params": {"lora_path": "x"}}', "/sampling_params/lora_path"),
        (b'{"sampling_params": [{}, {"rid": "x"}]}', "/sampling_params/1/rid"),
        (b'{"sampling_params": [[{"rid": "x"}]]}', "/sampling_params/0/0/rid"),
        (b'{"extra_body": {"prior\\u0069ty": 9}}', "/extra_body/priority"),
    ],
)
def test_no_spelling_gets_around_it(body: bytes, pointer: str) -> None:
    """Escapes, lists, other names of the same thing, and objects that engines spread over the request."""
    found = refusal(body)
    assert found is not None
    assert found.param == pointer


@given(name=st.sampled_from(sorted(FIELDS)), escaped=st.lists(st.sampled_from(("{}", "\\u{:04x}", "\\u{:04X}"))))
def test_no_mix_of_escapes_gets_around_it(name: str, escaped: list[str]) -> None:
    """Any character of a name may be written as an escape."""
    forms = [*escaped, *["{}"] * len(name)]
    pairs = zip(forms, name, strict=False)
    spelled = "".join(form.format(letter if form == "{}" else ord(letter)) for form, letter in pairs)
    found = refusal(f'{{"messages": [], "{spelled}": 1}}'.encode())
    assert found is not None
    assert found.param == f"/{name}"


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "m", "messages": [{"role": "user", "content": "priority", "rid": 1}], "user": "u"}',
        b'{"Priority": 1, "metadata": {"priority": 1}, "sampling_params": {"n": 2}, "temperature": 0}',
        b'{"sampling_params": null, "extra_body": "priority"}',
    ],
)
def test_what_is_no_control_field_passes(body: bytes) -> None:
    """Other members, other places, other case."""
    assert refusal(body) is None


def test_a_guarded_key_may_not_occur_twice() -> None:
    """What the guard reads and what the engine reads is one value (else null could hide another)."""
    assert FIELDS <= CONTROL_KEYS


@pytest.mark.parametrize("name", [*HEADERS, b"x-override-something-new"])
def test_headers_that_set_such_a_field_are_guarded(name: bytes) -> None:
    """SGLang lets headers win over the body, so they are no way around the guard."""
    with pytest.raises(Refusal) as caught:
        check_headers([(b"accept", b"*/*"), (name, b"1")], ())
    assert caught.value.code == "field_not_allowed"
    assert name.decode() in caught.value.message
    check_headers([(name, b"1")], (HEADERS.get(name, "something_new"),))
    check_headers([(b"x-request-id", b"1"), (b"x-override", b"1")], ())


async def test_in_front_of_an_engine() -> None:
    """With customers a control field never reaches the engine unless granted; in open mode all pass, byte-equal."""
    (key, stored), (granted, granted_stored) = new_key(), new_key()
    customers = {
        "acme": CustomerConfig(keys=(stored,)),
        "ops": CustomerConfig(keys=(granted_stored,), allow_fields=("priority", "rid", "lora_path")),
    }
    bodies: list[tuple[str, Any]] = [
        (CHAT, chat(priority=9)),
        (COMPLETIONS, {"model": "m", "prompt": "x", "rid": "theirs"}),
        (GENERATE, {"text": "x", "priority": 1}),
        (CHAT, chat() | {"model": "m:unlisted"}),
    ]
    async with FakeEngine(OK) as engine:
        async with running(engine, customers=customers) as gateway:
            for path, body in bodies:
                status, answer = await gateway.ask(path, body, authorization=f"Bearer {key}")
                assert (status, error_of(answer)["code"]) == (403, "field_not_allowed")
                assert (await gateway.ask(path, body, authorization=f"Bearer {granted}"))[0] == 200
            status, _ = await gateway.ask(CHAT, chat(), authorization=f"Bearer {key}", x_override_priority="9")
            assert status == 403
            assert {record.customer for record in gateway.records} == {"acme", "ops"}
            assert (await gateway.ask(CHAT, chat() | {"model": "m:m"}, authorization=f"Bearer {key}"))[0] == 200
            assert len(engine.received) == 5
        async with running(engine) as gateway:
            for path, body in bodies:
                assert (await gateway.ask(path, body, x_override_priority="9"))[0] == 200
        assert len(engine.received) == 9
        assert ("x-override-priority", "9") in engine.received[-1].headers

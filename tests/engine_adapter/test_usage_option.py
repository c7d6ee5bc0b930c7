"""Case 51 and everything a client may write into `stream` and `stream_options`."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.usage_option import UsageOption, usage_option
from tests.cases import case, wire

ASK = b'{"include_usage":true}'
CASE = case(51)
ROWS = list(
    zip(
        CASE["input"]["requests"],
        CASE["expected"]["upstream_include_usage"],
        CASE["expected"]["usage_only_chunk_reaches_client"],
        strict=True,
    )
)


def raw(body: dict[str, Any], key: str) -> bytes | None:
    """The raw member of a body, as prefix.body slices it."""
    return wire(body[key]) if key in body else None


def sent(body: dict[str, Any], option: UsageOption) -> Any:
    """The stream_options that reach the engine."""
    return body.get("stream_options") if option.replacement is None else json.loads(option.replacement)


@pytest.mark.parametrize(("body", "upstream", "visible"), ROWS)
def test_case_51(body: dict[str, Any], upstream: bool | None, visible: bool | None) -> None:
    """The engine is always asked, the client sees usage only when it asked; a non-stream body stays as it is."""
    option = usage_option(raw(body, "stream"), raw(body, "stream_options"))
    options = sent(body, option)
    if upstream is None:
        assert option == UsageOption(None, hide=False)
    else:
        assert options["include_usage"] is upstream
        assert option.hide is not visible
        assert not (option.hide and options.get("continuous_usage_stats"))


@pytest.mark.parametrize(
    ("stream", "options", "replacement", "hide"),
    [
        (b"true", None, ASK, True),
        (b"true", b"null", ASK, True),
        (b"true", b"{}", ASK, True),
        (b"true", b"{ }", b'{"include_usage":true }', True),
        (b"1", None, ASK, True),
        (b'"TRUE"', None, ASK, True),
        (b'"\\u0074rue"', None, ASK, True),
        (b"false", None, None, False),
        (b"0", b"{}", None, False),
        (b"null", b"{}", None, False),
        (None, b"{}", None, False),
        (b'"no"', None, None, False),
        (b"[true]", None, None, False),
        (b"true", b'"x"', None, False),
        (b"true", b"[]", None, False),
        (b"true", b'{"include_usage":true}', None, False),
        (b"true", b'{"include_usage":"yes"}', None, False),
        (b"true", b'{"include_usage":1}', None, False),
        (b"true", b'{"include_usage":[]}', None, False),
        (b"true", b'{"include_usage":true,"continuous_usage_stats":true}', None, False),
        (b"true", b'{"include_usage" : false}', b'{"include_usage" : true}', True),
        (b"true", b'{"include_usage":null}', ASK, True),
        (b"true", b'{"include_\\u0075sage":false}', b'{"include_\\u0075sage":true}', True),
        (
            b"true",
            b'{"include_usage":true,"include_usage":false}',
            b'{"include_usage":true,"include_usage":true}',
            True,
        ),
        (
            b"true",
            b'{ "big": 1e400, "continuous_usage_stats": true, "z": [1, 2] }',
            b'{"include_usage":true, "big": 1e400, "continuous_usage_stats": false, "z": [1, 2] }',
            True,
        ),
        (
            b"true",
            b'{"continuous_usage_stats":"on","include_usage":0}',
            b'{"continuous_usage_stats":false,"include_usage":true}',
            True,
        ),
    ],
)
def test_only_the_two_options_change(
    stream: bytes | None, options: bytes | None, replacement: bytes | None, hide: bool
) -> None:
    """Other keys, spacing and number spellings inside stream_options are the client's bytes."""
    assert usage_option(stream, options) == UsageOption(replacement, hide)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.sampled_from([None, 0, 2]))
def test_unknown_keys_survive_in_order(options: dict[str, Any], indent: int | None) -> None:
    """Whatever else a client puts into stream_options reaches the engine, in its order."""
    option = usage_option(b"true", json.dumps(options, indent=indent).encode())
    assert option.replacement is not None
    assert list(json.loads(option.replacement).items()) == [("include_usage", True), *options.items()]

"""gateway.config: what can be said, and what is answered to what cannot."""

from pathlib import Path

import pytest

from gateway.config import Config, CustomerConfig, RouteConfig, check_engine_url
from gateway.config_file import load_config
from gateway.limits import Limits
from prefix.errors import ConfigError

HASH = "sha256:" + "0" * 64


def written(tmp_path: Path, text: str) -> Path:
    """A configuration file."""
    path = tmp_path / "gateway.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_given_is_the_defaults() -> None:
    """No file and no options: loopback, expected-ttft, safe, no engines."""
    config = load_config(None, {"host": None, "engines": None})
    assert config == Config()
    assert (config.host, config.policy, config.level, config.engines) == ("127.0.0.1", "expected-ttft", "safe", ())


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    """An option replaces the file's value; what was not given stays."""
    path = written(tmp_path, "port: 1\npolicy: round-robin\nengines: [http://a:1]\n")
    config = load_config(path, {"port": 2, "policy": None})
    assert (config.port, config.policy, config.engines) == (2, "round-robin", ("http://a:1",))


def test_everything_can_be_written_down(tmp_path: Path) -> None:
    """Routes and customers are mappings; an empty file is the defaults."""
    path = written(
        tmp_path, f"routes: {{chat: {{level: off}}, code: {{}}}}\ncustomers: {{acme: {{keys: [{HASH}]}}}}\n"
    )
    config = load_config(path, {})
    assert config.routes == {"chat": RouteConfig(level="off"), "code": RouteConfig()}
    assert config.customers == {"acme": CustomerConfig(keys=(HASH,))}
    assert load_config(written(tmp_path, ""), {}) == Config()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("polcy: x", "unknown key 'polcy': did you mean 'policy'?"),
        ("zzz: 1", "valid keys: host, port"),
        ("capture: {directory: x}", "valid keys: folder, sample"),
        ("routes: {chat: {levl: off}}", "did you mean 'level'?"),
        ("routes: {chat: {hoist: {kind: [date]}}}", "did you mean 'kinds'?"),
        ("routes: {chat: {hoist: {kinds: [dates]}}}", "Invalid enum value 'dates'"),
        (
            "routes: {chat: {hoist: {kinds: [attribution]}}}",
            "route 'chat': unknown kind of volatile span 'attribution'",
        ),
        ("routes: {chat: {hoist: {mode: rewrite}}}", "list them in `kinds`"),
        ("routes: {chat: {strip: [billing]}}", "use some of anthropic-billing-header"),
        (f"customers: {{a: {{kees: [{HASH}]}}}}", "did you mean 'keys'?"),
        ("policy: round-robbin", "did you mean 'round-robin'?"),
        ("level: turbo", "Invalid enum value 'turbo'"),
        ("port: http", "Expected `int`"),
        ("port: 70000", "<= 65535"),
        ("engines: http://a", "Expected `array`"),
        ("engines: [ftp://a:1]", "http://host:port"),
        ("engines: ['http://u:p@a:1']", "must not carry credentials"),
        ("engines: [http://a:1, http://a:1/]", "listed twice"),
        ("engines: [http://a:1, https://a:1]", "listed twice"),
        ("customers: {a: {}}", "prefixgate key new"),
        ("customers: {a: {keys: [secret]}}", "sha256:"),
        (f"routes: {{chat: {{}}}}\ncustomers: {{a: {{keys: [{HASH}], route: chta}}}}", "did you mean 'chat'?"),
        ("limits: {requests_per_sec: 1}", "did you mean 'requests_per_s'?"),
        ("limits: {requests_per_s: 0}", "> 0"),
        (f"customers: {{a: {{keys: [{HASH}], limits: {{tokens: 1}}}}}}", "did you mean 'tokens_per_min'?"),
        (f"customers: {{a: {{keys: [{HASH}], allow_fields: [priorty]}}}}", "did you mean 'priority'?"),
        ("discovery: {file: [a]}", "did you mean 'files'?"),
        ("discovery: {kubernetes: [{servce: a}]}", "did you mean 'service'?"),
        ("discovery: {kubernetes: [{namespace: a}]}", "either a service or a selector"),
        ("discovery: {dns: ['http://a:1']}", "must look like dns://name:port"),
        ("engine_credentials: {'http://u:p@a:1': 'env:K'}", "must not carry credentials"),
        ("max_headers: 1", ">= 10"),
        ("- a\n- b", "must be a mapping"),
        ("a: [", "not YAML"),
        ("max_attempts: 0", ">= 1"),
    ],
)
def test_bad_configuration_is_one_line_that_helps(tmp_path: Path, text: str, says: str) -> None:
    """File, key and what would be valid, in one line."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, {})
    message = str(caught.value)
    assert says in message
    assert "\n" not in message


def test_tenancy_can_be_written_down(tmp_path: Path) -> None:
    """Limits, grants, isolation, credentials and discovery as docs/security.md and docs/discovery.md write them."""
    text = f"""
    limits: {{requests_per_s: 5, burst: 20, tokens_per_min: 100000, max_concurrent: 32}}
    isolate_cache: true
    isolation_secret_file: /run/secrets/isolation
    engine_credentials: {{"http://a:1/": env:ENGINE_KEY, "*": file:/run/secrets/engine}}
    customers:
      acme: {{keys: [{HASH}], allow_fields: [priority], limits: {{}}, isolate_cache: false}}
    discovery:
      files: [engines.yaml]
      dns: [dns://sglang.prod.svc:30000]
      kubernetes: [{{service: sglang, port: http}}, {{selector: app=sglang, port: 30000, namespace: gpu}}]
    """
    config = load_config(written(tmp_path, text), {})
    assert config.limits == Limits(requests_per_s=5, burst=20, tokens_per_min=100_000, max_concurrent=32)
    assert config.customers["acme"].limits == Limits()
    assert config.customers["acme"].isolate_cache is False
    assert config.engine_credentials == {"http://a:1": "env:ENGINE_KEY", "*": "file:/run/secrets/engine"}
    assert [each.labels for each in config.discovery.kubernetes] == [
        "kubernetes.io/service-name=sglang",
        "app=sglang",
    ]
    assert config.isolates
    assert not load_config(None, {}).isolates


def test_engine_urls_are_kept_without_a_slash_at_the_end() -> None:
    """Paths are put behind them."""
    assert load_config(None, {"engines": ["http://a:1/", "http://b/base//"]}).engines == (
        "http://a:1",
        "http://b/base",
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The path and the system's reason are named."""
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file"):
        load_config(tmp_path / "none.yaml", {})


@pytest.mark.parametrize("url", ["http://a", "http://[::1]:30000", "https://a.b:1/base/"])
def test_engine_urls(url: str) -> None:
    """http(s) with a host; a trailing slash is taken off."""
    assert check_engine_url(url) == url.rstrip("/")


NO_URLS = "|a:1|http://|http://a:99999|http://a?x=1|http://a#x|file:///etc|http://[::1|http://a..b:1".split("|")


@pytest.mark.parametrize("url", NO_URLS)
def test_what_is_no_engine_url(url: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ConfigError):
        check_engine_url(url)

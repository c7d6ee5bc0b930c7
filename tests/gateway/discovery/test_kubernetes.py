"""gateway.discovery.kubernetes: lists once, watches, and is right again after whatever the API server does."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.discovery import kubernetes
from gateway.discovery.kubernetes import KubernetesSource
from gateway.discovery.settings import KubernetesConfig
from tests.gateway.discovery.fake_kubernetes import FakeKubernetes, pod
from tests.gateway.discovery.following import Following, following
from tests.gateway.running import until

A, B, C = (f"http://10.0.0.{n}:30000" for n in (1, 2, 3))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures are tried again at once."""
    monkeypatch.setattr(kubernetes, "_BACKOFF_S", (0.01, 0.05))


@pytest.fixture
def api() -> FakeKubernetes:
    """An API server with nothing in it."""
    return FakeKubernetes()


@pytest.fixture
async def heard(api: FakeKubernetes, tmp_path: Path) -> AsyncIterator[Following]:
    """A source that watches it; two pods are ready."""
    async with api.running(tmp_path) as config:
        await api.put("sglang-1", pod("10.0.0.1", ready=True), pod("10.0.0.2", ready=True))
        async with following(KubernetesSource(config)) as heard:
            await heard.says({A: True, B: True})
            yield heard


async def test_a_rollout(api: FakeKubernetes, heard: Following) -> None:
    """A pod comes (not ready, then ready), one drains (terminating) and is gone; slices come and go."""
    await api.put("sglang-1", pod("10.0.0.1", ready=True), pod("10.0.0.2", ready=True), pod("10.0.0.3", ready=False))
    await heard.says({A: True, B: True, C: False})
    leaving = pod("10.0.0.1", ready=False, serving=True, terminating=True)
    await api.put("sglang-1", leaving, pod("10.0.0.2", ready=True), pod("10.0.0.3", ready=True))
    await heard.says({A: False, B: True, C: True})
    await api.put("sglang-1", pod("10.0.0.2", ready=True))
    await api.put("sglang-2", pod("10.0.0.3", ready=True))
    await heard.says({B: True, C: True})
    await api.delete("sglang-1")
    await heard.says({C: True})
    await api.put("sglang-2")
    await heard.says({})
    assert [what for what, _ in api.asked] == ["list", "watch"]


async def test_a_watch_that_ends_goes_on_where_it_was(api: FakeKubernetes, heard: Following) -> None:
    """With the version of the last event or bookmark, without a new list, and nothing in between is lost."""
    await api.bookmark()
    await api.put("sglang-1", pod("10.0.0.1", ready=True))
    await heard.says({A: True})
    await api.bookmark()
    await until(lambda: len(api.asked) == 2)
    for n in range(3):
        version = str(api.version)
        await api.end_watches()
        await until(lambda n=n: len(api.asked) == 3 + n)  # type: ignore[misc]
        assert api.asked[-1] in (("watch", version), ("watch", str(int(version) - 1)))
    await api.put("sglang-1", pod("10.0.0.2", ready=True))
    await heard.says({B: True})


@pytest.mark.parametrize("as_status", [True, False])
async def test_a_version_too_old_means_a_new_list(api: FakeKubernetes, heard: Following, as_status: bool) -> None:
    """410, as a status or as an event: what was missed is in the list."""
    api.gone_as_status = as_status
    await until(lambda: len(api.asked) == 2)
    api.broken = 503
    await api.end_watches()
    await until(lambda: len(api.asked) > 3)
    await api.put("sglang-1", pod("10.0.0.3", ready=True))
    api.compacted, api.broken = api.version, None
    await heard.says({C: True})
    assert "list" in [what for what, _ in api.asked[2:]]


async def test_while_the_server_is_away_the_last_answer_stands(
    api: FakeKubernetes, heard: Following, caplog: pytest.LogCaptureFixture
) -> None:
    """Said once, tried again, and right again when it is back."""
    api.broken = 500
    await api.end_watches()
    await until(lambda: len(api.asked) > 6)
    assert heard.told[-1] == {A: True, B: True}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "500: broken; the engines found before stay" in caplog.text
    await api.put("sglang-1", pod("10.0.0.2", ready=True))
    api.broken = None
    await heard.says({B: True})


async def test_a_renewed_token_is_used(api: FakeKubernetes, heard: Following, tmp_path: Path) -> None:
    """Tokens of service accounts live for an hour."""
    api.token = "token-2"
    await api.end_watches()
    await until(lambda: len(api.asked) > 4)
    (tmp_path / "token").write_text("token-2")
    await api.put("sglang-1", pod("10.0.0.1", ready=True))
    await heard.says({A: True})


async def test_outside_a_cluster_it_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No token, then no API server: each is a line to act on, and nothing ends."""
    config = KubernetesConfig(service="sglang", account=str(tmp_path))
    async with following(KubernetesSource(config)) as heard:
        await until(lambda: "No such file" in caplog.text)
        assert heard.told == []
    (tmp_path / "token").write_text("x")
    async with following(KubernetesSource(config)):
        await until(lambda: "not inside a cluster" in caplog.text)

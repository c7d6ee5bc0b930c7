"""gateway.exact: events are believed while they come and come true."""

from array import array

import pytest

from gateway.exact import ENOUGH, WINDOW, Exact, Told
from gateway.router import Route, Router
from prefix.pages import HeldPages, Pages, page_keys

TOKENS = array("I", range(160)).tobytes()
KEYS = page_keys(TOKENS, 16)


@pytest.fixture
def exact() -> Exact:
    """A healthy, complete stream that holds four pages of 16 tokens."""
    held = HeldPages(100)
    held.store(Pages(range(4), None, TOKENS[:256], 16, 0), "GPU")
    made = Exact(held)
    made.trouble, made.complete = None, True
    return made


def ended(exact: Exact, cached: int, times: int = 1, *, prompt: int = 160) -> None:
    """Requests for which 64 tokens were predicted."""
    for _ in range(times):
        exact.compare(Told(160, 64), cached, prompt)


def test_held_pages_are_told(exact: Exact) -> None:
    """In tokens, of the prompt as it is tokenized."""
    assert exact.trusted
    assert exact.reason is None
    assert exact.told(KEYS, 160) == Told(160, 64)
    assert exact.told(KEYS[:3], 60).cached_tokens == 48


def test_predictions_that_do_not_come_true_are_not_used(exact: Exact) -> None:
    """Another hash, tokenizer or model: the engine reports other numbers; when they agree again, so do we."""
    ended(exact, 160 - 16, ENOUGH - 1)
    assert exact.trusted
    ended(exact, 160 - 16)
    assert not exact.trusted
    assert f"{ENOUGH} of the last {ENOUGH} predictions were wrong" in str(exact.reason)
    ended(exact, 64, WINDOW - 1)
    assert not exact.trusted
    ended(exact, 64)
    assert exact.trusted
    assert (exact.compared, exact.right) == (ENOUGH + WINDOW, WINDOW)
    assert (exact.predicted_tokens, exact.delivered_tokens) == (64 * 40, 64 * WINDOW + 144 * ENOUGH)


def test_nothing_predicted_and_something_delivered_is_wrong(exact: Exact) -> None:
    """However little: no page ever matches where the hashes differ."""
    for _ in range(ENOUGH):
        exact.compare(Told(160, 0), 16, 160)
    assert not exact.trusted


def test_prompts_of_another_length_say_why(exact: Exact) -> None:
    """The engine renders or tokenizes otherwise, though the cached tokens may agree."""
    ended(exact, 64, ENOUGH, prompt=161)
    assert not exact.trusted
    assert "chat template or tokenizer" in str(exact.reason)


def test_misses_prove_nothing(exact: Exact) -> None:
    """New prompts, predicted and delivered as nothing, are no evidence that events are right."""
    exact.complete = False
    assert "held before is not known: 0 right" in str(exact.reason)
    for _ in range(2 * WINDOW):
        exact.compare(Told(160, 0), 0, 160)
    assert not exact.trusted
    ended(exact, 64, WINDOW)
    assert exact.trusted


def test_trouble_of_the_stream_comes_first(exact: Exact) -> None:
    """And a cache with more pages than are kept is not exact."""
    exact.trouble = "no connection"
    assert (exact.trusted, exact.reason) == (False, "no connection")
    exact.trouble = None
    exact.held.limit = 4
    exact.held.store(Pages([9], 3, TOKENS[256:320], 16, 0), "GPU")
    assert (exact.trusted, exact.reason) == (False, "more than 4 pages")


class TestInTheRouter:
    """Events and the prediction side by side."""

    def routed(self, exact: Exact | None, *, pages: list[int] | None = KEYS) -> tuple[Router, Route]:
        """A request for a prompt of 160 tokens that was served once, in blocks of 32."""
        router = Router(block_tokens=32.0)
        router.add_worker("w")
        first = router.route(list(range(5)), 160, 0.0)
        router.on_first_token(first, 1.0)
        router.release(first, 2.0, cached_tokens=0, output_tokens=1)
        router.use_events("w", exact)
        return router, router.route(list(range(5)), 160, 3.0, pages=pages)

    def test_events_go_before_the_prediction(self, exact: Exact) -> None:
        """To the token, and the prediction is used again when they are not to be relied on."""
        assert self.routed(exact)[1].expected_cached_tokens == 64
        assert self.routed(None)[1].expected_cached_tokens == 159
        assert self.routed(exact, pages=None)[1].expected_cached_tokens == 159
        exact.trouble = "cut off"
        route = self.routed(exact)[1]
        assert (route.expected_cached_tokens, route.told) == (159, Told(160, 64))

    def test_what_is_in_flight_counts_beside_events(self, exact: Exact) -> None:
        """Half of what another request is having computed, which no event tells yet."""
        router, _ = self.routed(exact)
        router.reset_worker("w")
        router.route(list(range(5)), 160, 4.0, pages=KEYS)
        assert router.route(list(range(5)), 160, 4.0, pages=KEYS).expected_cached_tokens == 64 + 48

    def test_the_end_of_a_request_is_compared(self, exact: Exact) -> None:
        """Once, whether or not events were used; not where a request in flight may have helped."""
        exact.complete = False
        router, route = self.routed(exact)
        other = router.route(list(range(5)), 160, 3.0, pages=KEYS)
        router.release(route, 4.0, cached_tokens=64, output_tokens=1, prompt_tokens=160)
        router.release(other, 4.0, cached_tokens=150, output_tokens=1, prompt_tokens=160)
        assert (exact.compared, exact.right) == (1, 1)

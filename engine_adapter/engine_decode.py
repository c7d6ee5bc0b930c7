"""The continuous decode batch, in constant time for any number of steps.

One idea: in a step every running request gains one token, so nothing is kept per request and step: a step
counter, the sum of contexts, how many requests start a page at which step (their lengths modulo the page), and
at which step each is due for a report. Steps up to the next report are therefore taken at once.
"""

from heapq import heappop, heappush

from engine_adapter.engine_request import CLIPPED_OUTPUT, EngineRequest


class DecodeBatch:
    """The running requests. A request's own counts stand still between `join` and `leave`; ask `produced`."""

    def __init__(self, page_tokens: int) -> None:
        self._page = page_tokens
        self._phases = [0] * page_tokens
        self._joined: dict[EngineRequest, int] = {}
        self._due: dict[int, list[EngineRequest]] = {}
        self._due_steps: list[int] = []
        self._due_step: dict[EngineRequest, int] = {}
        self._steps = 0
        self._left = {False: 0, True: 0}  # output still allowed, by ignore_eos, of requests below the clip
        self._counts = {False: 0, True: 0}
        self.count = 0
        self._long: dict[EngineRequest, None] = {}
        self.context_tokens = 0

    def __contains__(self, request: EngineRequest) -> bool:
        return request in self._joined

    def join(self, request: EngineRequest) -> None:
        """A prefilled request starts to decode."""
        self.count += 1
        self._joined[request] = self._steps
        self._phases[(request.computed - self._steps) % self._page] += 1
        self.context_tokens += request.computed
        if request.max_output_tokens > CLIPPED_OUTPUT:
            self._long[request] = None
        else:
            self._left[request.ignore_eos] += request.max_output_tokens - request.produced
            self._counts[request.ignore_eos] += 1
        self._plan_report(request, request.produced)

    def leave(self, request: EngineRequest) -> None:
        """Take a request out; its counts are up to date again."""
        self.count -= 1
        since = self._joined.pop(request)
        self._phases[(request.computed - since) % self._page] -= 1
        request.produced += self._steps - since
        request.computed += self._steps - since
        self.context_tokens -= request.computed
        if request.max_output_tokens > CLIPPED_OUTPUT:
            del self._long[request]
        else:
            self._left[request.ignore_eos] -= request.max_output_tokens - request.produced
            self._counts[request.ignore_eos] -= 1
        del self._due_step[request]

    def produced(self, request: EngineRequest) -> int:
        """Output tokens of a running request so far."""
        return request.produced + self._steps - self._joined[request]

    def output_left(self, ratio: float) -> float:
        """Tokens to keep for the output still allowed, each clipped, times `ratio` where it may end early."""
        total = self._left[True] + self._left[False] * ratio
        for request in self._long:
            left = min(request.max_output_tokens - self.produced(request), CLIPPED_OUTPUT)
            total += left if request.ignore_eos else left * ratio
        return total

    def page_demand(self, steps: int = 1) -> int:
        """Tokens of the pages that the next `steps` steps start."""
        phases, last = self._phases, -self._steps % self._page
        rounds, rest = divmod(steps, self._page)
        first = last - rest + 1
        if first == last:
            return (phases[last] + rounds * self.count) * self._page
        pages = sum(phases[max(0, first) : last + 1]) + rounds * self.count
        return (pages + sum(phases[first:]) if first < 0 else pages) * self._page

    def steps_to_report(self) -> int:
        """Steps until one that has something to report; there must be a request."""
        return self._due_steps[0] - self._steps

    def advance(self, steps: int = 1) -> list[EngineRequest]:
        """So many steps, no more than `steps_to_report`: a token each, every step.

        Returns the requests due for a report after the last, in the order in which they joined.
        """
        self._steps += steps
        self.context_tokens += self.count * steps
        left, counts = self._left, self._counts
        left[False] -= counts[False] * steps
        if counts[True]:
            left[True] -= counts[True] * steps
        due = self._due.pop(self._steps, None)
        if due is None:
            return []
        heappop(self._due_steps)
        # A request that was retracted and came back may have an older entry for the same step.
        due = [request for request in dict.fromkeys(due) if self._due_step.get(request) == self._steps]
        if len(due) > 1:
            due.sort(key=self._joined.__getitem__)
        for request in due:
            produced = self.produced(request)
            if produced < request.output_tokens:
                self._plan_report(request, produced)
        return due

    def by_retraction(self) -> list[EngineRequest]:
        """All requests, the last one to be retracted first: most output, then shortest prompt."""
        return sorted(
            self._joined,
            key=lambda request: (self.produced(request), -request.prompt_tokens),
            reverse=True,
        )

    def _plan_report(self, request: EngineRequest, produced: int) -> None:
        left = request.output_tokens - produced
        step = self._steps + max(1, min(left, request.report_every or left))
        self._due_step[request] = step
        due = self._due.get(step)
        if due is None:
            due = self._due[step] = []
            heappush(self._due_steps, step)
        due.append(request)

"""What the causes found in a log are worth: the log is read once more and replayed with them mended.

Said per day when the log shows its rate, else per 1,000 requests; a log that cannot be read twice says so.
"""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from lint.costing import Cost, Costing, Summary
from lint.traffic.engine import Traffic
from lint.traffic.facts import Facts
from lint.traffic.logged import Logged
from lint.traffic.reading import Tally, logged_requests
from lint.traffic.replay import EACH, Replay, Replayed
from prefix.explanations import EXPLANATIONS
from prefix.tokens import BYTES_PER_TOKEN

_ONCE = "a stream cannot be read twice: give the log as a file"
_REST = f"only the {EACH} most costly causes are replayed one by one; the closing figure has all"


def priced(traffic: Traffic, file: BinaryIO, costing: Costing) -> Traffic:
    """The traffic with a cost for each loss, and what mending all of them is worth."""
    if not (traffic.losses and costing.replay):
        return traffic
    if not file.seekable():
        for loss in traffic.losses:
            loss.cost = Cost(per=_per(traffic.facts)[0], reason=_ONCE)
        return traffic
    file.seek(0)
    replay = Replay(traffic.losses, costing, traffic.facts.bytes_per_token)
    for template, logged in zip(traffic.templates, _requests(traffic.filename, file), strict=False):
        replay.add(logged, template)
    return _with_costs(traffic, replay.result(), costing)


def _requests(filename: str, file: BinaryIO) -> Iterator[Logged]:
    return (logged for _, logged in logged_requests(filename, file, Tally()))


def _with_costs(traffic: Traffic, found: Replayed, costing: Costing) -> Traffic:
    per, times = _per(traffic.facts)
    assumed = _assumed(traffic.facts, found, costing)
    if found.before + found.after == 0 or not found.tokens:
        return traffic
    for at, loss in enumerate(traffic.losses):
        if at not in found.each:
            loss.cost = Cost(per=per, reason=found.unmended.get(at, _REST))
            continue
        saved = found.each[at] - found.before
        scale = found.tokens / max(1, traffic.bytes)
        loss.cost = Cost(
            per=per,
            tokens=round(saved * times),
            tokens_per_request=round(saved / max(1, loss.requests), 1),
            share=round(saved / max(1.0, loss.total_bytes * scale), 4),
            hit_rate_before=round(found.before / found.tokens, 4),
            hit_rate_after=round(found.each[at] / found.tokens, 4),
            hit_rate_all=round(found.after / found.tokens, 4),
            money=costing.money(saved * times),
            gpu_seconds=costing.gpu_seconds(saved * times),
            assumed=assumed,
        )
    return traffic._replace(summary=_summary(traffic, found, costing))


def _summary(traffic: Traffic, found: Replayed, costing: Costing) -> Summary:
    per, times = _per(traffic.facts)
    saved = (found.after - found.before) * times
    return Summary(
        filename=traffic.filename,
        causes=(len(traffic.losses) - len(found.unmended), len(traffic.losses)),
        hit_rate_before=found.before / found.tokens,
        hit_rate_after=found.after / found.tokens,
        reported_hit_rate=traffic.facts.hit_rate,
        per=per,
        tokens=round(saved),
        money=costing.money(saved),
        gpu_seconds=costing.gpu_seconds(saved),
        assumed=_assumed(traffic.facts, found, costing),
        unmended=tuple(_unmended(traffic, found.unmended)),
    )


def _unmended(traffic: Traffic, reasons: Mapping[int, str]) -> Iterator[str]:
    for at, reason in reasons.items():
        kind = traffic.losses[at].kind
        title = next((known.title for name, known in EXPLANATIONS.items() if name == kind), kind.replace("_", " "))
        yield f"{title}: {reason}"


def _per(facts: Facts) -> tuple[str, float]:
    """What figures are told for, and what a sum over the log is to be multiplied with."""
    if facts.days is not None:
        return "day", 1 / facts.days
    return "1,000 requests", 1000 / max(1, facts.requests)


def _assumed(facts: Facts, found: Replayed, costing: Costing) -> str:
    ratio = facts.bytes_per_token
    length = f"{ratio:.2f} bytes a token, by the log's own counts" if ratio else f"{BYTES_PER_TOKEN:g} bytes a token"
    workers = "one worker" if found.workers == 1 else f"{found.workers} workers, as the log names them"
    rate = "no times in the log" if facts.days is None else f"the rate of {facts.days * 24:.3g} hours"
    return (
        f"{found.requests:,} requests one after the other on {workers}, {costing.kv_capacity:,} tokens of KV cache"
        f" each in pages of {costing.page_tokens}, from cold; {length}; {rate}"
    )

"""The diagnosis for people at a terminal."""

from rich import box
from rich.console import Console
from rich.table import Table

from gateway.diagnose.diagnosis import Arithmetic, Diagnosis
from gateway.diagnose.evidence import Evidence
from gateway.diagnose.levers import COMPARE, QUALITY, Lever
from gateway.diagnose.twin import Phases
from gateway.diagnose.verdict import Verdict


def print_diagnosis(console: Console, diagnosis: Diagnosis) -> None:
    """The verdict, its evidence, the levers; or what is missing."""
    verdict, evidence, replay = diagnosis.verdict, diagnosis.evidence, diagnosis.replay
    if verdict is None or evidence is None or replay is None:
        console.print("[bold]not enough data[/]")
        for line in diagnosis.missing.lacks if diagnosis.missing else ():
            console.print(f"  {line}", highlight=False, markup=False)
        return
    bound = " and ".join(f"{name}-bound" for name in verdict.bound)
    why = "; ".join(verdict.why)
    console.print(f"[bold]{bound}[/] (confidence {verdict.confidence}: {why})", highlight=False)
    console.print(_gains(verdict))
    console.print(_phases(evidence, replay))
    console.print(_facts(evidence), highlight=False, style="dim")
    if diagnosis.arithmetic is not None:
        console.print(_sums(diagnosis.arithmetic), highlight=False, style="dim")
    console.print(_levers(diagnosis.levers))
    console.print(f"bench: {COMPARE}\neval:  {QUALITY}", highlight=False)
    for note in diagnosis.notes:
        console.print(f"[yellow]note[/]: {note}", highlight=False)


def _gains(verdict: Verdict) -> Table:
    table = Table("twice as much", "saves of a request's mean time", box=box.SIMPLE_HEAD)
    for name, gain in verdict.gains.items():
        table.add_row(name, f"{gain:.0%}")
    return table


def _phases(evidence: Evidence, replay: Phases) -> Table:
    table = Table("phase", "observed ms", "share", "replayed ms", box=box.SIMPLE_HEAD)
    rows: list[tuple[str, float | None, float | None]] = [
        ("queue", evidence.queue_s, replay.queue_s),
        ("prefill", evidence.prefill_s, replay.prefill_s),
        ("decode", evidence.decode_s, replay.decode_s),
        ("gateway", evidence.around.gateway_s, None),
        ("network", evidence.around.network_s, None),
    ]
    for name, seconds, replayed in rows:
        share = "" if seconds is None else f"{seconds / max(1e-9, evidence.total_s):.0%}"
        table.add_row(name, _ms(seconds), share, _ms(replayed) if replayed is not None else "")
    return table


def _facts(evidence: Evidence) -> str:
    setup = evidence.setup
    limit = "unknown" if setup.max_running is None else str(setup.max_running * setup.engines)
    return (
        f"{evidence.requests:,} requests in {evidence.seconds:.0f} s on {setup.engines} engine(s); prompts of "
        f"{evidence.prompts.mean:,.0f} tokens, {evidence.hit_rate:.1%} cached; answers of "
        f"{evidence.outputs.mean:,.0f}; running {evidence.running:.1f} (most {evidence.most_running:.0f}, limit "
        f"{limit}), waiting "
        f"{evidence.waiting:.1f}; KV use {evidence.kv_use:.0%} (most {evidence.most_kv_use:.0%}); TTFT mean "
        f"{_ms(evidence.ttft_s)} ms, p99 {_ms(evidence.ttft_p99_s)} ms"
    )


def _sums(known: Arithmetic) -> str:
    return (
        f"by arithmetic: prefill at most {known.prefill_tokens_per_s:,.0f} tokens/s; a decode step at least "
        f"{_ms(known.decode_step_s)} ms, {known.weights_share:.0%} of it weights; KV "
        f"{known.kv_token_bytes:,.0f} bytes a token, needs "
        f"{known.kv_need_tokens:,.0f} tokens of {known.kv_room_tokens:,.0f}"
    )


def _levers(levers: tuple[Lever, ...]) -> Table:
    table = Table("lever", "expected gain", "how", "on what it rests", "verify with", box=box.SIMPLE_HEAD)
    for lever in levers:
        expected = "not estimated" if lever.gain is None else f"{lever.gain:.0%}"
        table.add_row(lever.name, expected, lever.flags, lever.note, _short(lever.verify))
    return table


def _short(verify: str) -> str:
    """The names of the commands, which stand below the table in full."""
    return verify.replace(COMPARE, "bench").replace(QUALITY, "eval")


def _ms(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds * 1000:,.1f}"

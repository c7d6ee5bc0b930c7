"""A parameter makes the engine pass over its prefix cache."""

from collections.abc import Iterator

from lint.bodies import RequestBody
from lint.bypass import bypass
from lint.examples import HANDBOOK, QUESTIONS, chat, log, one
from lint.rule import Check, Rule, Sighting
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import notes


def _find(document: RequestBody) -> Iterator[Sighting]:
    found = bypass(document.body)
    if found is not None:
        yield Sighting(
            message=f"{found.name}: {found.why}",
            location=document.location,
            request=document.request,
            pointer=f"/{found.name}",
        )


RULE = Rule(
    code="PC605",
    name="cache-bypassed",
    severity="warning",
    summary="A parameter makes the engine pass over its prefix cache.",
    why=(
        "For log probabilities of the prompt every token of it has to be computed, so the cache is not read. vLLM "
        "skips it for `prompt_logprobs` (0 too) and `prompt_logprob_token_ids` (vllm/sampling_params.py, "
        "`__post_init__`); SGLang 0.5.23 reuses no more than `logprob_start_len` tokens with `return_logprob`, and "
        "none for `echo` with `logprobs` (managers/schedule_batch.py, `_compute_max_prefix_len`; "
        "entrypoints/openai/serving_completions.py). `logprobs` of the answer and `return_hidden_states` change "
        "nothing; `input_embeds` needs an SGLang that runs without a prefix cache at all."
    ),
    instead=(
        "Ask for them only where they are used, or for the answer's alone (`logprobs: true`, "
        "`logprob_start_len: -1`)."
    ),
    since="0.1.0",
    checks=(uses("bypass"), notes("bypass", "warning"), Check(RequestBody, _find)),
    bad=(
        app("POLICY", more="prompt_logprobs=1,"),
        app("POLICY", more="extra_body={'prompt_logprobs': 5},"),
        app("POLICY", more="extra_body={'cache_prompt': False},"),
        app("POLICY", more="echo=True, logprobs=1,"),
        log(*(chat(HANDBOOK, question, prompt_logprobs=1) for question in QUESTIONS)),
        log(*({"model": "m", "prompt": HANDBOOK + q, "echo": True, "logprobs": 1} for q in QUESTIONS)),
        one({"text": HANDBOOK, "return_logprob": True, "logprob_start_len": 0}),
        one(chat(HANDBOOK, prompt_logprobs=0)),
        log(*(chat(HANDBOOK, question, prompt_logprob_token_ids=[1, 2]) for question in QUESTIONS)),
        one({"model": "m", "prompt": HANDBOOK, "echo": True, "logprobs": 5}),
    ),
    good=(
        app("POLICY", more="prompt_logprobs=None,"),
        app("POLICY", more="logprobs=True,"),
        app("POLICY", more="extra_body={'cache_prompt': True},"),
        log(*(chat(HANDBOOK, question, logprobs=True, top_logprobs=5) for question in QUESTIONS)),
        log(*({"model": "m", "prompt": HANDBOOK + q, "echo": True} for q in QUESTIONS)),
        one({"text": HANDBOOK, "return_logprob": True, "logprob_start_len": -1}),
        one(chat(HANDBOOK, prompt_logprobs=None)),
        log(*(chat(HANDBOOK, question, return_hidden_states=True) for question in QUESTIONS)),
        one({"model": "m", "prompt": HANDBOOK, "echo": True}),
    ),
)

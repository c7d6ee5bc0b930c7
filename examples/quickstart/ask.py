"""The same long prompt twice through the gateway: the second time the engine has it cached."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="unused")
rules = "Answer in one sentence, quote the order number, never promise a refund. " * 60

for question in ("Where is order 17?", "And order 18?"):
    answer = client.chat.completions.with_raw_response.create(
        model="demo",
        max_tokens=8,
        messages=[{"role": "system", "content": rules}, {"role": "user", "content": question}],
        extra_headers={"x-prefixgate-route": "support", "x-prefixgate-prompt-version": "v1"},
    )
    usage = answer.parse().usage
    assert usage is not None
    assert usage.prompt_tokens_details is not None
    cached = usage.prompt_tokens_details.cached_tokens
    print(
        f"{question:20} {cached:>5} of {usage.prompt_tokens} tokens cached on {answer.headers['x-prefixgate-worker']}"
    )

# PC103: Anthropic blocks
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import secrets
import anthropic

def run(question, client=anthropic.Anthropic()):
    header = {"type": "text", "text": f"trace-id: {secrets.token_hex(8)}"}  # here
    rules = {"type": "text", "text": POLICY, "cache_control": {"type": "ephemeral"}}
    return client.messages.create(
        model="claude-sonnet-4-5", max_tokens=512, system=[header, rules],
        messages=[{"role": "user", "content": question}],
    )

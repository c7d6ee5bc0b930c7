# PC104: Anthropic blocks of a user
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import anthropic


def ask(user, q):
    client = anthropic.Anthropic()
    blocks = []
    blocks.append({"type": "text", "text": f"The customer is {user.full_name}."})  # here
    blocks.append({"type": "text", "text": POLICY, "cache_control": {"type": "ephemeral"}})
    with client.messages.stream(
        model="claude-sonnet-4-5", max_tokens=9, system=blocks, messages=[{"role": "user", "content": q}]
    ) as stream:
        return stream.get_final_text()

# PC401: tools in any order
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import random
from openai import OpenAI

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("order", "parcel", "refund")]

def ask(client: OpenAI, messages):
    tools = list(TOOLS)
    random.shuffle(tools)  # here
    return client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)

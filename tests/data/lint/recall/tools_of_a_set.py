# PC305: tools of a set
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from openai import OpenAI

REGISTRY = {name: {"type": "function", "function": {"name": name}} for name in ("order", "parcel", "refund")}

class Agent:
    def __init__(self, client: OpenAI, enabled):
        self.client = client
        self.enabled = set(enabled) | {"order"}  # here

    def tools(self):
        return [REGISTRY[name] for name in self.enabled]

    def ask(self, messages):
        return self.client.chat.completions.create(model="gpt-4o", messages=messages, tools=self.tools())

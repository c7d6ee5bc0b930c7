# PC502: compaction in place
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

class Loop:
    def __init__(self, client):
        self.client = client
        self.messages = [{"role": "system", "content": POLICY}]

    def compact(self):
        for message in self.messages[:-6]:
            if message["role"] == "tool" and len(message["content"]) > 2000:
                message["content"] = message["content"][:200] + " [truncated]"  # here

    def step(self):
        self.compact()
        return self.client.chat.completions.create(model="gpt-4o", messages=self.messages)

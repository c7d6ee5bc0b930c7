# PC501: a memory of its own class
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from collections import deque


class Memory:
    def __init__(self):
        self.turns = deque(maxlen=12)  # here

    def add(self, role, content):
        self.turns.append({"role": role, "content": content})

    def as_messages(self):
        return list(self.turns)


class Bot:
    def __init__(self, client):
        self.client = client
        self.memory = Memory()

    def ask(self, q):
        self.memory.add("user", q)
        return self.client.chat.completions.create(
            model="m", messages=[{"role": "system", "content": POLICY}] + self.memory.as_messages()
        )

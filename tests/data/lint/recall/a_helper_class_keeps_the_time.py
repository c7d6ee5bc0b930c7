# PC101: a helper class keeps the time
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import datetime, timezone
from openai import AsyncOpenAI

class Clock:
    def __init__(self, tz=timezone.utc):
        self.tz = tz

    def text(self) -> str:
        return datetime.now(self.tz).strftime("%A, %d %B %Y %H:%M")  # here

class SupportAgent:
    def __init__(self, client: AsyncOpenAI):
        self.client = client
        self.clock = Clock()

    def _system(self) -> str:
        return f"Current time: {self.clock.text()}\n\n{POLICY}"

    async def answer(self, history, question):
        messages = [{"role": "system", "content": self._system()}, *history, {"role": "user", "content": question}]
        return await self.client.chat.completions.create(model="gpt-4o", messages=messages)

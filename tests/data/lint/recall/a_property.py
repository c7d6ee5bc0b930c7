# PC101: a property
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import datetime


class Agent:
    @property
    def system_prompt(self):
        return f"It is {datetime.now()}. {POLICY}"  # here

    def ask(self, client, q):
        return client.chat.completions.create(
            model="m",
            messages=[{"role": "system", "content": self.system_prompt}, {"role": "user", "content": q}],
        )

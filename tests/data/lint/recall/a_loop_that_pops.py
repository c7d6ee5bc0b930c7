# PC501: a loop that pops
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

class Chat:
    def __init__(self, client):
        self.client = client
        self.messages = []

    def _trim(self):
        while len(self.messages) > 20:
            self.messages.pop(0)  # here

    def ask(self, q):
        self.messages.append({"role": "user", "content": q})
        self._trim()
        return self.client.chat.completions.create(
            model="m", messages=[{"role": "system", "content": POLICY}, *self.messages]
        )

# PC501: the last ten turns
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

MAX_TURNS = 10

class Session:
    def __init__(self, client):
        self.client = client
        self.history = []

    def ask(self, question):
        self.history.append({"role": "user", "content": question})
        window = self.history[-MAX_TURNS:]  # here
        return self.client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "system", "content": POLICY}] + window
        )

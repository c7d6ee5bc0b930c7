# PC601: a model drawn
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import random


def ask(client, messages):
    return client.chat.completions.create(model=random.choice(["gpt-4o", "gpt-4o-mini"]), messages=messages)  # here

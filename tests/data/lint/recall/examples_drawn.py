# PC203: examples drawn
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import random

EXAMPLES = [("a", "b"), ("c", "d"), ("e", "f")]


def few_shot(k=2):
    turns = []
    for question, answer in random.sample(EXAMPLES, k):  # here
        turns += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return turns


def ask(client, q):
    return client.chat.completions.create(
        model="m",
        messages=[{"role": "system", "content": POLICY}, *few_shot(), {"role": "user", "content": q}],
    )

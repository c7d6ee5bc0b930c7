# PC101: keywords in a mapping
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import time


def ask(client, q, **extra):
    kwargs = dict(model="m", temperature=0)
    kwargs["messages"] = [
        {"role": "system", "content": f"{time.time()} {POLICY}"},  # here
        {"role": "user", "content": q},
    ]
    kwargs.update(extra)
    return client.chat.completions.create(**kwargs)

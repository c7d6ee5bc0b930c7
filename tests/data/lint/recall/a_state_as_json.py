# PC303: a state as JSON
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import json


def ask(client, state, q):
    system = POLICY + "\nState:\n" + json.dumps(state, indent=2) + "\nAnswer briefly." * 100  # here
    return client.chat.completions.create(
        model="m", messages=[{"role": "system", "content": system}, {"role": "user", "content": q}]
    )

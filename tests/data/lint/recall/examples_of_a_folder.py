# PC305: examples of a folder
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import os


def shots(folder):
    out = []
    for name in os.listdir(folder):  # here
        out.append(open(os.path.join(folder, name)).read())
    return "\n\n".join(out)


def ask(client, q):
    return client.chat.completions.create(
        model="m",
        messages=[{"role": "system", "content": POLICY + shots("ex")}, {"role": "user", "content": q}],
    )

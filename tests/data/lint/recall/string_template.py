# PC101: string.Template
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import string
import time
import litellm

_SYSTEM = string.Template("Server time $now\n" + POLICY)

def ask(question):
    return litellm.completion(
        model="gpt-4o",
        messages=[
            {"role": "system", "content": _SYSTEM.safe_substitute(now=time.strftime("%X"))},  # here
            {"role": "user", "content": question},
        ],
    )

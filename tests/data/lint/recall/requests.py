# PC101: requests
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import time
import requests

def complete(url, question):
    body = {
        "model": "qwen",
        "messages": [
            {"role": "system", "content": f"epoch={int(time.time())}\n{POLICY}"},  # here
            {"role": "user", "content": question},
        ],
    }
    return requests.post(f"{url}/v1/chat/completions", json=body, timeout=30).json()

# PC106: aiohttp
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import json
import os
import aiohttp

async def complete(session: aiohttp.ClientSession, base: str, question: str):
    payload = {"model": "qwen", "messages": []}
    payload["messages"].append({"role": "system", "content": "cwd: %s\n%s" % (os.getcwd(), POLICY)})  # here
    payload["messages"].append({"role": "user", "content": question})
    async with session.post(base + "/v1/chat/completions", data=json.dumps(payload)) as response:
        return await response.json()

# PC101: httpx and orjson
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import httpx, orjson, datetime as dt


async def ask(q):
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Now: " + dt.datetime.now(dt.UTC).isoformat() + POLICY},  # here
            {"role": "user", "content": q},
        ],
    }
    async with httpx.AsyncClient() as http:
        return await http.post("http://h/v1/chat/completions", content=orjson.dumps(body))

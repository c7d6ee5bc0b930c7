"""Clients that run in processes of their own: curl, and what is slow to import."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.sdks.openai_script import MESSAGES
from tests.sdks.transcript import blanked


async def run(*command: str, **environment: str) -> str:
    """Standard output of a command that succeeded."""
    env = {**os.environ, **environment}
    done = await asyncio.to_thread(subprocess.run, command, env=env, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


async def curl(url: str, model: str) -> dict[str, str]:
    """Body, status and content type of a chat whole and streamed, and of an error; with Expect: 100-continue."""
    chat = json.dumps({"model": model, "max_tokens": 4, "temperature": 0, "messages": MESSAGES})
    bodies = {"whole": chat, "stream": chat[:-1] + ',"stream":true}', "wrong": chat.replace('"user"', '"x"')}
    told = {
        name: await run(
            *("curl", "-sS", "-N", "-d", body, "-H", "content-type: application/json"),
            *("-H", "expect: 100-continue", "-w", "\n%{http_code} %{content_type}"),
            f"{url}/v1/chat/completions",
        )
        for name, body in bodies.items()
    }
    return {name: blanked(text) for name, text in told.items()}


async def litellm_and_langchain(model: str, *urls: str) -> list[list[tuple[str, Any]]]:
    """For each URL the steps of tests/sdks/other_clients.py and what they saw; none raised but those meant to."""
    script = Path(__file__).with_name("other_clients.py")
    seen: list[list[tuple[str, Any]]] = json.loads(
        await run(sys.executable, str(script), model, *urls, LITELLM_LOCAL_MODEL_COST_MAP="True")
    )
    steps = [step for each in seen for step in each]
    assert len(steps) > 7 * len(urls)
    assert not [name for name, what in steps if "raised" in what and not name.startswith("wrong")]
    return seen

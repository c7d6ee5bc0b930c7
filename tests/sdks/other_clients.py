"""litellm and LangChain as clients, run as a program of its own: they are slow to import and print what they like.

python tests/sdks/other_clients.py MODEL URL...      prints a JSON list: for each URL the steps and what they saw
"""

import asyncio
import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

import litellm  # noqa: E402
from langchain_core.messages import HumanMessage, SystemMessage  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402

from tests.sdks.openai_script import MESSAGES, TOOL  # noqa: E402
from tests.sdks.transcript import Transcript  # noqa: E402

litellm.suppress_debug_info = True
litellm.drop_params = True


async def collect(stream: Any) -> list[Any]:
    """All chunks of a stream, as plain data."""
    return [chunk.model_dump() async for chunk in await stream]


async def program(url: str, model: str) -> Transcript:
    """The steps."""
    seen = Transcript()
    openai: dict[str, Any] = {
        "model": f"openai/{model}",
        "api_base": f"{url}/v1",
        "api_key": "none",
        "max_retries": 0,
    }
    claude: dict[str, Any] = {"model": f"anthropic/{model}", "api_base": url, "api_key": "none", "max_retries": 0}
    asked: dict[str, Any] = {"messages": MESSAGES, "max_tokens": 8, "temperature": 0}
    for name, to in (("openai", openai), ("anthropic", claude)):
        await seen.step(f"litellm {name}", lambda to=to: _whole(litellm.acompletion(**to, **asked)))
        await seen.step(
            f"litellm {name} stream", lambda to=to: collect(litellm.acompletion(**to, **asked, stream=True))
        )
        await seen.step(
            f"litellm {name} tool", lambda to=to: _whole(litellm.acompletion(**to, **asked, tools=[TOOL]))
        )
    wrong = {**asked, "max_tokens": 10**7}
    await seen.step("wrong litellm", lambda: litellm.acompletion(**openai, **wrong))
    respond: dict[str, Any] = {"input": "Tell a story.", "max_output_tokens": 8, "temperature": 0}
    await seen.step("litellm responses", lambda: _whole(litellm.aresponses(**openai, **respond)))
    chain: Any = ChatOpenAI(
        model=model, base_url=f"{url}/v1", api_key="none", temperature=0, max_tokens=8, max_retries=0
    )
    messages = [SystemMessage("Be brief."), HumanMessage("Tell a story.")]
    await seen.step("langchain", lambda: chain.ainvoke(messages))

    async def streamed() -> Any:
        return [chunk async for chunk in chain.astream(messages)]

    await seen.step("langchain stream", streamed)
    await seen.step("langchain tools", lambda: chain.bind_tools([TOOL]).ainvoke(messages))
    await seen.step("wrong langchain", lambda: chain.bind(max_tokens=10**7).ainvoke(messages))
    return seen


async def _whole(call: Any) -> Any:
    answer = (await call).model_dump()
    answer.pop("_hidden_params", None)
    return answer


async def main(model: str, *urls: str) -> None:
    """All programs, one after the other."""
    sys.stdout.write(json.dumps([(await program(url, model)).steps for url in urls]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

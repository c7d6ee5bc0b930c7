"""Every error of the framework's routes in the one form of gateway.errors."""

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from gateway.apis import MESSAGES
from gateway.errors import Refusal


def answer_errors(app: FastAPI) -> None:
    """Have refusals, bad queries, unknown paths and our own faults answered so."""

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        dialect = "anthropic" if request.url.path.startswith(MESSAGES) else "openai"
        headers = {name.decode(): value.decode() for name, value in error.headers(dialect)}
        return Response(error.body(dialect), error.kind.status, headers)

    @app.exception_handler(RequestValidationError)
    async def unusable(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        name = str(first["loc"][-1])
        return await refused(request, Refusal("invalid_query", f"{name}: {first['msg']}", param=name))

    @app.exception_handler(500)
    async def failed(request: Request, _: Exception) -> Response:
        return await refused(request, Refusal("internal_error"))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        code = "method_not_allowed" if error.status_code == 405 else "not_found"
        allow = (error.headers or {}).get("Allow")
        return await refused(
            request, Refusal(code, f"{request.method} {request.url.path}: {error.detail}", allow=allow)
        )

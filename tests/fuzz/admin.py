"""The admin API as its own OpenAPI describes it: no generated request makes it fail, every error is OpenAI-shaped."""

from collections.abc import Callable

import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import Case

from tests.fuzz.server import ADMIN_TOKEN, Target

_HEADERS = {"authorization": f"Bearer {ADMIN_TOKEN}"}


def admin(at: Target) -> Callable[[], None]:
    """The property, for this gateway."""
    schema = schemathesis.openapi.from_url(f"{at.url}/openapi.json", headers=_HEADERS)
    operations = [found.ok() for found in schema.get_all_operations()]
    operations = [operation for operation in operations if operation.path != "/api/events"]  # it never ends

    @given(st.one_of([operation.as_strategy() for operation in operations]))
    def documented_request(case: Case) -> None:
        if case.method == "DELETE" and str(at.port) in case.formatted_path:
            return
        response = case.call(base_url=at.url, headers=_HEADERS, timeout=10)
        assert response.status_code < 500 or response.status_code == 503, (case.method, case.path, response.text)
        if response.status_code >= 400:
            error = response.json()["error"]
            assert set(error) == {"message", "type", "param", "code"}

    return documented_request

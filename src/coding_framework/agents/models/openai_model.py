"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, SGLang, llama.cpp, Ollama.

Guarantees: at most `max_concurrency` requests at a time; what may pass by itself (429, 5xx, timeouts, a
broken connection) is tried again with growing pauses, as long as the server asks for where it says so;
what will not is an error that says what to change; the key is read from the environment, sent as a
header and shown nowhere. Token ids and log-probabilities are kept when the server gives both (vLLM does,
asked with `return_token_ids`); a field that a server refuses is left out from then on.
Not guaranteed: that the same seed repeats an answer. Servers differ in that.
"""

from __future__ import annotations

import asyncio
import os
import random
from typing import TYPE_CHECKING, Any

import structlog
from pydantic import Field

from coding_framework.agents.models.chat_model import SamplingSettings
from coding_framework.agents.models.openai_answer import read_answer, read_refusal
from coding_framework.agents.models.prompt_seeds import PromptSeeds
from coding_framework.errors import MissingExtraError, NotAvailableError, UserError
from coding_framework.records import Generation, GenerationRequest
from coding_framework.records.base import Record

if TYPE_CHECKING:
    import httpx

log = structlog.get_logger(__name__)

API_KEY_VARIABLE = "OPENAI_API_KEY"
_DISPENSABLE = ("return_token_ids", "logprobs", "seed")
_PASSING_STATUS = frozenset({408, 409, 425, 429})
_SEED_BITS = 31
"""Servers differ in how large a seed they take; all take this."""


class OpenAISettings(Record):
    """Which server, and how patient to be with it."""

    model: str = Field(min_length=1)
    """The model's name on the server."""
    base_url: str = Field(pattern=r"^https?://")
    """Up to and including `/v1`."""
    api_key_variable: str = API_KEY_VARIABLE
    """Environment variable with the key; where it is not set, none is sent."""
    timeout_s: float = Field(default=300, gt=0)
    """Of one attempt."""
    max_attempts: int = Field(default=5, ge=1)
    """For one answer."""
    first_pause_s: float = Field(default=1.0, ge=0)
    """Before the second attempt; doubled for each further one."""
    max_pause_s: float = Field(default=60, ge=0)
    """However long it has been, or the server asks for."""
    max_concurrency: int = Field(default=16, ge=1)
    """Requests at a time."""


class OpenAIChatModel:
    """A model on a server."""

    def __init__(self, server: OpenAISettings, settings: SamplingSettings | None = None) -> None:
        try:
            import httpx  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("httpx", "serve") from error
        self._server = server
        self._settings = settings or SamplingSettings()
        self._seeds = PromptSeeds(self._settings.seed)
        self._refused: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(server.max_concurrency)
        self._client: httpx.AsyncClient | None = None

    async def generate(self, request: GenerationRequest) -> Generation:
        fields = self._fields(request)
        client = self._open_client()
        async with self._slots:
            return await self._answer(client, fields)

    def close(self) -> None:
        """The client belongs to the event loop that asked, and ends with `aclose` or with it."""

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.aclose()
        self._client = self._loop = None

    def _open_client(self) -> httpx.AsyncClient:
        """Connections belong to an event loop: a new one gets new ones."""
        import httpx

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            key = os.environ.get(self._server.api_key_variable, "")
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            limits = httpx.Limits(max_connections=self._server.max_concurrency)
            self._client = httpx.AsyncClient(headers=headers, timeout=self._server.timeout_s, limits=limits)
            self._loop, self._slots = loop, asyncio.Semaphore(self._server.max_concurrency)
        return self._client

    def _fields(self, request: GenerationRequest) -> dict[str, Any]:
        settings = self._settings
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        fields: dict[str, Any] = {
            "model": self._server.model,
            "messages": messages,
            "max_tokens": request.max_tokens,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": self._seeds.next(messages, bits=_SEED_BITS, own=request.seed),
            "logprobs": True,
            "return_token_ids": True,
        }
        return {**fields, "top_k": settings.top_k} if settings.top_k else fields

    async def _answer(self, client: httpx.AsyncClient, fields: dict[str, Any]) -> Generation:
        """Attempts until one succeeds, none is left, or trying again would not help."""
        attempts = self._server.max_attempts
        problem: PassingProblem | None = None
        for attempt in range(attempts):
            if problem is not None:
                await asyncio.sleep(self._pause_s(attempt, problem))
            try:
                return await self._attempt(client, fields)
            except PassingProblem as passing:
                problem = passing
                log.warning("chat_request_failed", url=self._url, attempt=attempt + 1, reason=str(passing))
        raise NotAvailableError(f"{self._url} gave no answer in {attempts} attempts: {problem}")

    async def _attempt(self, client: httpx.AsyncClient, fields: dict[str, Any]) -> Generation:
        import httpx

        while True:
            sent = {name: value for name, value in fields.items() if name not in self._refused}
            try:
                response = await client.post(self._url, json=sent)
            except httpx.TimeoutException:
                raise PassingProblem(f"no answer within {self._server.timeout_s:g} s") from None
            except httpx.ConnectError:
                raise PassingProblem("the server cannot be reached: is it running?") from None
            except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
                raise UserError(f"{self._server.base_url} is no address of a server: {error}") from None
            except httpx.TransportError as error:
                raise PassingProblem(f"the connection broke: {type(error).__name__}") from None
            if response.is_success:
                return read_answer(response.text)
            refusal = read_refusal(response.text, secret=os.environ.get(self._server.api_key_variable, ""))
            field = self._refused_field(response.status_code, refusal, sent)
            if field is None:
                raise self._problem(response, refusal)
            log.warning("chat_field_refused", url=self._url, field=field, reason=refusal)
            self._refused.add(field)

    def _refused_field(self, status: int, refusal: str, sent: dict[str, Any]) -> str | None:
        """A field that this server does not know, and that an answer can do without."""
        if status not in (400, 422):
            return None
        return next((name for name in _DISPENSABLE if name in sent and name in refusal), None)

    def _problem(self, response: httpx.Response, refusal: str) -> Exception:
        status, server = response.status_code, self._server
        if status in (401, 403):
            key = "is set" if os.environ.get(server.api_key_variable) else "is not set"
            return UserError(
                f"{self._url} refuses access ({status}: {refusal}): put the key into the environment "
                f"variable {server.api_key_variable}, which {key}"
            )
        if status == 404:
            return UserError(
                f"{self._url} knows no model {server.model!r}, or is no address of chat completions "
                f"(404: {refusal}): check the model's name and that the address ends in /v1"
            )
        if status in _PASSING_STATUS or status >= 500:
            if "insufficient_quota" in refusal:
                return UserError(f"{self._url}: the account's quota is used up ({refusal})")
            return PassingProblem(f"status {status}: {refusal}", _retry_after_s(response))
        return UserError(f"{self._url} refuses the request ({status}: {refusal})")

    @property
    def _url(self) -> str:
        return f"{self._server.base_url.rstrip('/')}/chat/completions"

    def _pause_s(self, attempt: int, problem: PassingProblem) -> float:
        """What the server asks for, or twice as long as before, with some chance against stampedes."""
        pause = self._server.first_pause_s * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.25)
        return min(self._server.max_pause_s, max(pause, problem.wait_s))


class PassingProblem(Exception):
    """What may be gone at the next attempt; never leaves this module."""

    def __init__(self, words: str, wait_s: float = 0.0) -> None:
        super().__init__(words)
        self.wait_s = wait_s


def _retry_after_s(response: httpx.Response) -> float:
    """The header in seconds; its other form, a date, is not worth a clock's disagreement."""
    value = response.headers.get("retry-after", "")
    return float(value) if value.replace(".", "", 1).isdigit() else 0.0

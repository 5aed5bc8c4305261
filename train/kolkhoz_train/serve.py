"""A small server for front ends that prefer one: a seat's view in, a move out.

``POST /move`` takes a view as JSON (``?temperature=1&seed=7`` for a sample) and answers
``{"move": .., "probabilities": {move: ..}, "value": ..}``; ``GET /manifest`` tells what the bot
is, ``GET /health`` that the server is up. A wrong request gets a 4xx and
``{"error": .., "field": ..}``.

Nothing is kept between requests: each is answered from its own view alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kolkhoz_agents.bots import BotFile
from kolkhoz_agents.network import NumpyNetwork
from kolkhoz_env.errors import KolkhozError, ViewError
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.one_game import number_views
from kolkhoz_env.one_observation import OneEncoder
from kolkhoz_env.rules import Rules
from kolkhoz_env.view import read_view
from kolkhoz_train.export.bundle import open_bot
from kolkhoz_train.export.manifest import describe
from kolkhoz_train.export.vectors import log_softmax, pick_sampled

#: A view has some 6,000 characters; a longer body is refused before it is read to its end.
MAX_BODY = 64 * 1024
#: Seconds within which a body must have come.
BODY_SECONDS = 10.0
#: Connections that are served at a time; further ones get 503.
MAX_CONNECTIONS = 512


class RequestError(Exception):
    """What is wrong with a request: the status, the field and one line."""

    def __init__(self, status: int, field: str, what: str) -> None:
        super().__init__(what)
        self.status, self.field, self.what = status, field, what


@dataclass(frozen=True)
class Player:
    """A bot ready to answer: stateless, so that requests cannot meet in it."""

    game: KolkhozGame
    network: NumpyNetwork

    def answer(self, view: Any, temperature: float = 0.0, seed: int = 0) -> dict[str, Any]:
        """Move, probabilities by move and value for a view. Raises `ViewError` naming the field."""
        knowledge = read_view(view)
        check_rules(knowledge.rules, self.game.rules)
        encoder = OneEncoder(number_views(knowledge.state), knowledge.rules)
        observation = encoder.encode(int(knowledge.seats[0]))[None]
        mask = knowledge.legal_mask()
        legal = np.flatnonzero(mask[0])
        if not legal.size:
            raise ViewError("legal: is empty: it is not this seat's turn")
        logits, value = self.network.plain(observation, knowledge.state.phase)
        logs = log_softmax(logits, mask)[0, legal].astype(np.float64)
        chosen = pick_sampled(logs, temperature, seed) if temperature else int(logs.argmax())
        names = [self.game.action_name(int(action)) for action in legal]
        return {
            "move": names[chosen],
            "probabilities": dict(zip(names, np.exp(logs).tolist(), strict=True)),
            "value": float(value[0]),
        }


@lru_cache(maxsize=64)
def check_rules(rules: Rules, own: Rules) -> None:
    """A bot plays the rules that it was trained on; who plans first is all one to it."""
    given, wanted = rules.to_dict(), own.to_dict()
    for key, value in wanted.items():
        if key not in ("first_planner", "auto_forced", "quota") and given[key] != value:
            raise ViewError(f"rules.{key}: {given[key]!r}, but the bot plays with {value!r}")
    if rules.field_quota != own.field_quota:
        raise ViewError(f"rules.quota: {rules.field_quota}, but the bot plays {own.field_quota}")


def make_app(bot: BotFile, name: str = "bot", origins: tuple[str, ...] = ()) -> Starlette:
    """The server of a bot.

    Args:
        bot: the bot; `BundleError` or `BotError` if it can't be served.
        name: its name for messages.
        origins: web origins whose pages may ask (``"https://example.org"``); none by default.
    """
    game, network = open_bot(bot, name)
    player = Player(game, network)
    manifest = describe(bot, game)

    async def move(request: Request) -> Response:
        try:
            temperature, seed = _options(request)
            body = await _body(request)
            return JSONResponse(player.answer(_parse(body), temperature, seed))
        except ViewError as error:
            field, _, what = str(error).partition(": ")
            return _refusal(422, field, what)
        except RequestError as error:
            return _refusal(error.status, error.field, error.what)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "bot": name})

    async def about(request: Request) -> Response:
        return JSONResponse(manifest)

    routes = [
        Route("/move", move, methods=["POST"]),
        Route("/health", health),
        Route("/manifest", about),
    ]
    # A page that posts JSON asks first whether it may (the preflight of CORS).
    rights: dict[str, Any] = {"allow_methods": ["GET", "POST"], "allow_headers": ["content-type"]}
    allowed = [Middleware(CORSMiddleware, allow_origins=list(origins), **rights)] if origins else []
    handlers: Any = {404: _no_such, 405: _no_such, Exception: _defect}
    return Starlette(routes=routes, middleware=allowed, exception_handlers=handlers)


def _refusal(status: int, field: str, what: str) -> JSONResponse:
    return JSONResponse({"error": f"{field}: {what}", "field": field}, status)


async def _no_such(request: Request, error: Any) -> Response:
    here = "POST /move, GET /health, GET /manifest"
    return _refusal(error.status_code, "request", f"there is {here}")


async def _defect(request: Request, error: Exception) -> Response:
    """A defect of the lab: the client learns that much and no more."""
    return JSONResponse({"error": "server: a defect; its log says more", "field": "server"}, 500)


def _options(request: Request) -> tuple[float, int]:
    """Temperature and seed of the query."""
    for key in request.query_params:
        if key not in ("temperature", "seed"):
            raise RequestError(400, key[:40], "no such option; there are temperature and seed")
    try:
        temperature = float(request.query_params.get("temperature", "0"))
    except ValueError:
        temperature = math.nan
    if not 0 <= temperature <= 1e6:
        raise RequestError(400, "temperature", "must be a number from 0")
    text = request.query_params.get("seed", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < 2**32):
        raise RequestError(400, "seed", "must be a whole number below 4294967296")
    return temperature, int(text)


async def _body(request: Request) -> bytes:
    """The body, as far as it is not too long and comes in time."""
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or len(length) > 12 or int(length) > MAX_BODY:
        raise RequestError(413, "body", f"longer than {MAX_BODY} bytes; a view has some 6,000")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(request)
    except TimeoutError:
        raise RequestError(408, "body", f"not here after {BODY_SECONDS:.0f} seconds") from None
    except ClientDisconnect:
        raise RequestError(400, "body", "ended early") from None


async def _read(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise RequestError(413, "body", f"longer than {MAX_BODY} bytes; a view has some 6,000")
        parts.append(part)
    return b"".join(parts)


def _parse(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "body", f"not UTF-8 text (byte {error.start + 1})") from None


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises `KolkhozError` if it can't, a port in use included."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = error.strerror or str(error)
        raise KolkhozError(f"--host {host} --port {port}: can't listen there: {reason}") from error
    # Connections inherit it: an answer's head and body leave at once. asyncio sets it only on
    # sockets that name their protocol; without it every answer waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def serve(app: Starlette, listener: socket.socket) -> None:
    """Serve until interrupted."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False,
        limit_concurrency=MAX_CONNECTIONS, timeout_keep_alive=30,
        http="h11", h11_max_incomplete_event_size=16384, server_header=False,
    )  # fmt: skip
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


__all__ = ["MAX_BODY", "Player", "listen", "make_app", "serve"]

"""The server: views in, moves out, and nothing that a client sends brings it down."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from export_tools import fresh_bot
from starlette.applications import Starlette

from kolkhoz_agents.bots import BotFile, save_bot
from kolkhoz_agents.network import NumpyNetwork
from kolkhoz_env.game import make_game
from kolkhoz_env.view import make_view
from kolkhoz_train.cli.main import main
from kolkhoz_train.export.errors import BundleError
from kolkhoz_train.export.vectors import Positions, choose, played
from kolkhoz_train.serve import MAX_BODY, listen, make_app

BOT = fresh_bot(4)
GAME = make_game({"players": 4})


class Client:
    """Asks an app without a socket between."""

    def __init__(self, app: Starlette) -> None:
        self.app = app

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def asking() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                return await client.request(method, path, **options)

        return asyncio.run(asking())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(make_app(BOT, "the bot"))


@pytest.fixture(scope="module")
def positions() -> list[Positions]:
    network = NumpyNetwork(BOT.shape, BOT.weights, GAME)
    return choose(list(played(GAME, network, 6, seed=2)), 60, seed=1)


def views(positions: list[Positions]) -> list[dict[str, Any]]:
    return [view for part in positions for view in part.views()]


def test_it_answers_with_the_bots_move(client: Client, positions: list[Positions]) -> None:
    for part in positions:
        for row, view in enumerate(part.views()):
            response = client.post("/move", json=view)
            assert response.status_code == 200
            answer = response.json()
            assert answer["move"] == GAME.action_name(int(part.moves()[row]))
            assert set(answer["probabilities"]) == set(view["legal"])
            assert sum(answer["probabilities"].values()) == pytest.approx(1)
            best = np.exp(part.log_probs[row].max())
            assert answer["probabilities"][answer["move"]] == pytest.approx(best, abs=1e-5)
            assert answer["value"] == pytest.approx(float(part.value[row]), abs=1e-5)


def test_samples_follow_seed_and_temperature(
    client: Client, positions: list[Positions]
) -> None:
    view = next(view for view in views(positions) if len(view["legal"]) > 3)

    def moves(temperature: float) -> list[str]:
        return [
            client.post(f"/move?temperature={temperature}&seed={seed}", json=view).json()["move"]
            for seed in range(40)
        ]

    assert moves(1) == moves(1)
    assert len(set(moves(1000))) > 1
    assert len(set(moves(0))) == 1


def test_health_manifest_and_the_rest(client: Client) -> None:
    assert client.get("/health").json() == {"status": "ok", "bot": "the bot"}
    manifest = client.get("/manifest").json()
    assert manifest["rules"] == GAME.rules_dict()
    assert manifest["observation"]["blocks"][0]["name"] == "hand"
    for method, path, status in (("GET", "/move", 405), ("POST", "/health", 405),
                                 ("GET", "/", 404), ("GET", "/../bot.json", 404)):  # fmt: skip
        response = client.request(method, path)
        assert response.status_code == status
        assert "POST /move" in response.json()["error"]


def test_a_wrong_view_gets_422_and_the_field(
    client: Client, positions: list[Positions]
) -> None:
    view = next(view for view in views(positions) if view["turn"]["phase"] == "play")
    other_rules = view["rules"] | {"hero_of_labor": False}
    for key, value, field in (
        ("format", "x", "format"),
        ("hand", ["W99"], "hand"),
        ("hand_sizes", [9, 9, 9, 9], "hand_sizes[0]"),
        ("legal", ["pass"], "legal"),
        ("rules", view["rules"] | {"players": 9}, "rules.players"),
        ("rules", other_rules, "rules.hero_of_labor"),
        ("surprise", 1, "surprise"),
    ):
        response = client.post("/move", json=view | {key: value})
        assert response.status_code == 422
        assert response.json()["field"] == field
        assert response.json()["error"].startswith(f"{field}: ")


def test_another_seats_turn_gets_422(client: Client) -> None:
    table = GAME.table(1, [0])
    seat = (table.seat + 1) % 4
    view = make_view(table.knowledge(np.arange(1), seat.astype(np.int8)))
    response = client.post("/move", json=view)
    assert response.status_code == 422
    assert response.json()["field"] == "legal"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422), (b"{", 422), (b"\xff\xfe", 400), (b"null", 422), (b"[" * 60_000, 422),
        (b"1" * 60_000, 422), (b"x" * (MAX_BODY + 1), 413), (b'{"format": NaN}', 422),
    ],
    ids=range(8),
)  # fmt: skip
def test_a_body_that_is_no_view_gets_4xx(client: Client, body: bytes, status: int) -> None:
    response = client.post("/move", content=body)
    assert response.status_code == status
    assert set(response.json()) == {"error", "field"}
    assert len(response.text) < 500


def test_a_long_body_in_pieces_is_cut_off(client: Client) -> None:
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b"x" * 1024

    assert client.post("/move", content=pieces()).status_code == 413


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("temperature=hot", "temperature"), ("temperature=-1", "temperature"),
        ("temperature=nan", "temperature"), ("temperature=inf", "temperature"),
        ("seed=-1", "seed"), ("seed=99999999999", "seed"), ("seed=٣", "seed"),
        ("depth=3", "depth"),
    ],
)  # fmt: skip
def test_a_wrong_option_gets_400(client: Client, query: str, field: str) -> None:
    response = client.post(f"/move?{query}", json={})
    assert response.status_code == 400
    assert response.json()["field"] == field


def test_origins_are_opt_in(client: Client) -> None:
    asking = {"origin": "https://example.org"}
    assert "access-control-allow-origin" not in client.get("/health", headers=asking).headers
    open_client = Client(make_app(BOT, origins=("https://example.org",)))
    allowed = open_client.get("/health", headers=asking).headers
    assert allowed["access-control-allow-origin"] == "https://example.org"
    # What a browser asks before a page may post JSON.
    preflight = {
        **asking,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    assert open_client.request("OPTIONS", "/move", headers=preflight).status_code == 200
    stranger = {**preflight, "origin": "https://example.net"}
    assert open_client.request("OPTIONS", "/move", headers=stranger).status_code == 400


def test_a_bot_with_a_partner_is_refused() -> None:
    learned = {"phases": ["play"], "partner": "heuristic"}
    bot = BotFile(BOT.game, BOT.rules, BOT.observation, BOT.shape, BOT.weights, learned=learned)
    with pytest.raises(BundleError, match="heuristic"):
        make_app(bot)


NOISE = (
    b"\x00" * 100,
    b"GET / HTTP/9\r\n\r\n",
    b"POST /move HTTP/1.1\r\n" * 9000,
    b"POST /move HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\nx",
    b"POST /move HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\nx",
)


def test_the_command_survives_noise_and_stops_cleanly(
    tmp_path: Path, positions: list[Positions]
) -> None:
    save_bot(tmp_path / "bot", BOT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "kolkhoz_train", "serve", str(tmp_path / "bot")]
    with subprocess.Popen(
        [*command, "--port", str(port)], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as server:  # fmt: skip
        try:
            wait_for(port)
            for noise in NOISE:
                send(port, noise)
            for view in views(positions)[:20]:
                assert b" 200 " in ask(port, view)
        finally:
            server.send_signal(signal.SIGINT)
            said = server.communicate(timeout=60)[1]
    assert server.returncode in (0, 130)
    assert "Traceback" not in said


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not come up")


def send(port: int, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)
        except OSError:
            pass  # the server may close before it has read all of it


def ask(port: int, view: dict[str, Any]) -> bytes:
    body = json.dumps(view).encode()
    head = f"POST /move HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head + body)
        return connection.recv(1000)


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "foreman", "--port", str(port)]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"kolkhoz: --host 127.0.0.1 --port {port}: can't listen there:")
    assert line.count("\n") == 1


def test_answers_leave_at_once() -> None:
    """Without this option every answer over a socket waits 40 ms for an acknowledgement."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

"""`kolkhoz serve`: a bot behind HTTP, for front ends that prefer a server."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from kolkhoz_train.cli.common import natural_int

EXAMPLE = """examples:
  kolkhoz serve runs/quickstart --port 8000
  kolkhoz serve runs/quickstart --port 8000 --allow-origin https://example.org
"""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "serve",
        help="answer a seat's view with the bot's move over HTTP",
        description="POST /move takes a seat's view as JSON and returns move, probabilities and "
        "value (?temperature=1&seed=7 for a sample); GET /health and GET /manifest. Only programs "
        "of this machine can reach it unless --host says otherwise.",
        epilog=EXAMPLE,
    )
    parser.add_argument("bot", metavar="BOT", help="a bot or run folder, or a shipped bot's name")
    parser.add_argument(
        "--port",
        type=natural_int,
        default=8000,
        metavar="N",
        help="port to listen at (default: 8000; 0: one that is free)",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="URL",
        help="a web origin whose pages may ask (may be given several times)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from kolkhoz_env.errors import KolkhozError
    from kolkhoz_train.export.bundle import find_bot

    if args.port > 65535:
        raise KolkhozError(f"--port {args.port}: should be a whole number up to 65535")
    if not args.host.strip():
        raise KolkhozError("--host: should be an address or name of this machine; 0.0.0.0: any")
    for origin in args.allow_origin:
        if not re.fullmatch(r"\*|https?://[^/\s]+", origin):
            raise KolkhozError(f"--allow-origin {origin}: should look like https://example.org")
    bot = find_bot(args.bot)

    from kolkhoz_train.serve import listen, make_app, serve

    app = make_app(bot, args.bot, tuple(args.allow_origin))
    listener = listen(args.host, args.port)
    host = f"[{args.host}]" if ":" in args.host else args.host
    address = f"http://{host}:{listener.getsockname()[1]}"
    print(f"{args.bot} answers at {address}/move; stop with Ctrl-C", file=sys.stderr, flush=True)
    serve(app, listener)
    return 0

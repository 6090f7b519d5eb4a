"""ClickHouse's engine (chDB) behind the part of ClickHouse's HTTP interface that tardy uses.

POST /?query=STATEMENT with a body of rows, or POST / with the statement as the body. The user and the password are in the headers
X-ClickHouse-User and X-ClickHouse-Key. The engine is ClickHouse's; its HTTP server is not: nothing here says how fast that one is.
"""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from chdb.session import Session

# A connection of chDB runs one statement at a time.
ONE_AT_A_TIME = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("X-ClickHouse-User") != self.server.user or (
            self.headers.get("X-ClickHouse-Key") != self.server.password
        ):
            return self.answer(403, b"Code: 516. DB::Exception: Authentication failed", 516)
        statement = parse_qs(urlsplit(self.path).query).get("query", [""])[0]
        text = (statement + "\n" if statement else "") + body.decode()
        try:
            with ONE_AT_A_TIME:
                result = self.server.session.query(text).bytes()
        except Exception as error:  # Whatever the engine raises is its answer.
            code = re.search(r"Code: (\d+)", str(error))
            return self.answer(500, str(error).encode(), code.group(1) if code else 0)
        return self.answer(200, result or b"")

    def answer(self, status, body, code=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Requests are not logged."""


def serve(directory, user, password):
    """Starts the engine on files in `directory`. Returns the server, whose address has its port, and the engine's session."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.session, server.user, server.password = Session(str(directory)), user, password
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

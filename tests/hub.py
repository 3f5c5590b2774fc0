"""A stub of the hub of models on loopback: what its library asks for, for a few repositories that behave well or badly."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Answers for the repositories of `server.repositories`: name -> {file: bytes}, or a word for how it misbehaves."""

    def log_message(self, *_):
        pass

    def answer(self, status, content=b"", **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.partition("?")[0]
        length = int(self.headers.get("Content-Length") or 0)
        asked = self.rfile.read(length)
        self.server.asked.append(f"{self.command} {path}")
        parts = path.strip("/").split("/")
        of_api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if of_api else parts[:2])
        files = self.server.repositories.get(name)
        if isinstance(files, str) and files.startswith("moved "):
            return self.answer(307, Location=self.path.replace(name, files.removeprefix("moved ")))
        if files == "gated":
            return self.answer(
                403, {"error": f"Access to model {name} is restricted"}, X_Error_Code="GatedRepo",
                X_Error_Message=f"Access to model {name} is restricted.",
            )  # fmt: skip
        if files == "broken":
            return self.answer(200, b"<html>not the hub</html>", Content_Type="text/html")
        if files is None:
            return self.answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        if of_api and "tree" in parts:
            inner = "/".join(parts[6:])
            rows = [
                {"type": "file", "path": one, "size": self.server.sizes.get((name, one), len(content)), "oid": "a" * 40}
                for one, content in files.items()
            ]
            return self.answer(200, [] if inner else rows)
        if of_api and "paths-info" in parts:
            wanted = asked.decode()
            rows = [
                {"type": "file", "path": one, "size": self.server.sizes.get((name, one), len(content)), "oid": "a" * 40}
                for one, content in files.items()
                if one in wanted
            ]
            return self.answer(200, rows)
        if of_api:
            siblings = [{"rfilename": one} for one in files]
            return self.answer(
                200, {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}
            )
        file = "/".join(parts[4:])
        if file not in files:
            return self.answer(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
        content = files[file]
        headers = {
            "ETag": self.server.sizes.get((name, "ETag"), '"' + "b" * 40 + '"'),
            "X_Repo_Commit": COMMIT,
            "Accept_Ranges": "bytes",
        }
        span = self.headers.get("Range")
        if span and self.command == "GET":
            first, _, last = span.removeprefix("bytes=").partition("-")
            end = min(int(last) if last else len(content) - 1, len(content) - 1)
            part = content[int(first) : end + 1]
            return self.answer(206, part, Content_Range=f"bytes {first}-{end}/{len(content)}", **headers)
        return self.answer(200, content, **headers)

    do_HEAD = do_POST = do_GET  # noqa: N815 - names of the standard library


@contextmanager
def hub(repositories, sizes=()):
    """A running hub: its address, and what it was asked for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    server.repositories, server.sizes, server.asked = repositories, dict(sizes), []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

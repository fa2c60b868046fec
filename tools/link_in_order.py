#!/usr/bin/env python3
"""Links `mainpath` so that what a run calls lies together: `make dist` names this as its linker.

A run calls a tenth of the program's functions, scattered over all of it, and the kernel maps what lies around each: most of the program.
So it is linked, run with a breakpoint on each function (called.py), and linked again with those that were called in front, in the order of
their first calls. If that fails, it is linked in the compiler's order, and the reason is printed.

The order of first calls depends on threads, so two builds have two orders. The order is written beside the program as `mainpath.order`;
`MAINPATH_LINK_ORDER` names such a file to link in the same order again.
"""

import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from called import Program, Tracer

LINKER = os.environ.get("CC", "cc")
# The longest that all that is tried may take, in seconds.
LONGEST = 120


def served(text, pid):
    """What a browser and a program ask of a server: its pages, a run, its conversation. Then it is to end."""
    try:
        with os.fdopen(text, closefd=True) as lines:
            address = next(found[1] for line in lines if (found := re.search(r"listening on (http://\S+)", line)))
            token = pathlib.Path(os.environ["MAINPATH_HOME"], "server/token").read_text().strip()

            def ask(path, body=None):
                head = {"authorization": f"Bearer {token}", "content-type": "application/json", "prefer": "wait=20"}
                data = None if body is None else json.dumps(body).encode()
                with urllib.request.urlopen(urllib.request.Request(address + path, data, head), timeout=30) as answer:
                    return answer.read()

            ask("/ready"), ask("/ui/")
            run = json.loads(ask("/api/traces", {"task": "Look around.", "model": "scripted"}))["trace_id"]
            for path in ["", "/messages", "/events", "/tree", "/context"]:
                ask(f"/api/traces/{run}{path}")
            ask("/api/traces")
            os.kill(pid, signal.SIGTERM)
            lines.read()
    except Exception as problem:
        os.kill(pid, signal.SIGKILL)
        raise problem


class Model(http.server.BaseHTTPRequestHandler):
    """Answers as Chat Completions do: a call first, then a text."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.say("application/json", json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        delta, reason = {"content": "Done."}, "stop"
        if asked["messages"][-1]["role"] != "tool":
            function = {"name": "bash", "arguments": json.dumps({"command": "echo hello > a.txt; ls"})}
            delta, reason = {"tool_calls": [{"index": 0, "id": "1", "type": "function", "function": function}]}, "tool_calls"
        head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        pieces = [{"delta": {"role": "assistant", **delta}, "finish_reason": None}, {"delta": {}, "finish_reason": reason}]
        lines = [json.dumps({**head, "choices": [{"index": 0, **piece}]}) for piece in pieces]
        self.say("text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))

    def say(self, media, text):
        self.send_response(200)
        self.send_header("content-type", media)
        self.end_headers()
        self.wfile.write(text.encode())


def called(path):
    """The names of the functions that are called, in the order of their first calls."""
    program = Program(path)
    tracer = Tracer(program)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder, "work")
        work.mkdir()
        os.environ.update(HOME=folder, MAINPATH_HOME=f"{folder}/home")
        models = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=models.serve_forever, daemon=True).start()
        model = f"openai-compatible:http://127.0.0.1:{models.server_port}/v1#m"
        for arguments in (["demo"], ["run", "--yes", "--model", model, "Say hello."], ["ls"], ["show"]):
            if tracer.run(["mainpath", *arguments], work) != 0:
                raise OSError(f"mainpath {' '.join(arguments)} failed")
        read, write = os.pipe()
        server = ["mainpath", "serve", "--address", "127.0.0.1:0"]
        ask = lambda pid: threading.Thread(target=served, args=(read, pid), daemon=True).start()
        if tracer.run(server, work, write, ask) != 0:
            raise OSError("mainpath serve failed")
    return [name for address in tracer.seen for name in program.names[address]]


def late(*_):
    raise TimeoutError(f"it was not done in {LONGEST} seconds")


def main():
    arguments = sys.argv[1:]
    to = arguments[arguments.index("-o") + 1] if "-o" in arguments else None
    whole = [one for one in arguments if one not in ("-Wl,--strip-all", "-s")]
    given = os.environ.get("MAINPATH_LINK_ORDER")
    try:
        if not given:
            subprocess.run([LINKER, *whole], check=True)
        signal.signal(signal.SIGALRM, late)
        signal.alarm(LONGEST)
        names = pathlib.Path(given).read_text().split() if given else called(to)
        signal.alarm(0)
        # `to` is in `deps`, and the program in the folder above.
        pathlib.Path(to).parent.with_name("mainpath.order").write_text("\n".join(names) + "\n")
    except Exception as problem:
        print(f"linked without an order: {problem}", file=sys.stderr)
        return subprocess.run([LINKER, *arguments]).returncode
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as order:
        order.write("\n".join(names) + "\n")
        order.flush()
        ordered = [f"-Wl,--symbol-ordering-file={order.name}", "-Wl,--no-warn-symbol-ordering"]
        return subprocess.run([LINKER, *arguments, *ordered]).returncode


if __name__ == "__main__":
    sys.exit(main())

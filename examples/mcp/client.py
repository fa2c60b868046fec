#!/usr/bin/env python3
"""An MCP client that gives Mainpath a task and waits for the answer: client.py TASK [FLAGS of `mainpath mcp serve`]

Another system does the same with its own MCP client: the server is the command `mainpath mcp serve`. Standard library only.
"""

import json
import subprocess
import sys

task, flags = sys.argv[1], sys.argv[2:]
server = subprocess.Popen(["mainpath", "mcp", "serve", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
count = 0


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)


def ask(method, params):
    global count
    count += 1
    send({"id": count, "method": method, "params": params})
    while True:
        reply = json.loads(server.stdout.readline())
        if reply.get("id") == count:
            return reply["result"]


def call(tool, **arguments):
    result = ask("tools/call", {"name": tool, "arguments": arguments})
    if result.get("isError"):
        sys.exit(result["content"][0]["text"])
    return result["structuredContent"]


ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "example", "version": "1"}})
send({"method": "notifications/initialized"})
trace = call("run_start", task=task)["trace"]
result = call("run_result", trace=trace, wait_s=60)
while result["status"] == "waiting":
    for waiting in call("run_status", trace=trace)["waiting"]:
        print(json.dumps(waiting, indent=1, ensure_ascii=False))
        decision = input("approve or deny? ")
        call("run_answer", trace=trace, call=waiting["call"], decision=decision)
    result = call("run_result", trace=trace, wait_s=60)
print(json.dumps(result, indent=1, ensure_ascii=False))
server.stdin.close()
server.wait()

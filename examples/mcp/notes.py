#!/usr/bin/env python3
"""A small MCP server on standard input and output, with the standard library only: notes in memory.

It offers `add` (acts) and `list` (only reads, and says so).
"""

import json
import sys

NOTES = []
TOOLS = [
    {
        "name": "add",
        "description": "Adds a note.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {
        "name": "list",
        "description": "Lists all notes.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
]


def call(name, arguments):
    if name == "add":
        NOTES.append(arguments["text"])
    return {"content": [{"type": "text", "text": json.dumps(NOTES)}]}


def answer(method, params):
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        info = {"name": "notes", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)

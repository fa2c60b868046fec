#!/usr/bin/env python3
"""A hook for before_tool: denies deployments on Fridays after 15:00, and adds --dry-run to rsync. Reads one JSON object, writes one (or nothing).

    [[hooks]]
    name = "guard"
    on = ["before_tool"]
    tools = ["bash"]
    command = ["python3", "/path/to/guard.py"]
"""

import datetime
import json
import sys

event = json.load(sys.stdin)
command = event["arguments"].get("command", "")
now = datetime.datetime.now()
if "deploy" in command and now.weekday() == 4 and now.hour >= 15:
    print(json.dumps({"decision": "deny", "reason": "Nothing is deployed on Friday afternoons."}))
elif command.startswith("rsync ") and "--dry-run" not in command:
    changed = dict(event["arguments"], command=command.replace("rsync ", "rsync --dry-run ", 1))
    print(json.dumps({"arguments": changed}))

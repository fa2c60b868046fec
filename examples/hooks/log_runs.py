#!/usr/bin/env python3
"""A hook for run_end: appends one line for each run to the file that is its argument.

    [[hooks]]
    name = "log"
    on = ["run_end"]
    command = ["python3", "/path/to/log_runs.py", "/path/to/runs.log"]
"""

import json
import sys

event = json.load(sys.stdin)
data = event["data"]
with open(sys.argv[1], "a", encoding="utf-8") as log:
    print(event["trace_id"], data["reason"], data["turns"], "turns", data["calls"], "calls", file=log)

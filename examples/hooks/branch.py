#!/usr/bin/env python3
"""A context hook: tells the model the branch and how many files are changed, with each reminder.

    [[context_hooks]]
    name = "branch"
    command = ["python3", "/path/to/branch.py"]
"""

import json
import subprocess
import sys

folder = json.load(sys.stdin)["workspace"]


def git(*args):
    return subprocess.run(["git", "-C", folder, *args], capture_output=True, text=True).stdout.strip()


print(f"Branch {git('branch', '--show-current') or 'unknown'}, {len(git('status', '--porcelain').splitlines())} files changed.")

"""What skills-ref says of skill folders: their paths on standard input, one JSON string a line; the answers on standard output, one a line."""

import json
import sys
from pathlib import Path

from skills_ref.parser import find_skill_md, parse_frontmatter
from skills_ref.validator import validate


def fields(folder):
    """What it reads from a valid skill."""
    text = find_skill_md(folder).read_text(encoding="utf-8")
    found = parse_frontmatter(text)[0]
    return {key: found[key] for key in ("name", "description", "compatibility") if isinstance(found.get(key), str)}


for line in sys.stdin:
    folder = Path(json.loads(line))
    try:
        problems = validate(folder)
    except Exception as error:  # It has no answer for some mistakes, and stops; such a skill is not valid.
        problems = [f"{type(error).__name__}: {error}"]
    answer = {"problems": problems, "fields": {} if problems else fields(folder)}
    print(json.dumps(answer), flush=True)

#!/usr/bin/env python3
"""Verifies a trace of Mainpath without Mainpath, by docs/log-format.md: verify_log.py DATA/traces/TRACE

Checks the log's chain and contents, erasures, the end noted in owner.lock, blobs, and the mailbox. Exit code 0 if all is well, 1 if not.
The forms of `data` are not checked beyond being JSON.
"""

import base64, hashlib, json, pathlib, re, sys

HASH, NUMBER = rb"[A-Za-z0-9_-]{43}", rb"(?:0|[1-9][0-9]*)"
TIME = rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
HEAD = re.compile(
    rb'(\{"v":1,"id":(%(n)s),"ts":"%(t)s","turn":%(n)s,"type":"([a-z_]+)"(?:,"mail":(%(n)s))?,"prev":"(%(h)s)","commit":"(%(h)s)")'
    % {b"n": NUMBER, b"t": TIME, b"h": HASH}
)
BODY = re.compile(rb',"salt":"([A-Za-z0-9_-]{22})","data":(\{.*\})\}', re.DOTALL)

ENTRY = re.compile(
    rb'(\{"id":(%(n)s),"at":%(n)s,"from":"[A-Za-z0-9._@-]+","urgent":(?:true|false),)(?:"sum":"(%(h)s)",)?("body":.*\})'
    % {b"n": NUMBER, b"h": HASH},
    re.DOTALL,
)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def unb64(text):
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))


def sha(data):
    return b64(hashlib.sha256(data).digest())


def blobs(value, inside=False):
    """The hashes in `parts`, `output` and `changes`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if inside and key == "hash":
                yield inner
            yield from blobs(inner, inside or key in ("parts", "output", "changes"))
    elif isinstance(value, list):
        for inner in value:
            yield from blobs(inner, inside)


def read_log(log, trace, tenant=b"local"):
    """The events, the heads' hashes with the genesis value first, and the first fault."""
    events, hashes = [], [sha(b"mainpath/1\0" + tenant + b"\0" + trace)]
    lines = log.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        head = HEAD.match(line)
        newer = re.match(rb'\{"v":([1-9][0-9]*),', line)
        if not head:
            is_newer = newer and int(newer[1]) > 1
            return events, hashes, f"line {number}: " + ("written by a newer version" if is_newer else "no valid head")
        text, id, name, mail, prev, commit = head.groups()
        if int(id) != number or prev != hashes[-1]:
            return events, hashes, f"line {number}: the chain is broken"
        data = None
        if line[head.end():] != b',"erased":true}':
            body = BODY.fullmatch(line, head.end())
            if not body or b64(unb64(body[1])) != body[1] or sha(unb64(body[1]) + body[2]) != commit:
                return events, hashes, f"line {number}: the content is not what its commit says"
            data = json.loads(body[2])
        events.append((name.decode(), mail and int(mail), data))
        hashes.append(sha(text))
    # A mark needs an `erased` event that names it.
    told = {(left["event"], left["kind"]["type"]) for name, _, data in events if name == "erased" for left in data["left"]}
    for number, (name, _, data) in enumerate(events, 1):
        if data is None and (number, name) not in told:
            return events[: number - 1], hashes[:number], f"line {number}: erased, and no event records it"
    return events, hashes, f"{len(lines[-1])} bytes of a torn last line (no damage)" if lines[-1] else None


def read_mailbox(path, events):
    """The faults of the mailbox."""
    erased = {mail for _, mail, data in events if mail and data is None}
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(lines, 1):
        body = re.match(rb"(.*[^ }]) +\}$", line, re.DOTALL)
        line = body[1] + b"}" if body else line
        entry = ENTRY.fullmatch(line)
        if not entry or int(entry[2]) != number or entry[3] and sha(entry[1] + entry[4]) != entry[3]:
            yield f"mailbox line {number}: changed, or out of order"
        if line.endswith(b'"body":0}') and number not in erased:
            yield f"mailbox line {number}: erased, and no event records it"
    last = max((mail or 0 for _, mail, _ in events), default=0)
    if last > len(lines):
        yield f"the mailbox ends with entry {len(lines)}, but the log has read entry {last}"


def main(folder):
    events, hashes, fault = read_log((folder / "events.jsonl").read_bytes(), folder.name.encode())
    faults = [fault] if fault and "no damage" not in fault else []
    print(f"{len(events)} events, head {hashes[-1].decode()}" + (f"; {fault}" if fault and not faults else ""))
    try:
        owner = json.loads((folder / "owner.lock").read_bytes())
    except (OSError, ValueError):
        owner = {}  # It proves something only if it is there.
    if not faults and owner.get("head", 0) > len(events):
        faults.append(f"lines are missing at the end: owner.lock says {owner['head']} events")
    if not faults and owner.get("hash") and owner["head"] == len(events) and owner["hash"].encode() != hashes[-1]:
        faults.append("the head is not what owner.lock says")
    for hash in sorted({hash for _, _, data in events for hash in blobs(data)}):
        blob = folder.parent.parent / "blobs" / hash[:2] / hash
        if not blob.exists() or hashlib.sha256(blob.read_bytes()).hexdigest() != hash:
            faults.append(f"blob {hash} is missing or changed")
    faults.extend(read_mailbox(folder / "mailbox.jsonl", events))
    print("\n".join(faults) if faults else "the chain verifies")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))

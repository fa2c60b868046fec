#!/usr/bin/env python3
"""Verifies a trace of Mainpath without Mainpath, by docs/log-format.md.

    verify.py DATA/traces/TRACE                                     the log, and what it names
    verify.py --signed --key PUBLIC [--witness FILE] DATA/traces/TRACE   and its signed heads

Checks the log's chain and contents, erasures, the end noted in owner.lock, blobs, and the mailbox; with --signed also who signed which
head. PUBLIC is a public key of ed25519, its 43 characters or a PEM file; --key may be repeated. Exit code 0 if all is well, 1 if not, 2 if
it was called wrongly. The forms of `data` are not checked beyond being JSON. It needs Python 3.8 or newer and nothing else.
"""

import argparse, base64, binascii, datetime, hashlib, json, pathlib, re, sys

HASH, NUMBER = rb"[A-Za-z0-9_-]{43}", rb"(?:0|[1-9][0-9]*)"
TIME = rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
HEAD = re.compile(
    rb'(\{"v":1,"id":(%(n)s),"ts":"(%(t)s)","turn":(%(n)s),"type":"([a-z_]+)"(?:,"mail":(%(n)s))?,"prev":"(%(h)s)","commit":"(%(h)s)")'
    % {b"n": NUMBER, b"t": TIME, b"h": HASH}
)
BODY = re.compile(rb',"salt":"([A-Za-z0-9_-]{22})","data":(\{.*\})\}', re.DOTALL)

TYPES = set(
    b"""
    action_started approval_granted branch_closed branch_opened call_cancelling call_delayed call_due call_probing call_reopened
    call_resolved call_retried calls_recalled clear_requested compacted compaction_requested context_cut continue_requested data
    erased files_kept files_restored forked goals_changed injected late_result mail_refused message_imported message_joined
    message_queued message_received model_abandoned model_failed model_finished model_malformed model_requested omitted question_sent
    resource_loaded retry_due rewind_requested rewound run_closing run_finished run_started session_cleared skill_selected
    spec_changed sub_trace_completed sub_trace_started tail_cut trace_named turn_finished type
    """.split()
)

ENTRY = re.compile(
    rb'(\{"id":(%(n)s),"at":%(n)s,"from":"[A-Za-z0-9._@-]+","urgent":(?:true|false),(?:"once":\{"key":%(s)s,"asked":%(s)s\},)?)'
    rb'(?:"sum":"(%(h)s)",)?("body":.*\})' % {b"n": NUMBER, b"h": HASH, b"s": rb'"(?:[^"\\]|\\.)*"'},
    re.DOTALL,
)

SIGNED = re.compile(
    rb'(\{"v":1,"tenant":"([A-Za-z0-9._@-]+)","trace":"([A-Za-z0-9._@-]+)","event":(%(n)s),"head":"(%(h)s)","at":"(%(t)s)","key":"(%(h)s)")'
    rb',"signature":"([A-Za-z0-9_-]{86})"\}' % {b"n": NUMBER, b"t": TIME, b"h": HASH}
)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def unb64(text):
    """The bytes of base64url without padding; None for another spelling than the one that there is."""
    data = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    return data if b64(data) == text else None


def sha(data):
    return b64(hashlib.sha256(data).digest())


def is_time(text):
    try:
        return datetime.datetime.strptime(text.decode(), "%Y-%m-%dT%H:%M:%S.%fZ").year >= 1970
    except ValueError:
        return False


def blobs(value, inside=False):
    """The hashes in `parts`, `output` and `changes`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if inside and key == "hash" and isinstance(inner, str):
                yield inner
            yield from blobs(inner, inside or key in ("parts", "output", "changes"))
    elif isinstance(value, list):
        for inner in value:
            yield from blobs(inner, inside)


def content(line, at, commit):
    """The content of a line whose head ends at `at`; None if it is not what the head commits to."""
    body = BODY.fullmatch(line, at)
    salt = body and unb64(body[1])
    if not salt or sha(salt + body[2]) != commit:
        return None
    try:
        return json.loads(body[2])
    except (ValueError, RecursionError):
        return None


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
        text, id, time, turn, name, mail, prev, commit = head.groups()
        if int(turn) >= 1 << 32 or int(mail or 0) >= 1 << 64 or not is_time(time) or unb64(commit) is None or name not in TYPES:
            return events, hashes, f"line {number}: no valid head"
        if int(id) != number or prev != hashes[-1]:
            return events, hashes, f"line {number}: the chain is broken"
        data = None
        if line[head.end():] != b',"erased":true}':
            data = content(line, head.end(), commit)
            if data is None:
                return events, hashes, f"line {number}: the content is not what its commit says"
        events.append((name.decode(), mail and int(mail), data))
        hashes.append(sha(text))
    # A mark needs an `erased` event that names it.
    told = {(left["event"], left["kind"]["type"]) for name, _, data in events if name == "erased" and data for left in data["left"]}
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


# Ed25519, by RFC 8032, section 5.1. It only verifies, so nothing here is secret and its time tells nobody anything.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def point(data):
    """A point from its 32 bytes, as (X, Y, Z, T); None if it is none."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    if x * x % P != square or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(n, p):
    q = (0, 1, 1, 0)
    while n:
        if n & 1:
            q = add(q, p)
        p, n = add(p, p), n >> 1
    return q


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def has_signed(key, message, signature):
    public, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if public is None or r is None or s >= L:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = times(s, BASE), add(r, times(challenge, public))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def public_key(text):
    """The 43 characters of a key that was given as these, or as a file with them or with PEM."""
    if pathlib.Path(text).is_file():
        text = pathlib.Path(text).read_text()
    pem = re.fullmatch(r"\s*-----BEGIN PUBLIC KEY-----(.*)-----END PUBLIC KEY-----\s*", text, re.DOTALL)
    try:
        if pem:
            der = base64.b64decode("".join(pem[1].split()))
            if len(der) != 44 or not der.startswith(bytes.fromhex("302a300506032b6570032100")):
                raise ValueError
            return b64(der[12:])
        key = text.strip().encode()
        if len(unb64(key) or b"") != 32:
            raise ValueError
        return key
    except (ValueError, binascii.Error):
        sys.exit(f"{text.strip()[:100]!r} is no public key of ed25519")


def fault_of(line, trace, hashes, keys):
    """The event of a signed head, and what is wrong with it; the hash at `hashes[N]` is that of event N."""
    said = SIGNED.fullmatch(line)
    key, signature = (unb64(said[7]), unb64(said[8])) if said else (None, None)
    if not said or key is None or signature is None:
        return 0, "it is no signed head"
    event = int(said[4])
    if (said[2], said[3]) != (b"local", trace):
        return event, "it is about another trace"
    if not has_signed(key, b"mainpath/head/1\0" + said[1], signature):
        return event, "the signature is not of its key: forged, or changed"
    if said[7] not in keys:
        return event, f"by the key {said[7].decode()}, which is not trusted"
    if event >= len(hashes) or event == 0:
        return event, f"the log ends with event {len(hashes) - 1}: its end was removed"
    if hashes[event] != said[5]:
        return event, "the log was rewritten"
    return event, None


def read_signed(folder, hashes, keys, witness):
    """Up to which event the log is as it was signed, and the faults of the signed heads."""
    path, trace, proven, faults = folder / "signatures.jsonl", folder.name.encode(), 0, []
    # What a crash left after the last line feed was never acknowledged.
    own = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(own, 1):
        event, fault = fault_of(line, trace, hashes, keys)
        proven = proven if fault else max(proven, event)
        faults += [f"signatures.jsonl, line {number} (event {event}): {fault}"] if fault else []
    for number, line in enumerate(witness, 1):
        said = SIGNED.fullmatch(line)
        if not line or said and (said[2], said[3]) != (b"local", trace) or line in own:
            continue
        event, fault = fault_of(line, trace, hashes, keys)
        proven = max(proven, event) if said and not fault else proven
        fault = fault or "signatures.jsonl does not have it: signatures were removed"
        faults.append(f"witness, line {number} (event {event}): {fault}")
    if not own and not faults:
        faults.append("no head of it is signed")
    return proven, faults


def main():
    asked = argparse.ArgumentParser(description="Verifies a trace of Mainpath without Mainpath.")
    asked.add_argument("folder", type=lambda text: pathlib.Path(text).resolve())
    asked.add_argument("--signed", action="store_true")
    asked.add_argument("--key", action="append", default=[])
    asked.add_argument("--witness", type=pathlib.Path)
    args = asked.parse_args()
    if args.signed and not args.key:
        asked.error("--signed needs a --key")
    folder = args.folder
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
        if not re.fullmatch("[0-9a-f]{64}", hash) or not blob.is_file() or hashlib.sha256(blob.read_bytes()).hexdigest() != hash:
            faults.append(f"blob {hash} is missing or changed")
    faults.extend(read_mailbox(folder / "mailbox.jsonl", events))
    print("\n".join(faults) if faults else "the chain verifies")
    if args.signed:
        witness = args.witness.read_bytes().split(b"\n") if args.witness else []
        proven, unproven = read_signed(folder, hashes, {public_key(key) for key in args.key}, witness)
        print("\n".join([f"as signed up to event {proven}"] + [f"not proven: {fault}" for fault in unproven]))
        faults += unproven
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

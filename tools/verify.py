#!/usr/bin/env python3
"""Verifies a trace of Mainpath without Mainpath, by docs/log-format.md.

    verify.py DATA/traces/TRACE                                     the log, and what it names
    verify.py --signed --key PUBLIC [--witness FILE] DATA/traces/TRACE   and its signed heads

Checks the log's chain and contents, erasures, the end noted in owner.lock, blobs, and the mailbox; with --signed also who signed which
head. PUBLIC is a public key of ed25519: its 43 characters, its PEM, or a file with one of them; --key may be repeated. Exit code 0 if all
is well, 1 if not, 2 if it was called wrongly: a folder, key or witness that is not there. The forms of `data` are not checked beyond being
JSON, but for erasures. It needs Python 3.8 or newer and nothing else.
"""

import argparse, base64, binascii, datetime, hashlib, json, os, pathlib, re, stat, sys

HASH, NUMBER = rb"[A-Za-z0-9_-]{43}", rb"(?:0|[1-9][0-9]{0,19})"
TIME = rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
HEAD = re.compile(
    rb'(\{"v":1,"id":(%(n)s),"ts":"(%(t)s)","turn":(%(n)s),"type":"([a-z_]+)"(?:,"mail":(%(n)s))?,"prev":"(%(h)s)","commit":"(%(h)s)")'
    % {b"n": NUMBER, b"t": TIME, b"h": HASH}
)
BODY = re.compile(rb',"salt":"([A-Za-z0-9_-]{22})","data":(\{.*\})\}', re.DOTALL)

TYPES = set(
    b"""
    action_started approval_granted branch_closed branch_opened call_cancelling call_delayed call_due call_probing call_reopened
    call_resolved call_retried calls_recalled clear_requested compacted compaction_requested context_cut continue_requested
    erased files_kept files_restored forked goals_changed injected late_result mail_refused message_imported message_joined
    message_queued message_received model_abandoned model_failed model_finished model_malformed model_requested omitted question_sent
    resource_loaded retry_due rewind_requested rewound run_closing run_finished run_started session_cleared skill_selected
    spec_changed sub_trace_completed sub_trace_started tail_cut trace_named turn_finished
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


def plain(text):
    """A text that steers no terminal: what a log says is shown as it is, and nothing of it hides."""
    return "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)


def read(path):
    """The bytes of a file. It is an OSError if it is none: a pipe would keep us waiting, a device never ends."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path} is not a file")
    with os.fdopen(fd, "rb") as file:
        return file.read()


def read_if_there(path):
    """The bytes of a file; None if there is none."""
    try:
        return read(path)
    except FileNotFoundError:
        return None


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


class Object(dict):
    """An object, which knows the names of its members as they were written."""

    def __init__(self, members):
        super().__init__(members)
        self.names = [name for name, _ in members]


def is_deep(value):
    """Whether more than 127 objects and arrays are in one another."""
    level = [value]
    for _ in range(127):
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [inner for values in inside for inner in values]
    return any(isinstance(one, (dict, list)) for one in level)


def parse(text):
    """JSON as the format has it: no NaN, no half of a character, at most 127 levels. Raises ValueError if it is not."""
    try:
        value = json.loads(text.decode(), parse_constant=no_constant, object_pairs_hook=Object)
        if text.count(b"{") + text.count(b"[") > 127 and is_deep(value):
            raise ValueError("it is too deep")
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError:
        raise ValueError("it is too deep") from None


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
        return parse(body[2])
    except ValueError:
        return None


# What an erasure leaves of an event is its content without words. These are the members that have words, by type, and what may stand in them.
def is_blank(value):
    return value in (None, "", ERASED)


def is_said(value):
    return value is None or isinstance(value, str) and (not value.strip() or value == ERASED)


def is_stand_in(value):
    """What stands for a text of the plan: the same text has the same number everywhere."""
    if not isinstance(value, str):
        return value is None
    number = re.fullmatch(r"\(erased\) ((?:0|[1-9][0-9]{0,18}))|\+?([0-9]{1,10})", value if value.startswith(ERASED) else value.strip(), re.ASCII)
    return is_said(value) or bool(number) and int(number[2] or 0) < 1 << 32


def is_absent(value):
    return not value and value != 0 and value is not False


def is_none(value):
    return value is None


def is_no_text(value):
    return value in (None, "")


def is_empty_call(value):
    return value in (None, "{}")


def is_any_schema(value):
    return value is None or value is True


def are_wordless(parts):
    """One text in the place of all that is said, then the calls, without arguments."""
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return parts is None
    calls = parts[1:] if parts[:1] == [{"type": "text", "text": ERASED}] else parts
    return all(part.get("type") == "tool_call" and part.get("arguments") == "{}" and part.get("signature") is None for part in calls)


def are_wordless_with_results(parts):
    """The same of an imported message, whose results come after what is said."""
    if not isinstance(parts, list):
        return parts is None
    results = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
    said = parts[: len(parts) - len(results)]
    return said + results == parts and are_wordless(said) and all(are_wordless(part.get("content")) for part in results)


def are_wordless_changes(ops):
    """Changes of the plan."""
    rules = {
        "set": {"steps[].id": is_stand_in, "steps[].title": is_stand_in, "steps[].under": is_stand_in},
        "add": {"description": is_stand_in, "reason": is_no_text},
        "patch": {"description": is_stand_in, "reason": is_no_text},
        "pin": {"text": is_stand_in},
        "done": {"summary": is_said},
        "terms": {"mission": is_said, "assumptions[]": is_said, "constraints[]": is_said},
    }
    rules.update(update=rules["set"], abandon=rules["done"], focus={}, unpin={})
    if not isinstance(ops, list):
        return ops is None
    return all(isinstance(op, dict) and fits(op, rules.get(op.get("op"), {"op": is_none})) for op in ops)


def is_wordless_context(context):
    if not isinstance(context, dict):
        return context is None
    for name, value in context.items():
        if name in ("reconstructed", "openai") and isinstance(value, dict):
            if value.get("instructions") not in (None, ERASED):
                return False
        elif value != ERASED:
            return False
    return True


ERASED = "(erased)"
JUDGED = {"verdict.reason": is_blank, "places": is_absent, "asking.default": is_blank, "arguments": is_empty_call}
PLANNED = dict(JUDGED, problem=is_blank, answer=is_blank, offer=is_none, **{"destinations[].value": is_blank})
OUTPUT = {"content": are_wordless, "title": is_blank, "long_term_memory": is_blank}
OUTPUT.update(artifacts=is_absent, changes=is_absent, notices=is_absent)
GOAL = {"description": is_blank, "reason": is_no_text, "summary": is_blank, "step": is_blank}


def below(place, rules):
    return {f"{place}.{name}": rule for name, rule in rules.items()}


WORDS = {
    "spec_changed": below(
        "spec",
        {
            "instructions": is_blank, "own_instructions": is_blank, "system_prompt": is_blank, "preset.instructions": is_blank,
            "name": is_blank, "instruction_parts": is_absent, "output_schema": is_any_schema, "relations.agent_type": is_blank,
            "relations.context": is_wordless_context,
        },
    ),
    "message_queued": {"parts": are_wordless, "demanded": is_absent, "typed": is_none},
    "rewind_requested": {"parts": are_wordless, "demanded": is_absent},
    "message_received": {"text": is_blank, "conversation": is_blank},
    "message_imported": {"parts": are_wordless_with_results, "demanded": is_absent},
    "skill_selected": {"parts": are_wordless, "reason": is_blank},
    "resource_loaded": {"path": is_blank, "section": is_blank},
    "run_closing": {"why": is_blank},
    "model_finished": dict(below("calls[]", PLANNED), parts=are_wordless, goals=are_wordless_changes, sent=is_none),
    "model_malformed": {"parts": are_wordless, "problem": is_blank, "sent": is_none},
    "model_failed": {"error.message": is_blank},
    "approval_granted": JUDGED,
    "question_sent": {"problem": is_blank},
    "call_retried": below("output", OUTPUT),
    "late_result": below("output", OUTPUT),
    "call_resolved": dict(below("output", OUTPUT), reason=is_blank),
    "rewound": below("goal_tree_snapshot[]", GOAL),
    "session_cleared": below("goal_tree_snapshot[]", GOAL),
    "files_restored": {"changes": is_absent},
    "files_kept": {"changes": is_absent},
    "goals_changed": {"ops": are_wordless_changes},
    "mail_refused": {"problem": is_blank},
    "compaction_requested": {"hint": is_blank},
    "compacted": {"text": is_blank, "floor.text": is_blank, "note.text": is_blank},
    "context_cut": {"note.text": is_blank},
    "trace_named": {"name": is_blank},
    "branch_opened": {"plan.text": is_blank},
    "injected": {"text": is_blank, "hooks[].text": is_blank, "hooks[].problem": is_blank},
    "sub_trace_started": {"task": is_blank},
    "sub_trace_completed": {"answer": is_blank, "problem": is_blank, "files": is_absent, "patch": is_none},
    "erased": {"left": is_absent},
}


def found(value, place):
    """What stands at a place such as `calls[].verdict.reason`."""
    values = [value]
    for name in place.split("."):
        many, name = name.endswith("[]"), name.replace("[]", "")
        values = [value.get(name) for value in values if isinstance(value, dict)]
        values = [inner for value in values if isinstance(value, list) for inner in value] if many else values
    return values


def fits(data, rules):
    return all(rule(value) for place, rule in rules.items() for value in found(data, place))


def is_erasure(data):
    """Whether this is the content of an `erased` event."""
    left = data.get("left") if isinstance(data, dict) else None
    return isinstance(left, list) and all(
        isinstance(one, dict)
        and type(one.get("event")) is int
        and isinstance(one.get("kind"), dict)
        and isinstance(one["kind"].get("type"), str)
        and isinstance(one["kind"].get("data"), dict)
        and (one["kind"]["type"] != "erased" or is_erasure(one["kind"]["data"]))
        for one in left
    )


def told_of(events):
    """Of each erased event, by number and type, the last later `erased` event that names it, and whether what it leaves has words."""
    told = {}
    for number, (name, _, data) in enumerate(events, 1):
        for left in data["left"] if name == "erased" and data is not None else []:
            event, kind = left["event"], left["kind"]
            if event < number and not (kind["type"] == "erased" and kind["data"]["left"]):
                is_wordless = kind["type"] in WORDS and fits(kind["data"], WORDS[kind["type"]])
                told[event, kind["type"]] = (number, not is_wordless)
    return told

def read_log(log, trace, tenant=b"local"):
    """The events, the heads' hashes with the genesis value first, and the first fault."""
    events, hashes = [], [sha(b"mainpath/1\0" + tenant + b"\0" + trace)]
    lines = log.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        head = HEAD.match(line)
        newer = re.match(rb'\{"v":([1-9][0-9]{0,19}),', line)
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
            if name == b"erased" and not is_erasure(data):
                return events, hashes, f"line {number}: the content is not that of an erasure"
        events.append((name.decode(), mail and int(mail), data))
        hashes.append(sha(text))
    # A mark needs a later `erased` event that names it.
    told = told_of(events)
    for number, (name, _, data) in enumerate(events, 1):
        if data is None and (number, name) not in told:
            return events[: number - 1], hashes[:number], f"line {number}: erased, and no later event records it"
    return events, hashes, f"{len(lines[-1])} bytes of a torn last line (no damage)" if lines[-1] else None


def is_json(text):
    try:
        parse(text)
        return True
    except ValueError:
        return False


def read_mailbox(path, events):
    """The faults of the mailbox."""
    erased = {mail for _, mail, data in events if mail and data is None}
    lines = (read_if_there(path) or b"").split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        body = re.match(rb"(.*[^ }]) +\}$", line, re.DOTALL)
        line = body[1] + b"}" if body else line
        entry = ENTRY.fullmatch(line)
        if not entry or int(entry[2]) != number or entry[3] and sha(entry[1] + entry[4]) != entry[3] or not is_json(line):
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


def wrong_call(problem):
    print(plain(problem), file=sys.stderr)
    sys.exit(2)


def public_key(given):
    """The 43 characters of a key that was given as these, as PEM, or as a file with one of them."""
    text = given
    try:
        if "\n" not in given and os.path.isfile(given):
            text = read(given).decode()
    except (OSError, ValueError):
        pass
    pem = re.fullmatch(r"\s*-----BEGIN PUBLIC KEY-----(.*)-----END PUBLIC KEY-----\s*", text, re.DOTALL)
    try:
        if pem:
            der = base64.b64decode("".join(pem[1].split()))
            if len(der) != 44 or not der.startswith(bytes.fromhex("302a300506032b6570032100")):
                raise ValueError
            return b64(der[12:])
        key = text.strip().encode()
        if not re.fullmatch(HASH, key) or len(unb64(key) or b"") != 32:
            raise ValueError
        return key
    except (ValueError, binascii.Error):
        wrong_call(f"{given.strip()[:100]!r} is no public key of ed25519")


def fault_of(line, trace, hashes, keys):
    """The event of a signed head, and what is wrong with it; the hash at `hashes[N]` is that of event N."""
    said = SIGNED.fullmatch(line)
    key, signature = (unb64(said[7]), unb64(said[8])) if said else (None, None)
    if not said or not is_time(said[6]) or key is None or signature is None:
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


def without_pieces(line):
    """A line of a witness without the pieces of lines before it that crashes left: each begins with a brace and ends before the next. Empty
    if it is nothing else."""
    last = line.rfind(b"{")
    pieces, rest = line[:last], line[last:]
    if last < 0 or pieces and (not pieces.startswith(b"{") or b"}" in pieces):
        return line
    return rest if b"}" in rest else b""


def read_signed(folder, hashes, keys, witness):
    """Up to which event the log is as it was signed, and the faults of the signed heads."""
    path, trace, proven, faults = folder / "signatures.jsonl", folder.name.encode(), 0, []
    # What a crash left after the last line feed was never acknowledged.
    own = (read_if_there(path) or b"").split(b"\n")[:-1]
    for number, line in enumerate(own, 1):
        event, fault = fault_of(line, trace, hashes, keys)
        proven = proven if fault else max(proven, event)
        faults += [f"signatures.jsonl, line {number} (event {event}): {fault}"] if fault else []
    for number, line in enumerate(map(without_pieces, witness.split(b"\n")[:-1]), 1):
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


def read_owner(path):
    """What owner.lock says of the end of the log; nothing if it does not have the form of one: it proves something only if it is there."""
    try:
        owner = parse(read(path)[:256])
    except (OSError, ValueError):
        return 0, ""
    if not isinstance(owner, dict) or any(owner.names.count(name) > 1 for name in ("head", "hash", "epoch", "pid", "placed")):
        return 0, ""
    numbers = [owner.get(name, 0) for name in ("head", "epoch", "pid")]
    are_numbers = all(type(number) is int and 0 <= number < 1 << 64 for number in numbers) and numbers[2] < 1 << 32
    is_right = are_numbers and type(owner.get("hash", "")) is str and type(owner.get("placed", False)) is bool
    return (owner.get("head", 0), owner.get("hash", "")) if is_right else (0, "")


def how_many(count, what):
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def told_erased(erased, proven, told):
    """What is to be said of the erased events up to one that is proven, and what is wrong with them."""
    signed = [(number, *told[number, name]) for number, name in erased if number <= proven]
    newer = sorted({by for _, by, _ in signed if by > proven})
    said = [f"{how_many(len(signed), 'signed event')} erased: that they were there is proven, what they said is gone"] if signed else []
    if newer:
        said[0] += f"; what stands in their places is from {', '.join(f'event {by}' for by in newer)}, not signed"
    faults = [
        f"event {number}: it was erased since, and event {by}, which is not signed, puts words in its place: they may not be what it said"
        for number, by, reworded in signed
        if reworded and by > proven
    ]
    return said, faults


def main():
    arguments = sys.argv[1:]
    for at in range(len(arguments) - 1, 0, -1):
        # A key may begin with a hyphen, and so does PEM.
        if arguments[at - 1] == "--key":
            arguments[at - 1 : at + 1] = ["--key=" + arguments[at]]
    asked = argparse.ArgumentParser(description="Verifies a trace of Mainpath without Mainpath.")
    asked.add_argument("folder", type=lambda text: pathlib.Path(text).resolve())
    asked.add_argument("--signed", action="store_true")
    asked.add_argument("--key", action="append", default=[])
    asked.add_argument("--witness", type=pathlib.Path)
    args = asked.parse_args(arguments)
    if args.signed and not args.key:
        asked.error("--signed needs a --key")
    folder, keys, witness = args.folder, {public_key(key) for key in args.key}, b""
    try:
        witness = read(args.witness) if args.witness else b""
        log = read_if_there(folder / "events.jsonl")
    except OSError as error:
        wrong_call(f"cannot be read: {error}")
    if log is None:
        wrong_call(f"{folder} has no events.jsonl: it is the folder of no trace")
    events, hashes, fault = read_log(log, folder.name.encode())
    faults = [fault] if fault and "no damage" not in fault else []
    print(f"{len(events)} events, head {hashes[-1].decode()}" + (f"; {fault}" if fault and not faults else ""))
    told = told_of(events)
    erased = [(number, name) for number, (name, _, data) in enumerate(events, 1) if data is None and (number, name) in told]
    if erased:
        print("1 event was erased" if len(erased) == 1 else f"{len(erased)} events were erased")
    for number, name in erased:
        by, reworded = told[number, name]
        if reworded:
            print(f"event {number} was erased in part: what it says is what event {by} left of it, and not covered by its own hash")
    head, hash = read_owner(folder / "owner.lock")
    if not faults and head > len(events):
        faults.append(f"lines are missing at the end: owner.lock says {head} events")
    if not faults and hash and head == len(events) and hash != hashes[-1].decode():
        faults.append("the head is not what owner.lock says")
    for hash in sorted({hash for _, _, data in events for hash in blobs(data)}):
        blob = folder.parent.parent / "blobs" / hash[:2] / hash
        is_name = re.fullmatch("[0-9a-f]{64}", hash)
        if not is_name or not blob.is_file() or hashlib.sha256(blob.read_bytes()).hexdigest() != hash:
            faults.append(f"blob {hash[:100]} is missing or changed")
    try:
        faults.extend(read_mailbox(folder / "mailbox.jsonl", events))
    except OSError as error:
        faults.append(f"the mailbox cannot be read: {error}")
    print("\n".join(map(plain, faults)) if faults else "the chain verifies")
    if args.signed:
        try:
            proven, unproven = read_signed(folder, hashes, keys, witness)
        except OSError as error:
            proven, unproven = 0, [f"signatures.jsonl cannot be read: {error}"]
        said, others = told_erased(erased, proven, told)
        unproven += others
        lines = [f"as signed up to event {proven}"] + said + [f"not proven: {fault}" for fault in unproven]
        print("\n".join(map(plain, lines)))
        faults += unproven
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

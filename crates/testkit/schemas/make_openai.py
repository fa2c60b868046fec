"""Writes chat.json and responses.json: JSON Schemas of the request bodies of Chat Completions and Responses.

They come from the parameter types of the official Python package, see README.md. Fields that the types do not know are
refused. Left out are descriptions and what Mainpath never sends: the vendor's own tools and their items.
"""

import json
import pathlib
import sys

from openai import _version
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses
from pydantic import TypeAdapter

# Members of unions that are kept; of other unions all are.
ITEMS = {
    "EasyInputMessageParam", "Message", "ResponseOutputMessageParam", "ResponseReasoningItemParam",
    "ResponseFunctionToolCallParam", "FunctionCallOutput",
}
TOOLS = {"FunctionToolParam", "ChatCompletionFunctionToolParam"}
CALLS = {"ChatCompletionMessageFunctionToolCallParam"}
# Fields that are left out because only their absence is of use.
UNUSED = {
    "access_programs", "audio", "background", "background_options", "context_management", "conversation", "function_call",
    "functions", "image", "moderation", "prediction", "prompt", "tool_choice", "web_search_options",
}


def name_of(schema):
    return schema.get("$ref", "").rsplit("/", 1)[-1].split("__")[-1].rstrip("-").split("-")[0]


def pruned(schema, top=False):
    """The schema without words, and without members and fields that are never sent."""
    if isinstance(schema, list):
        return [pruned(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key in ("description", "title", "default", "discriminator") and not isinstance(value, dict):
            continue
        if key == "discriminator":
            continue
        if key == "properties":
            out[key] = {name: pruned(each) for name, each in value.items() if not (top and name in UNUSED)}
        elif key in ("anyOf", "oneOf"):
            members = value
            for kept in (ITEMS, TOOLS, CALLS):
                if any(name_of(each) in kept for each in value):
                    members = [each for each in value if name_of(each) in kept]
            # A union of one says better what is wrong with it.
            out.update({"anyOf": pruned(members)} if len(members) > 1 else pruned(members[0]))
        elif key == "$defs":
            out[key] = {name: pruned(each) for name, each in value.items()}
        else:
            out[key] = pruned(value)
    return out


def reachable(schema):
    """The schema with only the definitions that something refers to."""
    defs, seen = schema.pop("$defs", {}), set()
    todo = [schema]
    while todo:
        here = todo.pop()
        if isinstance(here, dict):
            name = here.get("$ref", "").removeprefix("#/$defs/")
            if name and name not in seen:
                seen.add(name)
                todo.append(defs[name])
            todo.extend(here.values())
        elif isinstance(here, list):
            todo.extend(here)
    return {**schema, "$defs": {name: defs[name] for name in sorted(seen)}}


def closed(module_types):
    """Makes every typed dict of the package refuse fields that it does not know."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("openai.types"):
            for value in vars(module).values():
                if hasattr(value, "__required_keys__"):
                    value.__pydantic_config__ = {"extra": "forbid"}
    return module_types


def write(name, bodies):
    union = [reachable(pruned(TypeAdapter(body).json_schema(), top=True)) for body in bodies]
    whole = union[0] if len(union) == 1 else {"anyOf": union}
    whole = {"$comment": f"from openai {_version.__version__} by make_openai.py", **whole}
    pathlib.Path(__file__).with_name(name).write_text(json.dumps(whole, sort_keys=True, indent=1) + "\n")


closed(None)


# Both bodies have `stream` beside the base; one class with it is enough.
class ChatBody(chat.CompletionCreateParamsBase, total=False):
    stream: bool | None


class ResponsesBody(responses.ResponseCreateParamsBase, total=False):
    stream: bool | None


for each in (ChatBody, ResponsesBody):
    each.__pydantic_config__ = {"extra": "forbid"}
write("chat.json", [ChatBody])
write("responses.json", [ResponsesBody])

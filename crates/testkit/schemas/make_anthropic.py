"""Writes anthropic.json: what may stand in a request to Anthropic's Messages API.

Run: pip install anthropic==2.12.0 && python make_anthropic.py > anthropic.json
"""

import importlib
import json
import sys
from typing import Iterable, Literal, Optional, Union

import anthropic
from anthropic import types
from pydantic import TypeAdapter
from typing_extensions import is_typeddict

VERSION = "2.12.0"
if anthropic.__version__ != VERSION:
    sys.exit(f"this is made for anthropic {VERSION}, not {anthropic.__version__}")


def module(name):
    return importlib.import_module(f"anthropic.types.{name}")


# Tools and blocks that only the vendor's own servers run are left out: a request that has one is not ours.
module("tool_result_block_param").Content = Union[
    types.TextBlockParam, types.ImageBlockParam, types.DocumentBlockParam
]
Blocks = Union[
    types.TextBlockParam,
    types.ImageBlockParam,
    types.DocumentBlockParam,
    types.ThinkingBlockParam,
    types.RedactedThinkingBlockParam,
    types.ToolUseBlockParam,
    types.ToolResultBlockParam,
]
for name in ["user_message_param", "assistant_message_param"]:
    module(name).MessageContentParam = Union[str, Iterable[Blocks]]
params = module("message_create_params")
params.ToolUnionParam = types.ToolParam

# A base64 value may also be a file object in Python; on the wire it is text.
for name in ["base64_image_source_param", "base64_pdf_source_param"]:
    module(name).Base64FileInput = str


class Request(params.MessageCreateParamsBase, total=False):
    stream: bool


Request.__module__ = params.__name__

# These go into headers, not into the body (anthropic/resources/messages/messages.py).
HEADERS = {"user_profile_id", "workspace_id"}

# Unknown fields are refused.
for part in vars(sys.modules["anthropic.types"]).values():
    if is_typeddict(part):
        part.__pydantic_config__ = {**getattr(part, "__pydantic_config__", {}), "extra": "forbid"}
Request.__pydantic_config__ = {"extra": "forbid"}


def without_words(schema):
    if isinstance(schema, list):
        return [without_words(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: without_words(part) for name, part in value.items()}
        elif key not in ("title", "description"):
            kept[key] = without_words(value)
    return kept


schema = without_words(TypeAdapter(Request).json_schema())
for name in HEADERS:
    del schema["properties"][name]
print(json.dumps({"$comment": f"made from anthropic {VERSION} by make_anthropic.py", **schema}, indent=1, sort_keys=True))

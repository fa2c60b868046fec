"""Writes gemini.json: a JSON Schema of generateContent's request body, made from the Python SDK's own types.

    pip install --target SDK google-genai==3.4.0
    PYTHONPATH=SDK python3 make_gemini.py > gemini.json

The fields of a type are those of its class in `google/genai/types.py`. Where `google/genai/models.py` has a function that
puts the type on the wire (`_Part_to_mldev` and its like), only what that function sends counts, under the name and in the
place where it puts it. A field whose description says that the Gemini API does not take it is left out, and one whose
description begins with "Required" is required.
"""

import ast
import enum
import inspect
import json
import re
import sys
import types as pytypes
import typing

from google.genai import models, types, version

# Fields that the SDK lets callers write in more than one way.
AS_SENT = {"contents": list[types.Content], "system_instruction": types.Content, "response_schema": types.Schema}
AS_SENT |= {"speech_config": types.SpeechConfig, "tools": list[types.Tool]}
# Tools other than functions run on the server; Mainpath has none.
LEFT_OUT = {"Tool": lambda name: name != "function_declarations"}

definitions = {}


def converters():
    """Per type: which field goes under which name into the object itself or into the one around it."""
    found = {}
    for node in ast.parse(inspect.getsource(models)).body:
        named = re.fullmatch(r"_(\w+)_to_mldev", getattr(node, "name", ""))
        if not named:
            continue
        fields = {}
        for step in node.body:
            if not isinstance(step, ast.If) or not isinstance(step.body[0], ast.Expr):
                continue
            field = ast.literal_eval(step.test.left.args[1])[-1]
            target, path = step.body[0].value.args[:2]
            if isinstance(target, ast.Name) and isinstance(path, ast.List):
                fields[field] = (target.id, ast.literal_eval(path)[-1])
        found[named[1]] = fields
    return found


CONVERTERS = converters()


def of(annotation):
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or origin is pytypes.UnionType:
        kinds = [of(arg) for arg in args if arg is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin in (list, typing.List):
        return {"type": "array", "items": of(args[0])}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin is dict or annotation is dict:
        return {"type": "object"}
    if annotation is bytes:
        return {"type": "string", "pattern": "^[A-Za-z0-9+/_-]*={0,2}$"}
    simple = {str: "string", bool: "boolean", int: "integer", float: "number"}
    if annotation in simple:
        return {"type": simple[annotation]}
    if annotation is typing.Any:
        return {}
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return {"enum": [member.value for member in annotation]}
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        name = annotation.__name__
        if name not in definitions:
            definitions[name] = None
            definitions[name] = fields_of(annotation, "to_object")
        return {"$ref": f"#/$defs/{name}"}
    raise TypeError(f"no schema for {annotation}")


def fields_of(model, target):
    """The schema of what a type puts into the object itself (`to_object`) or into the one around it (`parent_object`)."""
    properties, required = {}, []
    sent = CONVERTERS.get(model.__name__)
    for name, field in model.model_fields.items():
        where, wire = ("to_object", field.alias or name) if sent is None else sent.get(name, (None, None))
        said = " ".join((field.description or "").split())
        refused = "not supported in Gemini API" in said or "only supported in Vertex AI" in said
        if where != target or refused or LEFT_OUT.get(model.__name__, lambda _: False)(name):
            continue
        properties[wire] = of(AS_SENT.get(name, field.annotation))
        if said.startswith("Required"):
            required.append(wire)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


body = fields_of(types.GenerateContentConfig, "parent_object")
body["properties"]["contents"] = of(AS_SENT["contents"])
body["properties"]["generationConfig"] = fields_of(types.GenerateContentConfig, "to_object")
body["required"] = ["contents"]
made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": f"google-genai {version.__version__}"}
json.dump(made | body | {"$defs": dict(sorted(definitions.items()))}, sys.stdout, separators=(",", ":"))
print()

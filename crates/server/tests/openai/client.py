"""What OpenAI's own Python client makes of the server: BASE KEY READS CHAT SLOW FORM."""

import json
import sys
import time

import openai
from openai import OpenAI
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter, ValidationError

base, key, reads, chat, slow, form = sys.argv[1:7]
client = OpenAI(base_url=base, api_key=key, max_retries=0, timeout=60)
EVENT = TypeAdapter(ResponseStreamEvent)


def held(kind, value):
    """A value that the vendor's published schema allows, in every field: the client itself lets anything pass."""
    found = value.to_dict(mode="json", exclude_unset=True)
    (kind.validate_python if isinstance(kind, TypeAdapter) else kind.model_validate)(found, strict=False)
    return value


# The check can fail.
try:
    Response.model_validate({"id": "x", "object": "nothing"})
    raise SystemExit("anything passes")
except ValidationError:
    pass

# Models.
names = [held(Model, model).id for model in client.models.list()]
assert names == ["mainpath/analyst", "mainpath/default", "mainpath/evaluate", "mainpath/explore"], names
assert client.models.retrieve("mainpath/explore").owned_by == "builtin"
assert client.models.retrieve(reads).id == reads

# Chat completions.
question = [{"role": "user", "content": "What does it say?"}]
said = held(ChatCompletion, client.chat.completions.create(model=reads, messages=question))
assert said.choices[0].message.content == "It says hello.", said
assert said.choices[0].finish_reason == "stop"
assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens > 0
assert said.mainpath["tools"] == {"read_text_file": 1}, said

text, usage = "", None
options = {"include_usage": True}
for chunk in client.chat.completions.create(model=reads, messages=question, stream=True, stream_options=options):
    held(ChatCompletionChunk, chunk)
    usage = chunk.usage or usage
    text += "".join(choice.delta.content or "" for choice in chunk.choices)
assert text == "I look.\n\nIt says hello." and usage.total_tokens > 0, (text, usage)

# The answer of the client goes back as it came.
again = [*question, said.choices[0].message, {"role": "user", "content": "Thanks."}]
assert client.chat.completions.create(model=chat, messages=again).choices[0].message.content == "Two."


class Greeting(BaseModel):
    greeting: str


parsed = client.chat.completions.parse(model=form, messages=question, response_format=Greeting)
assert parsed.choices[0].message.parsed == Greeting(greeting="hello"), parsed
assert client.responses.parse(model=form, input="x", text_format=Greeting).output_parsed == Greeting(greeting="hello")

# Responses.
first = held(Response, client.responses.create(model=chat, input="one", instructions="Be brief.", metadata={"a": "b"}))
assert (first.output_text, first.status, first.metadata) == ("One.", "completed", {"a": "b"}), first
second = client.responses.create(model=chat, input="two", previous_response_id=first.id)
assert (second.output_text, second.previous_response_id) == ("Two.", first.id)
assert held(Response, client.responses.retrieve(second.id)).output_text == "Two."

with client.responses.stream(model=reads, input="What does it say?") as stream:
    seen = list(stream)
    final = stream.get_final_response()
assert final.output_text == "I look.\n\nIt says hello.", final
assert [item.phase for item in final.output] == ["commentary", "final_answer"]
raw = list(client.responses.create(model=reads, input="What does it say?", stream=True))
for event in raw:
    held(EVENT, event)
assert [raw[0].type, raw[1].type, raw[-1].type] == ["response.created", "response.in_progress", "response.completed"]
rest = list(client.responses.retrieve(raw[0].response.id, stream=True, starting_after=raw[-4].sequence_number))
assert [event.type for event in rest] == [event.type for event in raw[-3:]], rest

# In the background.
begun = held(Response, client.responses.create(model=reads, input="What does it say?", background=True))
until = time.time() + 30
while begun.status in ("queued", "in_progress") and time.time() < until:
    time.sleep(0.05)
    begun = client.responses.retrieve(begun.id)
assert (begun.status, begun.output[-1].content[0].text) == ("completed", "It says hello."), begun
begun = client.responses.create(model=slow, input="x", background=True)
assert held(Response, client.responses.cancel(begun.id)).status == "cancelled"


def refused(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} came")


# What goes wrong.
tool = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
error = refused(openai.BadRequestError, lambda: client.chat.completions.create(model=reads, messages=question, tools=tool))
assert (error.param, error.code, error.type) == ("tools", "unsupported_parameter", "invalid_request_error"), error.body
error = refused(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-4o", messages=question))
assert error.code == "model_not_found", error.body
error = refused(openai.NotFoundError, lambda: client.responses.retrieve("resp_none_1"))
assert error.code == "not_found", error.body
wrong = OpenAI(base_url=base, api_key="mp_wrong", max_retries=0)
assert refused(openai.AuthenticationError, wrong.models.list).code == "invalid_api_key"
# One that tries again by itself does not begin a failed run a second time.
trying = OpenAI(base_url=base, api_key=key, max_retries=3)
broken = reads.replace("reads.toml", "fails.toml")
before = len(list(client.models.list()))
error = refused(openai.InternalServerError, lambda: trying.chat.completions.create(model=broken, messages=question))
assert (error.status_code, error.code) == (502, "model_error"), error.body
print(json.dumps({"done": True, "version": openai.__version__, "seen": len(seen), "models": before}))

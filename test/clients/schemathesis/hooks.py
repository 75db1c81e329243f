"""What schemathesis cannot know of joust: Arrow streams, and deadlines of requests."""

import os
from pathlib import Path

import schemathesis
from hypothesis import strategies as st

ROWS = Path(os.environ["JOUST_ROWS"]).read_bytes()


@st.composite
def damaged(draw):
    """The stream with some bytes replaced, or without its end."""
    stream = bytearray(ROWS)
    for position in draw(st.lists(st.integers(0, len(stream) - 1), max_size=4)):
        stream[position] = draw(st.integers(0, 255))
    return bytes(stream[: draw(st.integers(0, len(stream)))])


schemathesis.openapi.media_type(
    "application/vnd.apache.arrow.stream",
    st.one_of(st.just(ROWS), damaged(), st.binary(max_size=300)),
)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Adds what holds for all operations and that the document does not repeat for each of them."""
    for item in raw_schema["paths"].values():
        for operation in item.values():
            remove_deadline(operation)
            accept_null(operation)


def remove_deadline(operation):
    """A request with a short deadline gets 504 by design. `npm run test:hostile` sends deadlines."""
    operation["parameters"] = [
        parameter
        for parameter in operation["parameters"]
        if parameter["name"] != "x-request-timeout-ms"
    ]


def accept_null(operation):
    """An optional member with the value null counts as absent, because some clients send all members."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    members = schema.get("properties", {})
    for name in members.keys() - set(schema.get("required", [])):
        members[name] = {"anyOf": [members[name], {"type": "null"}]}

"""Holds the simulated API against the official Python SDK.

    probe.py URL

Every check goes through the SDK: it builds the requests, reads the answers (strictly, where it says so) and maps the
errors. Prints a line a check and `N passed, N failed` at the end; exits with 1 when one has failed.
"""

import json
import sys
import time
import traceback
import uuid

import anthropic
from anthropic import Anthropic

MODEL = "claude-haiku-4-5"
THINKER = "claude-haiku-5-5"
PATIENCE_S = 60

checks = []


def check(function):
    checks.append(function)
    return function


def ask(text, **more):
    return {"model": MODEL, "max_tokens": 256, "messages": [{"role": "user", "content": text}], **more}


def refused(kind, status, error_type, call):
    """The call fails with this class of the SDK, this status and this type."""
    try:
        call()
    except kind as error:
        assert error.status_code == status, error.status_code
        assert error.body["error"]["type"] == error_type, error.body
        assert error.body["request_id"] == error.request_id, error.body
        return error
    raise AssertionError("nothing was refused")


class Probe:
    def __init__(self, url):
        self.url = url
        self.plain = self.client("probe")
        self.strict = self.client("probe", _strict_response_validation=True)
        # Its batches end only when they are cancelled.
        self.wedged = self.client("probe-wedged", _strict_response_validation=True)

    def client(self, key, **more):
        return Anthropic(base_url=self.url, api_key=key, max_retries=0, timeout=30, **more)

    def ended(self, batch_id, client=None):
        start = time.monotonic()
        while True:
            batch = (client or self.strict).messages.batches.retrieve(batch_id)
            if batch.processing_status == "ended":
                return batch
            assert batch.results_url is None and batch.ended_at is None
            assert time.monotonic() - start < PATIENCE_S, "the batch did not end"
            time.sleep(0.1)


@check
def a_message_is_answered_with_usage_and_a_request_id(probe):
    message = probe.strict.messages.create(**ask("Rate this."))
    assert message.id.startswith("msg_") and message.content[0].text
    assert message.model == "claude-haiku-4-5-20251001"
    assert message.stop_reason == "end_turn" and message.usage.output_tokens > 0
    assert message._request_id.startswith("req_")


@check
def the_same_request_has_the_same_answer(probe):
    first, second, other = (probe.plain.messages.create(**ask(text)) for text in ("Same.", "Same.", "Other."))
    assert first.content[0].text == second.content[0].text != other.content[0].text
    assert first.id != second.id


@check
def the_headers_tell_the_limits(probe):
    headers = probe.plain.messages.with_raw_response.create(**ask("Headers.")).headers
    for group in ("requests", "input-tokens", "output-tokens", "tokens"):
        limit, remaining = (int(headers["anthropic-ratelimit-%s-%s" % (group, what)]) for what in ("limit", "remaining"))
        assert 0 <= remaining <= limit
        assert headers["anthropic-ratelimit-%s-reset" % group].endswith("Z")
    assert headers["anthropic-organization-id"] and headers["anthropic-workspace-id"].startswith("wrkspc_")


@check
def a_stream_says_what_the_message_says(probe):
    whole = probe.plain.messages.create(**ask("Stream this."))
    with probe.strict.messages.stream(**ask("Stream this.")) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert text == message.content[0].text and text
    assert message.usage.input_tokens == whole.usage.input_tokens
    assert message.stop_reason == "end_turn"


@check
def a_new_model_thinks_first(probe):
    message = probe.strict.messages.create(**ask("Think.", model=THINKER))
    assert [block.type for block in message.content] == ["thinking", "text"]
    with probe.strict.messages.stream(**ask("Think aloud.", model=THINKER)) as stream:
        assert [block.type for block in stream.get_final_message().content] == ["thinking", "text"]


@check
def a_forced_tool_is_called(probe):
    schema = {"type": "object", "properties": {"grade": {"type": "integer", "minimum": 1, "maximum": 5}}, "required": ["grade"]}
    tool = {"name": "record", "description": "Records a grade.", "input_schema": schema}
    message = probe.strict.messages.create(tools=[tool], tool_choice={"type": "tool", "name": "record"}, **ask("Grade."))
    assert message.stop_reason == "tool_use"
    assert message.content[0].name == "record" and 1 <= message.content[0].input["grade"] <= 5
    refused(anthropic.BadRequestError, 400, "invalid_request_error",
            lambda: probe.plain.messages.create(tools=[tool], tool_choice={"type": "tool", "name": "other"}, **ask("Grade.")))


@check
def structured_output_has_its_schema(probe):
    schema = {"type": "object", "properties": {"verdict": {"type": "string", "enum": ["good", "bad"]}},
              "required": ["verdict"], "additionalProperties": False}
    output = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    message = probe.plain.messages.create(extra_body=output, **ask("Judge."))
    assert json.loads(message.content[0].text)["verdict"] in ("good", "bad")


@check
def a_cached_prefix_is_written_and_then_read(probe):
    system = [{"type": "text", "text": "Be fair. " * 3000 + str(time.time()), "cache_control": {"type": "ephemeral"}}]
    first = probe.strict.messages.create(system=system, **ask("One.")).usage
    second = probe.strict.messages.create(system=system, **ask("Two.")).usage
    assert first.cache_creation.ephemeral_5m_input_tokens == first.cache_creation_input_tokens > 4096
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens


@check
def tokens_are_counted_as_they_are_billed(probe):
    messages = ask("How many?")["messages"]
    counted = probe.strict.messages.count_tokens(model=MODEL, messages=messages).input_tokens
    assert counted == probe.plain.messages.create(**ask("How many?")).usage.input_tokens


@check
def models_are_listed_and_described(probe):
    ids = [model.id for model in probe.strict.models.list(limit=3)]
    assert len(ids) == len(set(ids)) > 3 and THINKER in ids
    assert probe.strict.models.retrieve(THINKER).max_tokens == 128_000
    refused(anthropic.NotFoundError, 404, "not_found_error", lambda: probe.plain.models.retrieve("claude-9"))


@check
def a_batch_goes_from_its_creation_to_its_results(probe):
    rows = [{"custom_id": "good-%d" % at, "params": ask("Row %d." % at)} for at in range(5)]
    rows.append({"custom_id": "bad", "params": ask("Never.", model="claude-9")})
    batch = probe.strict.messages.batches.create(requests=rows)
    assert batch.processing_status == "in_progress" and batch.request_counts.processing == 6
    counts = probe.ended(batch.id).request_counts
    assert (counts.processing, counts.succeeded, counts.errored) == (0, 5, 1)
    results = {row.custom_id: row.result for row in probe.strict.messages.batches.results(batch.id)}
    assert set(results) == {row["custom_id"] for row in rows}
    assert all(results["good-%d" % at].message.usage.service_tier == "batch" for at in range(5))
    assert results["bad"].error.error.type == "not_found_error"
    probe.plain.messages.batches.delete(batch.id)
    refused(anthropic.NotFoundError, 404, "not_found_error", lambda: probe.plain.messages.batches.retrieve(batch.id))


@check
def a_batch_can_be_cancelled_and_not_deleted_before_its_end(probe):
    batches = probe.wedged.messages.batches
    batch = batches.create(requests=[{"custom_id": text, "params": ask(text)} for text in ("one", "two")])
    refused(anthropic.BadRequestError, 400, "invalid_request_error", lambda: batches.delete(batch.id))
    canceled = batches.cancel(batch.id)
    assert canceled.processing_status == "canceling" and canceled.cancel_initiated_at
    counts = probe.ended(batch.id, probe.wedged).request_counts
    assert counts.succeeded + counts.canceled == 2


@check
def batches_are_listed_newest_first_page_by_page(probe):
    other = probe.client("probe-of-lists-%s" % uuid.uuid4())
    made = [other.messages.batches.create(requests=[{"custom_id": "a", "params": ask("List.")}]).id for _ in range(5)]
    assert [batch.id for batch in other.messages.batches.list(limit=2)] == made[::-1]
    assert [batch.id for batch in other.messages.batches.list(limit=2, before_id=made[0]).data] == [made[2], made[1]]


@check
def a_batch_that_is_wrong_as_a_whole_is_refused(probe):
    good = ask("Good.")
    for rows in ([], [{"custom_id": "a b", "params": good}], [{"custom_id": "a", "params": good}] * 2, [{"custom_id": "a"}]):
        refused(anthropic.BadRequestError, 400, "invalid_request_error",
                lambda rows=rows: probe.plain.messages.batches.create(requests=rows))


@check
def errors_have_the_classes_that_the_sdk_knows(probe):
    wrong = lambda **more: lambda: probe.plain.messages.create(**{**ask("Wrong."), **more})
    refused(anthropic.BadRequestError, 400, "invalid_request_error", wrong(messages=[]))
    refused(anthropic.BadRequestError, 400, "invalid_request_error", wrong(extra_body={"no_such_field": 1}))
    refused(anthropic.NotFoundError, 404, "not_found_error", wrong(model="claude-9"))
    as_key = lambda key: lambda: probe.client(key).messages.create(**ask("Hello."))
    refused(anthropic.AuthenticationError, 401, "authentication_error", as_key("sim-401"))
    refused(anthropic.PermissionDeniedError, 403, "permission_error", as_key("sim-403"))
    limited = refused(anthropic.RateLimitError, 429, "rate_limit_error", as_key("sim-429"))
    assert int(limited.response.headers["retry-after"]) > 0
    refused(anthropic.InternalServerError, 500, "api_error", as_key("sim-500"))
    refused(anthropic.APIStatusError, 529, "overloaded_error", as_key("sim-529"))


def main():
    probe = Probe(sys.argv[1])
    print("Python SDK %s" % anthropic.__version__)
    failed = 0
    for function in checks:
        try:
            function(probe)
            print("ok      %s" % function.__name__)
        except Exception:
            failed += 1
            print("FAILED  %s\n%s" % (function.__name__, traceback.format_exc()))
    print("%d passed, %d failed" % (len(checks) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

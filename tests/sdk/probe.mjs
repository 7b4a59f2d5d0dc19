// Holds the simulated API against the official TypeScript SDK.
//
//     node probe.mjs URL
//
// Prints a line a check and `N passed, N failed` at the end; exits with 1 when one has failed.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import Anthropic from "@anthropic-ai/sdk";

const url = process.argv[2];
const client = (apiKey) => new Anthropic({ baseURL: url, apiKey, maxRetries: 0, timeout: 30_000 });
const probe = client("probe-node");
const ask = (text, more = {}) => ({
  model: "claude-haiku-4-5",
  max_tokens: 256,
  messages: [{ role: "user", content: text }],
  ...more,
});

async function refused(kind, status, type, call) {
  const error = await call().then(
    () => assert.fail("nothing was refused"),
    (error) => error,
  );
  assert.ok(error instanceof kind, `${error}`);
  assert.equal(error.status, status);
  assert.equal(error.error.error.type, type);
  assert.match(error.requestID, /^req_/);
  return error;
}

async function ended(id, by = probe) {
  const until = Date.now() + 60_000;
  for (;;) {
    const batch = await by.messages.batches.retrieve(id);
    if (batch.processing_status === "ended") return batch;
    assert.ok(Date.now() < until, "the batch did not end");
    await sleep(100);
  }
}

const checks = {
  async "a message is answered"() {
    const message = await probe.messages.create(ask("Rate this."));
    assert.match(message.id, /^msg_/);
    assert.equal(message.stop_reason, "end_turn");
    assert.ok(message.content[0].text && message.usage.output_tokens > 0);
    assert.match(message._request_id, /^req_/);
  },

  async "a stream says what the message says"() {
    const events = [];
    for await (const event of await probe.messages.create(ask("Stream.", { stream: true }))) events.push(event.type);
    assert.equal(events[0], "message_start");
    assert.equal(events.at(-1), "message_stop");
    const stream = probe.messages.stream(ask("Stream."));
    let text = "";
    stream.on("text", (part) => (text += part));
    const message = await stream.finalMessage();
    assert.equal(message.content[0].text, text);
    assert.equal(message.stop_reason, "end_turn");
  },

  async "tokens are counted and models listed"() {
    const { input_tokens } = await probe.messages.countTokens({
      model: "claude-haiku-4-5",
      messages: ask("Count.").messages,
    });
    assert.equal(input_tokens, (await probe.messages.create(ask("Count."))).usage.input_tokens);
    const ids = [];
    for await (const model of probe.models.list({ limit: 5 })) ids.push(model.id);
    assert.ok(ids.length > 5 && new Set(ids).size === ids.length);
  },

  async "a batch goes from its creation to its results"() {
    const requests = [0, 1, 2].map((at) => ({ custom_id: `row-${at}`, params: ask(`Row ${at}.`) }));
    requests.push({ custom_id: "bad", params: ask("Never.", { model: "claude-9" }) });
    const batch = await probe.messages.batches.create({ requests });
    assert.equal(batch.request_counts.processing, 4);
    const counts = (await ended(batch.id)).request_counts;
    assert.deepEqual([counts.processing, counts.succeeded, counts.errored], [0, 3, 1]);
    const results = new Map();
    for await (const row of await probe.messages.batches.results(batch.id)) results.set(row.custom_id, row.result);
    assert.deepEqual([...results.keys()].sort(), ["bad", "row-0", "row-1", "row-2"]);
    assert.equal(results.get("row-0").message.usage.service_tier, "batch");
    assert.equal(results.get("bad").error.error.type, "not_found_error");
    assert.equal((await probe.messages.batches.delete(batch.id)).type, "message_batch_deleted");
  },

  async "batches are listed and cancelled"() {
    // They end only when they are cancelled.
    const wedged = client("probe-wedged");
    const create = () => wedged.messages.batches.create({ requests: [{ custom_id: "a", params: ask("List.") }] });
    const made = [await create(), await create(), await create()].map((batch) => batch.id);
    const listed = [];
    for await (const batch of wedged.messages.batches.list({ limit: 2 })) listed.push(batch.id);
    assert.deepEqual(listed.slice(0, 3), made.reverse());
    const canceled = await wedged.messages.batches.cancel(made[0]);
    assert.ok(canceled.cancel_initiated_at);
    await ended(made[0], wedged);
  },

  async "errors have the classes that the SDK knows"() {
    const { BadRequestError, NotFoundError, AuthenticationError, RateLimitError, InternalServerError } = Anthropic;
    const wrong = (more) => () => probe.messages.create({ ...ask("Wrong."), ...more });
    const as = (key) => () => client(key).messages.create(ask("Hello."));
    await refused(BadRequestError, 400, "invalid_request_error", wrong({ messages: [] }));
    await refused(NotFoundError, 404, "not_found_error", wrong({ model: "claude-9" }));
    await refused(AuthenticationError, 401, "authentication_error", as("sim-401"));
    const limited = await refused(RateLimitError, 429, "rate_limit_error", as("sim-429"));
    assert.ok(Number(limited.headers.get("retry-after")) > 0);
    await refused(InternalServerError, 500, "api_error", as("sim-500"));
    await refused(BadRequestError, 400, "invalid_request_error", () => probe.messages.batches.create({ requests: [] }));
    await refused(NotFoundError, 404, "not_found_error", () => probe.messages.batches.retrieve("msgbatch_01none"));
  },
};

console.log("TypeScript SDK");
let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error?.stack ?? error}`);
  }
}
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

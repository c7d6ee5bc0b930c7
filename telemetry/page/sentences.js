// One miss in sentences: what the gateway and the engine said about a request, as one would tell a colleague.

import { compact, percent, seconds, whole } from "./format.js";
import { present } from "./reasons.js";

const CHOSEN = {
  only_candidate: "there was no other choice",
  affinity: "no other worker held more of this prompt",
  cheaper_elsewhere: "another worker held more of it, but was so busy that computing here was cheaper",
  holder_excluded: "a worker that held more could not take it",
  spread: "no worker held any of it, so it went where there was room",
  warm_up: "this worker is new or was restarted, and gets some known prompts to warm up",
  load: "the policy goes by load alone",
  turn: "it was this worker's turn",
  lot: "the policy draws lots",
  ring: "the policy hashes the prompt's beginning",
  session: "the policy keeps sessions together",
};

const WHY = {
  page: (n, were) =>
    `${n} ${were} lost to rounding: the engine caches whole pages, and computes the last token always.`,
  stale: (n) => `${n} the gateway believed to be in this worker's cache, though no report had ever confirmed it.`,
  evicted: (n, were) => `${n} had been in a cache and ${were} thrown out before this request came.`,
  routed_away: (n, were) => `${n} ${were} in another worker's cache.`,
  isolated: (n, were) => `${n} ${were} cached as the same text under another salt, which this request may not use.`,
  divergent: (n) =>
    `${n} can be found word for word in a recent prompt too, but behind something that differs, ` +
    "where no cache can reach them.",
  new: (n, were) => `${n} ${were} new: nobody had sent this text before, or it was still being computed.`,
  unknown: (n) => `Of ${n} nobody knows: the engine did not report how much was cached.`,
};

/** How much of the prompt was cached. */
export function verdictOf(row) {
  if (row.input_tokens == null) return "No engine counted this prompt, so there is nothing to explain.";
  if (row.cached_tokens == null)
    return `The prompt had ${whole(row.input_tokens)} tokens. The engine did not say how many of them were cached.`;
  const share = percent(row.cached_tokens / row.input_tokens, 0);
  const rest = row.input_tokens - row.cached_tokens;
  const end = rest ? `${whole(rest)} had to be computed.` : "Nothing had to be computed.";
  const cached = `${whole(row.cached_tokens)} (${share}) came from the cache`;
  return `Of ${whole(row.input_tokens)} prompt tokens, ${cached}. ${end}`;
}

/** Who served it and why. */
export function routing(row) {
  if (row.worker == null) return "It reached no worker.";
  const why = CHOSEN[row.route_reason] ?? row.route_reason;
  const hoped =
    row.expected_cached_tokens == null
      ? ""
      : ` The router expected ${whole(row.expected_cached_tokens)} cached tokens there`;
  const best =
    row.best_fleet_tokens == null ? "" : `, and ${whole(row.best_fleet_tokens)} on the worker that held most`;
  const first = row.ttft_s == null ? "" : ` The first token came after ${seconds(row.ttft_s)}.`;
  const believed = hoped && `${hoped}${best}.`;
  return `It went to ${row.worker}${why ? `, because ${why}` : ""}.${believed}${first}`;
}

/** [reason, sentence], the most tokens first. */
export function explained(row) {
  return present(row.uncached_by_reason)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, tokens]) => [
      reason,
      (WHY[reason.key] ?? ((n) => `${n}: ${reason.title}.`))(count(tokens), tokens === 1 ? "was" : "were"),
    ]);
}

/** Where it parts from its nearest recent prompt. */
export function parting({ cause, shared_tokens: shared, recoverable_tokens: recoverable }) {
  const place = cause ? `What differs there: ${cause}.` : "The two bodies are no longer there to say what differs.";
  const where = `Its first ${compact(shared)} tokens are those of its nearest recent prompt; there the two part.`;
  const lost = `Had nothing differed, ${compact(recoverable)} tokens behind it could have been cached.`;
  return `${where} ${place} ${lost}`;
}

function count(tokens) {
  return tokens === 1 ? "1 token" : `${whole(tokens)} tokens`;
}

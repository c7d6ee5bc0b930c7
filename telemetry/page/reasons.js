// Why a token was not cached: names, colours' names and the words of docs/misses.md (a test compares them).

/** In the order of the drawing: what can be avoided first. */
export const REASONS = [
  {
    key: "divergent",
    title: "Divergent",
    avoidable: true,
    plain: "Something small differs early in the prompt, so the same text behind it is computed again.",
    means: "behind the place where it parts from its nearest recent prompt, text that stands in that one too",
    todo: "move the clock, sort the list",
  },
  {
    key: "evicted",
    title: "Evicted",
    avoidable: true,
    plain: "It was in the cache and was thrown out before it was needed again.",
    means:
      "its worker was confirmed to hold it and no longer does; " +
      "or another was, nobody holds it now, and the policy looks at who holds what",
    todo: "more KV memory or engines, a shorter tail, fewer prompt versions at a time",
  },
  {
    key: "routed_away",
    title: "Routed away",
    avoidable: true,
    plain: "Another worker had it, but the request was sent elsewhere.",
    means:
      "another worker held it (or has lost it since, where the policy does not look), " +
      "and load, the policy, a retry or a breaker sent the request elsewhere",
    todo: "a cache-aware policy; more engines where load won",
  },
  {
    key: "isolated",
    title: "Isolated",
    avoidable: true,
    plain: "The same text is cached for somebody else, and a salt keeps the two apart.",
    means: "the same text was seen under another cache salt",
    todo: "fewer, larger namespaces, if the customers may share",
  },
  {
    key: "stale",
    title: "Stale",
    avoidable: true,
    plain: "The gateway believed it was cached, and it was not.",
    means: "its worker was believed to hold it, which no report or event ever confirmed",
    todo: "turn the engine's cache report on",
  },
  {
    key: "new",
    title: "New",
    avoidable: false,
    plain: "Nobody had sent this text before. It has to be computed once.",
    means: "nobody had finished it at dispatch: the first of its kind, or still being computed",
    todo: "nothing",
  },
  {
    key: "page",
    title: "Page",
    avoidable: false,
    plain: "Rounding: engines cache whole pages, and always compute the last token.",
    means: "rounding: engines cache whole pages and always compute the last token",
    todo: "nothing; a smaller page where short prompts lose much",
  },
  {
    key: "unknown",
    title: "Unknown",
    avoidable: false,
    plain: "No engine said how much was cached. These tokens are in no rate.",
    means: "nobody reported cached tokens",
    todo: "turn the engine's cache report on (--enable-cache-report)",
  },
];

export const DOCS = "https://github.com/prefixgate/prefixgate/blob/main/docs/misses.md";

const BY_KEY = new Map(REASONS.map((reason) => [reason.key, reason]));

/** The row of a reason; a reason of a newer gateway is shown by its own name. */
export function reason(key) {
  return BY_KEY.get(key) ?? { key, title: key, avoidable: false, plain: "", means: "", todo: "" };
}

/** [reason, tokens] with tokens, in the order of the drawing. */
export function present(tokens) {
  const rank = (key) => REASONS.findIndex((each) => each.key === key) >>> 0;
  return Object.entries(tokens ?? {})
    .filter(([, count]) => count > 0)
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([key, count]) => [reason(key), count]);
}

/** Tokens that another prompt, placement or cache size would have saved. */
export function avoidable(tokens) {
  return present(tokens).reduce((sum, [each, count]) => sum + (each.avoidable ? count : 0), 0);
}

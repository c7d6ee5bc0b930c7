// What became of a prompt version, against the one before it: in words, with a mark that is more than a colour.

import { h } from "./dom.js";
import { points } from "./format.js";

const MARKS = { worse: "▼", better: "▲", same: "=", "not enough data": "…" };

/** A badge, for tables. */
export function verdict(regression) {
  if (!regression) return h("span", { class: "muted" }, "first");
  const { verdict: word, hit_rate_change: change } = regression;
  const name = word.split(" ")[0];
  const size = word === "worse" || word === "better" ? ` ${points(change)}` : "";
  return h("span", { class: `verdict is-${name}` }, h("i", { "aria-hidden": "true" }, MARKS[word] ?? ""), word, size);
}

/** How sure a difference is. */
export function sureness(difference) {
  if (!difference) return "not enough data";
  const { p_value: p, significant } = difference;
  const chance = p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
  return significant ? `significant (${chance})` : `could be chance (${chance})`;
}

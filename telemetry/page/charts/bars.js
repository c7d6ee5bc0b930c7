// Bars of a whole: cached tokens and the reasons of the others, a meter, and the spread of a latency.

import { h, hidden, say, wide } from "../dom.js";
import { compact, percent, seconds, total, whole } from "../format.js";
import { present } from "../reasons.js";

/** A bar of tokens in the colours of their reasons. cached: null leaves the cached ones out. {node, update} */
export function stack(size = "") {
  const node = h("div", { class: `stack ${size}`, role: "img" });
  return {
    node,
    update(byReason, cached = null) {
      const parts = present(byReason).map(([{ key, title }, tokens]) => [key, title, tokens]);
      if (cached) parts.unshift(["cached", "Cached", cached]);
      const all = parts.reduce((sum, [, , tokens]) => sum + tokens, 0);
      const label = parts.map(([, title, tokens]) => `${title} ${percent(tokens / all)}`).join(", ");
      node.setAttribute("aria-label", label || "no tokens yet");
      node.replaceChildren(
        ...parts.map(([key, title, tokens]) =>
          wide(
            h("i", { class: `c-${key}`, title: `${title}: ${whole(tokens)} tokens, ${percent(tokens / all)}` }),
            tokens / all,
          ),
        ),
      );
    },
  };
}

/** A stacked bar that is drawn once, for a cell. */
export function stacked(byReason, cached = null, size = "small") {
  const bar = stack(size);
  bar.update(byReason, cached);
  return bar.node;
}

/** What the colours of a bar mean, with numbers. */
export function legend(byReason, cached = null) {
  const all = total(byReason) + (cached ?? 0);
  const parts = present(byReason).map(([{ key, title }, tokens]) => [key, title, tokens]);
  if (cached) parts.unshift(["cached", "Cached", cached]);
  return h(
    "ul",
    { class: "legend" },
    parts.map(([key, title, tokens]) =>
      h(
        "li",
        {},
        h("i", { class: `swatch c-${key}` }),
        title,
        h("b", {}, compact(tokens)),
        h("span", { class: "muted" }, percent(tokens / all)),
      ),
    ),
  );
}

/** A share as a bar with its number beside it. {node, update(share, text)} */
export function meter(label, color = "cached") {
  const bar = h("i", { class: `c-${color}` });
  const text = h("b");
  const node = h(
    "div",
    { class: "meter" },
    h("span", { class: "meter-head" }, label, text),
    h("span", { class: "track", "aria-hidden": "true" }, bar),
  );
  return {
    node,
    update(share, words) {
      wide(bar, share ?? 0);
      say(text, words);
    },
  };
}

/** p50, p95 and p99 on one logarithmic scale from `low` to `high` seconds. */
export function spread(value, low, high) {
  if (!value) return h("span", { class: "muted" }, "no data");
  const at = (each) => (Math.log(Math.max(each, low)) - Math.log(low)) / (Math.log(high) - Math.log(low) || 1);
  const dots = ["p50", "p95", "p99"].map((name) => {
    const dot = h("i", { class: name, title: `${name} ${seconds(value[name])}` });
    dot.style.left = `${at(value[name]) * 100}%`;
    return dot;
  });
  const line = wide(h("i", { class: "range" }), at(value.p99) - at(value.p50));
  line.style.left = `${at(value.p50) * 100}%`;
  return h(
    "span",
    { class: "spread" },
    line,
    dots,
    hidden(`p50 ${seconds(value.p50)}, p95 ${seconds(value.p95)}, p99 ${seconds(value.p99)}`),
  );
}

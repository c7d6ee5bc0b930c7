// Time to first token and between tokens by prompt length: what long prompts cost, and what a cache takes off them.

import { get } from "../api.js";
import { spread } from "../charts/bars.js";
import { h } from "../dom.js";
import { seconds, whole } from "../format.js";
import { card, exports, labelsOf, noTraffic, select } from "../parts.js";
import { href } from "../route.js";

const KINDS = [
  [
    "ttft_s",
    "Time to first token",
    "From the request to the first token of its answer. Grows with the tokens that had to be computed.",
  ],
  [
    "itl_s",
    "Between tokens",
    "The mean gap between the tokens of an answer. Grows with what else the worker is doing.",
  ],
];

/** Two panels over the same prompt lengths. */
export async function latency({ route }) {
  const load = () => get("api/latency", { route });
  const [first, cache] = await Promise.all([load(), get("api/cache", { by: "route" })]);
  const panels = KINDS.map(([key, title, note]) => panel(key, title, note));
  const lesson = h("div", { hidden: true }, noTraffic());
  const draw = ({ rows }) => {
    const used = trimmed(rows);
    lesson.hidden = used.length > 0;
    for (const { update } of panels) update(used);
  };
  draw(first);
  const go = (value) => (location.hash = href(["latency"], { route: value }));
  return {
    title: "Latency by prompt length",
    beside: exports("api/latency", { route }, "latency"),
    node: h(
      "div",
      {},
      h("div", { class: "bar" }, select("Route", labelsOf(cache.rows, "route"), route ?? "", go), key()),
      lesson,
      panels.map(({ node }) => node),
    ),
    refresh: async () => draw(await load()),
  };
}

function panel(key, title, note) {
  const body = h("tbody");
  const scale = h("span", { class: "scale", "aria-hidden": "true" });
  const heads = ["Prompt tokens", "Requests", scale, "p50", "p95", "p99"];
  const node = card(
    title,
    h("p", { class: "note" }, note),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      h(
        "table",
        { class: "plain latency" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((text, i) => h("th", { scope: "col", class: i === 2 ? "plotted" : "number" }, text)),
          ),
        ),
        body,
      ),
    ),
  );
  return {
    node,
    update(rows) {
      const known = rows.map((row) => row[key]).filter(Boolean);
      node.hidden = !rows.length;
      const [low, high] = bounds(known);
      scale.replaceChildren(...ticks(low, high));
      body.replaceChildren(...rows.map((row) => line(row, key, low, high)));
    },
  };
}

/** Without the lengths at both ends that no prompt had. */
function trimmed(rows) {
  const had = rows.map(({ requests }) => requests > 0);
  return rows.slice(Math.max(0, had.indexOf(true)), had.lastIndexOf(true) + 1);
}

function line(row, key, low, high) {
  const value = row[key];
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "number" }, range(row)),
    h("td", { class: "number" }, whole(row.requests)),
    h("td", { class: "plotted" }, spread(value, low, high)),
    ["p50", "p95", "p99"].map((name) => h("td", { class: "number" }, seconds(value?.[name]))),
  );
}

/** Powers of ten around all values, so that panels keep their scale while numbers move. */
function bounds(known) {
  if (!known.length) return [0.001, 1];
  const low = 10 ** Math.floor(Math.log10(Math.max(1e-6, Math.min(...known.map(({ p50 }) => p50)))));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...known.map(({ p99 }) => p99), low * 10)));
  return [low, high];
}

function ticks(low, high) {
  const decades = Math.round(Math.log10(high / low));
  return Array.from({ length: decades + 1 }, (_, i) => {
    const tick = h("i", {}, seconds(low * 10 ** i));
    tick.style.left = `${(i / decades) * 100}%`;
    return tick;
  });
}

function range({ prompt_tokens_from: from, prompt_tokens_to: to }) {
  return to == null ? `from ${whole(from)}` : `${whole(from)} – ${whole(to)}`;
}

function key() {
  return h(
    "div",
    { class: "key", "aria-hidden": "true" },
    ["p50", "p95", "p99"].map((name) => h("span", {}, h("i", { class: `mark ${name}` }), name)),
  );
}

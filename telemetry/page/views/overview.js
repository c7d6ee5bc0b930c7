// The first view: hit rate over time, and where the tokens go that were computed although they need not have been.

import { get, quietly } from "../api.js";
import { stack } from "../charts/bars.js";
import { reasonsChart } from "../charts/columns.js";
import { thinned } from "../charts/frame.js";
import { hitRateChart } from "../charts/line.js";
import { h, say, wide } from "../dom.js";
import { compact, count, percent, points as inPoints, rate, span, total, whole } from "../format.js";
import { card, choice, exports, figure, noTraffic } from "../parts.js";
import { DOCS, REASONS, avoidable } from "../reasons.js";
import { remember } from "../route.js";

const WINDOWS = [
  ["600", "10 min"],
  ["1800", "30 min"],
  ["3600", "1 h"],
];
const MOST_POINTS = 60;

/** The overview. */
export async function overview(query) {
  let span_s = WINDOWS.some(([value]) => value === query.window) ? query.window : "3600";
  const history = () => get("api/history", { window_s: span_s });
  let [now, past] = await Promise.all([get("api/overview"), history()]);
  const figures = keyFigures();
  const hits = hitRateChart();
  const columns = reasonsChart();
  const reasons = reasonList();
  const lesson = h("div", { hidden: true }, noTraffic());

  const again = async () => {
    past = await history();
    draw();
  };
  const choose = (value) => {
    span_s = value;
    remember({ window: value });
    quietly(again());
  };
  const windows = choice("Window", WINDOWS, span_s, choose);
  const body = h(
    "div",
    {},
    figures.node,
    h(
      "section",
      { class: "card" },
      h("div", { class: "card-head" }, h("h2", {}, "Hit rate"), lineKey(), windows),
      hits.node,
    ),
    card("Where uncached tokens go", reasons.node, h("h3", {}, "Over time"), columns.node),
  );

  function draw() {
    const used = now.totals.requests > 0;
    lesson.hidden = used;
    body.hidden = !used;
    figures.update(now);
    reasons.update(now.totals);
    const to = Math.max(now.now, past.points.at(-1)?.at ?? 0);
    const from = Math.min(Math.max(to - Number(span_s), Math.floor(now.started)), to - 60);
    const shown = thinned(
      past.points.filter(({ at }) => at >= from),
      MOST_POINTS,
      join,
    );
    hits.update(shown, from, to);
    columns.update(shown, from, to);
  }

  draw();
  return {
    title: "Overview",
    beside: exports("api/history", () => ({ window_s: span_s }), "hit-rate-over-time"),
    node: h("div", {}, lesson, body),
    async tick(tick) {
      now = tick.overview;
      if (merge(past.points, tick.point)) draw();
      else await again();
    },
  };
}

/** Puts the newest point in place; false when it is not the last one's successor in place. */
function merge(points, point) {
  if (points.at(-1)?.at !== point.at) return false;
  points[points.length - 1] = point;
  return true;
}

/** Two steps of the history as one, at the time of the first. */
export function join(a, b) {
  const sums = ["requests", "input_tokens", "cached_tokens", "expected_cached_tokens", "unknown_requests"];
  const both = Object.fromEntries(sums.map((name) => [name, a[name] + b[name]]));
  const uncached = { ...a.uncached_by_reason };
  for (const [key, tokens] of Object.entries(b.uncached_by_reason)) uncached[key] = (uncached[key] ?? 0) + tokens;
  return { at: a.at, ...both, uncached_by_reason: uncached };
}

function keyFigures() {
  const hit = figure("Hit rate");
  const saved = figure("Served from cache");
  const lost = figure("Avoidable");
  const trust = figure("Prediction error");
  const pace = figure("Requests");
  return {
    node: h(
      "div",
      { class: "figures" },
      [hit, saved, lost, trust, pace].map(({ node }) => node),
    ),
    update({ totals, requests_per_s: perSecond, now, started }) {
      const { input_tokens: input, cached_tokens: cached, expected_cached_tokens: expected } = totals;
      hit.update(percent(totals.hit_rate), `since the start, ${span(now - started)} ago`);
      saved.update(compact(cached), `of ${compact(input)} input tokens`);
      const could = avoidable(totals.uncached_by_reason);
      lost.update(compact(could), input ? `tokens, ${percent(could / input)} of the input` : "");
      const off = input ? rate(cached, input) - rate(expected, input) : null;
      trust.update(inPoints(off), `${compact(expected)} expected, ${compact(cached)} came`);
      pace.update(compact(totals.requests), `${perSecond.toFixed(1)} a second in the last minute`);
    },
  };
}

function lineKey() {
  return h(
    "div",
    { class: "key", "aria-hidden": "true" },
    h("span", {}, h("i", { class: "stroke hit" }), "hit rate"),
    h("span", {}, h("i", { class: "stroke expected" }), "expected by the router"),
  );
}

/** All tokens as one bar, then each reason with its share and what it means. */
function reasonList() {
  const bar = stack("big");
  const intro = h("p", { class: "lead" });
  const rows = REASONS.map((reason) => ({ reason, ...reasonRow(reason) }));
  return {
    node: h(
      "div",
      {},
      intro,
      bar.node,
      h(
        "ul",
        { class: "reasons" },
        rows.map(({ node }) => node),
      ),
    ),
    update(totals) {
      const uncached = total(totals.uncached_by_reason);
      const could = avoidable(totals.uncached_by_reason);
      say(
        intro,
        uncached
          ? `${compact(uncached)} tokens were computed, ${percent(uncached / totals.input_tokens)} of all input. ` +
              `${compact(could)} of them (${percent(could / uncached, 0)}) could have come from a cache.`
          : "No token was computed yet whose cached count is known.",
      );
      bar.update(totals.uncached_by_reason, totals.cached_tokens);
      for (const { reason, update } of rows) update(totals.uncached_by_reason[reason.key] ?? 0, uncached, totals);
    },
  };
}

function reasonRow({ key, title, plain, means, todo, avoidable: could }) {
  const tokens = h("b", { class: "tokens" });
  const share = h("span", { class: "share" });
  const bar = h("i", { class: `c-${key}` });
  const node = h(
    "li",
    {},
    h(
      "span",
      { class: "name" },
      h("i", { class: `swatch c-${key}` }),
      title,
      could && h("span", { class: "tag" }, "avoidable"),
    ),
    h("span", { class: "track", "aria-hidden": "true" }, bar),
    tokens,
    share,
    h(
      "details",
      {},
      h("summary", {}, plain),
      h("p", {}, h("b", {}, "What it means: "), means, "."),
      h("p", {}, h("b", {}, "What to do: "), todo, "."),
      h("a", { href: DOCS, rel: "noreferrer" }, "How it is known: docs/misses.md"),
    ),
  );
  return {
    node,
    update(number, all, totals) {
      wide(bar, all ? number / all : 0);
      if (key === "unknown") {
        say(tokens, count(totals.unknown_requests, "request"));
        return say(share, "");
      }
      say(tokens, compact(number));
      tokens.title = `${whole(number)} tokens`;
      say(share, all ? percent(number / all) : "");
    },
  };
}

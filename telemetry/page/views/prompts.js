// Every route, customer or prompt version with its hit rate, what it loses and where that goes.

import { get } from "../api.js";
import { stacked } from "../charts/bars.js";
import { sparkline } from "../charts/spark.js";
import { h } from "../dom.js";
import { compact, percent, rate, seconds, total } from "../format.js";
import { choice, exports, labelsOf, noTraffic, select } from "../parts.js";
import { avoidable } from "../reasons.js";
import { href, remember } from "../route.js";
import { createTable, filterField, sortOf } from "../table.js";
import { verdict } from "../verdict.js";

const GROUPS = [["prompt_version", "Prompt version"], ["route", "Route"], ["customer", "Customer"]];
const SPARK = { window_s: 1800, points: 30 };
const NONE = "(none)";

/** The table, grouped as the address says. */
export async function prompts(query) {
  const by = GROUPS.some(([value]) => value === query.by) ? query.by : "prompt_version";
  const source = by === "prompt_version" ? versions(query) : groups(by);
  let rows = await source.rows();
  const shown = { by, route: query.route, sort: query.sort, filter: query.filter };
  const told = (more) => remember(Object.assign(shown, more));
  const table = createTable({
    caption: `Hit rate by ${by.replace("_", " ")}`,
    columns: source.columns,
    key: source.key,
    href: source.href,
    text: source.text,
    sort: sortOf(query, source.sort, "desc"),
    filter: query.filter ?? "",
    noun: { prompt_version: "prompt versions", route: "routes", customer: "customers" }[by],
    empty: query.filter || query.route ? h("p", {}, "Nothing matches.") : noTraffic(),
    changed: (more) => {
      told(more);
      source.fill?.(table);
    },
  });
  table.update(rows);
  source.fill?.(table);
  const go = (value) => (location.hash = href(["prompts"], { by: value }));
  const routes = by === "prompt_version" ? labelsOf(rows, "route") : [];
  const bar = h(
    "div",
    { class: "bar" },
    choice("Group by", GROUPS, by, go),
    filterField("Filter", query.filter ?? "", (words) => table.filter(words)),
    by === "prompt_version" && select("Route", routes, query.route ?? "", (route) => (location.hash = href(["prompts"], { ...shown, route }))),
  );
  return {
    title: "Prompts",
    beside: exports(source.path, source.parameters, `by-${by}`),
    node: h("div", {}, bar, table.node),
    async refresh() {
      rows = await source.rows();
      table.update(rows);
      source.fill?.(table);
    },
  };
}

const sums = [
  { key: "requests", title: "Requests", numeric: true, room: "middle", value: (row) => row.requests, cell: (row) => compact(row.requests) },
  { key: "hit", title: "Hit rate", numeric: true, first: "asc", value: (row) => row.hit_rate, cell: (row) => percent(row.hit_rate) },
];
const lost = { key: "lost", title: "Avoidable", numeric: true, value: (row) => avoidable(row.uncached_by_reason), cell: (row) => compact(avoidable(row.uncached_by_reason)) };
const where = { key: "where", title: "Uncached", room: "wide", value: (row) => total(row.uncached_by_reason), cell: (row) => stacked(row.uncached_by_reason) };

function named(key, title, text, target) {
  return { key, title, fixed: true, value: text, cell: (row) => h("a", { href: target(row) }, text(row)) };
}

function versions({ route }) {
  const target = (row) => href(["prompts", row.route, row.prompt_version ?? NONE]);
  return {
    path: "api/prompts",
    parameters: { route },
    rows: async () => (await get("api/prompts", { route })).rows,
    key: (row) => `${row.route}\n${row.prompt_version}`,
    href: target,
    text: (row) => `${row.route} ${row.prompt_version} ${row.regression?.verdict ?? ""}`,
    sort: "lost",
    columns: [
      named("version", "Prompt version", (row) => row.prompt_version ?? NONE, target),
      { key: "route", title: "Route", value: (row) => row.route, cell: (row) => row.route },
      ...sums,
      { key: "spark", title: "30 min", room: "middle", cell: (row) => sparkline(row.sparkline) },
      lost,
      { key: "day", title: "Recoverable/day", numeric: true, room: "middle", value: (row) => row.recoverable_tokens_per_day, cell: (row) => compact(row.recoverable_tokens_per_day) },
      { key: "ttft", title: "TTFT p50", numeric: true, room: "wide", value: (row) => row.ttft_s?.p50, cell: (row) => seconds(row.ttft_s?.p50) },
      where,
      { key: "verdict", title: "Against the last", room: "middle", value: (row) => row.regression?.hit_rate_change, first: "asc", numeric: false, cell: (row) => verdict(row.regression) },
    ],
  };
}

function groups(by) {
  const query = (row) => ({ [by]: row[by] ?? "" });
  const target = (row) => (by === "route" ? href(["prompts"], { by: "prompt_version", route: row.route }) : href(["requests"], query(row)));
  const sparks = new Map();
  const spark = { key: "spark", title: "30 min", room: "middle", cell: (row) => h("span", { "data-spark": row[by] }, sparkline(sparks.get(row[by]))) };
  return {
    path: "api/cache",
    parameters: { by },
    rows: async () => (await get("api/cache", { by })).rows,
    key: (row) => row[by],
    href: target,
    text: (row) => row[by] ?? NONE,
    sort: "lost",
    columns: [named(by, by === "route" ? "Route" : "Customer", (row) => row[by] ?? NONE, target), ...sums, spark, lost, where],
    /** Fetches the sparklines of the rows on show, once each. */
    async fill(table) {
      const wanted = table.shown().map((row) => row[by]).filter((name) => !sparks.has(name));
      for (const name of wanted) {
        sparks.set(name, null);
        const { points } = await get("api/history", { [by]: name, window_s: SPARK.window_s });
        sparks.set(name, coarse(points));
        const cell = table.node.querySelector(`[data-spark="${CSS.escape(name)}"]`);
        cell?.replaceChildren(sparkline(sparks.get(name)));
      }
    },
  };
}

/** A history as so many hit rates. */
function coarse(points) {
  const size = Math.ceil(points.length / SPARK.points) || 1;
  return Array.from({ length: Math.ceil(points.length / size) }, (_, i) => {
    const part = points.slice(i * size, (i + 1) * size);
    return rate(sum(part, "cached_tokens"), sum(part, "input_tokens"));
  });
}

function sum(points, name) {
  return points.reduce((all, point) => all + point[name], 0);
}

// Every route, customer or prompt version with its hit rate, what it loses and where that goes.

import { get, quietly } from "../api.js";
import { stacked } from "../charts/bars.js";
import { sparkline } from "../charts/spark.js";
import { h } from "../dom.js";
import { compact, percent, rate, seconds, total } from "../format.js";
import { choice, exports, labelsOf, noTraffic, select } from "../parts.js";
import { avoidable } from "../reasons.js";
import { href, remember } from "../route.js";
import { createTable, filterField, sortOf } from "../table.js";
import { verdict } from "../verdict.js";

const GROUPS = [
  ["prompt_version", "Prompt version"],
  ["route", "Route"],
  ["customer", "Customer"],
];
const SPARK = { window_s: 1800, points: 30, fresh_ms: 60_000 };

/** The table, grouped as the address says. */
export async function prompts(query) {
  const by = GROUPS.some(([value]) => value === query.by) ? query.by : "prompt_version";
  const source = by === "prompt_version" ? versions(query) : groups(by);
  const [rows, cache] = await Promise.all([source.rows(), get("api/cache", { by: "route" })]);
  const fill = () => source.fill && quietly(source.fill(table));
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
    empty: query.route ? h("p", {}, "No request of this route yet.") : noTraffic(),
    changed: (more) => {
      told(more);
      fill();
    },
  });
  table.update(rows);
  fill();
  const go = (value) => (location.hash = href(["prompts"], { by: value }));
  const bar = h(
    "div",
    { class: "bar" },
    choice("Group by", GROUPS, by, go),
    filterField("Filter", query.filter ?? "", (words) => table.filter(words)),
    by === "prompt_version" &&
      select(
        "Route",
        labelsOf(cache.rows, "route"),
        query.route ?? "",
        (route) => (location.hash = href(["prompts"], { ...shown, route })),
      ),
  );
  return {
    title: "Prompts",
    beside: exports(source.path, source.parameters, `by-${by}`),
    node: h("div", {}, bar, table.node),
    async refresh() {
      table.update(await source.rows());
      fill();
    },
  };
}

const sums = [
  {
    key: "requests",
    title: "Requests",
    numeric: true,
    room: "middle",
    value: (row) => row.requests,
    cell: (row) => compact(row.requests),
  },
  {
    key: "hit",
    title: "Hit rate",
    numeric: true,
    first: "asc",
    value: (row) => row.hit_rate,
    cell: (row) => percent(row.hit_rate),
  },
];
const lost = {
  key: "lost",
  title: "Avoidable",
  numeric: true,
  value: (row) => avoidable(row.uncached_by_reason),
  cell: (row) => compact(avoidable(row.uncached_by_reason)),
};
const where = {
  key: "where",
  title: "Uncached",
  room: "wide",
  value: (row) => total(row.uncached_by_reason),
  cell: (row) => stacked(row.uncached_by_reason),
};

function named(key, title, text, target) {
  return { key, title, fixed: true, value: text, cell: (row) => h("a", { href: target(row) }, text(row)) };
}

function versions({ route }) {
  const target = (row) => href(["prompts", row.route, row.prompt_version]);
  return {
    path: "api/prompts",
    parameters: { route },
    rows: async () => (await get("api/prompts", { route })).rows,
    key: (row) => `${row.route}\n${row.prompt_version}`,
    href: target,
    text: (row) => `${row.route} ${row.prompt_version} ${row.regression?.verdict ?? ""}`,
    sort: "lost",
    columns: [
      named("version", "Prompt version", (row) => row.prompt_version, target),
      { key: "route", title: "Route", value: (row) => row.route, cell: (row) => row.route },
      ...sums,
      { key: "spark", title: "30 min", room: "middle", cell: (row) => sparkline(row.sparkline) },
      lost,
      {
        key: "day",
        title: "Recoverable/day",
        numeric: true,
        room: "middle",
        value: (row) => row.recoverable_tokens_per_day,
        cell: (row) => compact(row.recoverable_tokens_per_day),
      },
      {
        key: "ttft",
        title: "TTFT p50",
        numeric: true,
        room: "wide",
        value: (row) => row.ttft_s?.p50,
        cell: (row) => seconds(row.ttft_s?.p50),
      },
      where,
      {
        key: "verdict",
        title: "Against the last",
        room: "middle",
        value: (row) => row.regression?.hit_rate_change,
        first: "asc",
        numeric: false,
        cell: (row) => verdict(row.regression),
      },
    ],
  };
}

function groups(by) {
  const target = (row) =>
    by === "route" ? href(["prompts"], { route: row.route }) : href(["requests"], { customer: row.customer });
  const sparks = new Map();
  const spark = {
    key: "spark",
    title: "30 min",
    room: "middle",
    cell: (row) => h("span", { "data-spark": row[by] }, sparkline(sparks.get(row[by])?.rates)),
  };
  return {
    path: "api/cache",
    parameters: { by },
    rows: async () => (await get("api/cache", { by })).rows,
    key: (row) => row[by],
    href: target,
    text: (row) => row[by],
    sort: "lost",
    columns: [
      named(by, by === "route" ? "Route" : "Customer", (row) => row[by], target),
      ...sums,
      spark,
      lost,
      where,
    ],
    /** Fetches the sparklines of the rows on show, each at most once a minute. */
    async fill(table) {
      const old = (name) => !(Date.now() - sparks.get(name)?.at < SPARK.fresh_ms);
      for (const name of table
        .shown()
        .map((row) => row[by])
        .filter(old)) {
        sparks.set(name, { ...sparks.get(name), at: Date.now() });
        const { points } = await get("api/history", { [by]: name, window_s: SPARK.window_s });
        sparks.get(name).rates = coarse(points);
        table.node
          .querySelector(`[data-spark="${CSS.escape(name)}"]`)
          ?.replaceChildren(sparkline(sparks.get(name).rates));
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

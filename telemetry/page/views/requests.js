// The latest requests, newest first. New ones wait behind a button, so that nothing moves under a hand.

import { get } from "../api.js";
import { stacked } from "../charts/bars.js";
import { h, say } from "../dom.js";
import { UNKNOWN, clock, compact, count, percent, rate, seconds } from "../format.js";
import { exports, labelsOf, noTraffic, select } from "../parts.js";
import { REASONS } from "../reasons.js";
import { href } from "../route.js";
import { createTable, sortOf } from "../table.js";

const FILTERS = [
  ["route", "Route"],
  ["customer", "Customer"],
  ["prompt_version", "Prompt version"],
  ["worker", "Worker"],
];
const LIMIT = 200;

/** The table; what it is filtered by is in the address. */
export async function requests(query) {
  const chosen = Object.fromEntries([...FILTERS.map(([name]) => name), "reason"].map((name) => [name, query[name]]));
  const load = async () => (await get("api/requests", { limit: LIMIT, ...chosen })).rows;
  const [rows, cache, { workers }] = await Promise.all([load(), get("api/cache"), get("workers")]);
  const filtered = Object.values(chosen).some(Boolean);
  const empty = filtered
    ? h("p", {}, "None of the requests that are remembered match. ", h("a", { href: href(["requests"]) }, "Show all"))
    : noTraffic();
  const table = createTable({
    caption: "Latest requests",
    columns: COLUMNS,
    key: (row) => row.request_id,
    href: (row) => href(["requests", row.request_id]),
    text: (row) => Object.values(row).join(" "),
    sort: sortOf(query, "started", "desc"),
    noun: "requests",
    empty,
  });
  let shown = rows;
  let waiting = [];
  const more = h("button", { type: "button", class: "more", hidden: true, onclick: () => accept() });

  function accept() {
    shown = waiting;
    more.hidden = true;
    table.update(shown);
  }

  table.update(rows);
  const go = (name, value) => (location.hash = href(["requests"], { ...chosen, [name]: value }));
  const values = (name) => (name === "worker" ? workers.map(({ id }) => id) : labelsOf(cache.rows, name));
  return {
    title: "Requests",
    beside: exports("api/requests", { limit: LIMIT, ...chosen }, "requests"),
    node: h(
      "div",
      {},
      h(
        "div",
        { class: "bar" },
        FILTERS.map(([name, title]) => select(title, values(name), chosen[name] ?? "", (value) => go(name, value))),
        select(
          "Reason",
          REASONS.map(({ key }) => key),
          chosen.reason ?? "",
          (value) => go("reason", value),
        ),
      ),
      h("div", { class: "newer" }, more),
      table.node,
    ),
    async refresh() {
      waiting = await load();
      const known = new Set(shown.map((row) => row.request_id));
      const newer = waiting.filter((row) => !known.has(row.request_id)).length;
      if (!shown.length && newer) return accept();
      more.hidden = newer === 0;
      say(more, `Show ${count(newer, "newer request")}`);
    },
  };
}

const COLUMNS = [
  {
    key: "started",
    title: "Time",
    fixed: true,
    value: (row) => row.started,
    numeric: true,
    cell: (row) =>
      h(
        "a",
        { href: href(["requests", row.request_id]), "aria-label": `Request at ${clock(row.started)}` },
        clock(row.started),
      ),
  },
  { key: "route", title: "Route", value: (row) => row.route, cell: (row) => row.route },
  { key: "customer", title: "Customer", room: "wide", value: (row) => row.customer, cell: (row) => row.customer },
  {
    key: "version",
    title: "Version",
    room: "middle",
    value: (row) => row.prompt_version,
    cell: (row) => row.prompt_version ?? UNKNOWN,
  },
  { key: "worker", title: "Worker", room: "wide", value: (row) => row.worker, cell: (row) => row.worker ?? UNKNOWN },
  {
    key: "status",
    title: "Status",
    numeric: true,
    room: "middle",
    value: (row) => row.status,
    cell: (row) => h("span", { class: row.status >= 400 ? "bad" : "" }, String(row.status)),
  },
  {
    key: "input",
    title: "Input",
    numeric: true,
    room: "middle",
    value: (row) => row.input_tokens,
    cell: (row) => compact(row.input_tokens),
  },
  {
    key: "hit",
    title: "Cached",
    numeric: true,
    first: "asc",
    value: (row) => rate(row.cached_tokens, row.input_tokens),
    cell: (row) => (row.cached_tokens == null ? UNKNOWN : percent(rate(row.cached_tokens, row.input_tokens), 0)),
  },
  { key: "where", title: "Tokens", cell: (row) => stacked(row.uncached_by_reason, row.cached_tokens) },
  {
    key: "ttft",
    title: "TTFT",
    numeric: true,
    room: "middle",
    value: (row) => row.ttft_s,
    cell: (row) => seconds(row.ttft_s),
  },
  {
    key: "duration",
    title: "Took",
    numeric: true,
    room: "wide",
    value: (row) => row.duration_s,
    cell: (row) => seconds(row.duration_s),
  },
];

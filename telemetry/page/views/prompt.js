// One prompt version: what keeps it from being cached, worst first, and how it compares with the one before it.

import { get } from "../api.js";
import { legend, stack } from "../charts/bars.js";
import { thinned } from "../charts/frame.js";
import { hitRateChart } from "../charts/line.js";
import { h } from "../dom.js";
import { ago, compact, count, percent, points, relative, seconds, whole } from "../format.js";
import { card, exports, figure, lesson } from "../parts.js";
import { href } from "../route.js";
import { sureness } from "../verdict.js";
import { join } from "./overview.js";

const WINDOW_S = 3600;

/** The page of a prompt version. */
export async function prompt(route, version) {
  const path = `api/prompts/${encodeURIComponent(route)}/${encodeURIComponent(version)}`;
  const load = () =>
    Promise.all([get(path), get("api/history", { route, prompt_version: version, window_s: WINDOW_S })]);
  const figures = keyFigures();
  const bar = stack("big");
  const parts = h("div");
  const causes = h("div");
  const compared = h("div");
  const chart = hitRateChart(180);

  function draw([row, { points: past }]) {
    figures.update(row);
    bar.update(row.uncached_by_reason, row.cached_tokens);
    parts.replaceChildren(legend(row.uncached_by_reason, row.cached_tokens));
    redrawn(causes, row.causes, causeList);
    redrawn(compared, row.comparison, (comparison) => comparisonOf(comparison, route, version));
    const to = past.at(-1)?.at ?? row.last_seen;
    const from = Math.min(Math.max(to - WINDOW_S, row.first_seen), to - 60);
    chart.update(
      thinned(
        past.filter(({ at }) => at >= from),
        60,
        join,
      ),
      from,
      to,
    );
  }

  draw(await load());
  return {
    title: version,
    beside: exports(path, {}, `prompt-${route}-${version}`, ["json"]),
    node: h(
      "div",
      {},
      h(
        "nav",
        { class: "crumbs", "aria-label": "Where this is" },
        h("a", { href: href(["prompts"]) }, "Prompts"),
        " / ",
        h("a", { href: href(["prompts"], { route }) }, route),
        " / ",
        h("span", { "aria-current": "page" }, version),
      ),
      figures.node,
      card("What keeps it from being cached", causes),
      card("Against the version before", compared),
      card("Where its tokens go", bar.node, parts),
      card("Hit rate in the last hour", chart.node),
      h("p", {}, h("a", { href: href(["requests"], { route, prompt_version: version }) }, "Its latest requests")),
    ),
    refresh: async () => draw(await load()),
  };
}

/** Draws again only what has changed, and not under somebody's hands. */
function redrawn(node, data, made) {
  const now = JSON.stringify(data);
  if (node.dataset.of === now || node.contains(document.activeElement)) return;
  node.dataset.of = now;
  node.replaceChildren(made(data));
}

function keyFigures() {
  const hit = figure("Hit rate");
  const day = figure("Recoverable a day");
  const asked = figure("Requests");
  const ttft = figure("TTFT p50");
  return {
    node: h(
      "div",
      { class: "figures" },
      [hit, day, asked, ttft].map(({ node }) => node),
    ),
    update(row) {
      hit.update(percent(row.hit_rate), `${compact(row.cached_tokens)} of ${compact(row.input_tokens)} input tokens`);
      day.update(compact(row.recoverable_tokens_per_day), `tokens; ${compact(row.recoverable_tokens)} so far`);
      asked.update(
        compact(row.requests),
        `${row.declared ? "declared by the client" : "derived from the prompt"}, last ${ago(row.last_seen, now())}`,
      );
      ttft.update(
        seconds(row.ttft_s?.p50),
        row.ttft_s ? `p95 ${seconds(row.ttft_s.p95)}, p99 ${seconds(row.ttft_s.p99)}` : "no streamed answers yet",
      );
    },
  };
}

/** Unix seconds. */
function now() {
  return Date.now() / 1000;
}

function causeList(causes) {
  if (!causes.length) {
    return lesson(
      "No cause found",
      h(
        "p",
        {},
        "No request of this version parted from its nearest recent prompt in a way that cost cached tokens.",
      ),
    );
  }
  const most = causes[0].tokens;
  return h(
    "ol",
    { class: "causes" },
    causes.map((cause) => causeItem(cause, most)),
  );
}

function causeItem(cause, most) {
  const bar = h("i", { class: "c-divergent" });
  bar.style.width = `${(cause.tokens / most) * 100}%`;
  return h(
    "li",
    {},
    h("h3", {}, cause.kind ? titleOf(cause) : "Not looked at yet"),
    h("span", { class: "track", "aria-hidden": "true" }, bar),
    h(
      "p",
      {},
      h("b", {}, `${compact(cause.tokens)} tokens`),
      ` recomputed in ${count(cause.requests, "request")}, about `,
      h("b", {}, `${compact(cause.tokens_per_day)} a day`),
      ".",
    ),
    values(cause.values),
    cause.advice && h("p", {}, h("b", {}, "What to do: "), cause.advice),
    cause.request_id && h("a", { href: href(["requests", cause.request_id]) }, "Explain one such request"),
  );
}

function titleOf({ kind, pointer, offset, offset_end: end }) {
  const range = end != null && end !== offset ? `s ${whole(offset)} to ${whole(end)}` : ` ${whole(offset)}`;
  return [
    kind.replaceAll("_", " "),
    " in ",
    h("code", {}, pointer || "/"),
    offset != null && ` at character${range}`,
  ];
}

/** The two values that differ; the gateway has taken their text out. */
export function values(pair) {
  if (!pair) return null;
  const [before, after] = pair;
  return h(
    "p",
    { class: "values" },
    h("span", { class: "label" }, "before"),
    h("code", {}, before),
    h("span", { class: "label" }, "now"),
    h("code", {}, after),
  );
}

function comparisonOf(comparison, route, version) {
  if (!comparison)
    return lesson(
      "No predecessor",
      h(
        "p",
        {},
        "This is the first version of its route that the gateway has seen, so there is nothing to compare it with.",
      ),
    );
  const { predecessor, hit_rate: hit, ttft_s: ttft, requests } = comparison;
  const link = h("a", { href: href(["prompts", route, predecessor]) }, predecessor);
  const line = (name, before, after, change, sure) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      [before, after, change, sure].map((text) => h("td", { class: "number" }, text)),
    );
  return h(
    "div",
    {},
    h("p", { class: "lead" }, sentence(comparison, version, link)),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparison" },
      h(
        "table",
        { class: "plain" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["", "before", "now", "change", "how sure"].map((text, i) =>
              h(i ? "th" : "td", i ? { scope: "col", class: "number" } : {}, text),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          line("Hit rate", percent(hit?.before), percent(hit?.after), points(hit?.change), sureness(hit)),
          line("TTFT p50", seconds(ttft?.before), seconds(ttft?.after), relative(ttft?.change), sureness(ttft)),
          line("Requests", whole(requests.before), whole(requests.after), "", ""),
        ),
      ),
    ),
  );
}

/** The verdict in words. */
function sentence(comparison, version, link) {
  const { verdict, hit_rate: hit, shared_prefix_tokens: shared, shared_prefix_share: share } = comparison;
  const both = shared
    ? ` The two share their first ${compact(shared)} tokens (${percent(share, 0)} of its tools and system text).`
    : " The two share nothing at their beginning.";
  const change = `${percent(hit?.before)} → ${percent(hit?.after)}`;
  const words = {
    worse: [`${version} is worse than `, link, `: its hit rate fell, ${change}.${both}`],
    better: [`${version} is better than `, link, `: its hit rate rose, ${change}.${both}`],
    same: [`${version} does as well as `, link, `: ${change}, no change that would be worth a look.${both}`],
  };
  return h("span", {}, words[verdict] ?? ["Too few requests yet to compare it with ", link, `.${both}`]);
}

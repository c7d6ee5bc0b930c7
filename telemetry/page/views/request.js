// One request, and why it missed: in sentences, as a bar of its prompt, then all that is known.

import { get } from "../api.js";
import { legend, stack } from "../charts/bars.js";
import { h } from "../dom.js";
import { UNKNOWN, moment, seconds, whole } from "../format.js";
import { card, exports } from "../parts.js";
import { DOCS } from "../reasons.js";
import { href } from "../route.js";
import { explained, parting, routing, verdictOf } from "../sentences.js";
import { values } from "./prompt.js";

/** The page of a request. It is over, so nothing here moves. */
export async function request(id) {
  const path = `api/requests/${encodeURIComponent(id)}`;
  const row = await get(path);
  const bar = stack("big");
  bar.update(row.uncached_by_reason, row.cached_tokens);
  return {
    title: "Why this request missed",
    beside: exports(path, {}, `request-${id}`, ["json"]),
    node: h(
      "div",
      {},
      h(
        "nav",
        { class: "crumbs", "aria-label": "Where this is" },
        h("a", { href: href(["requests"]) }, "Requests"),
        " / ",
        h("span", { "aria-current": "page" }, id),
      ),
      h(
        "section",
        { class: "card story" },
        h("p", { class: "lead" }, verdictOf(row)),
        bar.node,
        row.input_tokens != null && legend(row.uncached_by_reason, row.cached_tokens),
        h("p", {}, routing(row)),
        reasons(row),
      ),
      row.divergent && divergent(row.divergent),
      card("Request", facts(row)),
    ),
  };
}

function reasons(row) {
  const lines = explained(row);
  if (!lines.length) return null;
  return h(
    "div",
    {},
    h("h2", {}, "Why the others were not cached"),
    h(
      "ul",
      { class: "why" },
      lines.map(([{ key, todo, avoidable }, text]) =>
        h(
          "li",
          {},
          h("i", { class: `swatch c-${key}` }),
          h(
            "span",
            {},
            text,
            avoidable && key !== "divergent" && h("span", { class: "note" }, ` What to do: ${todo}.`),
          ),
        ),
      ),
    ),
    h("a", { href: DOCS, rel: "noreferrer" }, "All reasons: docs/misses.md"),
  );
}

function divergent(miss) {
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Where it parts"),
    h("p", {}, parting(miss)),
    miss.pointer != null &&
      h(
        "p",
        {},
        h("span", { class: "label" }, "place "),
        h("code", {}, miss.pointer || "/"),
        miss.offset != null && ` at character ${whole(miss.offset)}`,
      ),
    values(miss.values),
    miss.advice && h("p", {}, h("b", {}, "What to do: "), miss.advice),
  );
}

function facts(row) {
  const version =
    row.prompt_version == null
      ? UNKNOWN
      : h("a", { href: href(["prompts", row.route, row.prompt_version]) }, row.prompt_version);
  const pairs = [
    ["Started", moment(row.started)],
    ["Path", row.path],
    ["Model", row.model],
    ["Route", row.route],
    ["Customer", row.customer],
    ["Prompt version", version],
    ["Worker", row.worker ?? UNKNOWN],
    ["Status", `${row.status}, ${row.outcome}`],
    ["TTFT", seconds(row.ttft_s)],
    ["Took", seconds(row.duration_s)],
    ["Expected cached", whole(row.expected_cached_tokens)],
    ["Best in the fleet", whole(row.best_fleet_tokens)],
  ];
  return h(
    "dl",
    { class: "facts columns" },
    pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

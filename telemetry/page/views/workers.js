// Every worker: what it is doing, how full its cache is, and whether it held what the router believed it held.

import { get } from "../api.js";
import { legend, meter, stack } from "../charts/bars.js";
import { h, say } from "../dom.js";
import { UNKNOWN, compact, percent, rate, total, whole } from "../format.js";
import { exports, lesson } from "../parts.js";
import { href } from "../route.js";

/** One card a worker; cards stay where they are while their numbers move. */
export async function workers() {
  const cards = new Map();
  const grid = h("div", { class: "grid" });
  const none = h("div", {}, noWorkers());
  const load = async () => (await get("workers")).workers;
  const draw = (rows) => {
    none.hidden = rows.length > 0;
    for (const row of rows) if (!cards.has(row.id)) cards.set(row.id, workerCard(row));
    for (const row of rows) cards.get(row.id).update(row);
    const wanted = rows.map((row) => cards.get(row.id).node);
    if (wanted.length !== grid.children.length || wanted.some((node, i) => node !== grid.children[i]))
      grid.replaceChildren(...wanted);
  };
  draw(await load());
  return {
    title: "Workers",
    beside: exports("workers", {}, "workers", ["json"]),
    node: h("div", {}, none, grid),
    refresh: async () => draw(await load()),
  };
}

function workerCard({ id }) {
  const badge = h("span", { class: "badge" });
  const about = h("p", { class: "note" });
  const kv = meter("KV cache", "kv");
  const expected = meter("Expected", "expected");
  const cached = meter("Delivered", "cached");
  const load = h("dl", { class: "facts" });
  const bar = stack();
  const parts = h("div");
  const trouble = h("p", { class: "warn", hidden: true });
  const title = h("h2", { id: `worker-${id}` }, id);
  return {
    node: h(
      "article",
      { class: "card worker", "aria-labelledby": `worker-${id}` },
      h("div", { class: "card-head" }, title, badge),
      about,
      trouble,
      load,
      kv.node,
      h("h3", {}, "Expected against delivered"),
      expected.node,
      cached.node,
      h("h3", {}, "Where its tokens go"),
      bar.node,
      parts,
      h("a", { href: href(["requests"], { worker: id }) }, "Its latest requests"),
    ),
    update(row) {
      say(badge, row.breaker === "closed" ? row.state : `${row.state}, breaker ${row.breaker.replace("_", " ")}`);
      badge.dataset.state = row.breaker === "closed" ? row.state : "breaker";
      say(about, [row.kind, row.version, row.models.join(", "), row.url].filter(Boolean).join(" · "));
      const words = [row.warning, row.last_error].filter(Boolean).join(" ");
      trouble.hidden = !words;
      say(trouble, words);
      facts(load, row);
      kv.update(rate(row.kv_used_tokens, row.kv_capacity_tokens), fill(row));
      const { input_tokens: input, expected_cached_tokens: hoped, cached_tokens: got } = row;
      expected.update(
        rate(hoped, input),
        input ? `${percent(rate(hoped, input))} · ${compact(hoped)} tokens` : UNKNOWN,
      );
      cached.update(rate(got, input), input ? `${percent(rate(got, input))} · ${compact(got)} tokens` : UNKNOWN);
      bar.update(row.uncached_by_reason, got);
      parts.replaceChildren(total(row.uncached_by_reason) ? legend(row.uncached_by_reason, got) : "");
    },
  };
}

function facts(list, row) {
  const pairs = [
    ["in flight", whole(row.in_flight)],
    ["running", whole(row.running)],
    ["waiting", whole(row.waiting)],
    ["page", row.page_size == null ? UNKNOWN : `${row.page_size}`],
  ];
  const text = pairs.flat().join();
  if (list.dataset.of === text) return;
  list.dataset.of = text;
  list.replaceChildren(...pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function fill({ kv_used_tokens: used, kv_capacity_tokens: capacity }) {
  if (used == null) return "not reported";
  return capacity
    ? `${percent(used / capacity, 0)} · ${compact(used)} of ${compact(capacity)} tokens`
    : compact(used);
}

function noWorkers() {
  const body = '{"url": "http://127.0.0.1:30000"}';
  const curl = `curl ${location.origin}/workers -H 'content-type: application/json' -d '${body}'`;
  return lesson(
    "No engines yet",
    h("p", {}, "The gateway has nobody to send requests to. Add an engine while it runs:"),
    h("pre", {}, h("code", {}, curl)),
    h("p", {}, "or name it at the start: ", h("code", {}, "prefixgate serve --engine http://127.0.0.1:30000"), "."),
  );
}

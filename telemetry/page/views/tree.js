// What prompts share: the beginnings that many requests have in common, as an icicle. Width: how many requests go
// through; each row below goes on where the one above ends.

import { get } from "../api.js";
import { h } from "../dom.js";
import { compact, count, percent } from "../format.js";
import { exports, labelsOf, lesson, noTraffic, select } from "../parts.js";
import { href } from "../route.js";

const ROW_PX = 46;

/** The icicle of a route and what is known about the piece that has the focus. */
export async function tree({ route }) {
  const cache = await get("api/cache", { by: "route" });
  const routes = labelsOf(cache.rows, "route");
  const chosen = route ?? routes[0];
  const load = () => get("api/tree", { route: chosen });
  const about = h("aside", { class: "card about", "aria-live": "polite", "aria-label": "The chosen beginning" });
  const icicle = h("div", { class: "icicle", role: "tree", "aria-label": `What prompts of ${chosen} share` });
  const none = h(
    "div",
    { hidden: true },
    lesson(
      "Nothing is shared yet",
      h("p", {}, "A beginning is drawn here when several requests of this route have it in common."),
    ),
  );
  const beside = h("div", { class: "beside" }, icicle, about);
  let drawn = "";

  function draw(data) {
    const shared = data.nodes.filter(({ requests }) => requests > 1); // what one prompt has alone is no beginning
    const now = JSON.stringify(shared.map(({ id, requests }) => [id, requests]));
    if (now === drawn || icicle.contains(document.activeElement)) return; // not under somebody's hands
    drawn = now;
    none.hidden = shared.length > 0;
    beside.hidden = !shared.length;
    const top = nested(shared, data.requests);
    place(top, 0, 1, 0);
    const items = flat(top);
    icicle.style.height = `${(1 + Math.max(0, ...items.map(({ level }) => level))) * ROW_PX}px`;
    icicle.replaceChildren(...items.map((item) => piece(item, about)));
    icicle.firstElementChild?.setAttribute("tabindex", "0");
    if (items.length) describe(about, items[0]);
  }

  if (chosen === undefined) return { title: "Prefix tree", node: noTraffic() };
  draw(await load());
  icicle.addEventListener("keydown", (event) => walk(event, icicle));
  const go = (value) => (location.hash = href(["tree"], { route: value }));
  return {
    title: "Prefix tree",
    beside: exports("api/tree", { route: chosen }, `prefix-tree-${chosen}`, ["json"]),
    node: h(
      "div",
      {},
      h("div", { class: "bar" }, select("Route", routes, chosen, go, null)),
      h(
        "p",
        { class: "lead" },
        "Every box is a beginning that several prompts share. The wider, the more requests; the lower, the longer. ",
        "Where nothing hangs below a box, prompts go on alone.",
      ),
      none,
      beside,
      h("p", { class: "note" }, "Arrow keys: up and down the tree, left and right among its branches."),
    ),
    refresh: async () => draw(await load()),
  };
}

function nested(nodes, requests) {
  const by = new Map(nodes.map((node) => [node.id, { ...node, children: [] }]));
  const top = [];
  for (const node of by.values()) {
    (by.get(node.parent)?.children ?? top).push(node);
    node.through = by.get(node.parent)?.requests ?? requests;
  }
  return top;
}

/** Gives each node its place: left and width as shares of the whole, level from the top. */
function place(siblings, left, width, level) {
  siblings.sort((a, b) => b.requests - a.requests);
  const all = Math.max(
    siblings.reduce((sum, node) => sum + node.requests, 0),
    siblings[0]?.through ?? 0,
  );
  let at = left;
  siblings.forEach((node, i) => {
    const share = all ? (node.requests / all) * width : 0;
    Object.assign(node, { left: at, width: share, level, position: i + 1, siblings: siblings.length });
    place(node.children, at, share, level + 1);
    at += share;
  });
}

function flat(nodes) {
  return nodes.flatMap((node) => [node, ...flat(node.children)]);
}

function piece(node, about) {
  const text = `${compact(end(node))} tokens`;
  const show = () => describe(about, node);
  const box = h(
    "div",
    {
      role: "treeitem",
      tabindex: "-1",
      class: "piece",
      "aria-level": node.level + 1,
      "aria-posinset": node.position,
      "aria-setsize": node.siblings,
      "aria-expanded": node.children.length ? "true" : null,
      "aria-selected": "false",
      "data-id": node.id,
      "data-parent": node.parent ?? "",
      "data-heat": Math.min(4, Math.ceil(node.share * 4)),
      title: `${text}, ${percent(node.share, 0)} of requests`,
      "aria-label": `${text}, ${percent(node.share, 0)} of requests, ${node.prompt_versions.join(", ")}`,
      onfocus: show,
      onclick: (event) => event.currentTarget.focus(),
    },
    h("b", {}, text, h("small", {}, node.prompt_versions.slice(0, 3).join(", "))),
    h("span", {}, percent(node.share, 0)),
  );
  box.style.left = `${node.left * 100}%`;
  box.style.width = `${node.width * 100}%`;
  box.style.top = `${node.level * ROW_PX}px`;
  return box;
}

function describe(about, node) {
  const more = node.holders == null ? "not known" : count(node.holders, "worker");
  const versions = node.prompt_versions.length ? node.prompt_versions.map((name) => h("code", {}, name)) : "none";
  const pairs = [
    ["This piece", `${compact(node.tokens)} tokens, after ${compact(node.depth_tokens)}`],
    ["Requests", `${compact(node.requests)} (${percent(node.share)})`],
    ["Held by", more],
    [
      "Goes on as",
      node.children.length
        ? count(node.children.length, "shared branch").replace("branchs", "branches")
        : "nothing shared",
    ],
    ["Prompt versions", versions],
  ];
  about.replaceChildren(
    h("h2", {}, `The first ${compact(end(node))} tokens`),
    h(
      "dl",
      { class: "facts column" },
      pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
  );
}

/** How long the beginning is that a piece completes. */
function end(node) {
  return node.depth_tokens + node.tokens;
}

/** Arrow keys as in any tree that grows downwards. */
function walk(event, icicle) {
  const now = document.activeElement;
  if (now.getAttribute("role") !== "treeitem") return;
  const items = [...icicle.children];
  const kin = items.filter((item) => item.dataset.parent === now.dataset.parent);
  const to = {
    ArrowUp: () => items.find((item) => item.dataset.id === now.dataset.parent),
    ArrowDown: () => items.find((item) => item.dataset.parent === now.dataset.id),
    ArrowLeft: () => kin[kin.indexOf(now) - 1],
    ArrowRight: () => kin[kin.indexOf(now) + 1],
    Home: () => items[0],
    End: () => items.at(-1),
  }[event.key]?.();
  if (!to) return;
  event.preventDefault();
  now.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

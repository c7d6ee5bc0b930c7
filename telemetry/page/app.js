// The page: shows the view that the address names, keeps it up to date, asks for the token when one is wanted.

import { listen, quietly, token } from "./api.js";
import { h, mark, say } from "./dom.js";
import { clock, compact, percent } from "./format.js";
import { login } from "./login.js";
import { current } from "./route.js";
import { theme } from "./theme.js";
import { latency } from "./views/latency.js";
import { overview } from "./views/overview.js";
import { prompt } from "./views/prompt.js";
import { prompts } from "./views/prompts.js";
import { request } from "./views/request.js";
import { requests } from "./views/requests.js";
import { tree } from "./views/tree.js";
import { workers } from "./views/workers.js";

const REFRESH_MS = 4000;
const SPEAK_MS = 60_000;
const by = (id) => document.getElementById(id);
const main = by("main");

const state = {
  shown: null,
  stream: null,
  paused: false,
  busy: false,
  last: null,
  refreshed: 0,
  spoken: 0,
  turn: 0,
  place: null,
};

/** The view of an address: {title, node, beside?, tick?, refresh?}. */
async function made({ view, args, query }) {
  if (view === "prompts") return args.length === 2 ? prompt(args[0], args[1]) : prompts(query);
  if (view === "requests") return args.length === 1 ? request(args[0]) : requests(query);
  if (view === "latency") return latency(query);
  if (view === "workers") return workers();
  if (view === "tree") return tree(query);
  if (view === "") return overview(query);
  return { title: "No such view", node: h("p", { class: "empty" }, "There is no view of this name.") };
}

async function show(moved) {
  const turn = ++state.turn;
  const where = current();
  const focused = document.activeElement?.id;
  const waiting = setTimeout(() => mark(main, "aria-busy", "true"), 150);
  let next;
  try {
    next = await made(where);
  } catch (error) {
    next = failed(error);
  }
  if (!next.locked) connect();
  clearTimeout(waiting);
  if (turn !== state.turn) return;
  state.shown = next;
  mark(main, "aria-busy", "false");
  const title = h("h1", { tabindex: "-1" }, next.title);
  main.replaceChildren(h("div", { class: "head" }, title, next.beside), next.node);
  document.title = `${next.title} · prefixgate`;
  for (const link of by("views").children) link.removeAttribute("aria-current");
  by("views").querySelector(`[href="#/${where.view}"]`)?.setAttribute("aria-current", "page");
  const place = [where.view, ...where.args].join("/");
  if (moved) arrive(place === state.place ? by(focused) : null, title);
  state.place = place;
}

/** The same view, asked otherwise: what asked keeps the focus. Another one: it begins at its heading. */
function arrive(asked, title) {
  if (asked && main.contains(asked)) return asked.focus();
  title.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function failed(error) {
  if (error.wantsToken) return { title: "Sign in", locked: true, node: login(token.get() !== null, signIn) };
  if (error.status === undefined) throw error;
  const again = h("button", { type: "button", onclick: () => show(false) }, "Try again");
  const node = h("div", { class: "empty" }, h("p", {}, error.message), again);
  return { title: "Nothing to show", unanswered: error.status === 0, node };
}

function signIn(value) {
  token.set(value);
  state.stream?.stop();
  state.stream = null;
  return show(true);
}

function connect() {
  by("logout").hidden = token.get() === null;
  if (state.stream === null && !state.paused) state.stream = listen(ticked, changed);
}

function changed(to, error) {
  const words = { live: "Live", lost: "Reconnecting", asleep: "Asleep" };
  mark(by("live"), "data-state", to);
  say(by("live-text"), words[to]);
  const since = state.last ? ` The numbers are those of ${clock(state.last)}.` : "";
  by("lost").hidden = to !== "lost";
  if (to === "lost") say(by("lost"), `Connection lost: ${error.message} Trying again.${since}`);
  if (to === "lost" ? error.wantsToken : to === "live" && state.shown?.unanswered) show(false);
}

function ticked(tick) {
  state.last = tick.overview.now;
  const { version, policy, level } = tick.overview;
  say(by("about"), `prefixgate ${version} · policy ${policy} · level ${level}`);
  if (state.shown && !state.busy) update(state.shown, tick);
  if (Date.now() - state.spoken > SPEAK_MS) speak(tick.overview);
}

/** Brings a view up to date; ticks that come meanwhile are left out. */
async function update(view, tick) {
  state.busy = true;
  try {
    await quietly(view.tick?.(tick));
    if (!view.refresh || Date.now() - state.refreshed < REFRESH_MS) return;
    state.refreshed = Date.now();
    await quietly(view.refresh());
  } finally {
    state.busy = false;
  }
}

/** A summary for screen readers, at most once a minute. */
function speak({ totals, requests_per_s: pace }) {
  state.spoken = Date.now();
  say(by("said"), `Hit rate ${percent(totals.hit_rate)}, ${compact(pace)} requests per second.`);
}

function pause() {
  state.paused = !state.paused;
  mark(by("live"), "aria-pressed", String(!state.paused));
  state.stream?.stop();
  state.stream = null;
  if (!state.paused) return connect();
  by("lost").hidden = true;
  mark(by("live"), "data-state", "paused");
  say(by("live-text"), "Paused");
}

function signOut() {
  token.clear();
  location.reload();
}

theme(by("theme"));
by("live").addEventListener("click", pause);
by("logout").addEventListener("click", signOut);
by("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => show(true));
show(false);

// What charts over time share: size, axes, crosshair by pointer and arrow keys, a readout, the numbers as a table.
//
// A chart gives: ticks (values of the y axis), format (of them), draw(layer, scales, points), readout(point) as rows
// of [colour, name, text], top(points): the largest value.

import { h, mark, s, say } from "../dom.js";
import { clock } from "../format.js";

const LEFT = 46;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 24;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

/** A chart over time. {node, update(points, from, to)}; points have `at` in seconds, oldest first. */
export function timeChart({ label, height, columns, ...chart }) {
  const layers = ["grid", "marks", "cross"].map((name) => s("g", { class: name }));
  const [grid, marks, cross] = layers;
  const svg = s("svg", { class: "plot", height, "aria-hidden": "true" }, layers);
  const readout = h("div", { class: "readout", hidden: true });
  const box = h("div", { class: "chart", tabindex: "0", role: "group", "aria-label": label }, svg, readout);
  const spoken = h("p", { class: "hidden", "aria-live": "polite" });
  const rows = h("tbody");
  const heads = columns.map(([title]) => h("th", { scope: "col" }, title));
  const table = h("table", { class: "plain" }, h("thead", {}, h("tr", {}, heads)), rows);
  const scroll = h(
    "div",
    { class: "scroll short", tabindex: "0", role: "region", "aria-label": `${label}: table` },
    table,
  );
  const details = h("details", { class: "as-table" }, h("summary", {}, "Show as a table"), scroll);
  const state = { points: [], from: 0, to: 1, at: null, width: 0 };

  function scales() {
    const top = chart.top(state.points);
    const x = (at) => LEFT + ((at - state.from) / (state.to - state.from || 1)) * (state.width - LEFT - RIGHT);
    const y = (value) => height - BOTTOM - (value / (top || 1)) * (height - BOTTOM - TOP);
    return { x, y, top, base: height - BOTTOM };
  }

  function redraw() {
    if (!state.width) return;
    const place = scales();
    mark(svg, "viewBox", `0 0 ${state.width} ${height}`);
    grid.replaceChildren(...yAxis(place, chart, state.width), ...xAxis(place, state));
    marks.replaceChildren();
    chart.draw(marks, place, state.points);
    point();
    if (details.open) tabulate();
  }

  /** Draws the crosshair at the point in hand. */
  function point() {
    const each = state.at === null ? null : nearest(state.points, state.at);
    readout.hidden = each === null;
    if (each === null) return void cross.replaceChildren();
    const { x, y, base } = scales();
    const dots = (chart.dots?.(each) ?? []).map(([color, value]) =>
      s("circle", { class: `dot c-${color}`, cx: x(each.at), cy: y(value), r: 4 }),
    );
    cross.replaceChildren(s("line", { x1: x(each.at), x2: x(each.at), y1: TOP, y2: base }), ...dots);
    const lines = chart.readout(each);
    readout.replaceChildren(
      h("strong", {}, clock(each.at)),
      ...lines.map(([color, name, text]) =>
        h("span", { class: "line" }, color && h("i", { class: `swatch c-${color}` }), name, h("b", {}, text)),
      ),
    );
    const right = x(each.at) > state.width / 2;
    readout.style.left = right ? "" : `${x(each.at) + 12}px`;
    readout.style.right = right ? `${state.width - x(each.at) + 12}px` : "";
  }

  function choose(each) {
    state.at = each?.at ?? null;
    point();
  }

  function follow(event) {
    const px = event.clientX - svg.getBoundingClientRect().left;
    const at = state.from + ((px - LEFT) / (state.width - LEFT - RIGHT)) * (state.to - state.from);
    choose(nearest(state.points, at));
  }

  function step(event) {
    const now = state.points.findIndex(({ at }) => at === state.at);
    const last = state.points.length - 1;
    const to = { ArrowLeft: now < 0 ? last : now - 1, ArrowRight: now < 0 ? 0 : now + 1, Home: 0, End: last }[
      event.key
    ];
    if (event.key === "Escape") return choose(null);
    if (to === undefined || last < 0) return;
    event.preventDefault();
    choose(state.points[Math.max(0, Math.min(last, to))]);
    say(spoken, readout.innerText.replaceAll("\n", ", "));
  }

  function tabulate() {
    const cells = (each) => columns.map(([, text], i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, text(each)));
    rows.replaceChildren(...state.points.toReversed().map((each) => h("tr", {}, cells(each))));
  }

  box.addEventListener("pointermove", follow);
  box.addEventListener("pointerleave", () => choose(null));
  box.addEventListener("keydown", step);
  box.addEventListener("blur", () => choose(null));
  details.addEventListener("toggle", () => details.open && tabulate());
  new ResizeObserver(([entry]) => {
    state.width = Math.round(entry.contentRect.width);
    redraw();
  }).observe(box);
  return {
    node: h("div", { class: "chart-box" }, box, spoken, details),
    update(points, from, to) {
      Object.assign(state, { points, from, to });
      redraw();
    },
  };
}

/** Points joined by so many that about `most` are left; at round times, so that they stay when new ones come. */
export function thinned(points, most, join) {
  const size = Math.ceil(points.length / most);
  if (size <= 1) return points;
  const width = size * (points[1].at - points[0].at);
  const groups = Map.groupBy(points, ({ at }) => Math.floor(at / width));
  return [...groups.values()].map((group) => group.reduce(join));
}

function yAxis({ x, y, top }, { ticks, format }, width) {
  return ticks(top)
    .map((value) => [
      s("line", { class: value ? "rule" : "rule base", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)),
    ])
    .flat();
}

function xAxis({ x, base }, { from, to, width }) {
  const room = Math.max(2, Math.floor((width - LEFT) / 90));
  const step = STEPS.find((each) => (to - from) / each <= room) ?? STEPS.at(-1);
  const marks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const anchor = x(at) > width - 30 ? "end" : "middle";
    marks.push(s("text", { x: x(at), y: base + 17, "text-anchor": anchor }, clock(at, step < 60)));
  }
  return marks;
}

function nearest(points, at) {
  let best = null;
  for (const each of points) if (best === null || Math.abs(each.at - at) < Math.abs(best.at - at)) best = each;
  return best;
}

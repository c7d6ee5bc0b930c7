// Hit rate over time: the rate that was, the one that was expected. Where nothing came there is no line.

import { s } from "../dom.js";
import { clock, percent, rate, whole } from "../format.js";
import { timeChart } from "./frame.js";

const hit = (point) => rate(point.cached_tokens, point.input_tokens);
const expected = (point) => rate(point.expected_cached_tokens, point.input_tokens);

/** The chart; give `update` the points of /api/history. */
export function hitRateChart(height = 240) {
  return timeChart({
    label: "Hit rate over time",
    height,
    columns: [
      ["Time", (point) => clock(point.at)],
      ["Hit rate", (point) => percent(hit(point))],
      ["Expected", (point) => percent(expected(point))],
      ["Cached tokens", (point) => whole(point.cached_tokens)],
      ["Input tokens", (point) => whole(point.input_tokens)],
      ["Requests", (point) => whole(point.requests)],
    ],
    top: () => 1,
    ticks: () => [0, 0.25, 0.5, 0.75, 1],
    format: (value) => `${value * 100} %`,
    draw(layer, place, points) {
      line(layer, place, points, expected, "expected");
      line(layer, place, points, hit, "hit");
    },
    dots: (point) => (hit(point) === null ? [] : [["cached", hit(point)]]),
    readout: (point) => [
      ["cached", "hit rate", percent(hit(point))],
      ["expected", "expected", percent(expected(point))],
      [null, "input tokens", whole(point.input_tokens)],
      [null, "requests", whole(point.requests)],
    ],
  });
}

function line(layer, { x, y, base }, points, value, name) {
  for (const run of runs(points, value)) {
    const path = run
      .map((point, i) => `${i ? "L" : "M"}${x(point.at).toFixed(1)} ${y(value(point)).toFixed(1)}`)
      .join("");
    if (name === "hit" && run.length > 1) {
      layer.append(s("path", { class: "area", d: `${path}L${x(run.at(-1).at)} ${base}L${x(run[0].at)} ${base}Z` }));
    }
    if (run.length > 1) layer.append(s("path", { class: `line ${name}`, d: path }));
    else if (name === "hit")
      layer.append(s("circle", { class: "alone", cx: x(run[0].at), cy: y(value(run[0])), r: 2.5 }));
  }
}

/** Neighbours whose value is known; a gap of up to two steps is bridged. */
function runs(points, value) {
  const found = [];
  let missing = Infinity;
  for (const point of points) {
    if (value(point) === null) {
      missing += 1;
      continue;
    }
    if (missing > 2) found.push([]);
    found.at(-1).push(point);
    missing = 0;
  }
  return found;
}

// Uncached tokens over time, one column a step, stacked by reason.

import { s } from "../dom.js";
import { clock, compact, total, whole } from "../format.js";
import { REASONS, present } from "../reasons.js";
import { timeChart } from "./frame.js";

const uncached = (point) => total(point.uncached_by_reason);

/** The chart; give `update` the points of /api/history. */
export function reasonsChart(height = 200) {
  return timeChart({
    label: "Uncached tokens over time, by reason",
    height,
    columns: [
      ["Time", (point) => clock(point.at)],
      ...REASONS.filter(({ key }) => key !== "unknown").map(({ key, title }) => [
        title,
        (point) => whole(point.uncached_by_reason[key] ?? 0),
      ]),
    ],
    top: (points) => nice(Math.max(1, ...points.map(uncached))),
    ticks: (top) => [0, top / 2, top],
    format: compact,
    draw(layer, { x, y }, points) {
      const room = points.length > 1 ? x(points[1].at) - x(points[0].at) : 12;
      const width = Math.max(1, Math.min(28, room - (room > 4 ? 2 : 0.5)));
      for (const point of points) layer.append(...column(point, x(point.at) - width / 2, y, width));
    },
    readout: (point) => [
      ...present(point.uncached_by_reason).map(([{ key, title }, tokens]) => [
        key,
        title.toLowerCase(),
        whole(tokens),
      ]),
      [null, "all uncached", whole(uncached(point))],
    ],
  });
}

function column(point, left, y, width) {
  let under = 0;
  return present(point.uncached_by_reason).map(([{ key }, tokens]) => {
    const bottom = y(under);
    under += tokens;
    const top = y(under);
    const gap = bottom - top > 3 ? 1 : 0; // a hairline apart: colour is not all that tells them apart
    return s("rect", { class: `c-${key}`, x: left, y: top, width, height: Math.max(0, bottom - top - gap) });
  });
}

/** The next round number above a value whose half is round too. */
function nice(value) {
  const scale = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * scale >= value) * scale;
}

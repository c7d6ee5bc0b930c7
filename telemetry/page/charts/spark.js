// A hit rate of the last half hour as a line the size of a word.

import { h, s } from "../dom.js";
import { UNKNOWN, percent } from "../format.js";

const WIDTH = 88;
const HEIGHT = 24;

/** values: rates or null, oldest first. */
export function sparkline(values) {
  const known = (values ?? []).map((value, i) => [i, value]).filter(([, value]) => value !== null);
  if (!known.length) return h("span", { class: "muted" }, UNKNOWN);
  const x = (i) => 2 + (i / Math.max(1, values.length - 1)) * (WIDTH - 4);
  const y = (value) => HEIGHT - 3 - value * (HEIGHT - 6);
  let path = "";
  let before = -2;
  for (const [i, value] of known) {
    path += `${i === before + 1 ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    before = i;
  }
  const [last, value] = known.at(-1);
  const alone = known.filter(([i]) => values[i - 1] == null && values[i + 1] == null);
  const label = `from ${percent(known[0][1], 0)} to ${percent(value, 0)}`;
  return s(
    "svg",
    {
      class: "spark",
      width: WIDTH,
      height: HEIGHT,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": label,
    },
    s("path", { d: path }),
    alone.map(([i, each]) => s("circle", { cx: x(i), cy: y(each), r: 1.5 })),
    s("circle", { class: "end", cx: x(last), cy: y(value), r: 2.5 }),
  );
}

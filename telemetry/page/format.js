// Numbers as people read them. Unknown is a dash, never 0.

export const UNKNOWN = "–";

const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SCALES = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** 12345 -> 12.3k; below 1,000 as it is. */
export function compact(value) {
  if (value == null) return UNKNOWN;
  for (const [scale, letter] of SCALES) {
    if (Math.abs(value) >= scale * 0.9995) return `${significant(value / scale)}${letter}`;
  }
  return Number.isInteger(value) ? String(value) : significant(value);
}

/** 12345 -> 12,345. */
export function whole(value) {
  return value == null ? UNKNOWN : PLAIN.format(value);
}

/** 0.7123 -> 71.2 %. */
export function percent(share, digits = 1) {
  return share == null || Number.isNaN(share) ? UNKNOWN : `${(share * 100).toFixed(digits)} %`;
}

/** A change of a rate in points: +3.1 pt. */
export function points(change) {
  return change == null ? UNKNOWN : `${change < 0 ? "−" : "+"}${Math.abs(change * 100).toFixed(1)} pt`;
}

/** Seconds: 0.0123 -> 12.3 ms. */
export function seconds(value) {
  if (value == null) return UNKNOWN;
  if (value < 0.001) return `${significant(value * 1e6)} µs`;
  if (value < 1) return `${significant(value * 1e3)} ms`;
  return value < 120 ? `${significant(value)} s` : span(value);
}

/** A change as a share of what was before: +12 %. */
export function relative(change) {
  return change == null ? UNKNOWN : `${change < 0 ? "−" : "+"}${percent(Math.abs(change), 0)}`;
}

/** A span of time in words: 3 min, 5 h, 2 d. */
export function span(value) {
  if (value < 60) return `${Math.round(value)} s`;
  if (value < 5400) return `${Math.round(value / 60)} min`;
  return value < 129600 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} d`;
}

/** How long ago: "12 s ago". */
export function ago(at, now) {
  return at == null ? UNKNOWN : `${span(Math.max(0, now - at))} ago`;
}

/** Time of day, with seconds. */
export function clock(at, withSeconds = true) {
  if (at == null) return UNKNOWN;
  const second = withSeconds ? { second: "2-digit" } : {};
  return new Date(at * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...second });
}

/** Day and time. */
export function moment(at) {
  return at == null ? UNKNOWN : `${new Date(at * 1000).toISOString().slice(0, 10)} ${clock(at)}`;
}

/** 1 request, 2 requests. */
export function count(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Cached / input; null when nothing is known. */
export function rate(cached, input) {
  return input ? cached / input : null;
}

/** The sum of an object's numbers. */
export function total(tokens) {
  return Object.values(tokens ?? {}).reduce((sum, each) => sum + each, 0);
}

function significant(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || value === 0 ? 0 : size >= 9.995 ? 1 : 2).replace(/\.0+$/, "");
}

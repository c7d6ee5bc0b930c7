// Pieces that several views are made of.

import { download } from "./api.js";
import { h, say } from "./dom.js";

/** A card with a heading. */
export function card(title, ...children) {
  return h("section", { class: "card" }, title && h("h2", {}, title), children);
}

/** A number with its name. {node, update(value, note)} */
export function figure(label, hint) {
  const value = h("span", { class: "value" }, "–");
  const note = h("span", { class: "note" }, hint ?? "");
  return {
    node: h("div", { class: "figure" }, h("span", { class: "label" }, label), value, note),
    update(text, more) {
      say(value, text);
      if (more !== undefined) say(note, more);
    },
  };
}

/** Two buttons that save what is shown. */
export function exports(path, parameters, name, formats = ["csv", "json"]) {
  const said = h("span", { class: "hidden", role: "status" });
  const save = async (format) => {
    try {
      await download(path, typeof parameters === "function" ? parameters() : parameters, format, name);
      say(said, `Saved ${name}.${format}`);
    } catch (error) {
      if (error.status === undefined) throw error;
      said.className = "bad";
      say(said, error.message);
    }
  };
  const button = (format) =>
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `Save ${name} as ${format.toUpperCase()}`,
        onclick: () => save(format),
      },
      format.toUpperCase(),
    );
  return h(
    "div",
    { class: "exports", role: "group", "aria-label": "Export" },
    h("span", { "aria-hidden": "true" }, "Export"),
    formats.map(button),
    said,
  );
}

/** One of several, as buttons in a row. choices: [value, text]. */
export function choice(label, choices, chosen, choose) {
  const buttons = choices.map(([value, text]) =>
    h(
      "button",
      {
        type: "button",
        id: `choose-${value}`,
        "aria-pressed": String(value === chosen),
        onclick: (event) => pick(event.currentTarget, value),
      },
      text,
    ),
  );
  const pick = (button, value) => {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
    choose(value);
  };
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

/** A select with a label. values: those there are; "" is all. */
export function select(label, values, chosen, choose, all = "all") {
  const option = (value, text) => h("option", { value, selected: value === chosen }, text);
  const given = chosen && !values.includes(chosen) ? [chosen, ...values] : values;
  return h(
    "label",
    { class: "select" },
    label,
    h(
      "select",
      { id: `choose-${label.replaceAll(" ", "-")}`, onchange: (event) => choose(event.target.value) },
      all && option("", all),
      given.map((value) => option(value, value)),
    ),
  );
}

/** The names of all routes that had requests. */
export function labelsOf(rows, dimension) {
  return [...new Set(rows.map((row) => row[dimension]).filter((value) => value != null))].sort();
}

/** An empty state that says what to do. */
export function lesson(title, ...children) {
  return h("div", { class: "lesson" }, h("h2", {}, title), children);
}

/** What to do when nothing has come yet. */
export function noTraffic() {
  const body = '{"model": "MODEL", "messages": [{"role": "user", "content": "Hello"}]}';
  const curl = `curl ${location.origin}/v1/chat/completions -H 'content-type: application/json' \\\n  -d '${body}'`;
  return lesson(
    "No traffic yet",
    h(
      "p",
      {},
      "Nothing has gone through this gateway since it started. Point a client's base URL at it, or send one request:",
    ),
    h("pre", {}, h("code", {}, curl)),
    h(
      "p",
      {},
      "It shows up here within two seconds. To see this page with traffic of several applications at once, run ",
      h("code", {}, "prefixgate demo --keep"),
      ".",
    ),
  );
}

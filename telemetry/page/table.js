// A table of many rows: sort, filter, pages, arrow keys. Only one page of rows is in the document.
//
// A column: {key, title, value(row) to sort by, cell(row) -> text or node, numeric?, first? ("asc": as sorted first),
// fixed?: its node is made once per row, so that what has the focus stays,
// room?: "wide" or "middle", the screens it needs}.

import { h, mark, say } from "./dom.js";
import { whole } from "./format.js";

const PAGE_ROWS = 50;

/** {node, update(rows), filter(text), shown()}. `changed` is called with {sort, filter, page} for the address. */
export function createTable({
  caption,
  columns,
  key,
  href,
  text,
  sort,
  filter = "",
  noun,
  empty,
  changed = () => {},
}) {
  const heads = new Map(columns.map((column) => [column.key, head(column)]));
  const body = h("tbody");
  const table = h(
    "table",
    { class: "rows" },
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, [...heads.values()])),
    body,
  );
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
  const none = h("div", { class: "empty", hidden: true }, empty);
  const unmatched = h("p", { class: "empty", hidden: true }, "Nothing matches.");
  const counted = h("p", { class: "note", role: "status" });
  const back = h("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = h("button", { type: "button", onclick: () => turn(1) }, "Next");
  const state = { rows: [], order: [], page: 0, sort: { ...sort }, filter, trs: new Map() };

  function head(column) {
    const name = h("button", { type: "button", onclick: () => sortBy(column) }, column.title);
    return h("th", { scope: "col", class: classes(column) }, column.value ? name : column.title);
  }

  function sortBy(column) {
    const first = column.first ?? (column.numeric ? "desc" : "asc");
    const again = state.sort.key === column.key;
    state.sort = { key: column.key, way: again ? other(state.sort.way) : first };
    state.page = 0;
    arrange();
    tell();
  }

  function turn(by) {
    state.page += by;
    draw();
    scroll.scrollTop = 0;
    tell();
  }

  function tell() {
    changed({ sort: `${state.sort.key}.${state.sort.way}`, filter: state.filter });
  }

  /** Rows that pass the filter, in order. held: rows keep their places while somebody points at the table. */
  function arrange(held = false) {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = words.length
      ? state.rows.filter((row) => words.every((word) => text(row).toLowerCase().includes(word)))
      : [...state.rows];
    if (held) {
      const place = new Map(state.order.map((row, i) => [key(row), i]));
      rows.sort((a, b) => (place.get(key(a)) ?? Infinity) - (place.get(key(b)) ?? Infinity) || 0);
    } else {
      const { value } = columns.find((column) => column.key === state.sort.key && column.value) ?? columns[0];
      rows.sort(compare(value, state.sort.way === "asc" ? 1 : -1));
    }
    state.order = rows;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(state.order.length / PAGE_ROWS));
    state.page = Math.max(0, Math.min(state.page, pages - 1));
    const rows = state.order.slice(state.page * PAGE_ROWS, (state.page + 1) * PAGE_ROWS);
    const trs = new Map(rows.map((row) => [key(row), cells(state.trs.get(key(row)) ?? line(row), row)]));
    state.trs = trs;
    const wanted = [...trs.values()];
    if (wanted.length !== body.children.length || wanted.some((tr, i) => tr !== body.children[i])) place(wanted);
    for (const [name, th] of heads) {
      mark(th, "aria-sort", name !== state.sort.key ? "none" : state.sort.way === "asc" ? "ascending" : "descending");
    }
    none.hidden = state.rows.length > 0;
    unmatched.hidden = !state.rows.length || state.order.length > 0;
    scroll.hidden = !state.order.length;
    back.disabled = state.page === 0;
    on.disabled = state.page >= pages - 1;
    back.hidden = on.hidden = pages === 1;
    const part = state.order.length === state.rows.length ? "" : ` of ${whole(state.rows.length)}`;
    say(
      counted,
      `${whole(state.order.length)}${part} ${noun}${pages > 1 ? ` · page ${state.page + 1} of ${pages}` : ""}`,
    );
  }

  /** New order without taking the focus away from the row that has it. */
  function place(trs) {
    const focused = body.contains(document.activeElement) ? document.activeElement : null;
    body.replaceChildren(...trs);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  function line(row) {
    const tr = h(
      "tr",
      {},
      columns.map((column) =>
        h(
          column.fixed ? "th" : "td",
          { class: classes(column), scope: column.fixed ? "row" : null },
          column.fixed && column.cell(row),
        ),
      ),
    );
    if (href)
      tr.addEventListener(
        "click",
        (event) => event.target.closest("a, button") || getSelection().toString() || (location.hash = href(row)),
      );
    return tr;
  }

  function cells(tr, row) {
    columns.forEach((column, i) => {
      if (column.fixed) return;
      const made = column.cell(row);
      if (typeof made === "string") say(tr.children[i], made);
      else tr.children[i].replaceChildren(made);
    });
    return tr;
  }

  function move(event) {
    const links = [...body.querySelectorAll("th a")];
    const now = links.indexOf(document.activeElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: links.length - 1 }[event.key];
    if (now < 0 || to === undefined || !links[to]) return;
    event.preventDefault();
    links[to].focus();
  }

  body.addEventListener("keydown", move);
  return {
    node: h("div", { class: "table" }, scroll, none, unmatched, h("div", { class: "pager" }, counted, back, on)),
    update(rows) {
      state.rows = rows;
      arrange(body.matches(":hover") || body.contains(document.activeElement));
    },
    filter(words) {
      state.filter = words;
      state.page = 0;
      arrange();
      tell();
    },
    shown: () => state.order.slice(state.page * PAGE_ROWS, (state.page + 1) * PAGE_ROWS),
  };
}

/** A field that filters as one types. */
export function filterField(label, value, typed) {
  return h("input", {
    type: "search",
    class: "filter",
    placeholder: label,
    "aria-label": label,
    value,
    oninput: (event) => typed(event.target.value),
  });
}

/** The sort of an address, as a table takes it. */
export function sortOf(query, key, way) {
  const [name, given] = (query.sort ?? "").split(".");
  return name && (given === "asc" || given === "desc") ? { key: name, way: given } : { key, way };
}

function classes({ numeric, room }) {
  return [numeric && "number", room].filter(Boolean).join(" ") || null;
}

function other(way) {
  return way === "asc" ? "desc" : "asc";
}

/** Unknown values come last, whichever way. */
function compare(value, sign) {
  return (rowA, rowB) => {
    const [a, b] = [value(rowA), value(rowB)];
    if (a == null || b == null) return (a == null) - (b == null);
    return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
  };
}

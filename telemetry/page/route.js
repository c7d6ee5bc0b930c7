// Addresses of views: #/view/argument/…?filter=value. What a table shows is in its address, so it can be sent on.

/** {view, args, query} of the address as it is. */
export function current() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  const [view, ...args] = path.split("/").filter(Boolean).map(decode);
  return { view: view ?? "", args, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** The address of a view. */
export function href(parts, query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value != null && value !== "");
  const more = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${more}`;
}

/** Writes what a view shows into its address, without leaving it. */
export function remember(query) {
  const { view, args } = current();
  history.replaceState(
    null,
    "",
    href(
      [view, ...args].filter((part) => part !== ""),
      query,
    ),
  );
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

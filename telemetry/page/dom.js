// Elements without markup: every text goes in as text, so nothing that a client sent can become part of the page.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. attributes: on… are listeners, class and data-… as written, true and false switch. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

/** Gives an element another text, only when it differs: screen readers and the layout are left in peace. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute only when it differs. */
export function mark(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** A width in percent; through the object model, which the content policy allows. */
export function wide(element, share) {
  element.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return element;
}

/** Text for screen readers only. */
export function hidden(text) {
  return h("span", { class: "hidden" }, text);
}

// Light, dark, or as the system has it: one button that goes round, remembered for next time.

import { mark, say } from "./dom.js";

const KEY = "prefixgate.theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };

/** Makes the button switch the theme, and applies the remembered one. */
export function theme(button) {
  const apply = (name) => {
    mark(document.documentElement, "data-theme", name);
    say(button.lastElementChild, name);
    mark(button, "aria-label", `Theme: ${name}`);
  };
  const remembered = localStorage.getItem(KEY);
  apply(remembered in NEXT ? remembered : "auto");
  button.addEventListener("click", () => {
    const name = NEXT[document.documentElement.dataset.theme];
    localStorage.setItem(KEY, name);
    apply(name);
  });
}

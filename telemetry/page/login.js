// The form that asks for the admin token, once per tab.

import { h } from "./dom.js";

/** refused: whether the gateway has refused the one there was. signIn: called with the token. */
export function login(refused, signIn) {
  const field = h("input", {
    id: "token",
    type: "password",
    autocomplete: "current-password",
    required: true,
    "aria-describedby": "token-help",
    "aria-invalid": refused ? "true" : null,
  });
  const submit = (event) => {
    event.preventDefault();
    signIn(field.value.trim());
  };
  requestAnimationFrame(() => field.focus());
  return h(
    "form",
    { class: "card login", onsubmit: submit },
    refused && h("p", { class: "bad", role: "alert" }, "The gateway refused this token."),
    h("label", { for: "token" }, "Admin token"),
    field,
    h(
      "p",
      { id: "token-help", class: "note" },
      "The value of PREFIXGATE_ADMIN_TOKEN where the gateway runs. It stays in this tab and is forgotten with it.",
    ),
    h("button", { type: "submit", class: "primary" }, "Sign in"),
  );
}

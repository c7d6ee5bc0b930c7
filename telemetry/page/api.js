// What the gateway says: JSON with the operator's token, downloads, and the stream of live ticks.

const TOKEN = "prefixgate.token";
const SILENCE_MS = 10_000; // a tick comes every 2 s
const PATIENCE_MS = 20_000;
const RETRY_MS = [1000, 2000, 4000, 8000];

/** What the gateway refused, or that it did not answer (status 0). */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Whether the admin token is what is missing. */
  get wantsToken() {
    return this.status === 403 && this.message.includes("Authorization: Bearer");
  }
}

/** The token lives as long as the tab: sessionStorage, never a cookie, so no other site can make use of it. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value) => sessionStorage.setItem(TOKEN, value),
  clear: () => sessionStorage.removeItem(TOKEN),
};

/** The JSON at a path. Parameters that are null or empty are left out. Throws ApiError. */
export async function get(path, parameters) {
  return (await ask(path, parameters)).json();
}

/** Saves rows as a file: CSV as the gateway writes it, JSON as it answered. */
export async function download(path, parameters, format, name) {
  const more = format === "csv" ? { format: "csv" } : {};
  const body = await (await ask(path, { ...parameters, ...more })).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(body);
  link.download = `${name}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Waits for what is fetched in the background: when it fails, the stream's state says so already. */
export async function quietly(promise) {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

async function ask(path, parameters, signal = AbortSignal.timeout(PATIENCE_MS)) {
  const given = Object.entries(parameters ?? {}).filter(([, value]) => value != null && value !== "");
  const query = given.length ? `?${new URLSearchParams(given)}` : "";
  const held = token.get();
  const headers = held ? { authorization: `Bearer ${held}` } : {};
  let response;
  try {
    response = await fetch(path + query, { headers, cache: "no-store", signal });
  } catch {
    throw new ApiError(0, "The gateway does not answer.");
  }
  if (!response.ok) throw new ApiError(response.status, await complaint(response));
  return response;
}

async function complaint(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `The gateway answered ${response.status}.`;
  }
}

/** Live ticks until `stop()`: reconnects by itself, keeps quiet while the tab is hidden.
 *
 * onTick: with each tick's data. onState: "live", "lost" (with an ApiError) or "asleep".
 */
export function listen(onTick, onState) {
  let ended = false;
  let current = null;
  let failures = 0;

  async function once() {
    const abort = (current = new AbortController());
    let watch = null;
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    try {
      heard();
      const response = await ask("api/events", null, abort.signal);
      onState("live");
      for await (const data of messages(response.body, heard)) {
        failures = 0;
        onTick(data);
      }
      throw new ApiError(0, "The gateway ended the connection.");
    } catch (error) {
      return error instanceof ApiError ? error : new ApiError(0, "The gateway does not answer.");
    } finally {
      clearTimeout(watch);
    }
  }

  async function run() {
    while (!ended) {
      if (document.hidden) {
        onState("asleep");
        await shown();
        continue;
      }
      const error = await once();
      if (ended || document.hidden) continue;
      onState("lost", error);
      if (error.wantsToken) return;
      await pause(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
    }
  }

  const hide = () => document.hidden && current?.abort();
  document.addEventListener("visibilitychange", hide);
  run();
  return {
    stop() {
      ended = true;
      current?.abort();
      document.removeEventListener("visibilitychange", hide);
    },
  };
}

/** The data of each event of a stream of server-sent events, decoded. */
async function* messages(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const events = (rest + value).split(/\r?\n\r?\n/);
    rest = events.pop();
    for (const event of events) {
      const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      if (data.length) yield JSON.parse(data.map((line) => line.slice(5)).join("\n"));
    }
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function shown() {
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => document.hidden || resolve(), { once: true });
  });
}

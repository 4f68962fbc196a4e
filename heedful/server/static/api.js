// The requests: one at a time of each kind, an older one is aborted when a newer one begins.

export class ServerError extends Error {}

const running = new Map();

async function failure(response) {
  try {
    return (await response.json()).error ?? response.statusText;
  } catch {
    return "The server replied with status " + response.status + ".";
  }
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer. Is heedful serve still running?");
  }
  if (!response.ok) throw new ServerError(await failure(response));
  return response;
}

export const models = async () => (await send("/api/models")).json();

/** Posts to /api/NAME. `kind` names what it replaces: a newer request of the same kind aborts this one (AbortError). */
export async function post(name, content, kind = name) {
  running.get(kind)?.abort();
  const controller = new AbortController();
  running.set(kind, controller);
  try {
    const response = await send("/api/" + name, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
      signal: controller.signal,
    });
    return response.headers.get("Content-Type")?.startsWith("application/json") ? await response.json() : await response.blob();
  } finally {
    if (running.get(kind) === controller) running.delete(kind);
  }
}

export const isSuperseded = (error) => error.name === "AbortError";

export const abort = (kind) => running.get(kind)?.abort();

/** Calls the function after no call for this number of milliseconds. */
export function debounced(milliseconds, call) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

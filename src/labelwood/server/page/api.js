// What the page asks the service. The token lives in this module's memory only.

let token = "";
let model = null;

/** A refusal of the service, with its status, its own words, and the seconds after which to come back (0: never). */
export class Refusal extends Error {
  constructor(status, detail, retryAfter) {
    super(detail);
    Object.assign(this, { status, retryAfter });
  }
}

export function useToken(text) {
  token = text.trim();
}

export function hasToken() {
  return token !== "";
}

/** Ask for this model from now on; null is the service's usual one. */
export function useModel(name) {
  model = name;
}

async function ask(method, path, body, signal) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body === undefined ? undefined : JSON.stringify(model === null ? body : { ...body, model });
  const answer = await fetch(path, { method, headers, body: sent, signal, cache: "no-store", credentials: "omit" });
  if (answer.ok) return answer.json();
  let detail = answer.statusText;
  try {
    detail = (await answer.json()).detail;
  } catch {
    // no problem+json: the status has to do
  }
  throw new Refusal(answer.status, detail, Number(answer.headers.get("Retry-After")) || 0);
}

function query(fields) {
  const given = new URLSearchParams(fields);
  if (model !== null) given.set("model", model);
  return `?${given}`;
}

/** A caller whose newer question cancels its older one: the newest answer wins. */
export function newest(asking) {
  let running = null;
  return async (...given) => {
    running?.abort();
    const mine = (running = new AbortController());
    try {
      const answer = await asking(...given, mine.signal);
      return mine.signal.aborted ? undefined : answer;
    } catch (error) {
      if (error.name === "AbortError") return undefined;
      throw error;
    }
  };
}

/** Work that waits as long as a busy service asks it to, at most `tries` times. */
export async function patiently(work, tries = 20) {
  for (let left = tries; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (!error.retryAfter || !left) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * error.retryAfter));
    }
  }
}

export const predict = (texts, k, signal) =>
  ask("POST", "v1/predict", { texts, k }, signal).then((answer) => answer.results.map((row) => row.labels));
export const explain = (text, label, signal) => ask("POST", "v1/explain", { text, label, words: 100 }, signal);
export const labels = (q, limit, signal) => ask("GET", `v1/labels${query({ q, limit })}`, undefined, signal);
export const about = () => ask("GET", `v1/model${query({})}`);
export const card = () => ask("GET", `v1/card${query({})}`);
export const judge = (texts, given) => ask("POST", "v1/judge", { texts, labels: given });
export const tree = (text, number, node, signal) =>
  ask("POST", "v1/tree", { text: text || null, tree: number, node }, signal);
export const learn = (texts, given) => ask("POST", "v1/learn", { texts, labels: given });

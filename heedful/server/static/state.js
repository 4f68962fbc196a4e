// What the page is about (model, text, attention, pins), its past, and its link.

const DIGITS = 7;
const WEIGHTS = [["attention", "attention"], ["words", "wordAttention"]];

/** The model's own attention, and nothing pinned. */
export const UNMOVED = { attention: null, wordAttention: null, pinned: [] };
/** A state: `attention` is null if it is the model's own. States are never changed, only replaced. */
export const initial = { model: "", text: "", query: "", ...UNMOVED, other: "", second: null };

export class History {
  #past = [];
  #future = [];
  #merging = null;

  constructor(state, onChange) {
    this.state = state;
    this.onChange = onChange;
  }

  /** The state changes; changes of the same `gesture` (a drag, keys on one slider) are undone as one. */
  change(changes, gesture = null) {
    if (gesture === null || gesture !== this.#merging) {
      this.#past.push(this.state);
      if (this.#past.length > 200) this.#past.shift();
    }
    this.#merging = gesture;
    this.#future = [];
    this.#move({ ...this.state, ...changes });
  }

  /** The gesture has ended: the next change is a new step. */
  settle() {
    this.#merging = null;
  }

  /** A change that is not a step: the next undo stays the same. */
  amend(changes) {
    this.#move({ ...this.state, ...changes });
  }

  undo() {
    if (this.canUndo) this.#step(this.#past, this.#future);
  }

  redo() {
    if (this.canRedo) this.#step(this.#future, this.#past);
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  #step(from, to) {
    this.#merging = null;
    to.push(this.state);
    this.#move(from.pop());
  }

  #move(state) {
    const before = this.state;
    this.state = state;
    this.onChange(state, before);
  }
}

/** The state as the fragment of an address. */
export function toFragment(state) {
  const fields = new URLSearchParams();
  for (const name of ["model", "text", "query", "other"]) if (state[name]) fields.set(name, state[name]);
  if (state.second !== null) fields.set("second", state.second);
  for (const [field, name] of WEIGHTS) if (state[name]) fields.set(field, state[name].map((weight) => +weight.toFixed(DIGITS)).join(","));
  if (state.pinned.length) fields.set("pinned", state.pinned.join(","));
  return "#" + fields.toString();
}

/** The state in a fragment; null if it holds none. Whatever is malformed is left out. */
export function fromFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!fields.has("text")) return null;
  const numbers = (name) => (fields.get(name) ?? "").split(",").filter(Boolean).map(Number);
  const weights = (name) => {
    const values = numbers(name);
    return values.length && values.every((weight) => weight >= 0 && weight <= 1) ? values : null;
  };
  const attention = weights("attention"), total = attention?.reduce((a, b) => a + b, 0) ?? 0;
  return {
    model: fields.get("model") ?? "",
    text: fields.get("text"),
    query: fields.get("query") ?? "",
    other: fields.get("other") ?? "",
    second: fields.get("second"),
    attention: Math.abs(total - 1) < 1e-3 ? attention.map((weight) => weight / total) : null,
    wordAttention: weights("words"),
    pinned: numbers("pinned").filter((item) => Number.isInteger(item) && item >= 0),
  };
}

// A weight that can be dragged: a slider for mouse, touch and keys. Upright under a word, flat next to a sentence.
import { make } from "heedful/dom.js";
import { share } from "heedful/format.js";

const STEP = 0.01;
const PAGE = 0.1;

/** What a key does to a weight; undefined for keys that do nothing here. */
function keyed(key, weight) {
  const targets = {
    ArrowUp: weight + STEP,
    ArrowRight: weight + STEP,
    ArrowDown: weight - STEP,
    ArrowLeft: weight - STEP,
    PageUp: weight + PAGE,
    PageDown: weight - PAGE,
    Home: 0,
    End: 1,
  };
  return targets[key];
}

export class Fader {
  /** `events`: onWeight(weight, gesture), onSettle(), onPin(), onSelect(), onPick() if items can be picked. */
  constructor(name, { isFlat = false, events }) {
    this.events = events;
    this.name = name;
    this.isFlat = isFlat;
    this.weight = 0;
    this.end = 1;
    this.fill = make("span", { className: "fill" });
    this.own = make("span", { className: "own" });
    this.element = make(
      "div",
      {
        className: "fader" + (isFlat ? " flat" : ""),
        tabIndex: 0,
        role: "slider",
        aria: { label: name, valuemin: 0, valuemax: 1, orientation: isFlat ? "horizontal" : "vertical" },
      },
      make("span", { className: "track" }, this.fill, this.own),
    );
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("pointerdown", (event) => this.#grab(event));
    this.element.addEventListener("focus", () => events.onSelect());
    this.element.addEventListener("blur", () => events.onSettle());
  }

  /** Shows a weight on a scale that ends at `end`, the model's own weight as a mark, and whether it is pinned. */
  show(weight, own, end, isPinned) {
    this.weight = weight;
    this.end = end;
    this.fill.style.setProperty("--at", Math.min(weight / end, 1));
    this.own.style.setProperty("--at", Math.min(own / end, 1));
    const isMoved = Math.abs(weight - own) >= 0.005;
    this.element.classList.toggle("moved", isMoved);
    this.element.classList.toggle("pinned", isPinned);
    this.element.setAttribute("aria-valuenow", weight.toFixed(3));
    this.element.setAttribute(
      "aria-valuetext",
      share(weight) + " of the attention" + (isMoved ? ", the model gives it " + share(own) : "") + (isPinned ? ", pinned" : ""),
    );
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = keyed(event.key, this.weight);
    if (target !== undefined) this.events.onWeight(target, this);
    else if (event.key.toLowerCase() === "p") this.events.onPin();
    else if (event.key === "Delete") this.events.onWeight(0, this);
    else if (event.key === "Enter" && this.events.onPick) this.events.onPick();
    else return;
    event.preventDefault();
  }

  // The bar's end jumps to the pointer, then follows it; past the end of the scale it goes on, up to 1.
  #grab(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.element.focus({ preventScroll: true });
    const box = this.element.querySelector(".track").getBoundingClientRect(), end = this.end, gesture = Symbol(this.name);
    const weightAt = (at) =>
      end * (this.isFlat ? (at.clientX - box.left) / box.width : (box.bottom - at.clientY) / box.height);
    const move = (at) => at.pointerId === event.pointerId && this.events.onWeight(weightAt(at), gesture);
    const release = (at) => {
      if (at.pointerId !== event.pointerId) return;
      for (const [kind, call] of listeners) this.element.removeEventListener(kind, call);
      this.element.classList.remove("held");
      this.events.onSettle();
    };
    const listeners = [["pointermove", move], ["pointerup", release], ["pointercancel", release]];
    for (const [kind, call] of listeners) this.element.addEventListener(kind, call);
    this.element.setPointerCapture(event.pointerId);
    this.element.classList.add("held");
    move(event);
  }
}

// Three steps for those who are here for the first time; they can be skipped, and asked for again.
import { button, find, make } from "heedful/dom.js";

const SEEN = "heedful-tour-seen";
const STEPS = [
  ["write", "Type a text", "Write anything, or pick an example. The model reads it as you type, on this machine alone."],
  ["words", "Take hold of the attention", "The bars are the model's attention. Drag one, or press the arrow keys on it: the others make room, and the prediction follows (or does not)."],
  ["papers", "Press a button", "Each is an experiment of a paper: adversarial attention, the worst perturbation, the smallest set. A badge says whether its result is exact."],
];

// A browser may refuse to remember; the tour is then shown again, and nothing else happens.
function remembered() {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return false;
  }
}

function remember() {
  try {
    localStorage.setItem(SEEN, "yes");
  } catch {
    return;
  }
}

export class Tour {
  #step = 0;
  #before = null;

  constructor() {
    find("tour-open").addEventListener("click", () => this.start());
    this.root = find("tour");
    this.root.addEventListener("keydown", (event) => event.key === "Escape" && this.end());
  }

  startIfNew() {
    if (!remembered()) this.start();
  }

  start() {
    this.#before = document.activeElement;
    this.#step = 0;
    this.root.hidden = false;
    this.#show();
  }

  end() {
    this.root.hidden = true;
    this.#spot(null);
    remember();
    this.#before?.focus?.({ preventScroll: true });
  }

  #spot(id) {
    document.querySelectorAll(".spot").forEach((each) => each.classList.remove("spot"));
    if (id === null) return;
    find(id).classList.add("spot");
    find(id).scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  #show() {
    const [id, title, text] = STEPS[this.#step], isLast = this.#step === STEPS.length - 1;
    const next = button(isLast ? "Done" : "Next", () => (isLast ? this.end() : (this.#step++, this.#show())), { className: "strong" });
    this.root.replaceChildren(
      make("p", { className: "fine soft", textContent: "Step " + (this.#step + 1) + " of " + STEPS.length }),
      make("h2", { textContent: title, id: "tour-title" }),
      make("p", { textContent: text }),
      make("div", { className: "row" }, next, isLast ? null : button("Skip", () => this.end())),
    );
    this.#spot(id);
    next.focus({ preventScroll: true });
  }
}

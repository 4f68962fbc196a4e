// Three steps for those who are here for the first time, inside the page: they cover nothing and open by themselves once.
import { button, find, make } from "heedful/dom.js";

const SEEN = "heedful-tour-seen";
const STEPS = [
  ["write", "Type a text", "Write anything, or pick an example. The model reads it as you type, on this machine alone."],
  ["words", "Move a weight, delete a word", "The bars are the model's attention. Drag one: the others make room, and the prediction follows (or does not). Then click on a word and delete it from the text. The page says what each of the two changed."],
  ["papers", "Press a button", "Each is an experiment of a paper: adversarial attention, the worst perturbation, the smallest set. A badge says whether its result is exact."],
];

// Whether the tour has not opened here before. If a browser does not remember, the tour does not open by itself.
function isFirstVisit() {
  try {
    if (localStorage.getItem(SEEN) !== null) return false;
    localStorage.setItem(SEEN, "yes");
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return false;
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
    if (isFirstVisit()) this.start();
  }

  start() {
    this.#before = document.activeElement;
    this.#step = 0;
    this.root.hidden = false;
    this.#show();
  }

  end() {
    this.root.hidden = true;
    document.querySelectorAll(".spot").forEach((each) => each.classList.remove("spot"));
    this.#before?.focus?.({ preventScroll: true });
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
    document.querySelectorAll(".spot").forEach((each) => each.classList.remove("spot"));
    find(id).classList.add("spot");
    find(id).prepend(this.root);
    this.root.scrollIntoView({ block: this.#step ? "center" : "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    next.focus({ preventScroll: true });
  }
}

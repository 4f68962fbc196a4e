// The word that was touched last: what it weighs, and what can be done with it.
import { find } from "heedful/dom.js";
import { cut, quoted, share } from "heedful/format.js";

export class Selection {
  #items = null;

  /** `page` offers: reading, attention, state, labelOf(item), pin(items), drag(items, weight, gesture), settle(). */
  constructor(page) {
    this.page = page;
    const set = (weight) => () => (page.drag(this.#items, weight, null), page.settle());
    find("pin").addEventListener("click", () => page.pin(this.#items));
    find("remove").addEventListener("click", set(0));
    find("everything").addEventListener("click", set(1));
  }

  /** The one item that is selected; null where there is none, or a whole sentence of words. */
  get item() {
    return this.#items?.length === 1 && this.#items[0] < this.page.attention.length ? this.#items[0] : null;
  }

  select(items) {
    this.#items = items;
    this.show();
  }

  show() {
    const { page } = this, item = page.reading ? this.item : null;
    find("selected").hidden = item === null;
    if (item === null) return;
    const weight = page.attention[item], own = page.reading.attention[item], isPinned = page.state.pinned.includes(item);
    const before = Math.abs(weight - own) >= 0.005 ? "; the model gives it " + share(own) : "";
    find("selected-says").textContent = quoted(cut(page.labelOf(item), 40)) + " weighs " + share(weight) + before + ".";
    find("pin").textContent = isPinned ? "Unpin" : "Pin";
    find("pin").setAttribute("aria-pressed", String(isPinned));
  }
}

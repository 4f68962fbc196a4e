// The word that was touched last and the words that are picked: their weights, and what can be done with them.
import { find } from "heedful/dom.js";
import { cut, quoted, share } from "heedful/format.js";

export class Selection {
  #items = null;
  picked = new Set();

  /** `page` offers: reading, attention, state, edits, labelOf(item), pin(items), drag(items, weight, gesture), settle(). */
  constructor(page) {
    this.page = page;
    const set = (weight) => () => (page.drag(this.#items, weight, null), page.settle());
    find("pin").addEventListener("click", () => page.pin(this.#items));
    find("remove").addEventListener("click", set(0));
    find("everything").addEventListener("click", set(1));
  }

  /** The one item that is selected; null if there is none, or a whole sentence of words. */
  get item() {
    return this.#items?.length === 1 && this.#items[0] < this.page.attention.length ? this.#items[0] : null;
  }

  /** The items to delete or to keep: those that are picked, else the selected one. */
  get words() {
    return this.picked.size ? [...this.picked].sort((a, b) => a - b) : this.item === null ? [] : [this.item];
  }

  select(items) {
    this.#items = items;
    if (items === null) this.picked.clear();
    this.show();
  }

  /** Picks items, or lets go of them if all are picked. */
  pick(items) {
    const isPicked = items.every((item) => this.picked.has(item));
    items.forEach((item) => (isPicked ? this.picked.delete(item) : this.picked.add(item)));
    this.select(items);
  }

  show() {
    const { page } = this, { item, words } = page.reading ? this : { item: null, words: [] };
    find("selected").hidden = words.length === 0;
    find("selected-weight").hidden = item === null;
    if (words.length) this.#showWords(words);
    if (item === null) return;
    const weight = page.attention[item], own = page.reading.attention[item], isPinned = page.state.pinned.includes(item);
    const before = Math.abs(weight - own) >= 0.005 ? "; the model gives it " + share(own) : "";
    find("selected-says").textContent = quoted(cut(page.labelOf(item), 40)) + " weighs " + share(weight) + before + ".";
    find("pin").textContent = isPinned ? "Unpin" : "Pin";
    find("pin").setAttribute("aria-pressed", String(isPinned));
  }

  #showWords(words) {
    const { edits } = this.page;
    find("words-says").textContent = this.picked.size ? "Picked: " + edits.names(words) + "." : "Click on words, or press Enter on their bars, to pick several.";
    for (const [id, verb] of [["delete-words", "Delete"], ["keep-words", "Keep only"]]) {
      find(id).textContent = edits.named(verb, words);
      find(id).disabled = !edits.canCut(words);
    }
  }
}

// Words deleted from the text, or kept alone: the prediction then, next to the prediction without their weights.
import { isSuperseded, post } from "heedful/api.js";
import { keptText, mixture, softmax, without } from "heedful/core.js";
import { find } from "heedful/dom.js";
import { counted, quoted } from "heedful/format.js";
import { answered } from "heedful/maps.js";
import { UNMOVED } from "heedful/state.js";

const MOST_NAMED = 6;

export class Edits {
  #last = null;

  /** `page` offers: reading, model, selection, request(), labelOf(item), change(changes), fail(error). */
  constructor(page) {
    this.page = page;
    const cut = (items, isKept) => () => this.#cut(items(), isKept);
    const chosen = () => page.selection.words, key = () => page.reading.outcome?.key_words ?? [];
    find("delete-words").addEventListener("click", cut(chosen, false));
    find("keep-words").addEventListener("click", cut(chosen, true));
    find("delete-key").addEventListener("click", cut(key, false));
    find("keep-key").addEventListener("click", cut(key, true));
  }

  /** Whether these items can be deleted or kept alone: words of the text itself, some but not all. */
  canCut(items) {
    const { items: all, words } = this.page.reading;
    return items.length > 0 && items.length < all.length && items.every((item) => all[item].words.every((at) => !words[at].in_query));
  }

  /** The buttons for the key words, if the text has an outcome. */
  showKey(outcome) {
    const key = outcome?.key_words ?? [];
    find("key-actions").hidden = !this.canCut(key);
    find("delete-key").textContent = this.named("Delete", key);
    find("keep-key").textContent = this.named("Keep only", key);
  }

  /** "Delete these words", "Keep only this sentence". */
  named(verb, items) {
    return verb + (items.length === 1 ? " this " + this.page.model.item : " these " + this.page.model.item + "s");
  }

  names(items) {
    const listed = items.slice(0, MOST_NAMED).map((item) => quoted(this.page.labelOf(item))).join(", ");
    return listed + (items.length > MOST_NAMED ? " and " + counted(items.length - MOST_NAMED, "more").replace(/s$/, "") : "");
  }

  /** The text has changed. */
  forget() {
    this.#last = null;
    find("edited").hidden = true;
  }

  /** The edited text has been read. */
  show(reading) {
    find("edited").hidden = this.#last === null;
    if (this.#last === null) return;
    const { start, reweighted, before } = this.#last, { labels } = this.page.model;
    find("edited").textContent = start + answered(labels, reading.probabilities) + "." + reweighted + " Before: " + before + ".";
    find("undo").focus({ preventScroll: true });
    find("edited").scrollIntoView({ block: "nearest" });
  }

  async #cut(items, isKept) {
    const { page } = this, { reading } = page, { labels, item } = page.model, asked = page.request(), chosen = new Set(items);
    const gone = reading.items.flatMap((_, at) => (chosen.has(at) === isKept ? [] : [at]));
    const start = isKept ? "Only " + this.names(items) + " left: " : "Without " + this.names(items) + ": ";
    const them = isKept ? "the other " + item + "s" : items.length > 1 ? "them" : "it";
    try {
      const moved = await this.#reweighted(without(reading.attention, gone));
      if (asked !== page.request()) return;
      const reweighted = moved && " With the whole text but no weight on " + them + ": " + answered(labels, moved) + ".";
      page.change({ text: keptText(reading, new Set(gone)), ...UNMOVED });
      this.#last = { start, reweighted: reweighted ?? "", before: answered(labels, reading.probabilities) };
    } catch (error) {
      if (!isSuperseded(error)) page.fail(error);
    }
  }

  // The probabilities under these weights; null if no weight is left.
  async #reweighted(attention) {
    const { item_logits: own, empty_logits: empty } = this.page.reading;
    if (attention === null) return null;
    if (own) return softmax(mixture(attention, own, empty));
    return (await post("decode", { ...this.page.request(), attention }, "weigh")).probabilities;
  }
}

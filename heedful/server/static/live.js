// The page: what is typed is read, what is dragged is decoded, and everything shown follows from the state.
import { Actions } from "heedful/actions.js";
import { abort, debounced, isSuperseded, models as fetchModels, post } from "heedful/api.js";
import { showAudit } from "heedful/audit.js";
import { Compare } from "heedful/compare.js";
import { mixture, renormalize, softmax } from "heedful/core.js";
import { button, find, make } from "heedful/dom.js";
import { Edits } from "heedful/edits.js";
import { Fields } from "heedful/fields.js";
import { quoted } from "heedful/format.js";
import { markedItems } from "heedful/maps.js";
import { outcomeMarks, showOutcome } from "heedful/outcome.js";
import { Prediction } from "heedful/prediction.js";
import { Selection } from "heedful/selection.js";
import { showShare, wireShare } from "heedful/share.js";
import { fromFragment, History, initial, toFragment, UNMOVED } from "heedful/state.js";
import { wireTheme } from "heedful/theme.js";
import { Tour } from "heedful/tour.js";
import { scaleNote, Words } from "heedful/words.js";

class Page {
  reading = null;
  marks = {};
  decoded = null;

  constructor(models) {
    this.models = models;
    const shared = fromFragment(location.hash), known = models.find((each) => each.id === shared?.model) ?? models[0];
    const example = known.examples[0] ?? { text: "", query: "" };
    this.history = new History({ ...initial, text: example.text, query: example.query, ...shared, model: known.id }, (state, before) => this.#changed(state, before));
    this.words = new Words(find("items"), {
      onWeight: (items, weight, gesture) => this.drag(items, weight, gesture),
      onWordWeight: (words, place, weight, gesture) => this.#dragWord(words, place, weight, gesture),
      onSettle: () => this.settle(),
      onPin: (items) => this.pin(items),
      onSelect: (items) => this.selection.select(items),
      onPick: (items) => (this.selection.pick(items), this.#draw()),
    });
    this.prediction = new Prediction(find("prediction"), find("live"), find("brief"));
    this.actions = new Actions(find("actions"), find("result"), this);
    this.compare = new Compare(this);
    this.fields = new Fields(this);
    this.selection = new Selection(this);
    this.edits = new Edits(this);
    this.readSoon = debounced(90, () => this.#read());
    this.readFullySoon = debounced(250, () => this.#readFully());
    this.decodeSoon = debounced(50, () => this.#decode());
    this.linkSoon = debounced(250, () => history.replaceState(null, "", toFragment(this.state)));
    this.compareSoon = debounced(120, () => this.compare.update());
    new IntersectionObserver(([aside]) => (find("brief").hidden = aside.isIntersecting)).observe(find("prediction"));
    this.#wire();
    wireShare(this);
    this.#showModel();
    this.fields.showText();
    if (shared && shared.model && shared.model !== known.id) this.fail(new Error("The link is about the model " + quoted(shared.model) + ", which is not served here; this is " + known.name + "."));
    this.#read();
  }

  get state() {
    return this.history.state;
  }

  get model() {
    return this.models.find((each) => each.id === this.state.model);
  }

  get attention() {
    return this.state.attention ?? this.reading.attention;
  }

  get isMoved() {
    return this.state.attention !== null || this.state.wordAttention !== null;
  }

  /** The prediction under the present weights: computed here if the model is linear, else by the server. */
  get now() {
    const { item_logits: own, empty_logits: empty, logits, probabilities } = this.reading;
    if (!this.isMoved) return { logits, probabilities };
    const items = this.state.wordAttention ? this.decoded?.item_logits : own;
    if (items) {
      const moved = mixture(this.attention, items, empty);
      return { logits: moved, probabilities: softmax(moved) };
    }
    return this.decoded ?? { logits, probabilities };
  }

  request() {
    return this.asked;
  }

  rankings() {
    return this.reading.rankings.filter((ranking) => ranking.name !== "rationale");
  }

  labelOf(item) {
    return this.reading.items[item]?.label ?? "";
  }

  selectedWord() {
    return this.reading.items[this.selection.item]?.words[0] ?? null;
  }

  link() {
    return location.origin + "/" + toFragment(this.state);
  }

  change(changes, gesture = null) {
    this.history.change(changes, gesture);
  }

  settle() {
    this.history.settle();
    this.#draw();
  }

  /** Puts attention on the sliders, as one step that can be undone. */
  impose(attention, marks = {}, gesture = null) {
    this.marks = marks;
    this.change({ attention, wordAttention: null }, gesture);
  }

  mark(marks) {
    this.marks = marks;
    this.#draw();
  }

  /** Another text, with its changed items marked; what an action had to say about it stays. */
  changeText(text, items) {
    this.keepsResult = true;
    this.change({ text, ...UNMOVED });
    this.keepsResult = false;
    this.marks = { changed: new Set(items) };
  }

  fail(error) {
    find("failure").textContent = error.message;
    find("failure").hidden = false;
  }

  succeed() {
    find("failure").hidden = true;
  }

  tell(sentence) {
    find("notice").textContent = sentence;
  }

  #changed(state, before) {
    this.linkSoon();
    this.#drawHistory();
    const isOther = (name) => state[name] !== before[name];
    if (isOther("model")) this.#showModel();
    if (isOther("model") || isOther("text") || isOther("query")) {
      this.fields.showText();
      this.selection.select(null);
      this.marks = {};
      if (!this.keepsResult) this.actions.clear();
      this.edits.forget();
      find("beside").setAttribute("aria-busy", "true");
      this.readSoon();
      return;
    }
    if (isOther("other") || isOther("second")) this.compare.refresh();
    if (!this.reading) return;
    const needsServer = this.state.wordAttention ? isOther("wordAttention") || !this.model.is_linear : !this.model.is_linear && this.isMoved;
    if (needsServer) this.decodeSoon();
    this.#draw();
  }

  // First what is quick, for those who type; the rest once they pause.
  async #read() {
    const { model, text, query } = this.state, asked = { model, text, query: this.model.has_query ? query : "" };
    find("playground").setAttribute("aria-busy", "true");
    abort("read fully");
    try {
      const reading = await post("read", { ...asked, is_quick: true });
      this.asked = asked;
      this.#readDone(reading);
      this.readFullySoon();
    } catch (error) {
      if (isSuperseded(error)) return;
      this.fail(error);
      find("playground").classList.add("stale");
    }
    find("playground").setAttribute("aria-busy", "false");
  }

  async #readFully() {
    const { asked } = this;
    try {
      const reading = await post("read", asked, "read fully");
      if (asked !== this.asked) return;
      this.reading = reading;
      this.#showOutcome(reading.outcome);
      this.#draw();
      await this.compare.refresh();
      find("beside").setAttribute("aria-busy", "false");
    } catch (error) {
      if (isSuperseded(error)) return;
      this.#showOutcome(null);
      this.fail(error);
    }
  }

  #readDone(reading) {
    this.reading = reading;
    this.decoded = null;
    this.#showOutcome(null, true);
    this.edits.show(reading);
    this.succeed();
    find("playground").hidden = false;
    find("playground").classList.remove("stale");
    this.words.build(reading, this.model.is_hierarchical);
    const fits = (weights, count) => (weights?.length === count ? weights : null);
    this.history.amend({
      attention: fits(this.state.attention, reading.items.length),
      wordAttention: reading.word_attention ? fits(this.state.wordAttention, reading.words.length) : null,
      pinned: this.state.pinned.filter((item) => item < reading.items.length),
    });
    find("notes").replaceChildren(...reading.notes.map((note) => make("li", { textContent: note })));
    this.words.openHeaviest(reading.attention);
    if (this.isMoved && (this.state.wordAttention || !this.model.is_linear)) this.#decode();
  }

  async #decode() {
    const { asked } = this, content = { ...asked, attention: this.attention };
    if (this.state.wordAttention) content.word_attention = this.state.wordAttention;
    try {
      const decoded = await post("decode", content);
      if (asked !== this.asked) return;
      this.decoded = decoded;
      this.#draw();
    } catch (error) {
      if (!isSuperseded(error)) this.fail(error);
    }
  }

  #draw() {
    if (!this.reading) return;
    const { attention } = this, pinned = new Set(this.state.pinned), { word_attention: within } = this.reading;
    const marks = { picked: this.selection.picked, rationale: markedItems(this.reading), ...outcomeMarks(this.reading), ...this.marks };
    this.words.update({ attention, own: this.reading.attention, pinned, marks, wordAttention: this.state.wordAttention ?? within });
    find("scale").textContent = scaleNote(this.words.isRows ? this.words.rowEnd : this.words.end);
    this.prediction.show(this.model, this.reading, this.now);
    find("outcome-own").hidden = !this.isMoved || !this.reading.outcome;
    this.selection.show();
    this.compareSoon();
  }

  #drawHistory() {
    find("undo").disabled = !this.history.canUndo;
    find("redo").disabled = !this.history.canRedo;
    find("reset").disabled = !this.isMoved && !this.state.pinned.length;
  }

  #showOutcome(outcome, isPending = false) {
    showOutcome(find("outcome"), outcome, isPending);
    this.edits.showKey(outcome);
  }

  drag(items, weight, gesture) {
    if (this.asked.text !== this.state.text) return; // these bars are about to go
    this.marks = {};
    this.change({ attention: renormalize(this.attention, items, weight, new Set(this.state.pinned)) }, gesture);
  }

  #dragWord(words, place, weight, gesture) {
    const all = (this.state.wordAttention ?? this.reading.word_attention).slice();
    const inside = renormalize(words.map((word) => all[word]), [place], weight, new Set());
    words.forEach((word, at) => (all[word] = inside[at]));
    this.change({ wordAttention: all }, gesture);
  }

  pin(items) {
    const pinned = new Set(this.state.pinned), isPinned = items.every((item) => pinned.has(item));
    items.forEach((item) => (isPinned ? pinned.delete(item) : pinned.add(item)));
    this.change({ pinned: [...pinned].sort((a, b) => a - b) });
  }

  #reset() {
    this.marks = {};
    this.actions.clear();
    this.change(UNMOVED);
  }

  #showModel() {
    this.fields.showModel();
    showAudit(this.model);
    showShare(this.model);
    this.actions.build(this.model);
  }

  #wire() {
    find("undo").addEventListener("click", () => ((this.marks = {}), this.history.undo()));
    find("redo").addEventListener("click", () => ((this.marks = {}), this.history.redo()));
    find("reset").addEventListener("click", () => this.#reset());
    document.addEventListener("keydown", (event) => this.#shortcut(event));
    window.addEventListener("hashchange", () => this.#follow());
  }

  #shortcut(event) {
    if (!(event.ctrlKey || event.metaKey) || event.target.closest("textarea, input:not([type=range])")) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) this.history.undo();
    else if (key === "y" || (key === "z" && event.shiftKey)) this.history.redo();
    else return;
    this.marks = {};
    event.preventDefault();
  }

  // A link was opened in this very page.
  #follow() {
    const shared = fromFragment(location.hash);
    if (shared && this.models.some((each) => each.id === shared.model)) this.change(shared);
  }
}

wireTheme();
try {
  const models = await fetchModels();
  if (!models.length) throw new Error("No model is served.");
  new Page(models);
  new Tour().startIfNew();
} catch (error) {
  find("failure").textContent = error.message;
  find("failure").hidden = false;
  find("failure").append(" ", button("Try again", () => location.reload()));
}

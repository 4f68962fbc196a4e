// The text as words with bars that can be dragged; long texts and sentences of hierarchical models as rows that open.
import { sum } from "heedful/core.js";
import { button, make } from "heedful/dom.js";
import { Fader } from "heedful/fader.js";
import { cut, scaleEnd, sentences, share } from "heedful/format.js";
import { heatMap } from "heedful/heat_map.js";

export const MOST_FADERS = 150;
const MARKS = { picked: "picked", key: "key", largest: "largest effect", erased: "erased", set: "in the set", rationale: "rationale", changed: "changed" };

/** A word over its upright bar. `marks` is an object of the kinds in MARKS, each with a Set of items. */
function upright(view, item, label, isKnown) {
  const events = view.eventsOf([item]), fader = new Fader(label, { events });
  const word = make("span", { className: "word" + (isKnown ? "" : " unknown"), textContent: cut(label, 24), dir: "auto" });
  if (!isKnown) word.title = "not in the model's vocabulary";
  if (events.onPick) word.addEventListener("click", events.onPick);
  const value = make("span", { className: "value", aria: { hidden: true } });
  const note = make("span", { className: "note", aria: { hidden: true } });
  const element = make("div", { className: "item", dataset: { item } }, word, fader.element, value, note);
  const show = ({ attention, own, end, pinned, marks }) => {
    fader.show(attention[item], own[item], end, pinned.has(item));
    value.textContent = share(attention[item]);
    const kinds = Object.keys(MARKS).filter((kind) => marks[kind]?.has(item));
    element.className = ["item", ...kinds].join(" ");
    note.textContent = [pinned.has(item) ? "pinned" : "", ...kinds.map((kind) => MARKS[kind])].filter(Boolean).join(", ");
    fader.element.setAttribute("aria-label", label + kinds.map((kind) => ", " + MARKS[kind]).join(""));
  };
  return { element, show };
}

/** A sentence: its sum as a flat bar, its words as running text, and unfolded with an upright bar each. */
function row(view, number, { items, label, words, places, weightsOf, unfold }) {
  const fader = new Fader("Sentence " + number + ": " + cut(label, 60), { isFlat: true, events: view.eventsOf(items) });
  const value = make("span", { className: "value", aria: { hidden: true } });
  const note = make("span", { className: "note", aria: { hidden: true } });
  const text = heatMap(words, places);
  const inside = make("div", { className: "inside", hidden: true, id: "inside-" + view.id + "-" + number });
  let opened = null, last = null;
  const toggle = button("Words", () => open(inside.hidden), { className: "quiet", aria: { expanded: false, controls: inside.id } });
  toggle.hidden = !unfold;
  const head = make("div", { className: "sentence-head" }, make("span", { className: "number", textContent: number }), fader.element, value, note, toggle);
  const element = make("div", { className: "sentence", dataset: { sentence: number } }, head, text.element, inside);
  function open(isOpen) {
    inside.hidden = !isOpen;
    text.element.hidden = isOpen;
    toggle.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && !opened) {
      opened = unfold();
      inside.append(...opened.map((each) => each.element));
    }
    if (last) show(last);
  }
  function show(drawing) {
    last = drawing;
    const total = sum(items.map((at) => drawing.attention[at])), own = sum(items.map((at) => drawing.own[at]));
    fader.show(total, own, drawing.rowEnd, items.every((at) => drawing.pinned.has(at)));
    value.textContent = share(total);
    const kinds = items.length === 1 ? Object.keys(MARKS).filter((kind) => drawing.marks[kind]?.has(items[0])) : [];
    element.className = ["sentence", ...kinds].join(" ");
    note.textContent = [items.every((at) => drawing.pinned.has(at)) ? "pinned" : "", ...kinds.map((kind) => MARKS[kind])].filter(Boolean).join(", ");
    if (!view.isVisible(element)) return;
    if (inside.hidden) text.show(...weightsOf(drawing), items.length === 1 ? {} : drawing.marks, share);
    else opened.forEach((each) => each.show(drawing));
  }
  return { element, show, open, redraw: () => last && show(last) };
}

export class Words {
  static #count = 0;
  #visible = new Set();

  /** `events`: onWeight(items, weight, gesture), onSettle(), onPin(items), onSelect(items), onPick(items), onWordWeight (hierarchical). */
  constructor(root, events) {
    this.root = root;
    this.events = events;
    this.id = Words.#count++;
    this.parts = [];
    this.observer = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: "300px" });
  }

  eventsOf(items) {
    const { onWeight, onSettle, onPin, onSelect, onPick } = this.events;
    return {
      onWeight: (weight, gesture) => onWeight(items, weight, gesture),
      onSettle,
      onPin: () => onPin(items),
      onSelect: () => onSelect(items),
      onPick: onPick && (() => onPick(items)),
    };
  }

  isVisible(element) {
    return this.#visible.has(element);
  }

  #seen(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#visible.add(target);
      else this.#visible.delete(target);
      if (isIntersecting) this.parts.find((part) => part.element === target)?.redraw();
    }
  }

  /** Builds the words of a text; `update` fills them. */
  build(state, isHierarchical) {
    this.observer.disconnect();
    this.#visible.clear();
    this.groups = null;
    this.isRows = isHierarchical || state.items.length > MOST_FADERS;
    const labels = state.items.map((item) => item.label);
    const isKnown = (item) => item.words.every((at) => state.words[at].is_known);
    this.root.className = this.isRows ? "rows" : "faders";
    if (!this.isRows) this.parts = state.items.map((item, at) => upright(this, at, item.label, isKnown(item)));
    else if (isHierarchical) this.parts = state.items.map((item, at) => this.#sentenceItem(state, item, at));
    else {
      this.groups = sentences(state.items, state.words, state.text);
      this.parts = this.groups.map((items, at) =>
        row(this, at + 1, {
          items,
          label: items.map((item) => labels[item]).join(" "),
          words: items.map((item) => labels[item]),
          places: items,
          weightsOf: ({ attention, end }) => [items.map((item) => attention[item]), end],
          unfold: () => items.map((item) => upright(this, item, labels[item], isKnown(state.items[item]))),
        }),
      );
    }
    this.root.replaceChildren(...this.parts.map((part) => part.element));
    if (this.isRows) this.parts.forEach((part) => this.observer.observe(part.element));
  }

  #sentenceItem(state, item, at) {
    const within = item.words.map((word) => state.word_attention?.[word] ?? 0);
    return row(this, at + 1, {
      items: [at],
      label: item.label,
      words: item.words.map((word) => state.words[word].text),
      places: item.words,
      weightsOf: ({ wordAttention }) => {
        const weights = item.words.map((word, place) => wordAttention?.[word] ?? within[place]);
        return [weights, Math.max(...weights, 1e-9)];
      },
      unfold: this.events.onWordWeight ? () => this.#wordsInside(state, item, within) : null,
    });
  }

  // The words of a sentence of a hierarchical model: their weights sum to 1 within it.
  #wordsInside(state, item, within) {
    const view = {
      eventsOf: ([place]) => ({
        onWeight: (weight, gesture) => this.events.onWordWeight(item.words, place, weight, gesture),
        onSettle: this.events.onSettle,
        onPin: () => {},
        onSelect: () => {},
      }),
    };
    const parts = item.words.map((word, place) => upright(view, place, state.words[word].text, state.words[word].is_known));
    return parts.map((part) => ({
      element: part.element,
      show: ({ wordAttention }) => {
        const weights = item.words.map((word, place) => wordAttention?.[word] ?? within[place]);
        part.show({ attention: weights, own: within, end: scaleEnd(Math.max(...weights)), pinned: new Set(), marks: {} });
      },
    }));
  }

  /** Shows weights: `own` are the model's, `marks` are sets of items by kind. While a bar is held, its scale stays. */
  update({ attention, own, pinned, marks, wordAttention = null }) {
    const isHeld = this.root.querySelector(".held") !== null;
    const largest = Math.max(...attention, ...own);
    this.end = isHeld ? this.end : scaleEnd(largest);
    const totals = (this.groups ?? []).flatMap((items) => [attention, own].map((weights) => sum(items.map((at) => weights[at]))));
    const rows = this.isRows && totals.length ? Math.max(...totals) : largest;
    this.rowEnd = isHeld ? this.rowEnd : scaleEnd(rows);
    const drawing = { attention, own, pinned, marks, wordAttention, end: this.end, rowEnd: this.rowEnd };
    this.parts.forEach((part) => part.show(drawing));
  }

  /** Opens the rows of the heaviest sentence, so that bars of words can be dragged. */
  openHeaviest(attention) {
    if (!this.isRows || !this.groups) return;
    const totals = this.groups.map((items) => sum(items.map((at) => attention[at])));
    this.parts[totals.indexOf(Math.max(...totals))]?.open(true);
  }

  focusItem(item) {
    this.root.querySelector(`.item[data-item="${item}"] .fader`)?.focus();
  }
}

export const scaleNote = (end) => "A full bar is " + share(end) + " of the attention.";

// Comparisons: rankings of the same text, two models on it, and two texts.
import { debounced, isSuperseded, post } from "heedful/api.js";
import { mixture, softmax, totalVariation } from "heedful/core.js";
import { find, make } from "heedful/dom.js";
import { alignment, quoted, share } from "heedful/format.js";
import { answered, linked, mapRow, rankingsTable, table } from "heedful/maps.js";

export class Compare {
  /** `page` offers: models, model, reading, attention, state, request(), fail(error), change(changes). */
  constructor(page) {
    this.page = page;
    this.other = null;
    this.second = null;
    linked(find("beside"));
    find("other-model").addEventListener("change", (event) => page.change({ other: event.target.value }));
    find("second-text").addEventListener("input", debounced(300, () => page.change({ second: find("second-text").value }, "second")));
    find("second-open").addEventListener("click", () => {
      page.change({ second: page.state.text });
      find("second-text").focus();
    });
    find("second-close").addEventListener("click", () => {
      page.change({ second: null });
      find("second-open").focus();
    });
  }

  /** The text has been read: everything is fetched again. */
  async refresh() {
    const { models, model, state } = this.page;
    const others = models.filter((each) => each.id !== model.id);
    find("two-models").hidden = others.length === 0;
    find("other-model").replaceChildren(make("option", { value: "", textContent: "none" }), ...others.map((each) => make("option", { value: each.id, textContent: each.name })));
    find("other-model").value = others.some((each) => each.id === state.other) ? state.other : "";
    find("rankings").replaceChildren(rankingsTable(this.page.reading));
    await Promise.all([this.#readOther(), this.#readSecond()]);
  }

  /** The weights have been dragged: the rows that depend on them. */
  update() {
    this.#drawOther();
    const row = find("rankings").querySelector("[data-ranking=set]");
    if (this.page.isMoved) {
      const now = mapRow("Your weights", "set above", this.#labels(), this.page.attention);
      now.dataset.ranking = "set";
      if (row) row.replaceWith(now);
      else find("rankings").querySelector("tbody")?.prepend(now);
    } else row?.remove();
  }

  #labels(reading = this.page.reading) {
    return reading.items.map((item) => item.label);
  }

  async #readOther() {
    const id = find("other-model").value;
    this.other = null;
    if (id) {
      const { text, query } = this.page.request(), info = this.page.models.find((each) => each.id === id);
      try {
        this.other = { info, reading: await post("read", { model: id, text, query: info.has_query ? query : "" }, "read other") };
      } catch (error) {
        if (isSuperseded(error)) return;
        find("models-result").replaceChildren(make("p", { className: "failure", textContent: error.message }));
        return;
      }
    }
    this.#drawOther();
  }

  #drawOther() {
    const root = find("models-result"), { model, reading, attention, now } = this.page;
    if (!this.other) return root.replaceChildren();
    const { info, reading: other } = this.other;
    const link = (each) => each.items.map((item) => each.words[item.words[0]]?.start);
    const rows = [
      mapRow(model.name, "predicts " + answered(model.labels, now.probabilities), this.#labels(), attention, {}, link(reading)),
      mapRow(info.name, "predicts " + answered(info.labels, other.probabilities), this.#labels(other), other.attention, {}, link(other)),
    ];
    root.replaceChildren(table("Two models on the same text", rows), make("p", { className: "fine", textContent: this.#agreement(info, other) }));
  }

  // The other model's prediction with the weights set on this page, and whether both attend to the same words.
  #agreement(info, other) {
    const { reading, attention, isMoved } = this.page;
    if (other.items.length !== reading.items.length) return "Their attention is over different things: " + reading.items.length + " and " + other.items.length + " items.";
    const distance = "Their attention differs by " + share(totalVariation(reading.attention, other.attention)) + " (TVD, of at most 1).";
    if (!isMoved || !other.item_logits) return distance;
    const probabilities = softmax(mixture(attention, other.item_logits, other.empty_logits));
    return distance + " With the weights set above, " + info.name + " would predict " + answered(info.labels, probabilities) + ".";
  }

  async #readSecond() {
    const { second } = this.page.state, isOpen = second !== null;
    find("second").hidden = !isOpen;
    find("second-open").hidden = isOpen;
    if (!isOpen) return find("texts-result").replaceChildren();
    if (find("second-text").value !== second) find("second-text").value = second;
    if (second === this.page.state.text)
      return find("texts-result").replaceChildren(make("p", { className: "fine soft", textContent: "Both texts are the same. Change a word of the second." }));
    try {
      const reading = await post("read", { ...this.page.request(), text: second }, "read second");
      this.#drawSecond(reading);
    } catch (error) {
      if (!isSuperseded(error)) find("texts-result").replaceChildren(make("p", { className: "failure", textContent: error.message }));
    }
  }

  #drawSecond(second) {
    const first = this.page.reading, { labels } = this.page.model;
    const words = [this.#labels(first), this.#labels(second)], pairs = alignment(...words);
    const kept = [new Set(pairs.map(([left]) => left)), new Set(pairs.map(([, right]) => right))];
    const changed = words.map((list, side) => new Set(list.flatMap((_, at) => (kept[side].has(at) ? [] : [at]))));
    const links = [Object.fromEntries(pairs.map(([left]) => [left, left])), Object.fromEntries(pairs.map(([left, right]) => [right, left]))];
    const rows = [first, second].map((reading, side) =>
      mapRow(side ? "Second text" : "First text", "predicts " + answered(labels, reading.probabilities), words[side], reading.attention, { changed: changed[side] }, links[side]),
    );
    const list = (side) => [...changed[side]].slice(0, 8).map((at) => quoted(words[side][at]) + " (" + share([first, second][side].attention[at]) + ")").join(", ") || "nothing";
    const moved = totalVariation(first.probabilities, second.probabilities);
    const sentence = "Changed: " + list(0) + " became " + list(1) + ". The prediction moved by " + share(moved) + (first.predicted === second.predicted ? ", the label is the same." : ", the label differs.");
    find("texts-result").replaceChildren(table("Two texts", rows), make("p", { className: "difference", textContent: sentence }));
  }
}

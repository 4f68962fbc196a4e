// What is asked: the model, the text, the question, and examples to start from.
import { find, make } from "heedful/dom.js";
import { cut } from "heedful/format.js";
import { UNMOVED } from "heedful/state.js";

const option = (value, title) => make("option", { value, textContent: title });

export class Fields {
  /** `page` offers: models, model, state, change(changes, gesture). */
  constructor(page) {
    this.page = page;
    find("text").addEventListener("input", () => page.change({ text: find("text").value, ...UNMOVED }, "typing"));
    find("query").addEventListener("input", () => page.change({ query: find("query").value, ...UNMOVED }, "query"));
    find("model").addEventListener("change", () => page.change({ model: find("model").value, other: "", ...UNMOVED }));
    find("examples").addEventListener("change", () => this.#start());
  }

  #start() {
    const chosen = find("examples").value, example = this.page.model.examples[Number(chosen)];
    if (chosen !== "" && example) this.page.change({ text: example.text, query: example.query, ...UNMOVED });
  }

  /** The model has changed: its examples, and whether it takes a question. */
  showModel() {
    const { models, model } = this.page;
    find("model").replaceChildren(...models.map((each) => option(each.id, each.name)));
    find("model").value = model.id;
    const titles = model.examples.map((each) => (each.label ? each.label + ": " : "") + cut(each.text, 60));
    find("examples").replaceChildren(option("", "an example…"), ...titles.map((title, at) => option(String(at), title)));
    find("examples-field").hidden = !titles.length;
    find("query-field").hidden = !model.has_query;
  }

  /** The text has changed, perhaps by undo. */
  showText() {
    const { text, query } = this.page.state;
    for (const [id, value] of Object.entries({ text, query })) if (find(id).value !== value) find(id).value = value;
    const at = this.page.model.examples.findIndex((each) => each.text === text && each.query === query);
    find("examples").value = at < 0 ? "" : String(at);
  }
}

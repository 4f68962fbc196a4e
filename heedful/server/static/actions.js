// The papers' buttons: what each asks, its result with a badge and the paper, and a slider where it has one.
import { debounced, isSuperseded, post } from "heedful/api.js";
import { argmax, without } from "heedful/core.js";
import { badge, button, make } from "heedful/dom.js";
import { capital, percent, quoted, share } from "heedful/format.js";
import { heatMap } from "heedful/heat_map.js";
import { MOST_FADERS } from "heedful/words.js";

const GROUPS = [
  ["Other weights", ["other_attention", "uniform", "shuffle", "worst_permutation"]],
  ["Words erased", ["remove_top", "erase_ranking", "smallest_set"]],
  ["Small changes", ["worst_perturbation", "embedding_noise", "replace_word"]],
];
const ERASES = new Set(["remove_top", "smallest_set"]);
const MERGED = "worst_perturbation"; // whose slider asks again and again: undone as one
const NORMS = { l1: "sum of changes", l2: "Euclidean length", linf: "largest change" };

function field(label, control) {
  return make("label", { className: "option" }, make("span", { textContent: label }), control);
}

function choice(entries, onChange) {
  const select = make("select", {}, ...entries.map(([value, title]) => make("option", { value, textContent: title })));
  select.addEventListener("change", () => onChange(select.value));
  return select;
}

export class Actions {
  /** `page` offers: model, reading, selected, request(), impose(attention, marks), changeText(text), labelOf(item). */
  constructor(root, result, page) {
    this.root = root;
    this.result = result;
    this.page = page;
    this.options = { seed: 0, radius: 0.1, norm: "l1", scale: 0.01, ranking: "attention" };
    this.rerun = debounced(180, (name) => this.run(name));
  }

  /** The buttons of a model. */
  build(model) {
    const byName = new Map(model.actions.map((action) => [action.name, action]));
    const groups = GROUPS.map(([title, names]) => [title, names.filter((name) => byName.has(name))]).filter(([, names]) => names.length);
    this.root.replaceChildren(
      ...groups.map(([title, names]) =>
        make("div", { className: "action-group" }, make("h3", { textContent: title }), ...names.map((name) => this.#card(byName.get(name)))),
      ),
    );
    this.clear();
  }

  clear() {
    this.result.replaceChildren(make("p", { className: "soft", textContent: "Press a button: its result appears here and on the bars above." }));
    this.root.querySelectorAll("[aria-pressed=true]").forEach((pressed) => pressed.setAttribute("aria-pressed", "false"));
  }

  #card(action) {
    const press = button(action.title, () => this.#press(action), { className: "action", aria: { pressed: false }, dataset: { action: action.name } });
    press.disabled = !action.is_offered;
    const text = make("p", { className: "asks", textContent: (action.is_offered ? action.sentence : action.reason) + " " }, make("cite", { textContent: action.paper }));
    press.setAttribute("aria-describedby", (text.id = "asks-" + action.name));
    return make("div", { className: "action-card" }, press, text);
  }

  #press(action) {
    if (action.name === "shuffle" || action.name === "embedding_noise") this.options.seed = Math.floor(Math.random() * 2 ** 31);
    this.run(action.name);
  }

  #chosenOptions(action) {
    const chosen = {};
    for (const name of action.options) if (name in this.options) chosen[name] = this.options[name];
    const word = this.page.selectedWord();
    if (action.options.includes("item") && word !== null) chosen.item = word;
    return chosen;
  }

  async run(name) {
    const action = this.page.model.actions.find((each) => each.name === name), asked = this.page.request();
    const press = this.root.querySelector(`[data-action="${name}"]`);
    if (name !== MERGED) this.page.settle();
    press.classList.add("waiting");
    try {
      const acted = await post("act", { ...asked, action: name, options: this.#chosenOptions(action) }, "act");
      if (asked !== this.page.request()) return; // another text has been read meanwhile
      this.root.querySelectorAll("[data-action]").forEach((each) => each.setAttribute("aria-pressed", String(each === press)));
      this.page.succeed();
      this.#show(action, acted);
    } catch (error) {
      if (!isSuperseded(error)) {
        this.clear();
        this.result.replaceChildren(make("p", { className: "failure", textContent: error.message }));
      }
    } finally {
      press.classList.remove("waiting");
    }
  }

  #show(action, acted) {
    const own = this.page.reading, labels = this.page.model.labels;
    const facts = [["Prediction", labels[acted.predicted] + " " + percent(acted.probabilities[acted.predicted]) + (acted.is_changed ? " (was " + labels[own.predicted] + ")" : "")]];
    facts.push(["Prediction moved by", share(acted.tvd)]);
    if (acted.jsd !== null) facts.push(["Attention moved by", share(acted.jsd) + " of at most .69 (JSD)"]);
    const title = make("h3", {}, action.title, " ", badge(acted.solver));
    const list = make("dl", { className: "facts" }, ...facts.map(([name, value]) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))));
    const parts = [title, make("p", { className: "found", textContent: acted.sentence }), action.name === "erase_ranking" ? "" : list, ...this.#controls(action, acted)];
    if (acted.attention?.length <= MOST_FADERS && action.name !== "erase_ranking") parts.push(this.#bars(acted));
    parts.push(make("p", { className: "fine soft" }, make("cite", { textContent: acted.paper })));
    const focused = this.result.contains(document.activeElement) ? document.activeElement.dataset.control : null;
    this.result.replaceChildren(...parts);
    this.result.scrollIntoView({ block: "nearest" });
    if (focused) this.result.querySelector(`[data-control="${focused}"]`)?.focus();
    this.#apply(action.name, acted);
  }

  #bars(acted) {
    const text = heatMap(acted.attention.map((_, at) => this.page.labelOf(at))), full = Math.max(...acted.attention, ...this.page.reading.attention);
    text.show(acted.attention, full, { [ERASES.has(acted.action) ? "erased" : "changed"]: new Set(acted.items ?? []) }, share);
    return text.element;
  }

  #apply(name, acted) {
    const items = new Set(acted.items ?? []);
    if (name === "erase_ranking") return;
    if (name === "replace_word") return acted.text !== null && this.page.changeText(acted.text, acted.items ?? []);
    if (!acted.is_settable) return this.page.mark({ changed: items });
    if (acted.attention !== null) this.page.impose(acted.attention, ERASES.has(name) ? { erased: items } : {}, name === MERGED ? name : null);
  }

  #controls(action, acted) {
    if (action.name === "shuffle") return [make("p", {}, button("Shuffle again", () => this.#press(action), { dataset: { control: "again" } }))];
    if (action.name === "embedding_noise") return this.#noise(action, acted);
    if (action.name === "worst_perturbation") return this.#ball(action, acted);
    if (action.name === "erase_ranking") return this.#prefix(action, acted);
    return [];
  }

  #slider(control, label, { min, max, step, value }, onInput) {
    const input = make("input", { type: "range", min, max, step, value, dataset: { control } });
    input.addEventListener("input", () => onInput(Number(input.value), input));
    return field(label, input);
  }

  #noise(action, acted) {
    const powers = make("output", { textContent: this.options.scale });
    const scale = this.#slider("scale", "Variance of the noise", { min: -4, max: 1, step: 0.25, value: Math.log10(this.options.scale) }, (power) => {
      this.options.scale = Number((10 ** power).toPrecision(2));
      powers.textContent = this.options.scale;
      this.rerun(action.name);
    });
    scale.append(powers);
    const others = acted.attention === null ? null : make("p", { className: "fine", textContent: this.#heaviest(acted.attention) });
    return [make("div", { className: "options" }, scale, button("Draw again", () => this.#press(action), { dataset: { control: "again" } })), others].filter(Boolean);
  }

  #heaviest(attention) {
    const place = argmax(attention), own = argmax(this.page.reading.attention);
    const same = place === own ? "still " : "now ";
    return "Under this noise the model attends most to " + same + quoted(this.page.labelOf(place)) + " (" + share(attention[place]) + ").";
  }

  // The requested radius and the certified one are on the same axis.
  #ball(action, acted) {
    const end = acted.most_radius ?? 2;
    const shown = make("output", { textContent: share(this.options.radius) });
    const radius = this.#slider("radius", "Radius of the ball", { min: 0, max: end, step: end / 200, value: this.options.radius }, (value) => {
      this.options.radius = value;
      shown.textContent = share(value);
      this.rerun(action.name);
    });
    radius.classList.add("wide");
    const axis = make("span", { className: "certified-axis", aria: { hidden: true } });
    if (acted.radius !== null) axis.append(make("span", { className: "certified", style: { "--at": Math.min(acted.radius / end, 1) } }));
    radius.append(shown, axis);
    const norm = choice(Object.entries(NORMS), (value) => ((this.options.norm = value), (this.options.radius = Math.min(this.options.radius, value === "l1" ? 2 : value === "l2" ? Math.SQRT2 : 1)), this.run(action.name)));
    norm.value = this.options.norm;
    norm.dataset.control = "norm";
    const certified = acted.radius === null ? "No radius is certified here." : "Certified radius " + share(acted.radius) + " (the filled part): no attention within it flips the prediction.";
    return [make("div", { className: "options" }, radius, field("Distance", norm)), make("p", { className: "fine certificate", textContent: certified })];
  }

  #prefix(action, acted) {
    const steps = acted.steps ?? [], ranking = choice(this.page.rankings().map((each) => [each.name, capital(each.title)]), (value) => ((this.options.ranking = value), this.run(action.name)));
    ranking.value = this.options.ranking;
    ranking.dataset.control = "ranking";
    const state = make("p", { className: "prefix", aria: { live: "polite" } });
    const draw = (count) => {
      const erased = steps.slice(0, count), step = steps[count - 1] ?? this.page.reading;
      const words = erased.slice(-6).map((each) => quoted(this.page.labelOf(each.item)));
      const list = (erased.length > 6 ? "…, " : "") + words.join(", ");
      const flip = acted.flips_at !== null && count >= acted.flips_at ? " Flipped after " + acted.flips_at + "." : "";
      state.textContent = (count ? "Erased " + count + ": " + list : "Nothing erased") + ". Predicts " + this.page.model.labels[step.predicted] + " with " + percent(step.probabilities[step.predicted]) + "." + flip;
      const gone = erased.map((each) => each.item), attention = without(this.page.reading.attention, gone);
      if (attention) this.page.impose(attention, { erased: new Set(gone) }, "prefix");
    };
    const start = acted.flips_at ?? steps.length;
    const slider = this.#slider("prefix", "How many are erased", { min: 0, max: steps.length, step: 1, value: start }, draw);
    slider.classList.add("wide");
    if (acted.flips_at !== null) slider.append(make("span", { className: "certified-axis", aria: { hidden: true } }, make("span", { className: "flip-mark", style: { "--at": acted.flips_at / Math.max(steps.length, 1) } })));
    queueMicrotask(() => draw(start));
    return [make("div", { className: "options" }, field("Ranking", ranking), slider), state];
  }
}

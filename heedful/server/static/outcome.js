// The outcome of the text: its badge, what every view says about it, and the words with the largest effect.
import { make } from "heedful/dom.js";
import { capital } from "heedful/format.js";

/** Shows the outcome; null while it is computed, or if the text is too long for that. */
export function showOutcome(root, outcome, isPending = false) {
  const sentences = outcome?.sentences ?? (isPending ? ["Judging the text …"] : []);
  const mark = outcome ? make("strong", { className: "outcome " + (outcome.outcome ?? "none"), textContent: capital(outcome.badge) }) : "";
  root.hidden = sentences.length === 0;
  root.setAttribute("aria-busy", String(isPending));
  root.replaceChildren(mark, ...sentences.map((sentence, at) => make("p", { className: at || isPending ? "" : "lead", textContent: sentence })));
}

/** The items to mark: key words, or the words with the largest effect if no small set decides. */
export function outcomeMarks({ outcome }) {
  return outcome ? { [outcome.outcome === "no_small_set" ? "largest" : "key"]: new Set(outcome.key_words) } : {};
}

// The arithmetic of the page: pure functions of plain arrays. The saved page carries this file inside it.

export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The place of the largest value; of equal ones the first. */
export const argmax = (values) => values.reduce((best, value, at) => (value > values[best] ? at : best), 0);

/** The logits of a linear model: the sum of weight x item logits; what is missing to a total of 1 falls to the empty text. */
export function mixture(attention, itemLogits, emptyLogits) {
  const missing = 1 - sum(attention);
  return emptyLogits.map((empty, label) =>
    attention.reduce((total, weight, item) => total + weight * itemLogits[item][label], missing * empty),
  );
}

export function softmax(logits) {
  const largest = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - largest));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/** Total variation distance: half the sum of |p - q|. */
export const totalVariation = (p, q) => sum(p.map((value, at) => Math.abs(value - q[at]))) / 2;

// p ln(p / m) with m = (p + q) / 2; log1p keeps the digits where p and q are close.
function timesLogRatioToMean(p, q) {
  if (p <= 0) return 0;
  const tilt = (p - q) / (p + q);
  return p * (tilt > -0.5 ? Math.log1p(tilt) : Math.log((2 * p) / (p + q)));
}

/** Jensen-Shannon divergence in nats; at most ln 2. */
export const jsDivergence = (p, q) =>
  sum(p.map((value, at) => timesLogRatioToMean(value, q[at]) + timesLogRatioToMean(q[at], value))) / 2;

/** The least and the most that some items may weigh together: what pins inside them hold, and what pins outside leave. */
export function weightRange(attention, items, pinned) {
  const inside = new Set(items), held = [0, 0];
  attention.forEach((weight, at) => pinned.has(at) && (held[inside.has(at) ? 0 : 1] += weight));
  const isFree = (at) => !inside.has(at) && !pinned.has(at);
  const most = Math.max(0, 1 - held[1]);
  return { least: attention.some((_, at) => isFree(at)) ? Math.min(held[0], most) : most, most };
}

function shared(attention, items, total, changed) {
  const before = sum(items.map((at) => attention[at]));
  for (const at of items) changed[at] = before > 0 ? (attention[at] / before) * total : total / items.length;
}

/**
 * Attention with the given weight on some items together (mostly one). All others keep their proportions and share what
 * is left; pinned ones do not move, unless it is the one item that is set. Items without any weight share evenly.
 */
export function renormalize(attention, items, weight, pinned) {
  const own = items.length === 1 ? items : items.filter((at) => !pinned.has(at));
  const held = items.length === 1 ? new Set([...pinned].filter((at) => at !== items[0])) : pinned;
  const { least, most } = weightRange(attention, items, held);
  const given = Math.min(Math.max(weight, least), most), inside = new Set(items);
  const free = attention.map((_, at) => at).filter((at) => !inside.has(at) && !held.has(at));
  const changed = attention.slice();
  if (!own.length) return changed;
  shared(attention, own, given - sum(items.filter((at) => !own.includes(at)).map((at) => attention[at])), changed);
  shared(attention, free, most - given, changed);
  return changed;
}

/** Attention without some items; the rest keeps its proportions. Null if nothing is left. */
export function without(attention, items) {
  const gone = new Set(items);
  const kept = attention.map((weight, at) => (gone.has(at) ? 0 : weight));
  const total = sum(kept);
  return total > 0 ? kept.map((weight) => weight / total) : null;
}

/** The text of a reading without the words of some items: neighbors keep what is between them, others get a space. */
export function keptText({ text, words, items }, gone) {
  const deleted = new Set([...gone].flatMap((item) => items[item].words)), own = words.flatMap((word, at) => (word.in_query ? [] : [at]));
  let kept = "", end = 0, isGap = false;
  for (const at of own) {
    const { start } = words[at];
    if (deleted.has(at)) isGap = true;
    else {
      kept += (isGap ? " " : text.slice(end, start)) + text.slice(start, words[at].end);
      isGap = false;
    }
    end = words[at].end;
  }
  return (kept + (isGap ? "" : text.slice(end))).replace(/\s+/g, " ").trim();
}

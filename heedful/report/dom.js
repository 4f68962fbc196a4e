// Elements. Whatever comes from a text, a label or the server enters the page as text, never as markup.

export const find = (id) => document.getElementById(id);

/** An element with properties (`dataset`, `aria` and `style` are objects) and children; null children are left out. */
export function make(tag, properties = {}, ...children) {
  const { dataset, aria, style, role, ...others } = properties;
  const element = Object.assign(document.createElement(tag), others);
  Object.assign(element.dataset, dataset);
  if (role) element.setAttribute("role", role);
  for (const [name, value] of Object.entries(aria ?? {})) element.setAttribute("aria-" + name, String(value));
  for (const [name, value] of Object.entries(style ?? {})) element.style.setProperty(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function button(label, onClick, properties = {}) {
  const element = make("button", { type: "button", textContent: label, ...properties });
  element.addEventListener("click", onClick);
  return element;
}

export const badge = (solver) => make("span", { className: "badge " + solver, textContent: solver, title: SOLVERS[solver] ?? "" });

const SOLVERS = {
  exact: "computed exactly: nothing is better",
  bound: "this much is proven, and more may be possible",
  search: "the best that was tried: there may be better",
};

// Light or dark: as the system says, until the switch says otherwise.
import { find } from "heedful/dom.js";

const KEY = "heedful-theme";

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function wireTheme() {
  const root = document.documentElement, toggle = find("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", isDark() ? "Switch to light colors" : "Switch to dark colors");
  };
  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, root.dataset.theme);
    } catch {
      // The choice holds for this page alone.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}

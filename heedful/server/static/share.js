// Taking it along: the link, one file that works offline, and pictures.
import { post } from "heedful/api.js";
import { find } from "heedful/dom.js";

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** `page` offers: state, request(), link(), fail(error), tell(sentence). */
export function wireShare(page) {
  const asked = (name, extra, file) => async () => {
    try {
      download(await post(name, { ...page.request(), attention: page.state.attention, ...extra }, file), file);
      page.tell(file + " has been saved to your downloads.");
    } catch (error) {
      page.fail(error);
    }
  };
  find("copy-link").addEventListener("click", async () => {
    const field = find("link");
    field.value = page.link();
    field.hidden = find("link-label").hidden = false;
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      page.tell("The link is copied. It opens this text with these weights, on this machine while heedful serve runs.");
    } catch {
      page.tell("Here is the link: copy it. It opens this text with these weights, on this machine while heedful serve runs.");
    }
  });
  find("save-page").addEventListener("click", asked("save", {}, "heedful.html"));
  find("save-svg").addEventListener("click", asked("picture", { format: "svg" }, "heedful.svg"));
  find("save-png").addEventListener("click", asked("picture", { format: "png" }, "heedful.png"));
}

export function showShare(model) {
  find("save-page").disabled = !model.is_linear;
  find("save-note").hidden = model.is_linear;
}

// All attributes below the text: a search, and a click that writes one, or a value of it.
import { h } from "./elements.js";
import { printValue } from "./printer.js";

function describe({ name, type, description, domain }, insert) {
  const pick = h(
    "button",
    { type: "button", class: "pick", "data-insert": name, onclick: () => insert(name) },
    h("span", { class: "type" }, type),
    h("code", {}, name),
    h("span", { class: "about" }, description),
  );
  const values = (domain ?? []).map((value) => {
    const text = printValue(value);
    return h(
      "button",
      { type: "button", "data-insert": text, onclick: () => insert(text) },
      String(value),
    );
  });
  const label = `Values of ${name}`;
  return h(
    "li",
    {},
    pick,
    values.length > 0 && h("div", { class: "values", role: "group", "aria-label": label }, values),
  );
}

// Filled when it is first opened: most people never look.
export function startReference(panel, editor) {
  const fill = () => {
    if (panel.querySelector("ul") || !editor.words.attributes.size) return;
    const insert = (text) => editor.text.marked.insert(text);
    const items = [...editor.words.attributes.values()].map((row) => describe(row, insert));
    const none = h(
      "p",
      { class: "soft", hidden: true },
      "No attribute has this in its name or description.",
    );
    const oninput = ({ target }) => {
      const wanted = target.value.trim().toLowerCase();
      for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(wanted);
      none.hidden = items.some((item) => !item.hidden);
    };
    const search = h("input", {
      type: "search",
      id: "reference-search",
      "aria-label": "Find an attribute",
      placeholder: "Find an attribute; a click writes it into the text",
      autocomplete: "off",
      oninput,
    });
    panel.append(h("div", { class: "reference-search" }, search), h("ul", {}, items), none);
  };
  panel.addEventListener("toggle", fill);
  editor.root.addEventListener("expression:checked", () => panel.open && fill());
}

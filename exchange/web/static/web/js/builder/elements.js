// Makes elements. No markup from strings, no style attributes: the page's CSP forbids both.

// Belongs to no form: what is shown here is sent as the text of the form's own field, and Enter in
// a value must not send the form.
const APART = "builder";
const OWN_NAMES = new Set(["input", "select", "textarea", "button"]);

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  if (OWN_NAMES.has(tag)) element.setAttribute("form", APART);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child || child === 0));
  return element;
}

export function button(label, onclick, props = {}) {
  return h("button", { type: "button", class: "button small plain", ...props, onclick }, label);
}

// Messages quote what one writes in backticks.
export function rich(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}

// A message and what to do about it, as one sentence.
export function sentence({ message, suggestion }) {
  const text = suggestion ? `${message}: ${suggestion}` : message;
  const start = text[0].toUpperCase() + text.slice(1);
  return /[.?!]$/.test(start) ? start : `${start}.`;
}

// Never all, and never nothing, where it is not.
export function percent(share) {
  if (share > 0 && share < 0.01) return "< 1 %";
  if (share < 1 && share > 0.99) return "> 99 %";
  return `${Math.round(share * 100)} %`;
}

export const amount = (number) => number.toLocaleString("en-GB");
export const plural = (count, word) => `${amount(count)} ${word}${count === 1 ? "" : "s"}`;

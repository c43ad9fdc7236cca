// What can be done to a row or a group, as a menu; every entry has its key as well.
import { h } from "./elements.js";
import { isGroup } from "./model.js";

const ENTRIES = [
  ["up", "Move up", "Alt ↑"],
  ["down", "Move down", "Alt ↓"],
  ["wrap", "Wrap in a group", "Alt →"],
  ["lift", "Lift out", "Alt ←"],
  ["ungroup", "Ungroup", ""],
  ["fold", "Collapse", ""],
  ["duplicate", "Duplicate", "Ctrl D"],
  ["negate", "Negate", ""],
  ["disable", "Disable", "Ctrl /"],
  ["comment", "Comment", ""],
  ["copy", "Copy as text", "Ctrl C"],
  ["delete", "Delete", "Del"],
];
const OF_GROUP = new Set(["ungroup", "fold"]);
const OF_ROOT = new Set(["wrap", "negate", "comment", "copy", "delete"]);

class Menu {
  constructor(opener, node, isRoot, act) {
    this.opener = opener;
    const isAllowed = ([action]) =>
      (!isRoot || OF_ROOT.has(action)) && (!OF_GROUP.has(action) || isGroup(node));
    this.items = ENTRIES.filter(isAllowed).map(([action, label, keys]) => {
      const onclick = () => {
        this.close();
        act(action);
      };
      return h(
        "button",
        { type: "button", role: "menuitem", tabindex: "-1", onclick },
        label,
        h("kbd", {}, keys),
      );
    });
    this.element = h(
      "div",
      {
        role: "menu",
        class: "menu-list",
        "aria-label": "Actions",
        onfocusout: ({ relatedTarget }) =>
          this.element.contains(relatedTarget) || this.close({ isLeft: true }),
        onkeydown: (event) => this.press(event),
      },
      this.items,
    );
    opener.after(this.element);
    opener.setAttribute("aria-expanded", "true");
    this.items[0].focus();
  }

  // Removing what has the focus moves it, which would close once more.
  close({ isLeft = false } = {}) {
    if (this.opener.getAttribute("aria-expanded") === "false") return;
    this.opener.setAttribute("aria-expanded", "false");
    this.element.remove();
    if (!isLeft) this.opener.focus();
  }

  press(event) {
    event.stopPropagation();
    const { items } = this;
    const at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) items[(at + step + items.length) % items.length].focus();
    else if (event.key === "Escape") this.close();
    else if (event.key.length === 1 && event.key !== " ") this.jump(event.key.toLowerCase(), at);
    if (!["Enter", " ", "Tab"].includes(event.key)) event.preventDefault();
  }

  jump(letter, at) {
    const order = [...this.items.slice(at + 1), ...this.items.slice(0, at + 1)];
    order.find((item) => item.textContent.toLowerCase().startsWith(letter))?.focus();
  }
}

export const openMenu = (...given) => new Menu(...given);

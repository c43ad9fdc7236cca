// A field with a list of options below it. `find(q)` gives the options and may ask the server;
// `more(q)`, if there is one, gives those that take longer, below them; `pick` gets the chosen one, or, if `isFree`, {value, isTyped} for what was typed.
import { h } from "../elements.js";

const TYPING_PAUSE_MS = 150; // before the server is asked for more

let serial = 0;

class Combobox {
  constructor(options) {
    Object.assign(this, { value: "", placeholder: "", isFree: false }, options);
    serial += 1;
    this.id = `options${serial}`;
    this.options = [];
    this.at = -1;
    this.turn = 0;
    this.list = h("ul", {
      id: this.id,
      role: "listbox",
      "aria-label": this.label,
      class: "options",
      hidden: true,
    });
    this.input = h("input", {
      role: "combobox",
      value: this.value,
      placeholder: this.placeholder,
      "aria-label": this.label,
      "aria-expanded": "false",
      "aria-controls": this.id,
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: false,
      "data-key": this.key,
    });
    this.listen();
    this.element = h("span", { class: "combobox" }, this.input, this.list);
    this.element.combobox = this;
  }

  get isOpen() {
    return !this.list.hidden;
  }

  listen() {
    const { input } = this;
    input.addEventListener("input", () => this.open(input.value));
    input.addEventListener("focus", () => this.enter());
    input.addEventListener("click", () => this.isOpen || this.open(this.isFree ? input.value : ""));
    input.addEventListener("blur", () => this.leave());
    input.addEventListener("keydown", (event) => this.press(event));
    input.addEventListener("paste", (event) => this.paste(event));
  }

  // A list of values opens on typing, Down or a click: opening at once, it covers what is below.
  enter() {
    this.input.select();
    if (!this.isFree) this.open("");
  }

  leave() {
    this.close();
    if (this.isFree) this.finish();
    else this.input.value = this.value;
  }

  paste(event) {
    this.onpaste?.(event);
    if (event.defaultPrevented) this.close();
  }

  close() {
    this.turn += 1;
    this.hide();
  }

  hide() {
    this.list.hidden = true;
    this.at = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  choose(option) {
    this.close();
    this.pick(option);
  }

  finish() {
    const text = this.input.value.trim();
    if (!this.isFree || !text) return;
    this.input.value = "";
    this.pick({ value: text, isTyped: true });
  }

  async open(q) {
    const turn = (this.turn += 1);
    const found = await this.find(q);
    this.show(found, q, turn);
    if (!this.more) return;
    await new Promise((resolve) => setTimeout(resolve, TYPING_PAUSE_MS));
    if (turn !== this.turn) return;
    const later = await this.more(q);
    if (later.length || !found.length) this.show([...found, ...later], q, turn, true);
  }

  // `isAll`: nothing more will come, so nothing found is said.
  show(found, q, turn, isAll = false) {
    if (turn !== this.turn || document.activeElement !== this.input) return;
    const at = isAll ? this.at : -1;
    this.options = found;
    if (!found.length && !(isAll && q)) {
      this.hide();
      return;
    }
    this.list.replaceChildren(...(found.length ? this.draw() : this.drawNone(q)));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(q && !this.isFree ? Math.max(at, 0) : at);
  }

  drawNone(q) {
    const props = { role: "option", class: "none", "aria-disabled": "true" };
    const hint = "Try another word, or clear the field to see all.";
    return [h("li", props, `Nothing is called “${q}”. ${hint}`)];
  }

  draw() {
    const drawn = [];
    let into = null;
    this.options.forEach((option, index) => {
      const item = this.drawOption(option, index);
      if (!option.group) return drawn.push(item);
      if (into?.ariaLabel !== option.group) {
        const head = h("li", { class: "head", role: "presentation" }, option.group);
        into = h("ul", { role: "group", ariaLabel: option.group }, head);
        drawn.push(into);
      }
      return into.append(item);
    });
    return drawn;
  }

  drawOption(option, index) {
    const onpointerdown = (event) => {
      event.preventDefault();
      this.choose(option);
    };
    return h(
      "li",
      { role: "option", id: `${this.id}-${index}`, "aria-selected": "false", onpointerdown },
      h("span", { class: "name" }, option.label ?? String(option.value)),
      option.hint && h("span", { class: "hint" }, option.hint),
      option.about && h("span", { class: "about" }, option.about),
    );
  }

  mark(next) {
    this.at = next;
    this.input.removeAttribute("aria-activedescendant");
    this.list.querySelectorAll("[role=option]").forEach((item, index) => {
      item.setAttribute("aria-selected", String(index === next));
      if (index !== next) return;
      item.scrollIntoView({ block: "nearest" });
      this.input.setAttribute("aria-activedescendant", item.id);
    });
  }

  press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const count = this.options.length;
      if (this.isOpen) this.mark(count ? (this.at + step + count) % count : -1);
      else this.open(this.isFree ? this.input.value : "");
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (this.isOpen && this.options[this.at]) this.choose(this.options[this.at]);
      else this.finish();
    } else if (event.key === "Escape" && this.isOpen) {
      event.stopPropagation();
      this.close();
    } else if (event.key === "Backspace" && !this.input.value) {
      this.onback?.();
    }
  }
}

export const combobox = (options) => new Combobox(options).element;

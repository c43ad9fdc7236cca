// Offers in text mode what may stand at the caret: attributes, operators, values, @audiences,
// $lists. Typing opens the list, Ctrl+Space as well; Tab or Enter takes, Escape closes.
import { contextAt } from "./context.js";
import { amount, h, percent } from "./elements.js";
import { takesList, writtenOperators } from "./operators.js";
import { printValue } from "./printer.js";

const MOST = 40;
const OPENING = 1; // letters that open the list by themselves

const named = (rows, part) =>
  rows.filter(({ label }) => label.toLowerCase().includes(part.toLowerCase()));

// The place of a character of the paper, as the browser drew it.
function boxOf(paper, place) {
  const walker = document.createTreeWalker(paper, NodeFilter.SHOW_TEXT);
  let rest = place;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (rest <= node.length) {
      const range = document.createRange();
      range.setStart(node, rest);
      return range.getBoundingClientRect();
    }
    rest -= node.length;
  }
  return paper.getBoundingClientRect();
}

export class Completion {
  constructor(marked, editor) {
    Object.assign(this, { marked, editor, options: [], at: 0, turn: 0 });
    this.area = marked.textarea;
    this.list = h("ul", {
      role: "listbox",
      id: "completions",
      "aria-label": "Suggestions",
      class: "options",
      hidden: true,
    });
    marked.box.append(this.list);
    this.area.setAttribute("aria-autocomplete", "list");
    this.area.setAttribute("aria-controls", "completions");
    this.area.addEventListener("keydown", (event) => this.press(event));
    this.area.addEventListener("blur", () => this.close());
    this.area.addEventListener("click", () => this.close());
  }

  get isOpen() {
    return !this.list.hidden;
  }

  // Somebody typed.
  follow() {
    const context = this.context();
    if (context.part.length >= OPENING && this.area.selectionStart === this.area.selectionEnd)
      this.open(context);
    else this.close();
  }

  context() {
    return contextAt(this.marked.text, this.area.selectionStart, this.editor.words.attributes);
  }

  async open(context = this.context()) {
    const turn = (this.turn += 1);
    const options = (await this.find(context)).slice(0, MOST);
    if (turn !== this.turn || document.activeElement !== this.area) return;
    const isWritten = options.length === 1 && options[0].text.trim() === context.part;
    if (!options.length || isWritten) this.close();
    else this.show(options, context);
  }

  show(options, context) {
    Object.assign(this, { options, start: context.start });
    this.list.replaceChildren(
      ...options.map((option, index) => {
        const onpointerdown = (event) => {
          event.preventDefault();
          this.take(option);
        };
        return h(
          "li",
          { role: "option", id: `completion-${index}`, onpointerdown },
          h("span", { class: "name" }, option.label),
          option.hint && h("span", { class: "hint" }, option.hint),
        );
      }),
    );
    this.list.hidden = false;
    this.place(context.start);
    this.mark(0);
  }

  place(start) {
    const frame = this.marked.box.getBoundingClientRect();
    const box = boxOf(this.marked.paper, start);
    const left = Math.min(
      box.left - frame.left,
      Math.max(0, frame.width - this.list.offsetWidth - 4),
    );
    this.list.style.setProperty("left", `${Math.max(0, left)}px`);
    this.list.style.setProperty("top", `${Math.min(box.bottom - frame.top + 2, frame.height)}px`);
  }

  mark(next) {
    this.at = next;
    [...this.list.children].forEach((item, index) => {
      item.setAttribute("aria-selected", String(index === next));
      if (index === next) item.scrollIntoView({ block: "nearest" });
    });
    this.area.setAttribute("aria-activedescendant", `completion-${next}`);
  }

  close() {
    this.turn += 1;
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  take({ text, start = this.start, goesOn }) {
    this.close();
    this.marked.replace({ start, end: this.area.selectionStart }, text);
    if (goesOn) this.open();
    else this.close();
  }

  press(event) {
    if (event.ctrlKey && event.key === " ") {
      event.preventDefault();
      this.open();
      return;
    }
    if (!this.isOpen || event.ctrlKey || event.altKey || event.metaKey) return;
    const count = this.options.length;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.mark((this.at + step + count) % count);
    else if (event.key === "Enter" || event.key === "Tab") this.take(this.options[this.at]);
    else if (event.key === "Escape") this.close();
    else return void (/^(Arrow|Home|End|Page)/.test(event.key) && this.close());
    event.preventDefault();
    event.stopPropagation();
  }

  async find(context) {
    const { part, expects } = context;
    if (part.startsWith("@")) return this.audiences(part.slice(1));
    if (part.startsWith("$")) return this.lists(part.slice(1));
    if (context.isOpen || (expects === "value" && context.attribute)) return this.values(context);
    if (expects === "condition") return this.conditions(part);
    if (expects === "operator") return this.operators(context);
    return named(
      ["and", "or", "xor"].map((word) => ({ label: word, text: `${word} `, goesOn: true })),
      part,
    );
  }

  audiences(part) {
    const rows = this.editor.words.audiences.map(({ name }) => ({
      label: `@${name}`,
      hint: "audience",
      text: `@${name}`,
    }));
    return named(rows, part);
  }

  lists(part) {
    const rows = this.editor.words.lists.map(({ name, value_count: count }) => ({
      label: `$${name}`,
      hint: `list of ${amount(count)}`,
      text: `$${name}`,
    }));
    return named(rows, part);
  }

  conditions(part) {
    const rows = [...this.editor.words.attributes.values()].map(({ name, type, fill }) => ({
      label: name,
      hint: fill === null ? type : `${type} · ${percent(fill)} filled`,
      text: `${name} `,
      goesOn: true,
    }));
    const found = named(rows, part);
    found.sort((a, b) => b.label.startsWith(part) - a.label.startsWith(part));
    const words = part
      ? named(
          ["not", "true"].map((word) => ({ label: word, text: word })),
          part,
        )
      : [];
    return [...found, ...words, ...(part ? this.audiences(part) : [])];
  }

  // An operator may be several words: what is typed of it is replaced as a whole.
  operators({ attribute, from }) {
    const { text } = this.marked;
    const written = text.slice(from, this.area.selectionStart);
    const start = from + (written.length - written.trimStart().length);
    const typed = written.trim().toLowerCase();
    const { type } = this.editor.words.attributes.get(attribute);
    return writtenOperators(type)
      .filter(({ label }) => label.startsWith(typed))
      .map((option) => {
        const opens = takesList(option.label.replace(/^not /, ""));
        return {
          ...option,
          start: Math.max(start, from),
          text: option.label + (opens ? " (" : " "),
          goesOn: true,
        };
      });
  }

  async values({ attribute, part, isOpen }) {
    const about = this.editor.words.attributes.get(attribute);
    if (!about) return [];
    const q = isOpen ? part.slice(1) : part;
    const closed = about.type === "boolean" ? [true, false] : about.domain;
    if (closed)
      return named(
        closed.map((value) => ({ label: String(value), text: printValue(value) })),
        q,
      );
    const found = await this.editor.asking.values(attribute, q);
    return found.map(({ value, share }) => ({
      label: String(value),
      hint: share === null ? "" : percent(share),
      text: printValue(value),
    }));
  }
}

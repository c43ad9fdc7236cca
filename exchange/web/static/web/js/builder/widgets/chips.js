// Any number of values, each a chip; typed, picked, or pasted many at once. One stop for Tab,
// however many chips: Left leaves the field for them, Delete removes.
import { amount, button, h, percent } from "../elements.js";
import { combobox } from "./combobox.js";
import { kindOf, readValue } from "./values.js";

const SHOWN = 8;
const MANY = 200;

// On lines, tabs, commas and semicolons; double quotes keep a comma inside.
export function splitPasted(text) {
  const parts = text.match(/"[^"\n]*"|[^\n\r\t,;]+/g) ?? [];
  const bare = (part) =>
    part
      .trim()
      .replace(/^(['"])(.*)\1$/s, "$2")
      .trim();
  return parts.map(bare).filter(Boolean);
}

class Chips {
  constructor(row) {
    this.row = row;
    this.isWhole = false;
    this.listed = h("ul", { class: "chips" });
    this.report = h("p", { class: "report", role: "status" });
    this.entry = combobox({
      label: `Add to ${row.about.name}`,
      placeholder: "Type, pick or paste",
      isFree: true,
      key: "value",
      find: (q) => this.find(q),
      pick: (option) => this.pick(option),
      onpaste: (event) => this.paste(event),
      onback: () => this.drop(this.values.at(-1)),
    });
    this.keeper = h("div", { class: "keeper", hidden: true });
    this.element = h(
      "div",
      { class: "chips-box", onkeydown: (event) => this.press(event) },
      this.listed,
      this.entry,
      this.report,
      this.keeper,
    );
    this.draw();
  }

  get values() {
    return this.row.node().values;
  }

  get input() {
    return this.entry.combobox.input;
  }

  async find(q) {
    if (q.startsWith("$")) return this.findLists(q.slice(1));
    const found = await this.row.asking.values(this.row.about.name, q);
    const have = new Set(this.values);
    return found
      .filter(({ value }) => !have.has(value))
      .map(({ value, share }) => ({ value, hint: share === null ? "" : percent(share) }));
  }

  findLists(q) {
    const kind = kindOf(this.row) === "integer" ? "integer" : "string";
    return this.row
      .lists()
      .filter(({ name, type }) => type === kind && name.includes(q))
      .map(({ name, value_count: count }) => ({
        label: `$${name}`,
        list: name,
        hint: `list of ${amount(count)}`,
      }));
  }

  pick({ list, value, isTyped }) {
    if (list || (isTyped && value.startsWith("$"))) {
      this.takeList(list ?? value.slice(1));
      return;
    }
    this.input.value = "";
    this.add(isTyped ? splitPasted(value) : [String(value)]);
  }

  takeList(name) {
    this.row.set({ list: name, values: [] }, `List ${name}`);
    this.draw();
  }

  paste(event) {
    const parts = splitPasted(event.clipboardData.getData("text"));
    if (parts.length < 2) return;
    event.preventDefault();
    this.add(parts);
  }

  add(texts) {
    const have = new Set(this.values);
    const added = [];
    const wrong = [];
    let twice = 0;
    for (const text of texts) {
      const value = readValue(text, kindOf(this.row));
      if (value === null) wrong.push(text);
      else if (have.has(value)) twice += 1;
      else added.push(value) && have.add(value);
    }
    if (added.length)
      this.row.set({ values: [...this.values, ...added], list: null }, `${added.length} added`);
    this.tell(added.length, twice, wrong, texts.length);
    this.draw();
  }

  tell(added, twice, wrong, given) {
    const parts = [`${added} added`];
    if (twice) parts.push(`${twice} duplicate${twice > 1 ? "s" : ""}`);
    if (wrong.length) parts.push(`not a number: ${wrong.slice(0, 3).join(", ")}`);
    this.report.textContent = given > 1 || parts.length > 1 ? parts.join(", ") : "";
  }

  drop(value) {
    if (value === undefined) return;
    this.row.set({ values: this.values.filter((each) => each !== value) }, `Removed ${value}`);
    this.draw();
    this.input.focus();
  }

  draw() {
    const { values, row } = this;
    const { list } = row.node();
    const shown = this.isWhole ? values : values.slice(0, SHOWN);
    const chips = shown.map((value) =>
      this.chip(String(value) || "(empty)", `Remove ${value}`, () => this.drop(value)),
    );
    if (list)
      chips.push(this.chip(`$${list}`, `Remove list ${list}`, () => this.dropList(), "chip name"));
    if (values.length > SHOWN)
      chips.push(h("li", { class: "rest" }, this.moreButton(values.length - SHOWN)));
    this.listed.replaceChildren(...chips);
    this.listed.setAttribute("aria-label", `${values.length} values`);
    this.entry.hidden = Boolean(list); // stays in its place: put in again, it would lose the focus
    this.offerList(values.length);
  }

  chip(text, label, onclick, name = "chip") {
    const tabindex = name === "chip" ? "-1" : "0";
    const remove = h("button", { type: "button", tabindex, "aria-label": label, onclick }, "×");
    return h("li", { class: name }, h("span", {}, text), remove);
  }

  moreButton(rest) {
    const onclick = () => {
      this.isWhole = !this.isWhole;
      this.draw();
    };
    const props = { type: "button", class: "more", "aria-expanded": String(this.isWhole), onclick };
    return h("button", props, this.isWhole ? "Fewer" : `+${amount(rest)}`);
  }

  dropList() {
    this.row.set({ list: null }, "List removed");
    this.draw();
    this.input.focus();
  }

  // So many values are better kept once, where others can use them as well.
  offerList(count) {
    this.keeper.hidden = count <= MANY;
    if (count <= MANY || this.keeper.firstChild) return;
    const name = h("input", {
      "aria-label": "Name of the list",
      placeholder: "name-of-the-list",
      class: "wide",
    });
    const failed = h("span", { class: "errors", role: "status" });
    const keep = button("Keep as a list", () => this.keep(name, failed), { class: "button small" });
    this.keeper.replaceChildren("Many values: ", name, keep, failed);
  }

  async keep(name, failed) {
    const type = kindOf(this.row) === "integer" ? "integer" : "string";
    const kept = await this.row.keepList({
      name: name.value.trim(),
      type,
      values: this.values.map(String),
    });
    if (kept) this.takeList(kept.name);
    else failed.textContent = "Not kept. Is the name free, of letters, digits and hyphens?";
  }

  press(event) {
    const stops = [...this.listed.querySelectorAll("button"), this.input];
    const at = stops.indexOf(event.target);
    const isField = at === stops.length - 1;
    const leaves = isField && event.key === "ArrowLeft" && !event.target.selectionEnd;
    if (at < 0 || event.altKey || event.shiftKey || event.ctrlKey || (isField && !leaves)) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      stops[at + step]?.focus();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      event.target.click();
    }
  }
}

export const chips = (row) => new Chips(row).element;

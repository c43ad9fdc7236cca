// One condition as a row: its attribute, operator and values; an audience; a constant; a block of
// text. `editor` does everything that changes state.
import { findSubjects, findValues } from "./attribute_search.js";
import { amount, h, percent, rich } from "./elements.js";
import { isGroup, neededName, reference } from "./model.js";
import {
  firstOperator,
  isPresence,
  isWide,
  keptValues,
  labelOf,
  operatorKey,
  operatorsOf,
  readOperator,
  widgetName,
} from "./operators.js";
import { printLine } from "./printer.js";
import { combobox } from "./widgets/combobox.js";
import { widgetOf } from "./widgets/index.js";

export const KINDS = { all: "All of", any: "Any of", none: "None of" };
const LEAST_MISSING = 0.0005; // of visits: fewer are not worth a switch

// A node in a few words: for its label.
export function summarise(node, attributes) {
  if (isGroup(node)) {
    const parts = node.children.map((child) => child.attribute || child.name || child.kind);
    return `${KINDS[node.kind]} ${node.children.length}: ${parts.join(", ")}`;
  }
  if (node.kind === "reference") return `@${node.name}`;
  if (node.kind === "constant") return node.value ? "every visit" : "no visit";
  if (node.kind === "code") return "block of text";
  return node.attribute ? summariseTest(node, attributes.get(node.attribute)) : "not chosen yet";
}

function summariseTest(node, { type }) {
  const { values, list, operator } = node;
  const several =
    values.length === 1 ? String(values[0]) : values.length ? amount(values.length) : "";
  const places = {
    within: `${values[2]} km of a place`,
    "inside polygon": `${values.length} points`,
  };
  const said = list ? `list ${list}` : (places[operator] ?? several);
  const whole = `${node.attribute} ${labelOf(type, node)} ${said}`.trim();
  return node.orMissing ? `${whole}, also when missing` : whole;
}

export class Rows {
  constructor(editor) {
    this.editor = editor;
  }

  // The parts of a row, between its handle and its menu.
  parts(node) {
    if (node.kind === "test") return this.testParts(node);
    if (node.kind === "code") return [this.codeBlock(node)];
    if (node.kind === "reference")
      return [this.attributeBox(node, `@${node.name}`), h("span", { class: "fixed" }, "is true")];
    return [h("span", { class: "fixed" }, node.value ? "Every visit" : "No visit")];
  }

  attributeBox(node, shown) {
    const { editor } = this;
    return h(
      "div",
      { class: "what" },
      combobox({
        label: "Attribute",
        placeholder: "Choose an attribute",
        value: shown,
        key: "attribute",
        find: (q) => findSubjects(editor.words, q),
        more: (q) => findValues(editor.words, q, editor.asking),
        pick: ({ audience, attribute, value }) => {
          if (audience)
            editor.swap(node.id, reference(audience, node.notes), `Audience ${audience}`);
          else this.chooseAttribute(node, attribute, value === undefined ? [] : [value]);
        },
      }),
    );
  }

  chooseAttribute(node, { name, type }, values) {
    const fresh = { kind: "test", values, list: null, orMissing: false, attribute: name };
    this.editor.patch(node.id, { ...fresh, ...firstOperator(type) }, `Attribute ${name}`, "value");
  }

  testParts(node) {
    const about = this.editor.words.attributes.get(node.attribute);
    if (!about) return [this.attributeBox(node, node.attribute)];
    const wide = isWide(widgetName(node, about));
    const values = h(
      "div",
      { class: `values-of ${wide ? "own-line" : ""}` },
      widgetOf(this.rowOf(node, about)),
    );
    return [
      this.attributeBox(node, node.attribute),
      this.operatorBox(node, about),
      !wide && values,
      this.missingSwitch(node),
      wide && values,
    ];
  }

  // What a widget sees of its row.
  rowOf(node, about) {
    const { editor } = this;
    return {
      about,
      asking: editor.asking,
      node: () => editor.find(node.id) ?? node,
      places: () => editor.words.places,
      lists: () => editor.words.lists,
      keepList: (list) => editor.keepList(list),
      set: (fields, said) => editor.set(node.id, fields, said),
    };
  }

  operatorBox(node, about) {
    const onchange = ({ target }) => {
      const now = this.editor.find(node.id);
      const next = readOperator(target.value);
      const isListed = ["chips", "checks"].includes(widgetName({ ...now, ...next }, about));
      const fields = {
        ...next,
        values: keptValues(now, next, about),
        list: isListed ? now.list : null,
      };
      if (isPresence(next.operator)) fields.orMissing = false;
      this.editor.patch(node.id, fields, "Operator changed");
    };
    const options = operatorsOf(about.type, node).map(([label, key]) =>
      h("option", { value: key, selected: key === operatorKey(node) }, label),
    );
    return h(
      "select",
      { class: "operator", "aria-label": "Operator", "data-key": "operator", onchange },
      options,
    );
  }

  missingSwitch(node) {
    const fill = this.editor.words.attributes.get(neededName(node))?.fill ?? null;
    const isWorth = fill === null || 1 - fill > LEAST_MISSING || node.orMissing;
    if (isPresence(node.operator) || !isWorth) return null;
    const onchange = ({ target }) => {
      this.editor.patch(
        node.id,
        { orMissing: target.checked },
        target.checked ? "Also when missing" : "Not when missing",
      );
    };
    const box = h("input", {
      type: "checkbox",
      checked: node.orMissing,
      "data-key": "missing",
      onchange,
    });
    return h(
      "label",
      { class: "or-missing" },
      box,
      "also when missing",
      fill !== null && h("span", { class: "soft" }, percent(1 - fill)),
    );
  }

  codeBlock(node) {
    const problem = h("p", { class: "errors", role: "status" });
    const area = h("textarea", {
      class: "expression",
      rows: 2,
      "aria-label": "Condition as text",
      spellcheck: false,
      "data-key": "value",
      value: printLine(node.doc),
      onchange: async () => {
        const answer = await this.editor.asking.check(area.value);
        if (answer?.valid) this.editor.swapDocument(node.id, answer.document, node.notes);
        else
          problem.replaceChildren(
            ...rich(answer ? answer.errors[0].message : "The check does not answer."),
          );
      },
    });
    return h("div", { class: "code" }, area, problem);
  }

  notes(node) {
    const change = (at, count, ...next) => [
      ...node.notes.slice(0, at),
      ...next,
      ...node.notes.slice(at + count),
    ];
    return node.notes.map((note, at) => {
      const remove = () => this.editor.setNotes(node.id, change(at, 1), "Note removed");
      const drop = h(
        "button",
        { type: "button", class: "drop", "aria-label": "Remove note", onclick: remove },
        "×",
      );
      return note.disabled
        ? this.disabledNote(node, note, at, drop)
        : this.comment(node, note, at, drop, change);
    });
  }

  disabledNote(node, note, at, drop) {
    const enable = h(
      "button",
      {
        type: "button",
        class: "button small plain",
        onclick: () => this.editor.enable(node.id, at),
      },
      "Enable",
    );
    return h(
      "div",
      { class: "disabled" },
      h("span", { class: "tag" }, "disabled"),
      h("code", {}, note.text),
      enable,
      drop,
    );
  }

  comment(node, note, at, drop, change) {
    const onchange = ({ target }) => {
      const text = target.value.trim().replace(/\s+/g, " ");
      this.editor.setNotes(node.id, change(at, 1, { text }), "Comment changed");
    };
    const props = {
      value: note.text,
      "aria-label": "Comment",
      placeholder: "A note for whoever reads this",
    };
    return h(
      "div",
      { class: "comment" },
      h("span", { "aria-hidden": "true" }, "#"),
      h("input", { ...props, "data-key": `note${at}`, onchange }),
      drop,
    );
  }
}

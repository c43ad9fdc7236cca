// The editor of an expression: builder and text are two views of one state, a tree of nodes and its
// text. Every change goes through `commit`: one history, one announcement, one check.
import { actOn } from "./actions.js";
import { Asking } from "./asking.js";
import { plural } from "./elements.js";
import { History } from "./history.js";
import { group, idAt, read, readRoot, setTypes, test, write } from "./model.js";
import { enable, include, insert, locate, moveTo, patch, replace } from "./operations.js";
import { leafSpans, printLine, printTree } from "./printer.js";
import { listenTo } from "./gestures.js";
import { startReference } from "./reference.js";
import { TextPane } from "./text.js";
import { View } from "./view.js";
import { rangeOf } from "../marked_text.js";

const TYPING_PAUSE_MS = 300;
const CHANGE_PAUSE_MS = 120;
const MODES = ["builder", "text", "both"];
const KEPT_MODE = "editor-mode";
const NOTHING = {
  valid: true,
  text: "",
  canonical: "",
  document: null,
  errors: [],
  warnings: [],
  sentence: "",
};

export class Editor {
  constructor(root) {
    this.root = root;
    this.form = root.closest("form");
    this.asking = new Asking(() => this.whose());
    this.words = { attributes: new Map(), audiences: [], lists: [], places: {} };
    this.serial = 0;
    this.text = new TextPane(root, this);
    this.view = new View(root.querySelector("[data-tree]"), this);
    this.history = new History({ root: group("all"), text: this.text.text, said: "Start" });
    this.written = write(this.now.root);
    this.setMode(localStorage.getItem(KEPT_MODE));
    listenTo(this);
  }

  get now() {
    return this.history.now;
  }

  get owner() {
    return this.form.elements[this.root.dataset.owner];
  }

  // Whose names the expression may use, and the one that it will have itself.
  whose() {
    const value = this.owner?.value ?? "";
    if (this.root.dataset.owner !== "organisation") return { party: value };
    return { organisation: value, name: this.form.elements.name?.value ?? "" };
  }

  async start() {
    const isLoaded = await this.loadWords();
    const text = this.text.text;
    const answer = await this.judge(text);
    if (text !== this.text.text) return this.typed();
    const isRight = isLoaded && answer?.valid;
    const root = readRoot(isRight ? answer.document : null);
    this.history.restart({ root, text, said: "Start", isWrong: !isRight });
    if (!isRight) this.setMode("text");
    this.draw();
    if (answer) this.show(answer);
    else this.tellSilence();
    return undefined;
  }

  async loadWords() {
    const words = await this.asking.vocabulary();
    if (!words) return false;
    setTypes(words.attributes);
    this.words = { ...words, attributes: new Map(words.attributes.map((row) => [row.name, row])) };
    return true;
  }

  async renewWords() {
    await this.loadWords();
    this.checkSoon(0);
  }

  // --- changes

  // `key`: quick changes of the same are one step. `keep`: the row that shows the change already.
  commit(root, said, { key = null, keep = null, focus = null } = {}) {
    if (!root || root === this.now.root) return false;
    const written = write(root);
    this.history.push({ root, said, text: printTree(written.document) }, key);
    this.draw(keep);
    if (focus) this.view.focus(...focus);
    if (!keep) this.say(said);
    this.checkSoon(CHANGE_PAUSE_MS);
    return true;
  }

  find(id) {
    return locate(this.now.root, id)?.node;
  }

  locate(id) {
    return locate(this.now.root, id);
  }

  // A widget's own change: its elements stay.
  set(id, fields, said) {
    this.commit(patch(this.now.root, id, fields), said, {
      key: `${id} ${Object.keys(fields)}`,
      keep: id,
    });
  }

  patch(id, fields, said, key = null) {
    this.commit(patch(this.now.root, id, fields), said, { focus: key && [id, key] });
  }

  setNotes(id, notes, said) {
    this.commit(patch(this.now.root, id, { notes }), said);
  }

  swap(id, node, said) {
    this.commit(
      replace(this.now.root, id, () => [node]),
      said,
      { focus: [node.id, "attribute"] },
    );
  }

  swapDocument(id, document, notes) {
    const node = Object.freeze({ ...read(document), notes });
    this.commit(
      replace(this.now.root, id, () => [node]),
      "Text changed",
      { focus: [node.id, "value"] },
    );
  }

  swapValues(id, pairs) {
    const { values } = this.find(id);
    const next = values
      .map((value) => (pairs.has(value) ? pairs.get(value) : value))
      .filter((value) => value !== null);
    this.patch(id, { values: [...new Set(next)] }, "Values replaced", "value");
  }

  place(id, besideId, isAfter) {
    const { parent, index } = this.locate(besideId);
    if (parent)
      this.commit(moveTo(this.now.root, id, parent.id, index + (isAfter ? 1 : 0)), "Moved");
  }

  add(parentId, kind) {
    const row = test({});
    const { node: parent } = this.locate(parentId);
    const node = kind === "group" ? group(parent.kind === "all" ? "any" : "all", [row]) : row;
    const root = insert(this.now.root, parentId, parent.children.length, [node]);
    this.commit(root, kind === "group" ? "Group added" : "Condition added", {
      focus: [row.id, "attribute"],
    });
  }

  addNode(parentId, node, said, index = this.find(parentId).children.length) {
    this.commit(insert(this.now.root, parentId, index, [node]), said, {
      focus: [node.id, "handle"],
    });
  }

  act(action, id) {
    return actOn(this, action, id);
  }

  async enable(id, at) {
    const answer = await this.asking.check(this.find(id).notes[at].text);
    if (!answer?.valid)
      return this.say(`Not enabled: ${answer?.errors[0].message ?? "the check does not answer"}`);
    return this.commit(enable(this.now.root, id, at, answer.document), "Enabled");
  }

  canInclude(id) {
    const { node } = this.locate(id);
    return node.kind === "test" && !node.orMissing && include(this.now.root, id) !== null;
  }

  include(id) {
    this.commit(include(this.now.root, id), "Also when missing", { focus: [id, "missing"] });
  }

  async keepList(list) {
    const kept = await this.asking.keepList(list);
    if (kept) this.words.lists = [...this.words.lists, kept];
    return kept;
  }

  textOf(id) {
    const { document } = write(this.find(id));
    return document ? printLine(document) : "";
  }

  // --- text

  typed() {
    this.checkSoon(TYPING_PAUSE_MS);
  }

  // What comes next is a step of its own.
  separate() {
    this.takeTyped();
    this.history.key = null;
  }

  // What is typed and not checked yet is a state as well: undo must find it.
  takeTyped() {
    const { text } = this.text;
    if (text !== this.now.text)
      this.history.push({ root: this.now.root, text, said: "Text changed", isWrong: true }, "text");
  }

  format() {
    if (this.last?.valid && this.last.text === this.text.text) {
      const text = printTree(this.written.document);
      if (text === this.now.text) return this.say("It is in order already");
      this.history.push({ ...this.now, text, said: "Formatted" });
      this.draw();
      this.say("Formatted");
      return this.checkSoon(0);
    }
    return this.say("Not formatted: the text has a mistake");
  }

  // As scripts send it to the API.
  async copyDocument() {
    if (!this.last?.document || this.last.text !== this.text.text)
      return this.say("Not copied: the text has a mistake");
    await navigator.clipboard?.writeText(JSON.stringify(this.last.document, null, 2));
    return this.say("Copied as JSON");
  }

  // --- the check

  checkSoon(pause) {
    this.serial += 1;
    this.root.dataset.checked = "no";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), pause);
  }

  async judge(text) {
    return text.trim() ? this.asking.check(text) : NOTHING;
  }

  async check() {
    const serial = (this.serial += 1);
    const { text } = this.text;
    const answer = await this.judge(text);
    // Someone went on while the server was reading: this answer is about an older text.
    if (serial !== this.serial) return;
    if (!answer) {
      this.tellSilence();
      return;
    }
    if (text !== this.now.text || this.now.isWrong) this.takeAnswer(answer, text);
    this.show(answer);
  }

  // Of a text that somebody typed: the builder follows as soon as it is right.
  takeAnswer(answer, text) {
    const root = answer.valid ? readRoot(answer.document) : this.now.root;
    const state = { root, text, said: "Text changed", isWrong: !answer.valid };
    if (text === this.now.text)
      this.history.states[this.history.at] = { ...this.now, ...state, said: this.now.said };
    else this.history.push(state, "text");
    this.draw();
  }

  // --- showing

  draw(keep = null) {
    const { root, text, isWrong = false } = this.now;
    this.written = write(root);
    this.text.write(text);
    this.view.render(root, keep);
    const tree = this.root.querySelector("[data-tree]");
    tree.inert = isWrong;
    tree.classList.toggle("stale", isWrong);
    this.root.querySelector("[data-stale]").hidden = !isWrong;
    this.root.querySelector("[data-undo]").disabled = !this.history.canUndo;
    this.root.querySelector("[data-redo]").disabled = !this.history.canRedo;
    this.tellUnfinished();
  }

  tellUnfinished() {
    const count = this.written.unfinished.length;
    const said = count
      ? `${plural(count, "unfinished condition")}: left out until there is something to test.`
      : "";
    const note = this.root.querySelector("[data-unfinished]");
    note.textContent = said;
    note.classList.remove("errors");
  }

  // Said aloud, and seen until the next change.
  refuse(text) {
    const note = this.root.querySelector("[data-unfinished]");
    note.textContent = text;
    note.classList.add("errors");
    this.say(text);
  }

  show(answer) {
    this.last = answer;
    this.text.show(answer);
    this.showFindings(answer);
    const sentence = this.root.querySelector(".sentence");
    sentence.hidden = !answer.sentence;
    sentence.textContent = answer.sentence ? `${answer.sentence}.` : "";
    this.root.dataset.checked = "yes";
    const detail = { text: this.now.text, answer, document: answer.document };
    this.root.dispatchEvent(new CustomEvent("expression:checked", { bubbles: true, detail }));
  }

  showFindings({ errors, warnings }) {
    this.view.findings = new Map();
    const add = (id, finding) =>
      id && this.view.findings.set(id, [...(this.view.findings.get(id) ?? []), finding]);
    for (const error of this.now.isWrong ? [] : errors)
      add(this.idOfProblem(error), { ...error, kind: "problem" });
    for (const warning of warnings)
      for (const path of warning.paths) add(idAt(this.written, path), warning);
    this.view.showFindings();
  }

  idOfProblem(problem) {
    const { document } = this.written;
    const { start } = rangeOf(this.now.text, problem);
    for (const [path, span] of document ? leafSpans(document, this.now.text) : []) {
      if (span.start <= start && start < span.end) return idAt(this.written, path);
    }
    return this.now.root.id;
  }

  tellSilence() {
    this.root.dataset.checked = "yes";
    this.text.tell("", "The live check does not answer. Saving checks the expression as well.");
  }

  say(text) {
    const region = this.root.querySelector("[data-say]");
    region.textContent = "";
    requestAnimationFrame(() => (region.textContent = text));
  }

  // The choice is this browser's: whoever likes to write finds the text the next time.
  chooseMode(mode) {
    localStorage.setItem(KEPT_MODE, mode);
    this.setMode(mode);
  }

  setMode(mode) {
    const chosen = MODES.includes(mode) ? mode : "builder";
    this.root.dataset.mode = chosen;
    for (const each of this.root.querySelectorAll("[data-set-mode]")) {
      each.setAttribute("aria-pressed", String(each.dataset.setMode === chosen));
    }
  }

  travel(step) {
    this.takeTyped();
    const said = this.history.go(step);
    if (!said) return this.say(step < 0 ? "Nothing to undo" : "Nothing to redo");
    this.draw();
    this.checkSoon(0);
    return this.say(`${step < 0 ? "Undone" : "Redone"}: ${said}`);
  }

  // What the impact panel knows of each node.
  showShares(shares) {
    this.view.shares = new Map();
    for (const [path, share] of Object.entries(shares)) {
      for (const id of this.written.idsAt.get(path) ?? []) {
        if (this.written.pathOf.get(id) === path) this.view.shares.set(id, share);
      }
    }
    this.view.showShares();
  }
}

for (const element of document.querySelectorAll("[data-expression-editor]")) {
  const editor = new Editor(element);
  startReference(element.querySelector("[data-reference]"), editor);
  element.editor = editor;
  editor.start();
}

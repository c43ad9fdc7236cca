// The expression editor: checked by the server while one types, every problem shown at its place.
import { colour } from "./colours.js";
import { untilLeft } from "./leaving.js";
import { MarkedText, rangeOf } from "./marked_text.js";
import { currentToken } from "./tokens.js";

const PAUSE_MS = 300;

// A suggestion that says exactly what to write can be applied; a pattern (`one of (..)`) cannot.
function replacementIn(suggestion) {
  const found = /^(?:did you mean|write) `((?:(?!\.\.)[^`])+)`(?! for )/.exec(suggestion ?? "");
  return found?.[1];
}

// Messages quote what one writes in backticks.
function rich(text) {
  return text.split("`").map((part, index) => {
    if (index % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}

function sentence(problem) {
  const text = problem.suggestion ? `${problem.message}: ${problem.suggestion}` : problem.message;
  const start = text[0].toUpperCase() + text.slice(1);
  return /[.?!]$/.test(start) ? start : `${start}.`;
}

class ExpressionEditor {
  constructor(root) {
    this.root = root;
    this.marked = new MarkedText(root.querySelector(".editor"), colour);
    this.verdict = root.querySelector(".verdict");
    this.list = root.querySelector(".problems");
    this.hints = root.querySelector(".hints");
    this.sentence = root.querySelector(".sentence");
    this.canonical = root.querySelector(".canonical");
    this.serial = 0;
    this.takeServerProblems();
    this.marked.textarea.addEventListener("input", () => this.checkSoon());
    // Another advertiser, say, has other audiences and lists.
    this.owner?.addEventListener("change", () => this.checkSoon());
    if (this.marked.text.trim()) this.check();
  }

  get owner() {
    return this.root.closest("form").elements[this.root.dataset.owner];
  }

  // Whose names the expression may use, and the one that it will have itself.
  whose() {
    const value = this.owner?.value ?? "";
    if (this.root.dataset.owner !== "organisation") return { party: value };
    return { organisation: value, name: this.root.closest("form").elements.name?.value ?? "" };
  }

  takeServerProblems() {
    const problems = [...this.list.children].map((item) => ({
      line: Number(item.dataset.line),
      column: Number(item.dataset.column),
      length: Number(item.dataset.length),
      message: item.dataset.message,
      suggestion: item.dataset.suggestion,
    }));
    if (problems.length) this.show(problems);
  }

  checkSoon() {
    this.serial += 1;
    // Places in the list are those of the text before: nobody may click on them any more.
    for (const button of this.root.querySelectorAll(".problems button")) button.disabled = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), PAUSE_MS);
  }

  async check() {
    const serial = (this.serial += 1);
    const answer = await this.ask(this.marked.text);
    // Someone typed on while the server was reading: this answer is about an older text.
    if (serial !== this.serial) return;
    if (answer === null) {
      this.say("", "The live check does not answer. Saving checks the expression as well.");
      return;
    }
    this.show(answer.errors);
    this.showHints(answer.warnings);
    if (answer.valid) this.sayValid(answer.warnings.length);
    this.showSentence(answer.sentence);
    this.showCanonical(answer.canonical);
  }

  async ask(text) {
    try {
      const response = await fetch(this.root.dataset.checkUrl, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": currentToken() },
        body: JSON.stringify({ text, ...this.whose() }),
        signal: untilLeft(),
      });
      return response.ok ? await response.json() : null;
    } catch {
      return null;
    }
  }

  show(problems) {
    this.marked.mark(problems);
    this.list.replaceChildren(...problems.map((problem) => this.item(problem)));
    if (!problems.length) return;
    this.say("wrong", problems.length === 1 ? "1 problem" : `${problems.length} problems`);
  }

  sayValid(count) {
    if (!count) this.say("right", "✓ Valid");
    else this.say("doubtful", `Valid, with ${count === 1 ? "1 thing" : `${count} things`} to look at`);
  }

  showHints(hints) {
    this.hints.replaceChildren(...hints.map((hint) => this.item(hint)));
    const placed = hints.filter((hint) => hint.line);
    if (placed.length) this.marked.mark(placed);
  }

  showSentence(text) {
    this.sentence.hidden = !text;
    this.sentence.textContent = text ? `${text}.` : "";
  }

  say(state, text) {
    this.verdict.textContent = text;
    this.verdict.dataset.state = state;
    this.marked.box.dataset.state = state;
  }

  item(problem) {
    const what = document.createElement("span");
    what.className = "what";
    what.append(...rich(sentence(problem)));
    const item = document.createElement("li");
    if (problem.line) item.append(this.placeButton(problem));
    item.append(what);
    const replacement = problem.line ? replacementIn(problem.suggestion) : null;
    if (replacement) item.append(this.applyButton(problem, replacement));
    return item;
  }

  placeButton(problem) {
    const place = document.createElement("button");
    place.type = "button";
    place.className = "place";
    place.textContent = `${problem.line}:${problem.column}`;
    place.title = "Show where";
    place.addEventListener("click", () => this.marked.select(rangeOf(this.marked.text, problem)));
    return place;
  }

  applyButton(problem, replacement) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button small";
    button.textContent = "Apply";
    button.title = `Write ${replacement} here`;
    button.addEventListener("click", () => {
      this.marked.replace(rangeOf(this.marked.text, problem), replacement);
    });
    return button;
  }

  showCanonical(text) {
    this.canonical.hidden = !text || text.trim() === this.marked.text.trim();
    this.canonical.querySelector("code").replaceChildren(colour(text ?? ""));
  }
}

function startReference(panel, editor) {
  const search = panel.querySelector("input[type=search]");
  const items = [...panel.querySelectorAll("li")];
  panel.addEventListener("click", (event) => {
    const button = event.target.closest("[data-insert]");
    if (button) editor.marked.insert(button.dataset.insert);
  });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(wanted);
    panel.querySelector("[data-none]").hidden = items.some((item) => !item.hidden);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}

export function startExpressionEditors(root) {
  for (const element of root.querySelectorAll("[data-expression-editor]")) {
    const editor = new ExpressionEditor(element);
    const panel = element.closest("form").querySelector("[data-reference]");
    if (panel) startReference(panel, editor);
  }
}

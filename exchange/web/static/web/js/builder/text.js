// Text mode: the form's own field. Problems and hints are marked at their place, and listed below
// with what to write instead.
import { colour } from "../colours.js";
import { MarkedText, rangeOf } from "../marked_text.js";
import { Completion } from "./completion.js";
import { h, rich, sentence } from "./elements.js";
import { repair } from "./repair.js";

// A suggestion that says exactly what to write can be applied; a pattern (`one of (..)`) cannot.
function replacementIn(suggestion) {
  const found = /^(?:did you mean|write) `((?:(?!\.\.)[^`])+)`(?! for )/.exec(suggestion ?? "");
  return found?.[1];
}

// Of several strange values each has its own line.
function oneByOne(hint) {
  return hint.values?.length > 1 ? hint.values : [hint];
}

export class TextPane {
  constructor(root, editor) {
    this.root = root;
    this.editor = editor;
    this.marked = new MarkedText(root.querySelector(".editor"), colour);
    this.area = this.marked.textarea;
    this.verdict = root.querySelector(".verdict");
    this.list = root.querySelector(".problems");
    this.hints = root.querySelector(".hints");
    this.canonical = root.querySelector(".canonical");
    this.completion = new Completion(this.marked, editor);
    this.isWriting = false;
    this.area.addEventListener("input", () => this.isWriting || this.typed());
    this.area.addEventListener("paste", (event) => this.paste(event));
    root.querySelector("[data-format]").addEventListener("click", () => editor.format());
    root.querySelector("[data-copy-json]").addEventListener("click", () => editor.copyDocument());
    this.takeServerProblems();
  }

  get text() {
    return this.area.value;
  }

  typed() {
    // Places in the list are those of the text before: nobody may click on them any more.
    for (const place of this.root.querySelectorAll(".problems button")) place.disabled = true;
    this.completion.follow();
    this.editor.typed();
  }

  // What the builder shows; the page hears of it as of typing.
  write(text) {
    if (this.text === text) return;
    this.isWriting = true;
    this.area.value = text;
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
    this.isWriting = false;
  }

  async paste(event) {
    const pasted = event.clipboardData.getData("text");
    const { selectionStart: start, selectionEnd: end } = this.area;
    if (!/[\n\t;,\u00a0\u2018-\u201f]/.test(pasted)) return;
    event.preventDefault();
    const { words, asking } = this.editor;
    const mended = await repair(pasted, this.text, start, words.attributes, (items) =>
      asking.holder(items),
    );
    this.marked.replace({ start, end }, mended?.text ?? pasted);
    this.completion.close();
    if (mended) this.editor.say(mended.said);
  }

  // Without a live check: what the server said when the form came back.
  takeServerProblems() {
    const problems = [...this.list.children].map(({ dataset }) => ({
      line: Number(dataset.line),
      column: Number(dataset.column),
      length: Number(dataset.length),
      message: dataset.message,
      suggestion: dataset.suggestion,
    }));
    if (problems.length) this.showProblems(problems);
  }

  show(answer) {
    this.showProblems(answer.errors);
    this.showHints(answer.warnings);
    if (answer.valid && answer.text) this.tellValid(answer.warnings.length);
    if (answer.valid && !answer.text) this.tell("", "");
    this.area.setAttribute("aria-invalid", String(answer.errors.length > 0));
    this.canonical.hidden = !answer.canonical || answer.canonical.trim() === this.text.trim();
    this.canonical.querySelector("code").replaceChildren(colour(answer.canonical ?? ""));
  }

  showProblems(problems) {
    this.marked.mark(problems);
    this.list.replaceChildren(...problems.map((problem) => this.item(problem)));
    if (problems.length)
      this.tell("wrong", problems.length === 1 ? "1 problem" : `${problems.length} problems`);
  }

  showHints(hints) {
    const lines = hints.flatMap(oneByOne);
    this.hints.replaceChildren(...lines.map((hint) => this.item(hint)));
    // What is about one value is marked there; a whole condition has its line in the list.
    const placed = hints
      .filter(({ values }) => values?.length)
      .flatMap(oneByOne)
      .filter(({ line }) => line);
    if (placed.length) this.marked.mark(placed);
  }

  tellValid(count) {
    if (!count) this.tell("right", "✓ Valid");
    else
      this.tell(
        "doubtful",
        `Valid, with ${count === 1 ? "1 thing" : `${count} things`} to look at`,
      );
  }

  tell(state, text) {
    this.verdict.textContent = text;
    this.verdict.dataset.state = state;
    this.marked.box.dataset.state = state;
  }

  item(problem) {
    const replacement = problem.line ? replacementIn(problem.suggestion) : null;
    return h(
      "li",
      {},
      problem.line && this.placeButton(problem),
      h("span", { class: "what" }, rich(sentence(problem))),
      replacement && this.applyButton(problem, replacement),
    );
  }

  placeButton(problem) {
    const onclick = () => this.marked.select(rangeOf(this.text, problem));
    return h(
      "button",
      { type: "button", class: "place", title: "Show where", onclick },
      `${problem.line}:${problem.column}`,
    );
  }

  applyButton(problem, replacement) {
    const onclick = () => {
      this.editor.separate();
      this.marked.replace(rangeOf(this.text, problem), replacement);
    };
    return h(
      "button",
      { type: "button", class: "button small", title: `Write ${replacement} here`, onclick },
      "Apply",
    );
  }
}

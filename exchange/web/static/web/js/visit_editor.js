// The visit that someone tries: JSON with colours, problems at their place, an example to start with.
import { colourVisit } from "./colours.js";
import { MarkedText } from "./marked_text.js";

function problemsIn(root) {
  return [...root.querySelectorAll("[data-visit-problem]")].map((item) => ({
    line: Number(item.dataset.line),
    column: Number(item.dataset.column),
    length: Number(item.dataset.length),
  }));
}

const started = new WeakSet();

function startVisitEditor(form) {
  started.add(form);
  const marked = new MarkedText(form.querySelector(".editor"), colourVisit);
  const showProblems = (root) => {
    const problems = problemsIn(root);
    marked.box.dataset.state = problems.length ? "wrong" : "";
    marked.mark(problems);
  };
  showProblems(document);
  form.querySelector("[data-example]")?.addEventListener("click", (event) => {
    const whole = { start: 0, end: marked.text.length };
    marked.replace(whole, event.target.dataset.example);
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "answer") showProblems(event.detail.target);
  });
}

export function startVisitEditors(root) {
  for (const form of root.querySelectorAll("form[data-visit]")) {
    if (!started.has(form)) startVisitEditor(form);
  }
}

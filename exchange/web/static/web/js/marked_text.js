// A textarea that shows marks at places of its text. The paper above it shows the same text,
// coloured; the textarea keeps the caret, the selection and everything that a form needs.

// Lines and columns count from 1, columns in characters (code points), as the server counts.
export function placeOf(text, line, column) {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const characters = Array.from(lines[line - 1] ?? "");
  const inLine = characters.slice(0, column - 1).join("").length;
  return Math.min(before + inLine, text.length);
}

export function rangeOf(text, { line, column, length }) {
  const start = placeOf(text, line, column);
  const end = start + Array.from(text.slice(start)).slice(0, length).join("").length;
  return { start, end };
}

// A mark of nothing (the end of the text, say) still needs a character to sit on.
function visible(range, text) {
  if (range.end > range.start || !text) return range;
  const start = Math.min(range.start, text.length - 1);
  return { start, end: start + 1 };
}

export class MarkedText {
  constructor(box, paint) {
    this.box = box;
    this.textarea = box.querySelector("textarea");
    this.paper = box.querySelector(".paper");
    this.paint = paint;
    this.marks = [];
    this.drawn = this.textarea.value;
    this.textarea.addEventListener("input", () => this.follow());
    this.textarea.addEventListener("scroll", () => this.align());
    new ResizeObserver(() => this.align()).observe(this.textarea);
    box.dataset.ready = "";
    this.draw();
  }

  get text() {
    return this.textarea.value;
  }

  mark(problems) {
    this.marks = problems.map((problem) => visible(rangeOf(this.text, problem), this.text));
    this.draw();
  }

  // While someone types, marks before the change stay, marks behind it move along.
  follow() {
    const [before, now] = [this.drawn, this.text];
    const shorter = Math.min(before.length, now.length);
    let head = 0;
    while (head < shorter && before[head] === now[head]) head += 1;
    let tail = 0;
    while (tail < shorter - head && before.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
    const shift = now.length - before.length;
    this.marks = this.marks.flatMap(({ start, end }) => {
      if (end <= head) return [{ start, end }];
      if (start >= before.length - tail) return [{ start: start + shift, end: end + shift }];
      return [];
    });
    this.draw();
  }

  draw() {
    this.drawn = this.text;
    // A last empty line has height only if something stands in it.
    this.paper.replaceChildren(this.paint(this.text, this.marks), "\u200b");
    this.align();
  }

  align() {
    this.paper.scrollTop = this.textarea.scrollTop;
    this.paper.scrollLeft = this.textarea.scrollLeft;
  }

  select({ start, end }) {
    this.textarea.focus();
    this.textarea.setSelectionRange(start, end);
  }

  // Through the browser's own editing, so that undo works; setRangeText where that is gone.
  replace(range, text) {
    this.select(range);
    if (document.execCommand("insertText", false, text)) return;
    this.textarea.setRangeText(text, range.start, range.end, "end");
    this.textarea.dispatchEvent(new Event("input", { bubbles: true }));
  }

  insert(text) {
    const { selectionStart: start, selectionEnd: end } = this.textarea;
    const before = this.text.slice(0, start);
    const after = this.text.slice(end);
    const head = before && !/[\s(]$/.test(before) ? " " : "";
    const tail = after && !/^[\s),]/.test(after) ? " " : "";
    this.replace({ start, end }, head + text + tail);
  }
}

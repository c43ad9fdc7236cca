// What people do to the editor with mouse, keys and clipboard.
import { KEYS } from "./actions.js";
import { idAt, read } from "./model.js";

export function listenTo(editor) {
  const { root, form } = editor;
  root.addEventListener("click", ({ target }) => click(editor, target.closest("button")));
  root.addEventListener("keydown", (event) => press(editor, event));
  root.addEventListener("copy", (event) => copy(editor, event));
  root.addEventListener("paste", (event) => paste(editor, event));
  form.addEventListener("submit", (event) => refuseUnfinished(editor, event), true);
  // Another advertiser, say, has other audiences and lists.
  editor.owner?.addEventListener("change", () => editor.renewWords());
  listenToPanel(editor);
}

// The contract with the impact panel: docs/builder.md.
function listenToPanel(editor) {
  editor.root.addEventListener("expression:shares", ({ detail }) => {
    editor.showShares(detail.shares);
  });
  editor.root.addEventListener("expression:disable", ({ detail }) => {
    editor.act("disable", idAt(editor.written, detail.path));
  });
}

function click(editor, button) {
  const { setMode: mode, undo, redo } = button?.dataset ?? {};
  if (mode) editor.chooseMode(mode);
  else if (undo !== undefined) editor.travel(-1);
  else if (redo !== undefined) editor.travel(1);
}

function press(editor, event) {
  const isControl = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (isControl && key === "z") editor.travel(event.shiftKey ? 1 : -1);
  else if (isControl && key === "y") editor.travel(1);
  else if (!pressRow(editor, event, isControl, key)) return;
  event.preventDefault();
}

// Whether the key was one of the tree's.
function pressRow(editor, event, isControl, key) {
  const holder = event.target.closest("[data-tree] [data-id]");
  if (!holder) return false;
  const { id } = holder.dataset;
  if (event.altKey && !isControl && KEYS[event.key]) editor.act(KEYS[event.key], id);
  else if (isControl && key === "d") editor.act("duplicate", id);
  else if (isControl && key === "/") editor.act("disable", id);
  else if (isControl && key === "enter") addBeside(editor, id, event.shiftKey);
  else if (key === "delete" && event.target.matches(".handle")) editor.act("delete", id);
  else return false;
  return true;
}

function addBeside(editor, id, isGroup) {
  const { node, parent } = editor.locate(id);
  const into = isGroup && node.children ? id : (parent?.id ?? id);
  editor.add(into, isGroup ? "group" : "test");
}

function handledId({ target }) {
  return target.closest?.(".handle")?.closest("[data-id]").dataset.id;
}

function copy(editor, event) {
  const id = handledId(event);
  if (!id) return;
  event.preventDefault();
  event.clipboardData.setData("text/plain", editor.textOf(id));
  editor.say("Copied");
}

async function paste(editor, event) {
  const id = handledId(event);
  if (!id) return;
  event.preventDefault();
  const answer = await editor.asking.check(event.clipboardData.getData("text"));
  if (!answer?.valid) {
    editor.say(`Not pasted: ${answer?.errors[0].message ?? "the check does not answer"}`);
    return;
  }
  const { parent, index } = editor.locate(id);
  const place = parent ? index + 1 : 0;
  editor.addNode(parent?.id ?? id, read(answer.document), "Pasted", place);
}

// What is unfinished is not in the text: whoever saves would lose it without a word.
function refuseUnfinished(editor, event) {
  const [first] = editor.now.isWrong ? [] : editor.written.unfinished;
  if (!first) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (editor.root.dataset.mode === "text") editor.setMode("builder");
  editor.view.focus(first, editor.find(first).attribute ? "value" : "attribute");
  editor.refuse("Not saved: a condition is unfinished. Finish or delete it.");
}

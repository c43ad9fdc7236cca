// What menu and keys do to a row or a group, and what is said of it.
import { write } from "./model.js";
import {
  disable,
  duplicate,
  lift,
  locate,
  move,
  negate,
  patch,
  remove,
  ungroup,
  wrap,
} from "./operations.js";
import { printLine } from "./printer.js";
import { KINDS } from "./rows.js";

export const KEYS = { ArrowUp: "up", ArrowDown: "down", ArrowRight: "wrap", ArrowLeft: "lift" };

const MOVES = {
  up: (root, id) => move(root, id, -1),
  down: (root, id) => move(root, id, 1),
  wrap,
  lift,
  ungroup,
  duplicate,
  negate,
};
const SAID = {
  wrap: "Wrapped in",
  lift: "Lifted into",
  duplicate: "Duplicated in",
  negate: "Negated in",
  ungroup: "Ungrouped",
};

export function actOn(editor, action, id) {
  if (!id) return;
  if (action === "comment") comment(editor, id);
  else if (action === "copy") copy(editor, id);
  else if (action === "delete") drop(editor, id);
  else if (action === "fold") editor.view.fold(id);
  else if (action === "disable") switchOff(editor, id);
  else go(editor, action, id);
}

function comment(editor, id) {
  const { notes } = editor.find(id);
  const root = patch(editor.now.root, id, { notes: [{ text: "" }, ...notes] });
  editor.commit(root, "Comment added", { focus: [id, "note0"] });
}

async function copy(editor, id) {
  await navigator.clipboard?.writeText(editor.textOf(id));
  editor.say("Copied");
}

// Who gets the focus of what goes.
function heirOf({ parent, index }) {
  return parent?.children[index + 1] ?? parent?.children[index - 1] ?? parent;
}

function drop(editor, id) {
  const heir = heirOf(editor.locate(id));
  editor.commit(remove(editor.now.root, id), "Deleted", { focus: [heir?.id ?? id, "handle"] });
}

function switchOff(editor, id) {
  const { document } = write(plain(editor.find(id)));
  if (!document) {
    editor.say("An unfinished condition cannot be disabled");
    return;
  }
  const heir = heirOf(editor.locate(id));
  const root = disable(editor.now.root, id, printLine(document));
  const isDone = editor.commit(root, "Disabled", { focus: [heir?.id, "handle"] });
  if (!isDone) editor.say("Not disabled: nothing would be left in this group");
}

// A disabled condition is one line: its own notes stand above it.
function plain(node) {
  return { ...node, notes: [], ...(node.children && { children: node.children.map(plain) }) };
}

function go(editor, action, id) {
  const { parent, index } = editor.locate(id);
  const root = MOVES[action](editor.now.root, id);
  const after = root && locate(root, id);
  const focus =
    action === "duplicate" && root
      ? [locate(root, parent.id).node.children[index + 1].id, "handle"]
      : after && [id, document.activeElement?.dataset.key];
  if (!editor.commit(root, tell(action, after, parent), { focus }))
    editor.say("No further in this direction");
}

function tell(action, after, before) {
  const said = SAID[action] ?? (after?.parent?.id === before?.id ? "Moved within" : "Moved into");
  if (!after?.parent) return said;
  const { kind, children } = after.parent;
  return `${said} ${KINDS[kind]}, ${after.index + 1} of ${children.length}`;
}

// What can be done to a tree of nodes. Every operation returns a new root, which shares what it did
// not touch, or null where there is no way.
import { copy, group, isGroup, read } from "./model.js";
import { oppositeOf } from "./operators.js";

export function locate(root, id, parent = null, index = 0) {
  if (root.id === id) return { node: root, parent, index };
  for (const [i, child] of (root.children ?? []).entries()) {
    const found = locate(child, id, root, i);
    if (found) return found;
  }
  return null;
}

export function* walk(node) {
  yield node;
  for (const child of node.children ?? []) yield* walk(child);
}

const changed = (node, fields) => Object.freeze({ ...node, ...fields });

// Puts what `change(node)` returns, any number of nodes, in the node's place.
export function replace(root, id, change) {
  if (root.id === id) return change(root)[0];
  if (!root.children) return root;
  let isChanged = false;
  const children = root.children.flatMap((child) => {
    const next = child.id === id ? change(child) : [replace(child, id, change)];
    isChanged ||= next.length !== 1 || next[0] !== child;
    return next;
  });
  return isChanged ? changed(root, { children }) : root;
}

export const patch = (root, id, fields) => replace(root, id, (node) => [changed(node, fields)]);

export function insert(root, parentId, index, nodes) {
  return replace(root, parentId, (parent) => {
    const children = [
      ...parent.children.slice(0, index),
      ...nodes,
      ...parent.children.slice(index),
    ];
    return [changed(parent, { children })];
  });
}

const take = (root, id) => replace(root, id, () => []);

// Disabled conditions are notes of a neighbour: they outlive the row that they stand above.
function handOver(root, id, notes) {
  const { parent, index } = locate(root, id);
  const [after, before] = [parent.children[index + 1], parent.children[index - 1]];
  const heir = after ?? before;
  if (!notes.length || !heir) return root;
  return patch(root, heir.id, {
    notes: after ? [...notes, ...heir.notes] : [...heir.notes, ...notes],
  });
}

export function remove(root, id) {
  const { node, parent } = locate(root, id);
  if (!parent) return group("all");
  return take(
    handOver(
      root,
      id,
      node.notes.filter((note) => note.disabled),
    ),
    id,
  );
}

// Up or down by one: past a row, into a group, out of a group.
export function move(root, id, step) {
  const { node, parent, index } = locate(root, id);
  if (!parent) return null;
  const next = parent.children[index + step];
  const rest = take(root, id);
  if (next && isGroup(next))
    return insert(rest, next.id, step > 0 ? 0 : next.children.length, [node]);
  if (next) return insert(rest, parent.id, index + step, [node]);
  const above = locate(root, parent.id);
  return above.parent && insert(rest, above.parent.id, above.index + (step > 0 ? 1 : 0), [node]);
}

export function moveTo(root, id, parentId, index) {
  const { node, parent, index: from } = locate(root, id);
  if (!parent || [...walk(node)].some((below) => below.id === parentId)) return null;
  const isBehind = parent.id === parentId && from < index;
  return insert(take(root, id), parentId, isBehind ? index - 1 : index, [node]);
}

// A group of its parent's kind would be joined with it by the parser, so wrapping takes the other.
export function wrap(root, id) {
  const { parent } = locate(root, id);
  return replace(root, id, (node) => [group(parent?.kind === "all" ? "any" : "all", [node])]);
}

export function lift(root, id) {
  const { node, parent } = locate(root, id);
  const above = parent && locate(root, parent.id);
  if (!above?.parent) return null;
  const lifted = insert(take(root, id), above.parent.id, above.index + 1, [node]);
  return parent.children.length > 1 ? lifted : take(lifted, parent.id);
}

export function ungroup(root, id) {
  return locate(root, id).parent ? replace(root, id, (node) => node.children) : null;
}

export const duplicate = (root, id) => {
  return locate(root, id).parent ? replace(root, id, (node) => [node, copy(node)]) : null;
};

function negated(node) {
  const opposite = node.kind === "test" && !node.negated && oppositeOf(node.operator);
  if (opposite) return changed(node, { operator: opposite });
  if (node.kind === "test" && node.operator !== "is true")
    return changed(node, { negated: !node.negated });
  if (node.kind === "none") return changed(node, { kind: "any" });
  return node.kind === "any" ? changed(node, { kind: "none" }) : group("none", [node]);
}

export const negate = (root, id) => replace(root, id, (node) => [negated(node)]);

// Lets visits in that do not say it. Under None that is a negated row beside the group:
// `not (a or b)` is `not a and not b`, while the switch inside None would do the opposite.
export function include(root, id) {
  const { parent } = locate(root, id);
  if (parent?.kind !== "none") return patch(root, id, { orMissing: true });
  const above = locate(root, parent.id).parent;
  if (above && above.kind !== "all") return null;
  const whole = above ? root : group("all", [root]);
  return patch(negate(lift(whole, id), id), id, { orMissing: true });
}

// `text`: the condition without notes, on one line. The only row of a group cannot be disabled:
// nothing would be left, and nothing is not everyone.
export function disable(root, id, text) {
  const { node, parent } = locate(root, id);
  if (!parent || parent.children.length < 2) return null;
  const notes = [...[...walk(node)].flatMap((below) => below.notes), { text, disabled: true }];
  return take(handOver(root, id, notes), id);
}

export function enable(root, ownerId, at, doc) {
  const { node, parent, index } = locate(root, ownerId);
  const rest = patch(root, ownerId, { notes: node.notes.slice(at + 1) });
  const back = changed(read(doc), { notes: node.notes.slice(0, at) });
  return parent ? insert(rest, parent.id, index, [back]) : insert(rest, root.id, 0, [back]);
}

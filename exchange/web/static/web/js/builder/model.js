// The builder's state: frozen nodes with ids, read from and written to documents (the JSON form of
// an expression). Kinds: all, any, none (groups), test, reference, constant, and code, a movable
// block of text for what has no widget: xor, xnor, attributes that are no longer in the catalogue.
import { isPresence } from "./operators.js";

let serial = 0;

function make(kind, fields, notes = []) {
  serial += 1;
  return Object.freeze({ id: `n${serial}`, kind, ...fields, notes });
}

export const isGroup = (node) => Boolean(node.children);
export const group = (kind, children = [], notes = []) => make(kind, { children }, notes);
export const reference = (name, notes) => make("reference", { name }, notes);
export const constant = (value, notes) => make("constant", { value }, notes);

const EMPTY_TEST = {
  attribute: "",
  operator: "",
  values: [],
  negated: false,
  count: false,
  list: null,
  orMissing: false,
};
export const test = (fields, notes) => make("test", { ...EMPTY_TEST, ...fields }, notes);

export function copy({ id: _, kind, notes, ...fields }) {
  return make(kind, fields.children ? { children: fields.children.map(copy) } : fields, notes);
}

const types = new Map();
export function setTypes(attributes) {
  types.clear();
  for (const { name, type } of attributes) types.set(name, type);
}

// A schedule on the visitor's own clock needs the clock's offset: that is what is missing then.
export function neededName({ attribute, operator }) {
  const isLocal = operator === "during" && types.get(attribute) === "timestamp local";
  return isLocal ? "geo.utc_offset" : attribute;
}

// --- documents -> nodes

const readValue = (value) => (value?.integer === undefined ? value : BigInt(value.integer));

function readTest(doc, orMissing, notes) {
  const { attribute, operator, negated = false, count = false, list = null } = doc;
  const values = (doc.values ?? []).map(readValue);
  return test({ attribute, operator, values, negated, count, list, orMissing }, notes);
}

// `x or a is missing` is one row with a switch, unless a note would lose its place.
function isFolded(doc, missing) {
  if (!doc?.attribute || !types.has(doc.attribute) || doc.notes || isPresence(doc.operator))
    return false;
  const isMissing = missing?.operator === "is missing" && !missing.negated && !missing.notes;
  return isMissing && neededName(doc) === missing.attribute;
}

const isOneRow = (docs) => docs.length === 2 && isFolded(...docs);

// The parser joins `or` within `or`: such a pair may also stand among others.
function readAny(docs) {
  const nodes = [];
  for (let i = 0; i < docs.length; i += 1) {
    const folds = docs.length > 2 && isFolded(docs[i], docs[i + 1]);
    nodes.push(folds ? readTest(docs[i], true, []) : read(docs[i]));
    if (folds) i += 1;
  }
  return nodes;
}

function readNot(inner, notes) {
  const isFlat = inner.or && !inner.notes && !isOneRow(inner.or);
  return group("none", isFlat ? readAny(inner.or) : [read(inner)], notes);
}

export function read({ notes = [], ...doc }) {
  if (doc.and) return group("all", doc.and.map(read), notes);
  if (doc.or && isOneRow(doc.or)) return readTest(doc.or[0], true, notes);
  if (doc.or) return group("any", readAny(doc.or), notes);
  if (doc.not) return readNot(doc.not, notes);
  if ("constant" in doc) return constant(doc.constant, notes);
  if (doc.reference) return reference(doc.reference, notes);
  if (types.has(doc.attribute)) return readTest(doc, false, notes);
  return make("code", { doc: reviveAll(doc) }, notes);
}

function reviveAll(doc) {
  if (doc.values) return { ...doc, values: doc.values.map(readValue) };
  if (doc.not) return { ...doc, not: reviveAll(doc.not) };
  const [key] = Object.keys(doc).filter((name) => Array.isArray(doc[name]) && name !== "notes");
  return key ? { ...doc, [key]: doc[key].map(reviveAll) } : doc;
}

// The root is a group that can take more; null is no condition at all.
export function readRoot(doc) {
  if (!doc) return group("all");
  const root = read(doc);
  return isGroup(root) ? root : group("all", [root]);
}

// --- nodes -> documents

const WANTED = { between: 2, within: 3, "inside polygon": 3 };

// A row is part of the expression once nothing is missing from it.
export function isFinished({ attribute, operator, values, list }) {
  if (!attribute || !operator) return false;
  if (operator.startsWith("is ") || list) return true;
  return values.length >= (WANTED[operator] ?? 1) && values.every((value) => value !== null);
}

const noted = (doc, notes) => (notes.length ? { ...doc, notes } : doc);

// Writes nodes as a document; remembers whose each part is, and what is unfinished.
class Writer {
  owners = new Map(); // document -> ids, the outermost last
  unfinished = [];

  own(doc, id) {
    this.owners.set(doc, [...(this.owners.get(doc) ?? []), id]);
    return doc;
  }

  write(node) {
    if (isGroup(node)) return this.writeGroup(node);
    if (node.kind === "test") return this.writeTest(node);
    const { doc, name, value, kind, notes } = node;
    const content = { code: doc, reference: { reference: name }, constant: { constant: value } }[
      kind
    ];
    return this.own(noted({ ...content }, notes), node.id);
  }

  plainTest(node, notes) {
    const { attribute, operator, negated, count, list, values } = node;
    const taken = list ? { list } : operator.startsWith("is ") ? {} : { values };
    const doc = {
      attribute,
      operator,
      ...(negated && { negated }),
      ...(count && { count }),
      ...taken,
    };
    return this.own(noted(doc, notes), node.id);
  }

  missing = (node) => ({ attribute: neededName(node), operator: "is missing" });

  writeTest(node) {
    if (!isFinished(node)) {
      this.unfinished.push(node.id);
      return null;
    }
    if (!node.orMissing) return this.plainTest(node, node.notes);
    const pair = [this.plainTest(node, []), this.missing(node)];
    return this.own(noted({ or: pair }, node.notes), node.id);
  }

  // What the parser would join is joined here, so that paths are the same on both sides.
  writeMany(nodes, isAny) {
    return nodes.flatMap((node) => {
      if (isAny && node.orMissing && !node.notes.length && isFinished(node)) {
        return [this.plainTest(node, []), this.missing(node)];
      }
      const doc = this.write(node);
      const joined = doc && !doc.notes && doc[isAny ? "or" : "and"];
      return joined || (doc ? [doc] : []);
    });
  }

  writeGroup(node) {
    const { kind, notes, children, id } = node;
    const docs = this.writeMany(children, kind !== "all");
    if (!docs.length) {
      if (!children.length) this.unfinished.push(id);
      return null;
    }
    if (kind === "none") {
      const inner = docs.length === 1 ? docs[0] : this.own({ or: docs }, id);
      return this.own(noted({ not: inner }, notes), id);
    }
    if (docs.length > 1)
      return this.own(noted({ [kind === "all" ? "and" : "or"]: docs }, notes), id);
    return this.writeOnly(docs[0], notes, id);
  }

  // A group of one is no group: its notes go to the one.
  writeOnly(only, notes, id) {
    const doc = noted(only, [...notes, ...(only.notes ?? [])]);
    if (doc !== only) this.owners.set(doc, this.owners.get(only) ?? []);
    return this.own(doc, id);
  }
}

export function* walkPaths(doc, path = "") {
  yield [path, doc];
  const below = path && `${path}.`;
  if (doc.not) yield* walkPaths(doc.not, `${below}not`);
  for (const key of ["and", "or", "xor", "xnor"]) {
    for (const [i, child] of (doc[key] ?? []).entries())
      yield* walkPaths(child, `${below}${key}.${i}`);
  }
}

// The document, whose node stands at each path ("and.2.not.or.0") and back, and what is unfinished.
export function write(root) {
  const writer = new Writer();
  const document = writer.write(root);
  const isEmpty = isGroup(root) && !root.children.length;
  const idsAt = new Map();
  const pathOf = new Map();
  for (const [path, doc] of document ? walkPaths(document) : []) {
    const ids = writer.owners.get(doc) ?? [];
    idsAt.set(path, ids);
    for (const id of ids) if (!pathOf.has(id)) pathOf.set(id, path);
  }
  return { document, idsAt, pathOf, unfinished: isEmpty ? [] : writer.unfinished };
}

// The node that a path leads to, or the nearest one above it.
export function idAt({ idsAt }, path) {
  const ids = idsAt.get(path);
  if (ids?.length) return ids[0];
  return path ? idAt({ idsAt }, path.replace(/\.?[a-z]+(\.\d+)?$/, "")) : null;
}

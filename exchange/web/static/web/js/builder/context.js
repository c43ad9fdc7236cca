// What may stand at a place of a text: for completion and for what is pasted there. A reading by
// words that never judges; only the server says what is wrong.
import { takesList } from "./operators.js";

const TOKEN = new RegExp(
  [
    String.raw`(?<comment>#[^\n]*)`,
    String.raw`(?<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")`,
    String.raw`(?<open>'(?:\\.|[^'\\\n])*$|"(?:\\.|[^"\\\n])*$)`,
    String.raw`(?<mark>[@$][\w.-]*)`,
    String.raw`(?<name>[A-Za-z_][\w.]*)`,
    String.raw`(?<number>-?\d[\w.]*)`,
    String.raw`(?<sign>&&|\|\||[=!<>]=?|<>|[(),])`,
  ].join("|"),
  "g",
);
const CONNECTIVES = new Set(["and", "or", "xor", "xnor", "&&", "||"]);
const PRESENCE = new Set(["missing", "present", "empty"]);

function* tokensOf(text) {
  for (const found of text.matchAll(TOKEN)) {
    const [kind] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    if (kind !== "comment")
      yield { kind, text: found[0], start: found.index, end: found.index + found[0].length };
  }
}

// Follows the words of a text: which attribute is tested, by which operator, what comes next.
class Follower {
  constructor(attributes) {
    this.attributes = attributes;
    this.expectCondition();
  }

  expectCondition() {
    Object.assign(this, {
      expects: "condition",
      attribute: null,
      operator: "",
      isInList: false,
      count: 0,
    });
  }

  take(token) {
    if (this.expects === "condition") this.takeCondition(token);
    else if (this.expects === "connective") this.takeConnective(token);
    else this.takeTest(token);
  }

  takeCondition({ kind, text, end }) {
    if (kind === "mark" || text === "true" || text === "false") this.expects = "connective";
    else if (this.attributes.has(text))
      Object.assign(this, { attribute: text, expects: "operator", from: end });
  }

  takeConnective({ text }) {
    if (CONNECTIVES.has(text.toLowerCase())) this.expectCondition();
  }

  takeTest({ kind, text }) {
    const word = text.toLowerCase();
    const isBetween = this.operator.endsWith("between") && this.count === 1;
    if (CONNECTIVES.has(word) && !isBetween) this.expectCondition();
    else if (text === "(") this.isInList = true;
    else if (text === ")") this.expects = "connective";
    else if (kind === "text" || kind === "number" || kind === "mark") this.takeValue();
    else if (PRESENCE.has(word)) this.expects = "connective";
    else if (kind === "name" || kind === "sign") this.takeOperator(word);
  }

  takeValue() {
    this.count += 1;
    const wantsMore = this.isInList || (this.operator.endsWith("between") && this.count < 2);
    this.expects = wantsMore ? "value" : "connective";
  }

  takeOperator(word) {
    if (word === "," || word === "and") return;
    this.operator = `${this.operator} ${word}`.trim();
    const isWhole =
      takesList(this.operator.replace(/^not /, "")) ||
      /^[=!<>]|between$|with$|like$|contains$|during$/.test(this.operator);
    this.expects = isWhole ? "value" : "operator";
  }
}

// {expects, attribute, operator, isInList, part, start}: `part` is the beginning of a word before
// the place, and `start` where it begins; `from` where the operator does.
export function contextAt(text, place, attributes) {
  const before = text.slice(0, place);
  const tokens = [...tokensOf(before)];
  const last = tokens.at(-1);
  const isPart = last?.end === place && ["name", "mark", "open"].includes(last.kind);
  const follower = new Follower(attributes);
  for (const token of isPart ? tokens.slice(0, -1) : tokens) follower.take(token);
  const { expects, attribute, operator, isInList, from } = follower;
  const part = isPart ? last.text : "";
  return {
    expects,
    attribute,
    operator,
    isInList,
    from,
    part,
    start: place - part.length,
    isOpen: last?.kind === "open" && isPart,
  };
}

// What the editor asks the server: the check, the words that there are, values, lists to keep.
import { untilLeft } from "../leaving.js";
import { currentToken } from "../tokens.js";

const BASE = "/api/v1/";

export class Asking {
  // `whose` says for whom the expression is: which audiences and lists it may use.
  constructor(whose) {
    this.whose = whose;
  }

  check(text) {
    return this.send("expressions:validate", { text, ...this.whose() });
  }

  keepList(list) {
    return this.send("lists", { ...list, ...this.whose() });
  }

  vocabulary() {
    return this.read("expressions:vocabulary", this.whose());
  }

  async values(attribute, q) {
    return (await this.read("expressions:values", { attribute, q }))?.values ?? [];
  }

  // Values of any attribute that begin so, each with its attribute.
  async valuesAnywhere(q) {
    return (await this.read("expressions:values", { q }))?.values ?? [];
  }

  // The attribute that most of these values are seen in; null if there is none.
  async holder(values) {
    const query = values.slice(0, 50).map((value) => ["value", value]);
    return (await this.read("expressions:holder", query))?.attribute ?? null;
  }

  read(path, query) {
    return this.fetch(`${path}?${new URLSearchParams(query)}`, {});
  }

  send(path, body) {
    const headers = { "Content-Type": "application/json", "X-CSRFToken": currentToken() };
    return this.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  // The answer, or null: no server, no session, a page that is being left.
  async fetch(path, options) {
    try {
      const response = await fetch(BASE + path, { ...options, signal: untilLeft() });
      return response.ok ? await response.json() : null;
    } catch {
      return null;
    }
  }
}

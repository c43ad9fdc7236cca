// The strip at the lower edge: it opens at once with a name, and its figures come from the server.
export class Drawer {
  constructor(element, { onClose, onEdge }) {
    this.element = element;
    this.body = element.querySelector("[data-body]");
    this.title = element.querySelector("h2");
    this.number = 0;
    element.addEventListener("click", (event) => {
      if (event.target.closest("[data-close]")) onClose();
      const link = event.target.closest("[data-show-edge]");
      if (link && onEdge(link.dataset.showEdge)) event.preventDefault();
    });
  }

  show(title, address) {
    this.number += 1;
    this.element.hidden = !address;
    if (!address) return;
    this.title.textContent = title;
    this.body.replaceChildren();
    this.#fill(address, this.number);
  }

  // Whoever clicks on wants the last one, whichever answer comes first.
  async #fill(address, number) {
    const words = await fetchWords(address);
    if (number !== this.number) return;
    this.body.innerHTML = words;
    window.htmx.process(this.body);
    this.body.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true, detail: { elt: this.body } }));
  }

  addressOf(target) {
    const { edge, party } = target.dataset;
    const [pattern, number] = edge ? [this.element.dataset.edgeUrl, edge] : [this.element.dataset.partyUrl, party];
    return number ? pattern.replace("/0/", `/${number.replace("-", "")}/`) : "";
  }
}

async function fetchWords(address) {
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true" } });
    if (answer.ok) return await answer.text();
  } catch {
    // Told below, like any other answer that is none.
  }
  return "<p>The figures cannot be read right now. Click again in a moment.</p>";
}

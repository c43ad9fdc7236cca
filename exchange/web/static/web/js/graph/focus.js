// Focus in a drawing of parties (a.node) and edges (path.edge): what lies before and behind is lit,
// direct neighbours stronger. Knows the drawing only: who is told about a click is handed in.
const HOPS = [["t", "s"], ["s", "t"]];
const AROUND_POINTER = [[0, -3], [0, 3], [-3, 0], [3, 0], [0, -4], [0, 4]];

function group(elements, key) {
  const found = new Map();
  for (const element of elements) {
    const value = element.dataset[key];
    if (!found.has(value)) found.set(value, []);
    found.get(value).push(element);
  }
  return found;
}

export class Focus {
  constructor(drawing, onKeep) {
    this.drawing = drawing;
    this.onKeep = onKeep;
    this.nodes = [...drawing.querySelectorAll(".node")];
    this.edges = [...drawing.querySelectorAll(".edge")];
    this.byParty = new Map(this.nodes.map((node) => [node.dataset.party, node]));
    this.ends = { s: group(this.edges, "s"), t: group(this.edges, "t") };
    this.kept = null;
    this.lit = [];
    this.#listen();
    for (const node of this.nodes) node.tabIndex = -1;
    if (this.nodes.length) this.nodes[0].tabIndex = 0;
  }

  // Breadth first, so that each party and edge is lit once, with its distance. An edge's own ends are
  // its neighbours: what they trade with others is further away (`hop` begins with 2).
  #walk(party, from, to, hop, found) {
    const seen = new Set([party]);
    let front = [party];
    for (; front.length; hop += 1) {
      const next = [];
      for (const one of front) {
        for (const edge of this.ends[from].get(one) ?? []) {
          found.push([edge, hop]);
          const other = edge.dataset[to];
          if (seen.has(other)) continue;
          seen.add(other);
          next.push(other);
          if (this.byParty.has(other)) found.push([this.byParty.get(other), hop]);
        }
      }
      front = next;
    }
  }

  light(target) {
    for (const one of this.lit) one.classList.remove("lit", "near", "kept");
    this.lit = [];
    this.drawing.classList.toggle("has-focus", Boolean(target));
    if (!target) return;
    const found = [[target, 0]];
    const { party, s, t } = target.dataset;
    for (const [from, to] of HOPS) this.#walk(party ?? (from === "t" ? s : t), from, to, party ? 1 : 2, found);
    if (!party) found.push([this.byParty.get(s), 1], [this.byParty.get(t), 1]);
    for (const [one, hop] of found) {
      one.classList.add("lit");
      if (hop < 2) one.classList.add("near");
      this.lit.push(one);
    }
    if (target === this.kept) target.classList.add("kept");
  }

  keep(target) {
    this.kept = target;
    this.light(target);
    this.onKeep(target);
  }

  findParty(party) {
    return this.byParty.get(party);
  }

  findEdge(number) {
    return this.edges.find((edge) => edge.dataset.edge === number);
  }

  // Lines are thin: a pointer that misses by up to four pixels still means them.
  #hit(event) {
    const at = event.target.closest?.(".node, .edge");
    if (at) return at;
    for (const [x, y] of AROUND_POINTER) {
      const near = document.elementFromPoint(event.clientX + x, event.clientY + y)?.closest(".edge");
      if (near && this.drawing.contains(near)) return near;
    }
    return null;
  }

  #listen() {
    this.drawing.addEventListener("pointermove", (event) => {
      if (this.kept || event.buttons) return;
      const target = this.#hit(event);
      if (target !== this.pointed) this.light(target);
      this.pointed = target;
    });
    this.drawing.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.light(this.kept);
    });
    this.drawing.addEventListener("click", (event) => {
      if (event.target.closest(".more") || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      if (this.drawing.dataset.dragged) return;
      const target = this.#hit(event);
      this.keep(target === this.kept ? null : target);
    });
    this.drawing.addEventListener("focusin", (event) => {
      if (!this.kept) this.light(event.target.closest(".node"));
    });
    this.drawing.addEventListener("focusout", () => {
      if (!this.kept) this.light(null);
    });
    this.drawing.addEventListener("keydown", (event) => this.#move(event));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.kept) this.keep(null);
    });
  }

  // One stop for Tab; arrows go up and down within a column, left and right to the widest neighbour.
  #move(event) {
    const node = event.target.closest(".node");
    if (!node || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const to = this.#neighbour(node, event.key);
    if (!to) return;
    node.tabIndex = -1;
    to.tabIndex = 0;
    if (this.kept) this.keep(to);
    to.focus();
  }

  #neighbour(node, key) {
    const { party, rank } = node.dataset;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const column = this.nodes.filter((one) => one.dataset.rank === rank);
      return column[column.indexOf(node) + (key === "ArrowUp" ? -1 : 1)];
    }
    const [from, to] = key === "ArrowRight" ? ["s", "t"] : ["t", "s"];
    let widest = null;
    for (const edge of this.ends[from].get(party) ?? []) {
      const isWider = !widest || Number(edge.getAttribute("stroke-width")) > Number(widest.getAttribute("stroke-width"));
      if (isWider && !edge.classList.contains("arc")) widest = edge;
    }
    return widest && this.byParty.get(widest.dataset[to]);
  }
}

// The tree on the page: one element per node, reused while its node is the same object, so that the
// focus and what someone types stay where they are. The group is a div inside its list item: a list
// item with a role of its own would break the list for screen readers.
import { listenForDrags } from "./dragging.js";
import { button, h, percent } from "./elements.js";
import { drawFinding } from "./findings.js";
import { openMenu } from "./menu.js";
import { constant, isFinished, isGroup } from "./model.js";
import { Rows, summarise } from "./rows.js";

export class View {
  constructor(tree, editor) {
    Object.assign(this, { tree, editor, rows: new Rows(editor) });
    this.kept = new Map(); // id -> {element, node}
    this.shares = new Map(); // id -> [passed, failed]
    this.findings = new Map(); // id -> findings
    this.open = new Set(); // ids of rows whose strange values are shown
    this.folded = new Set(); // ids of groups that show their summary alone
    listenForDrags(tree, (id, besideId, isAfter) => editor.place(id, besideId, isAfter));
  }

  // `keep`: the row whose own widget made the change, and shows it already.
  render(root, keep = null) {
    const focus = this.focused();
    const before = this.kept;
    this.kept = new Map();
    const element = this.update(root, before, keep);
    if (this.tree.firstChild !== element) this.tree.replaceChildren(element);
    this.label(root, null, 0);
    this.showFolded();
    this.showShares();
    this.showFindings();
    if (focus && !this.tree.contains(document.activeElement)) this.focus(...focus);
  }

  // All elements anew: the words have changed.
  renew(root) {
    this.kept = new Map();
    this.render(root);
  }

  focused() {
    const active = document.activeElement;
    const holder = this.tree.contains(active) && active.closest("[data-id]");
    return holder ? [holder.dataset.id, active.dataset.key] : null;
  }

  focus(id, key = "handle") {
    const element = this.kept.get(id)?.element ?? this.tree;
    this.reveal(element);
    const isSeen = (each) => each.checkVisibility();
    const wanted = [...element.querySelectorAll(`[data-key="${key}"]`)].find(isSeen);
    (wanted ?? [...element.querySelectorAll("[data-key]")].find(isSeen))?.focus();
  }

  fold(id) {
    this.folded.add(id);
    this.showFolded();
    this.focus(id, "unfold");
  }

  unfold(id) {
    this.folded.delete(id);
    this.showFolded();
    this.focus(id, "handle");
  }

  // Opens the groups that it stands in.
  reveal(element) {
    const above = element.parentElement?.closest(".group.folded");
    if (!above) return;
    this.folded.delete(above.dataset.id);
    this.showFolded();
    this.reveal(above);
  }

  showFolded() {
    for (const [id, { element, node }] of this.kept) {
      if (!isGroup(node)) continue;
      const isFolded = this.folded.has(id);
      element.classList.toggle("folded", isFolded);
      const note = element.querySelector(".folded-note");
      note.hidden = !isFolded;
      note.firstChild.textContent = summarise(node, this.editor.words.attributes);
    }
  }

  update(node, before, keep) {
    let entry = before.get(node.id);
    const isNew = !entry || isGroup(entry.node) !== isGroup(node);
    if (isNew || (!isGroup(node) && entry.node !== node && keep !== node.id)) {
      entry = { element: isGroup(node) ? this.buildGroup(node) : this.buildRow(node) };
    }
    if (entry.node?.notes !== node.notes) {
      entry.element.querySelector(".notes").replaceChildren(...this.rows.notes(node));
    }
    entry.node = node;
    this.kept.set(node.id, entry);
    if (isGroup(node)) this.updateGroup(node, entry.element, before, keep);
    return entry.element;
  }

  updateGroup(node, element, before, keep) {
    element.dataset.kind = node.kind;
    for (const radio of element.querySelector(".head-line").querySelectorAll("[type=radio]")) {
      radio.checked = radio.value === node.kind;
      radio.dataset.key = radio.checked ? "kind" : "";
    }
    element.querySelector(".nothing").hidden = node.children.length > 0;
    const list = element.querySelector("ol");
    const items = node.children.map((child) => {
      const below = this.update(child, before, keep);
      return below.parentElement ?? h("li", {}, below);
    });
    items.forEach(
      (item, i) => list.children[i] !== item && list.insertBefore(item, list.children[i] ?? null),
    );
    while (list.children.length > items.length) list.lastChild.remove();
    list.hidden = !items.length;
  }

  label(node, parent, index) {
    const { element } = this.kept.get(node.id);
    const what = isGroup(node) ? "Group" : "Condition";
    const place = parent ? `${what} ${index + 1} of ${parent.children.length}: ` : "Targeting: ";
    element.setAttribute("aria-label", place + summarise(node, this.editor.words.attributes));
    element.classList.toggle("unfinished", node.kind === "test" && !isFinished(node));
    node.children?.forEach((child, i) => this.label(child, node, i));
  }

  buildGroup(node) {
    const { id } = node;
    const adders = [
      ["test", "+ Condition"],
      ["group", "+ Group"],
    ].map(([kind, label]) =>
      button(label, () => this.editor.add(id, kind), { "data-key": `add-${kind}` }),
    );
    // Its own notes, head and findings come before those of its children: the first found is its
    // own.
    return h(
      "div",
      { role: "group", class: "group", "data-id": id },
      h("div", { class: "notes" }),
      h(
        "div",
        { class: "rail" },
        h("div", { class: "head-line" }, this.handle(), this.kindSwitch(node), this.tools(id)),
        h("div", { class: "findings" }),
        h(
          "p",
          { class: "folded-note soft", hidden: true },
          h("span", {}),
          button("Expand", () => this.unfold(id), { "data-key": "unfold" }),
        ),
        this.nothing(id),
        h("ol", {}),
        h("div", { class: "adders" }, adders),
      ),
    );
  }

  nothing(id) {
    const everyone = button("Every visit", () =>
      this.editor.addNode(id, constant(true), "Every visit"),
    );
    return h(
      "p",
      { class: "nothing soft" },
      "No condition yet. Nothing chosen reaches no one; to reach everyone choose ",
      everyone,
    );
  }

  kindSwitch({ id }) {
    const radio = (kind) => {
      const onchange = () => this.editor.patch(id, { kind }, `Match ${kind}`, "kind");
      return h(
        "label",
        {},
        h("input", { type: "radio", name: `kind-${id}`, value: kind, onchange }),
        h("span", {}, kind),
      );
    };
    return h(
      "span",
      { role: "radiogroup", "aria-label": "Match", class: "match" },
      "Match ",
      h("span", { class: "switch" }, ["all", "any", "none"].map(radio)),
      h("span", { class: "tail" }, " of these"),
    );
  }

  buildRow(node) {
    return h(
      "div",
      { role: "group", class: `row ${node.kind}`, "data-id": node.id },
      h("div", { class: "notes" }),
      h(
        "div",
        { class: "row-line" },
        this.handle(),
        h("div", { class: "parts" }, this.rows.parts(node)),
        this.tools(node.id),
      ),
      h("div", { class: "findings" }),
    );
  }

  handle() {
    const props = { "aria-label": "Move", title: "Drag, or Alt and arrows", draggable: true };
    return h("button", { type: "button", class: "handle", "data-key": "handle", ...props }, "⠿");
  }

  tools(id) {
    const onclick = ({ currentTarget }) => {
      const { node, parent } = this.editor.locate(id);
      openMenu(currentTarget, node, !parent, (action) => this.editor.act(action, id));
    };
    const props = {
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-label": "Actions",
      onclick,
    };
    return h(
      "div",
      { class: "tools" },
      h("span", { class: "share", hidden: true }),
      h("button", { type: "button", class: "menu-open", "data-key": "menu", ...props }, "⋯"),
    );
  }

  // What the impact panel knows: how many visits pass each node, fail it, or do not say.
  showShares() {
    for (const [id, { element }] of this.kept) {
      const share = element.querySelector(".share");
      const found = this.shares.get(id);
      share.hidden = !found;
      if (!found) continue;
      const [passed, failed] = found;
      const silent = Math.max(0, 1 - passed - failed);
      share.textContent = percent(passed);
      const [pass, fail, rest] = [passed, failed, silent].map(percent);
      share.title = `${pass} of visits pass, ${fail} fail, ${rest} do not say`;
      share.style.setProperty("--passed", `${passed * 100}%`);
      share.style.setProperty("--known", `${(passed + failed) * 100}%`);
    }
  }

  showFindings() {
    for (const [id, { element }] of this.kept) {
      const list = this.findings.get(id) ?? [];
      element.classList.toggle(
        "wrong",
        list.some(({ kind }) => kind === "problem"),
      );
      const drawn = list.map((finding) => drawFinding(finding, this.remedies(id)));
      element.querySelector(".findings").replaceChildren(...drawn);
    }
  }

  remedies(id) {
    return {
      swap: (pairs) => this.editor.swapValues(id, pairs),
      include: () => this.editor.include(id),
      canInclude: this.editor.canInclude(id),
      isOpen: this.open.has(id),
      toggle: () => {
        if (!this.open.delete(id)) this.open.add(id);
        this.showFindings();
      },
    };
  }
}

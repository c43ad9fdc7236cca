// The graph's page: focus, drawer, zoom and search over the drawing that the server wrote. Without
// this script the drawing, its links and the table remain.
import { Drawer } from "./drawer.js";
import { Focus } from "./focus.js";
import { startZoom } from "./zoom.js";

function startGraph(drawing) {
  const drawer = new Drawer(document.querySelector("#drawer"), {
    onClose: () => focus.keep(null),
    onEdge: (number) => {
      const edge = focus.findEdge(number);
      if (edge) focus.keep(edge);
      return Boolean(edge);
    },
  });
  const nameOf = (party) => focus.findParty(party)?.getAttribute("aria-label").split(", ")[0] ?? "";
  const focus = new Focus(drawing, (target) => {
    if (!target) return drawer.show("", "");
    const { party, s, t } = target.dataset;
    const title = party ? target.getAttribute("aria-label") : `${nameOf(s)} \u2192 ${nameOf(t)}`;
    return drawer.show(title, drawer.addressOf(target) || drawer.addressOf(focus.findParty(s)));
  });
  startZoom(drawing, document.querySelector("[data-zoom]"));
  startFinding(focus);
}

// Whoever is found and drawn is shown where they stand; others lead to their own page.
function startFinding(focus) {
  const show = (party) => {
    const node = focus.findParty(party);
    if (!node) return false;
    focus.keep(node);
    node.scrollIntoView({ block: "nearest", inline: "center" });
    node.focus({ preventScroll: true });
    return true;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".found [data-party]");
    if (link && show(link.dataset.party)) event.preventDefault();
  });
  document.querySelector("[data-find]")?.form.addEventListener("submit", (event) => {
    const wanted = event.target.elements.q.value.trim().toLowerCase();
    const named = focus.nodes.filter((node) => node.getAttribute("aria-label").toLowerCase().split(", ")[0] === wanted);
    if (named.length && show(named[0].dataset.party)) event.preventDefault();
  });
}

const drawing = document.querySelector("#drawing");
if (drawing) startGraph(drawing);

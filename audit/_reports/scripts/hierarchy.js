// The picture of the hierarchy: a bar tells its node, opens its branch, and filters the findings.

const DRAWN = /^M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)h/;
const LEAST_TEXT = 11;
const ARROWS = { ArrowUp: -1, ArrowDown: 1 };

function addBranches() {
  const figure = document.querySelector("#figure-hierarchy");
  if (!figure) return;
  const picture = figure.querySelector(".chart");
  const height = picture.viewBox.baseVal.height;
  const bars = [...picture.querySelectorAll(".bar")].map(barOf);
  const told = element("output", { class: "told" }, "Point at a bar, or reach it with the arrow keys; a click opens its branch.");
  const back = element("button", { type: "button", hidden: "" }, "Whole hierarchy");
  picture.setAttribute("role", "group");
  figure.querySelector(".scroll").before(element("div", { class: "controls" }, back, told));

  const open = (chosen) => {
    layOut(bars, chosen, height);
    back.hidden = chosen === null;
    chooseBranch(chosen && { id: chosen.id, name: chosen.name });
  };
  const step = (bar, by) => {
    const shown = bars.filter(({ group }) => !group.hasAttribute("hidden"));
    const next = shown[shown.indexOf(bar) + by];
    if (next) next.group.focus();
  };
  for (const bar of bars) {
    bar.group.addEventListener("pointerenter", () => { told.textContent = bar.words; });
    bar.group.addEventListener("focus", () => {
      told.textContent = bar.words;
      for (const other of bars) other.group.tabIndex = other === bar ? 0 : -1;
    });
    bar.group.addEventListener("click", () => open(bar));
    bar.group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") open(bar);
      else if (event.key === "Escape") open(null);
      else if (event.key in ARROWS) step(bar, ARROWS[event.key]);
      else return;
      event.preventDefault();
    });
  }
  back.addEventListener("click", () => open(null));
  addEventListener("branch", ({ detail }) => {
    if (detail === null && !back.hidden) {
      back.hidden = true;
      layOut(bars, null, height);
    }
  });
}

function barOf(group, place) {
  const path = group.querySelector("path");
  const [, left, top, width, high] = DRAWN.exec(path.getAttribute("d")).map(Number);
  const words = group.querySelector("title").textContent;
  group.setAttribute("role", "button");
  group.setAttribute("aria-label", words);
  group.tabIndex = place === 0 ? 0 : -1;
  return { group, path, left, top, width, high, words, name: words.split(": ")[0], id: group.dataset.node };
}

// The chosen branch as tall as the picture, with what lies above and below it; null for all.
function layOut(bars, chosen, height) {
  const from = chosen ? chosen.top : 0;
  const to = chosen ? chosen.top + chosen.high : height;
  const scale = height / (to - from || 1);
  for (const bar of bars) {
    const top = Math.max(0, (bar.top - from) * scale);
    const bottom = Math.min(height, (bar.top + bar.high - from) * scale);
    bar.group.toggleAttribute("hidden", bottom - top < 0.01);
    bar.path.setAttribute("d", `M${bar.left},${top}h${bar.width}v${Math.max(0, bottom - top)}h-${bar.width}Z`);
    label(bar, (top + bottom) / 2, bottom - top);
  }
}

function label(bar, middle, high) {
  bar.group.querySelector("text")?.remove();
  if (high < LEAST_TEXT) return;
  const text = document.createElementNS(bar.group.namespaceURI, "text");
  const drawn = { x: bar.left + 5, y: middle + 3.5, fill: bar.group.dataset.ink, "font-family": "Arial, 'Liberation Sans', sans-serif", "font-size": 10 };
  for (const [name, value] of Object.entries(drawn)) text.setAttribute(name, value);
  text.textContent = bar.group.dataset.label;
  bar.group.append(text);
}

// Tables sorted by a column: upwards, downwards, and back to the order of the report.

const SORTABLE_ROWS = 4;
const SEVEREST_FIRST = ["error", "warning", "note", "pass", "plain"];
const NUMBER = /^(?:× ?)?([<>]?)([+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?)(%?)/i;

function addSorting() {
  for (const table of document.querySelectorAll("table:not([data-order])")) {
    if (table.tBodies[0].rows.length >= SORTABLE_ROWS) makeSortable(table);
  }
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
  const told = element("span", { class: "sorted", role: "status" });
  table.caption.append(told);

  headings.forEach((heading, place) => {
    if (!heading.textContent.trim()) return;
    const button = element("button", { type: "button", class: "sort" });
    button.append(...heading.childNodes);
    heading.append(button);
    const { keys, order, words } = columnOf(original, place, heading);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const direction = next[heading.ariaSort ?? "none"];
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      if (direction !== "none") heading.setAttribute("aria-sort", direction);
      body.append(...inDirection(original, keys, order, direction));
      told.textContent = direction === "none"
        ? "In the order of the report"
        : `Sorted by ${button.textContent.trim()}, ${words[direction]}`;
    });
  });
}

// What the rows of a column are sorted by, how two are compared, and what a direction means.
function columnOf(rows, place, heading) {
  const cells = rows.map((row) => row.cells[place]);
  if (cells.some((cell) => cell.querySelector(".badge"))) {
    return column(cells.map(severity), compareNumbers, "the most severe first", "the least severe first");
  }
  const numbers = cells.map((cell) => (cell.querySelector("code") ? null : magnitude(cell.textContent)));
  const numeric = heading.classList.contains("number") || numbers.every((key) => key);
  if (numeric && numbers.some((key) => key)) {
    return column(numbers, compareNumbers, "the smallest first", "the largest first");
  }
  return column(cells.map((cell) => plain(cell.textContent)), compareTexts, "from A to Z", "from Z to A");
}

function column(keys, order, ascending, descending) {
  return { keys, order, words: { ascending, descending } };
}

// A number as printed; <11 stands before 11. What has no number gives null.
function magnitude(text) {
  const found = NUMBER.exec(text.trim());
  if (!found) return null;
  const value = Number(found[2].replaceAll(",", "").replace("−", "-"));
  return [value, { "<": -1, "": 0, ">": 1 }[found[1]]];
}

function severity(cell) {
  const badge = cell.querySelector(".badge");
  return badge && [SEVEREST_FIRST.findIndex((tone) => badge.classList.contains(`tone-${tone}`)), 0];
}

function compareNumbers(one, other) {
  return one[0] - other[0] || one[1] - other[1];
}

function compareTexts(one, other) {
  return one < other ? -1 : Number(one > other);
}

// The rows in a direction: equal ones keep their order, and those without a key stand last.
function inDirection(rows, keys, order, direction) {
  if (direction === "none") return rows;
  const sign = direction === "ascending" ? 1 : -1;
  const places = [...rows.keys()].sort((one, other) => {
    if (keys[one] === null || keys[other] === null) return (keys[one] === null) - (keys[other] === null);
    return sign * order(keys[one], keys[other]);
  });
  return places.map((place) => rows[place]);
}

// Long tables and the findings, filtered by what a reader types or chooses.

const LONG_TABLE = 12;

function addTableFilters() {
  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length > LONG_TABLE) filterRows(table);
  }
}

function filterRows(table) {
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, text: plain(row.textContent) }));
  const told = element("output", {});
  const { field, label } = searchField("Rows with", () => {
    for (const { row, text } of rows) row.hidden = !hasWords(text, field.value);
    const shown = rows.filter(({ row }) => !row.hidden).length;
    tell(told, field.value.trim() !== "", `${shown} of ${rows.length} rows`);
  });
  field.setAttribute("aria-describedby", table.caption.id);
  tell(told, false, `${rows.length} rows`);
  table.closest(".scroll").before(element("div", { class: "controls" }, label, told));
}

// What is shown; where that is not all, it is told on paper too.
function tell(told, filtered, text) {
  told.textContent = text;
  told.classList.toggle("filtered", filtered);
}

function addFindingsFilter() {
  const findings = [...document.querySelectorAll("#findings article")].map(findingOf);
  if (findings.length < 2) return;
  const blocks = [...document.querySelectorAll("#findings .block")];
  const told = element("output", {});
  const severities = [...new Set(findings.map(({ severity }) => severity))].map((severity) =>
    severityChoice(severity, findings, show));
  const check = checkChoice(findings, show);
  const search = searchField("Text", show);
  const all = element("button", { type: "button" }, "Show all");
  let branch = null;

  function show() {
    const ticked = new Set(severities.filter(({ box }) => box.checked).map(({ severity }) => severity));
    const filtered = branch !== null || ticked.size < severities.length || check.select.value !== "" || search.field.value.trim() !== "";
    for (const finding of findings) {
      finding.article.hidden = !(
        ticked.has(finding.severity) &&
        ["", finding.check].includes(check.select.value) &&
        (branch === null || finding.nodes.has(branch.id)) &&
        hasWords(finding.text, search.field.value)
      );
    }
    for (const block of blocks) block.hidden = !block.querySelector("article:not([hidden])");
    tell(told, filtered, countOf(findings) + (branch === null ? "" : `, at or below ${branch.name}`));
  }

  all.addEventListener("click", () => {
    severities.forEach(({ box }) => { box.checked = true; });
    check.select.value = search.field.value = "";
    chooseBranch(null);
  });
  addEventListener("branch", ({ detail }) => {
    branch = detail;
    show();
  });
  show();
  blocks[0].before(element(
    "div",
    { class: "controls", role: "search", "aria-label": "Findings" },
    element("fieldset", {}, element("legend", {}, "Severity"), ...severities.map(({ label }) => label)),
    check.label,
    search.label,
    all,
    told,
  ));
}

// The findings that a reader wants to see: those at or below a node, or null for all.
function chooseBranch(branch) {
  dispatchEvent(new CustomEvent("branch", { detail: branch }));
}

// A finding with what it is filtered by.
function findingOf(article) {
  return {
    article,
    severity: article.dataset.severity,
    check: article.closest(".block").dataset.check,
    nodes: new Set(article.dataset.nodes.split("\n")),
    text: plain(article.textContent),
  };
}

function severityChoice(severity, findings, heard) {
  const count = findings.filter((finding) => finding.severity === severity).length;
  const box = element("input", { type: "checkbox" });
  box.checked = true;
  box.addEventListener("change", heard);
  return { severity, box, label: element("label", {}, box, `${severity} (${count})`) };
}

function checkChoice(findings, heard) {
  const counts = new Map();
  for (const { check } of findings) counts.set(check, (counts.get(check) ?? 0) + 1);
  const options = [...counts].map(([name, count]) => element("option", { value: name }, `${name} (${count})`));
  const select = element("select", {}, element("option", { value: "" }, "All checks"), ...options);
  select.addEventListener("change", heard);
  return { select, label: element("label", {}, "Check", select) };
}

function countOf(findings) {
  const shown = findings.filter(({ article }) => !article.hidden);
  return `${shown.length} of ${findings.length} findings`;
}

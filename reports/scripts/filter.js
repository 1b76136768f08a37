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
  const findings = [...document.querySelectorAll("#findings article, #more article")].map(findingOf);
  if (findings.length < 2) return;
  const groups = [...document.querySelectorAll("#more details")];
  const opened = new Set();
  const told = element("output", {});
  const severities = [...new Set(findings.map(({ severity }) => severity))].map((severity) =>
    severityChoice(severity, findings, show));
  const check = checkChoice(findings, show);
  const search = searchField("Text", show);
  const all = element("button", { type: "button" }, "Show all");

  function show() {
    const ticked = new Set(severities.filter(({ box }) => box.checked).map(({ severity }) => severity));
    const filtered = ticked.size < severities.length || check.select.value !== "" || search.field.value.trim() !== "";
    for (const finding of findings) {
      finding.article.hidden = !(
        ticked.has(finding.severity) &&
        ["", finding.check].includes(check.select.value) &&
        hasWords(finding.text, search.field.value)
      );
    }
    for (const group of groups) {
      group.hidden = !group.querySelector("article:not([hidden])");
      if (filtered && !group.open && !group.hidden) opened.add(group);
      if (opened.has(group)) group.open = filtered;
    }
    if (!filtered) opened.clear();
    tell(told, filtered, countOf(findings));
  }

  all.addEventListener("click", () => {
    severities.forEach(({ box }) => { box.checked = true; });
    check.select.value = search.field.value = "";
    show();
  });
  show();
  findings[0].article.before(element(
    "div",
    { class: "controls", role: "search", "aria-label": "Findings" },
    element("fieldset", {}, element("legend", {}, "Severity"), ...severities.map(({ label }) => label)),
    check.label,
    search.label,
    all,
    told,
  ));
}

// A finding with what it is filtered by; words drawn inside its picture are not searched.
function findingOf(article) {
  const worded = [...article.querySelectorAll("h3, p, li, dt, dd, caption, th, td")];
  return {
    article,
    severity: article.querySelector(".badge").textContent.trim().split(",")[0],
    check: article.querySelector(".card-head code").textContent,
    text: plain(worded.map((part) => part.textContent).join(" ")),
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
  const further = shown.filter(({ article }) => article.closest("#more")).length;
  const where = further ? `, ${further} of them under “Further findings”` : "";
  return `${shown.length} of ${findings.length} findings${where}`;
}

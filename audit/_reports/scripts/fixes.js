// Deciding on proposals by keys. Decisions and notes are kept in the tab, by the number of the proposal.

const proposals = document.querySelector(".proposals");
if (proposals) decideByKeys(proposals, [...proposals.querySelectorAll(".proposal")]);

function decideByKeys(list, all) {
  const place = `fixes ${list.dataset.run}`;
  const decided = JSON.parse(sessionStorage.getItem(place) ?? "{}");
  const noted = JSON.parse(sessionStorage.getItem(`${place} notes`) ?? "{}");
  const form = document.querySelector("form.decided");
  const field = (one) => one.querySelector(".other");
  const note = (one) => one.querySelector(".note");
  const radio = (one, value) => one.querySelector(`[value="${value}"]`);

  function tell() {
    const told = form.querySelector("[data-told]");
    const count = {};
    for (const one of Object.values(decided)) {
      const kind = one.split(":")[0];
      count[kind] = (count[kind] ?? 0) + 1;
    }
    const each = Object.entries(count).map(([kind, n]) => `${n} ${kind}`).join(", ");
    const total = Number(told.dataset.total).toLocaleString("en");
    told.textContent = `${Object.keys(decided).length.toLocaleString("en")} of ${total} decided${each && `: ${each}`}`;
  }

  function show(one) {
    const [kind, label] = (decided[one.dataset.number] ?? "").split(/: (.*)/s);
    for (const each of one.querySelectorAll("[type='radio']")) each.checked = each.value === kind;
    field(one).value = label ?? "";
    note(one).value = noted[one.dataset.number] ?? "";
    one.classList.toggle("done", Boolean(kind));
  }

  function decide(one, decision) {
    if (decision) decided[one.dataset.number] = decision;
    else delete decided[one.dataset.number];
    sessionStorage.setItem(place, JSON.stringify(decided));
    show(one);
    tell();
  }

  function keep(one) {
    const text = note(one).value.trim();
    if (text) noted[one.dataset.number] = text;
    else delete noted[one.dataset.number];
    sessionStorage.setItem(`${place} notes`, JSON.stringify(noted));
  }

  function go(one, step, among = () => true) {
    let at = all.indexOf(one) + step;
    while (all[at] && !among(all[at])) at += step;
    if (all[at]) return all[at].focus();
    const link = document.querySelector(`.pager a[rel="${step > 0 ? "next" : "prev"}"]`);
    if (!link) return one.focus();
    sessionStorage.setItem("walking", step);
    link.click();
  }

  function choose(one, decision) {
    if (!radio(one, decision)) {
      form.querySelector("[data-told]").textContent = `There is nothing to ${decision} here; use another key.`;
      return;
    }
    decide(one, decision);
    go(one, 1);
  }

  const undecided = (one) => !decided[one.dataset.number];
  const keys = {
    a: (one) => choose(one, "accept"),
    r: (one) => choose(one, "reject"),
    x: (one) => choose(one, "remove"),
    o: (one) => field(one).focus(),
    m: (one) => note(one).focus(),
    u: (one) => decide(one, ""),
    n: (one) => go(one, 1, undecided),
    j: (one) => go(one, 1),
    k: (one) => go(one, -1),
  };
  keys.ArrowDown = keys.j;
  keys.ArrowUp = keys.k;

  list.addEventListener("keydown", (event) => {
    const one = event.target.closest(".proposal");
    if (!one || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target === field(one)) {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      if (event.key === "Enter" && field(one).value.trim()) take(one), go(one, 1);
      else show(one), one.focus();
    } else if (event.target === note(one)) {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      if (event.key === "Enter") keep(one);
      else show(one);
      one.focus();
    } else {
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (!keys[key] || (event.target.type === "radio" && key.startsWith("Arrow"))) return;
      keys[key](one);
    }
    event.preventDefault();
  });

  const take = (one) => decide(one, field(one).value.trim() && `other: ${field(one).value.trim()}`);
  list.addEventListener("change", (event) => {
    const one = event.target.closest(".proposal");
    if (event.target === note(one)) keep(one);
    else if (event.target === field(one)) take(one);
    else if (event.target.value === "other") field(one).focus();
    else decide(one, event.target.value);
  });

  form.addEventListener("submit", () => {
    for (const [name, own] of Object.entries({ decisions: decided, notes: noted })) {
      form.elements[name].value = Object.entries(own).map((one) => one.join(" ")).join("\n");
    }
  });
  all.forEach(show);
  tell();
  const step = Number(sessionStorage.getItem("walking"));
  sessionStorage.removeItem("walking");
  if (step) all.at(step > 0 ? 0 : -1)?.focus();
}

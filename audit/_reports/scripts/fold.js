// What is folded, unfolded at once: by a button, and for paper.

function addFolding() {
  const folds = [...document.querySelectorAll("details")];
  if (!folds.length) return;
  const button = element("button", { type: "button", class: "fold-all" });
  const allOpen = () => folds.every((fold) => fold.open);
  const name = () => { button.textContent = allOpen() ? "Fold all" : "Unfold all"; };
  button.addEventListener("click", () => {
    const open = !allOpen();
    for (const fold of folds) fold.open = open;
    name();
  });
  for (const fold of folds) fold.addEventListener("toggle", name);
  name();
  document.querySelector(".contents").append(button);
}

function unfoldOnPaper() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const fold of folded) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of folded) fold.open = false;
    folded = [];
  });
}

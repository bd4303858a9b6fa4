// Filters, search and order of the matrix in index.html. Nothing is fetched: all rows are in the page.
(function () {
  "use strict";

  const byId = (id) => document.getElementById(id);
  const body = document.querySelector("#matrix tbody");
  const rows = Array.from(body.rows);
  const controls = ["search", "outcome", "ending", "family", "order"].map(byId).filter(Boolean);
  const value = (id) => (byId(id) ? byId(id).value : "");

  function fits(cell, outcome, ending) {
    return (!outcome || cell.dataset.outcome === outcome) && (!ending || cell.dataset.ending === ending);
  }

  function apply() {
    const words = value("search").toLowerCase().split(/\s+/).filter(Boolean);
    const [outcome, ending, family] = ["outcome", "ending", "family"].map(value);
    let tasks = 0;
    let trials = 0;
    for (const row of rows) {
      const named = words.every((word) => row.dataset.text.includes(word));
      const cells = Array.from(row.querySelectorAll("a.cell"));
      const fitting = cells.filter((cell) => fits(cell, outcome, ending));
      cells.forEach((cell) => cell.classList.toggle("dimmed", !fitting.includes(cell)));
      row.hidden = !(named && (!family || row.dataset.family === family) && (fitting.length || !(outcome || ending)));
      if (!row.hidden) {
        tasks += 1;
        trials += fitting.length;
      }
    }
    byId("shown").textContent = `${tasks} task${tasks === 1 ? "" : "s"} · ${trials} trial${trials === 1 ? "" : "s"}`;
    byId("none").hidden = tasks > 0 || rows.length === 0;
  }

  function arrange() {
    const order = value("order");
    const sign = order === "easy" ? -1 : 1;
    const mean = (row) => (row.dataset.mean === "" ? Infinity : sign * Number(row.dataset.mean));
    const sorted = order === "name" ? rows : [...rows].sort((a, b) => mean(a) - mean(b));
    body.append(...sorted);
  }

  for (const control of controls) {
    control.addEventListener("input", control.id === "order" ? arrange : apply);
  }
  byId("clear").addEventListener("click", () => {
    controls.filter((control) => control.id !== "order").forEach((control) => (control.value = ""));
    apply();
    byId("search").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select, textarea")) {
      event.preventDefault();
      byId("search").focus();
    }
  });
  // A browser restores what was typed when one comes back to the page.
  window.addEventListener("pageshow", () => {
    arrange();
    apply();
  });
})();

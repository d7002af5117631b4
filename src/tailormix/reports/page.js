"use strict";
// Click a heading to sort by its column, and again to turn the order round; no value comes last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(other => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const text = head.hasAttribute("data-text");
    const rows = [...table.tBodies[0].rows].map(row => ({row, value: row.cells[column].dataset.value}));
    rows.sort((a, b) => {
      if (!a.value || !b.value) return (a.value ? 0 : 1) - (b.value ? 0 : 1);
      const order = text ? a.value.localeCompare(b.value) : Number(a.value) - Number(b.value);
      return up ? order : -order;
    });
    table.tBodies[0].append(...rows.map(each => each.row));
  }));
}
// Paper has nothing to unfold.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(each => { each.open = true; }));

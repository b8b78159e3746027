// The slider of other numbers of coupons: it shows the row of the table below it that is nearest. Without this file the
// table says the same.
"use strict";

document.querySelectorAll("input[type=range][data-curve]").forEach((slider) => {
  const table = document.getElementById(slider.dataset.curve);
  const rows = [...table.querySelectorAll("tr[data-spend]")];
  const says = document.getElementById(slider.getAttribute("aria-describedby"));
  const mark = document.getElementById(slider.dataset.mark);
  const points = document.querySelector("polyline").getAttribute("points").trim().split(/\s+/);
  slider.closest(".needs-script").hidden = false;
  const show = () => {
    const wanted = Number(slider.value);
    const away = (row) => Math.abs(Number(row.dataset.spend) - wanted);
    const nearest = rows.reduce((best, row) => (away(row) < away(best) ? row : best));
    const [spend, fewer] = [...nearest.children].map((cell) => cell.textContent.trim());
    says.textContent = table.dataset.says
      .replace("COUPONS", nearest.dataset.spend || spend).replace("FEWER", fewer);
    const [x, y] = points[rows.indexOf(nearest)].split(",");
    mark.setAttribute("cx", x);
    mark.setAttribute("cy", y);
  };
  slider.addEventListener("input", show);
  show();
});

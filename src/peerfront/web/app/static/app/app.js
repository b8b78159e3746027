// Everything works without this file. It says what another number of coupons would lose while the slider moves, and
// takes files that are dropped beside the button.
"use strict";

document.querySelectorAll("input[type=range][data-result]").forEach((slider) => {
  const result = document.getElementById(slider.dataset.result);
  const pointer = slider.form.querySelector(".pointer");
  const rows = [...slider.form.querySelectorAll(".numbers tbody tr")];
  const places = slider.form.querySelector("polyline.line").getAttribute("points").split(" ");
  slider.addEventListener("input", () => {
    const at = rows.findIndex((row) => row.cells[0].textContent.replace(/\D/g, "") === slider.value);
    const lost = at < 0 ? "" : rows[at].cells[2].textContent;
    const words = at < 0 ? "unknown" : /[1-9]/.test(lost) ? "loses" : "good";
    result.textContent = `${slider.value}: ${result.dataset[words].replace("{lost}", lost)}`;
    if (at < 0) return;
    const [x, y] = places[at].split(",");
    Object.entries({ cx: `${x / 10}%`, cy: y, r: 6 }).forEach(([name, value]) => pointer.setAttribute(name, value));
  });
});

// A file that is dropped anywhere on a page goes to the field for a file, if one is shown, or else becomes the study's.
const asked = [...document.querySelectorAll("main input[type=file]")].find((input) => input.offsetParent !== null);
const taken = asked || document.querySelector("#dropped input[type=file]");
const hold = (event, over) => {
  if (!taken || !event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("dropping", over);
};
document.addEventListener("dragover", (event) => hold(event, true));
document.addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  hold(event, false);
  if (!taken || !event.dataTransfer.files.length) return;
  const one = new DataTransfer();
  one.items.add(event.dataTransfer.files[0]);
  taken.files = one.files;
  if (taken === asked && !taken.closest(".drop")) taken.scrollIntoView({ block: "center" });
  else taken.form.requestSubmit();
});

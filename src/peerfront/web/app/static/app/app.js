// Everything works without this file. It says what another number of coupons would lose while the slider moves, and
// takes files that are dropped beside the button.
"use strict";

document.querySelectorAll("input[type=range][data-losses]").forEach((slider) => {
  const losses = JSON.parse(slider.dataset.losses);
  const result = document.getElementById(slider.dataset.result);
  const atFirst = result.textContent;
  const pointer = slider.form.querySelector(".pointer");
  const places = slider.dataset.points.split(" ").map((point) => point.split(","));
  const spends = Object.keys(losses).map(Number).sort((a, b) => a - b);
  const inWords = new Intl.NumberFormat(document.documentElement.lang, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const tell = () => {
    const lost = losses[slider.value];
    const place = places[spends.indexOf(Number(slider.value))];
    if (place) {
      pointer.setAttribute("cx", place[0]);
      pointer.setAttribute("cy", place[1]);
    }
    if (lost === undefined) result.textContent = `${slider.value}: ${result.dataset.unknown}`;
    else if (lost < 0.005) result.textContent = `${slider.value}: ${result.dataset.good}`;
    else result.textContent = `${slider.value}: ${result.dataset.loses.replace("{lost}", inWords.format(lost))}`;
  };
  slider.addEventListener("input", tell);
  result.textContent = atFirst;
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

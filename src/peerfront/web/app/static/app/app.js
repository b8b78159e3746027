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

document.querySelectorAll(".drop").forEach((area) => {
  const input = area.querySelector("input[type=file]");
  area.addEventListener("dragover", (event) => {
    event.preventDefault();
    area.classList.add("over");
  });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
});

// Everything works without this file. It only saves time: the device's clock is told, a form is sent once, lists are
// refreshed, and what belongs to a field is shown beside it.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target;
  const clock = form.querySelector("input[name=device_time]");
  if (clock) clock.value = new Date().toISOString();
  if (form.dataset.sent && form.method === "post") {
    event.preventDefault(); // a double click; the server would give the same answer twice
    return;
  }
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, 5000);
});

window.addEventListener("pageshow", (event) => {
  // Back button: forms can be sent again, and keep their request key.
  if (event.persisted) document.querySelectorAll("form").forEach((form) => delete form.dataset.sent);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-print]");
  if (button) window.print();
});

document.querySelectorAll("input[type=range][data-shows]").forEach((slider) => {
  const shown = document.getElementById(slider.dataset.shows);
  const show = () => (shown.textContent = slider.value);
  slider.addEventListener("input", show);
  show();
});

document.querySelectorAll("[data-refresh]").forEach((part) => {
  // Progress of a job: the part of the page is fetched again until it says that it is done.
  const again = async () => {
    try {
      const answer = await fetch(part.dataset.refresh, { headers: { "X-Part": "yes" } });
      if (answer.redirected) return window.location.reload();
      if (answer.ok) part.innerHTML = await answer.text();
      if (part.querySelector("[data-done]")) return window.location.reload();
    } catch {
      // no connection: try again later
    }
    setTimeout(again, 1500);
  };
  setTimeout(again, 1500);
});

// Field pages: a scanner types over what stands in the box; a form that was kept while logging in is sent at once.
document.querySelectorAll("input[data-select]").forEach((box) => box.select());
document.querySelectorAll("form[data-send-at-once]").forEach((form) => form.requestSubmit());

// The header: the current page's name in sight, an open menu closed by Escape or a tap beside it.
document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
document.addEventListener("click", (event) => document.querySelectorAll(".top details[open]").forEach((menu) => menu.contains(event.target) || (menu.open = false)));
document.addEventListener("keydown", (event) => event.key === "Escape" && document.querySelectorAll(".top details[open]").forEach((menu) => (menu.open = false)));

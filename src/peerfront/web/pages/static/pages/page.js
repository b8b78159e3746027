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
window.addEventListener("load", () => {
  if (!document.querySelector("[data-print=now]")) return;
  const address = new URL(window.location);
  address.searchParams.delete("now"); // loaded again, the page only shows the coupons
  history.replaceState(null, "", address);
  window.print();
});

document.addEventListener("change", (event) => {
  // What was said against a field counts until it is changed.
  const field = event.target.closest(".field.wrong");
  field?.classList.remove("wrong");
  field?.querySelector(".errorlist")?.remove();
});

document.querySelectorAll("[data-questions]").forEach((questions) => {
  // After a choice by finger or mouse, and after Enter, the next question without an answer gets the focus; Enter sends
  // the form when there is none.
  const form = questions.closest("form");
  let tapped = false;
  const next = () => {
    for (const field of questions.querySelectorAll(".field")) {
      const boxes = [...field.querySelectorAll("input, select, textarea")];
      const isEmpty = boxes[0]?.type === "radio" ? !boxes.some((box) => box.checked) : boxes.some((box) => !box.value);
      if (isEmpty) return boxes[0];
    }
    return null;
  };
  questions.addEventListener("pointerdown", () => (tapped = true));
  questions.addEventListener("keydown", () => (tapped = false));
  questions.addEventListener("change", (event) => {
    if (tapped && event.target.type === "radio") (next() ?? form.querySelector("button.large")).focus();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("input, select")) return;
    const empty = form.querySelector("[name=without_answers]:checked") ? null : next();
    if (!empty) return;
    event.preventDefault();
    empty.focus();
  });
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
document.querySelector("input[data-select]")?.select();
document.querySelectorAll("form[data-send-at-once]").forEach((form) => form.requestSubmit());

// The header: the current page's name in sight, an open menu closed by Escape or a tap beside it.
document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
document.addEventListener("click", (event) => document.querySelectorAll(".top details[open]").forEach((menu) => menu.contains(event.target) || (menu.open = false)));
document.addEventListener("keydown", (event) => event.key === "Escape" && document.querySelectorAll(".top details[open]").forEach((menu) => (menu.open = false)));

if (document.documentElement.dir === "rtl") {
  // Sentences that the language's catalogue lacks are English: let them be read aloud so.
  for (const each of document.querySelectorAll("main *:not(bdi, code, .code, script, option)")) {
    const own = [...each.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("");
    if (/[a-z]{3}/i.test(own) && !/[^\P{L}\p{Script=Latin}]/u.test(own)) each.lang = "en";
  }
}

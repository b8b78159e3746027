// Nothing typed is lost when the network goes. A form that records something is sent from here, again and again with the
// same request key until the server has answered, which records it once. What was typed is kept in this tab until then
// (never how to reach somebody), for the same user. Without this file the browser sends forms as ever.
"use strict";
(() => {
  const STORE = "peerfront.unsent";
  const LONGEST_KEPT = 12 * 3600e3;
  const user = document.currentScript.dataset.user;
  const bar = document.getElementById("unsent");
  let sending = null;

  const records = (form) =>
    form.method === "post" && form.querySelector("[name=key]") && !form.matches("[data-native]") && !form.querySelector("[type=file]");
  const address = (form) => form.action.split("#")[0];
  const fieldsOf = (form, button) => {
    const fields = [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
    if (button?.name) fields.push([button.name, button.value]);
    return fields.map(([name, value]) => [name, value.replace(/\r?\n/g, "\r\n")]); // as browsers send them
  };

  function keep(form, fields, pressed) {
    const secret = new Set([...form.querySelectorAll("[data-not-kept]")].map((box) => box.name));
    const kept = fields.filter(([name]) => !secret.has(name));
    const whole = fields.every(([name, value]) => !value || !secret.has(name));
    const entry = { user, at: Date.now(), action: address(form), fields: kept, pressed, whole };
    try {
      sessionStorage.setItem(STORE, JSON.stringify(entry));
    } catch {
      // no room, or not allowed: it is kept on the page alone
    }
  }

  function forget() {
    try {
      sessionStorage.removeItem(STORE);
    } catch {
      // not allowed: nothing was kept
    }
  }

  function kept() {
    try {
      const entry = JSON.parse(sessionStorage.getItem(STORE));
      if (entry?.user === user && Date.now() - entry.at < LONGEST_KEPT) return entry;
    } catch {
      // spoilt
    }
    forget();
    return null;
  }

  function putBack(entry) {
    const shared = (form) => entry.fields.filter(([name]) => form.elements[name]).length;
    const forms = [...document.forms].filter((form) => records(form) && address(form) === entry.action);
    forms.sort((one, other) => shared(other) - shared(one)); // a page may have several
    for (const box of forms[0]?.elements ?? []) {
      const values = entry.fields.filter(([name]) => name === box.name).map(([, value]) => value);
      if (box.type === "checkbox" || box.type === "radio") box.checked = values.includes(box.value);
      else if (values.length) box.value = values[0];
    }
  }

  const warn = (event) => event.preventDefault();
  const token = () => document.querySelector("[name=csrfmiddlewaretoken]").value;
  const whole = () => [["csrfmiddlewaretoken", token()], ...sending.fields];

  async function send() {
    if (!sending || sending.busy) return;
    clearTimeout(sending.timer);
    sending.busy = true;
    const slow = setTimeout(() => (bar.hidden = false), 10_000);
    let answer = null;
    try {
      answer = await fetch(sending.action, {
        method: "POST",
        body: new URLSearchParams(whole()),
        headers: { "X-Sent-By": "script" },
        redirect: "manual",
        signal: AbortSignal.timeout?.(30_000),
      });
    } catch {
      // no connection
    }
    clearTimeout(slow);
    sending.busy = false;
    // An answer of somebody else on the way, and a server that cannot write, are as good as none.
    if (answer?.headers.get("X-Sent-By") === "script" && ![502, 503, 504].includes(answer.status)) return done(answer);
    bar.hidden = false;
    sending.tries += 1;
    sending.timer = setTimeout(send, Math.min(2 ** sending.tries, 30) * 1000);
  }

  function done(answer) {
    const next = answer.headers.get("X-Location");
    forget();
    window.removeEventListener("beforeunload", warn);
    if (next) return window.location.assign(next);
    // A page that is no redirect, such as a refusal: the browser asks for it, and the same key gets the same answer.
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: sending.action, hidden: true });
    for (const [name, value] of whole()) {
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    }
    document.body.append(form);
    form.submit();
  }

  function begin(action, fields) {
    sending = { action, fields, tries: 0 };
    window.addEventListener("beforeunload", warn);
    send();
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("[data-logs-out]")) forget();
    if (event.defaultPrevented || !user || !records(form)) return;
    event.preventDefault();
    if (sending) return;
    const fields = fieldsOf(form, event.submitter);
    keep(form, fields, true);
    form.inert = true; // what is shown is what is sent
    begin(address(form), fields);
  });
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (user && !sending && form && records(form)) keep(form, fieldsOf(form), false);
  });
  window.addEventListener("online", send);
  bar?.querySelector("button").addEventListener("click", send);
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return; // the browser kept the page: its form can be sent again
    sending = null;
    document.querySelectorAll("form[inert]").forEach((form) => (form.inert = false));
  });

  const entry = user ? kept() : null;
  const again = performance.getEntriesByType("navigation")[0]?.type !== "navigate"; // reloaded, or came back
  if (entry?.pressed && entry.whole) begin(entry.action, entry.fields);
  else if (entry && (entry.pressed || again)) putBack(entry);
})();

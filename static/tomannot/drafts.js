// Drafts of answers. Choices stay on the device until the server says which form it stored: they survive a reload
// or crash, and are resent automatically when the network is back. A story's key is its assignment; forms of the
// test and of changed answers are named by data-draft, with the version of the answers that they replace. So a
// resent form counts once and never undoes newer answers. If storage is blocked, the page works without drafts.
(() => {
  "use strict";

  const RETRY = [5, 10, 20, 40, 60]; // seconds between tries while the network is away
  const SETTLED = ["X-Stored-Assignment", "X-Unknown-Assignment"];
  const KEEP = 14 * 24 * 3600 * 1000; // as long as a visit token is valid
  const { stories } = document.currentScript.dataset; // the address that stories are submitted to
  const person = location.pathname.match(/\/work\/(\d+)-/)?.[1];
  const prefix = `draft.${person}.`;
  const one = (selector, root = document) => root.querySelector(selector);
  const forms = () => [...document.querySelectorAll("[data-answers][hx-post]")];
  const form = () => forms()[0]; // the answers; below them may stand the form that skips the story
  const named = (element) => element.dataset.draft;
  const nameOf = (element) => named(element) ?? one("[name=assignment]", element)?.value;
  const WORK = /^.*?\/work\/[^/]+\//; // up to the token, which a newer link replaces
  let tries = 0;
  let timer;
  let resent = false; // without the person pressing the button

  const store = (name, draft) => {
    try {
      if (draft) localStorage.setItem(prefix + name, JSON.stringify(draft));
      else localStorage.removeItem(prefix + name);
    } catch {}
  };
  const stored = () => {
    const drafts = {};
    try {
      for (const name of Object.keys(localStorage)) {
        if (!name.startsWith(prefix)) continue;
        const draft = JSON.parse(localStorage.getItem(name));
        if (Date.now() - draft.at < KEEP) drafts[name.slice(prefix.length)] = draft;
        else localStorage.removeItem(name);
      }
    } catch {}
    return drafts;
  };

  // The server stored this form, or says that it can never store it. The status alone
  // proves neither: an expired link or a proxy may answer 404 too.
  const isSettled = (header, name) => SETTLED.some((said) => header(said) === name);

  const keep = (element, sent) => {
    const fields = [...new FormData(element)].filter(([name]) => named(element) || name !== "assignment");
    const values = Object.fromEntries(fields);
    const path = named(element) && element.getAttribute("action").replace(WORK, "");
    store(nameOf(element), { values, path, sent, at: Date.now() });
  };

  // At most one notice at a time, and it says what is true now: what becomes of answers that were not saved.
  let failed = null; // the form that was not saved
  const tell = ({ restored = false } = {}) => {
    const drafts = stored();
    for (const element of forms()) {
      const draft = drafts[nameOf(element)];
      const kept = !draft ? "nowhere" : draft.sent && timer ? "sent" : "draft";
      for (const text of element.querySelectorAll("[data-kept]")) text.hidden = text.dataset.kept !== kept;
      one("[data-not-saved]", element).hidden = element !== failed;
      one("[data-restored]", element).hidden = failed || !restored || element !== form();
    }
  };

  // Restore the choices: of a story if the server sent a blank form, of other forms over the saved answers.
  const restore = () => {
    const current = form();
    const draft = current && stored()[nameOf(current)];
    if (!draft || (!named(current) && one("input:checked", current))) return;
    let differs = false;
    for (const box of current.querySelectorAll("[type=checkbox][name]")) {
      differs ||= box.checked !== (box.name in draft.values);
      box.checked = box.name in draft.values;
    }
    for (const [name, value] of Object.entries(draft.values)) {
      const text = one(`textarea[name="${CSS.escape(name)}"]`, current);
      if (text && text.value !== value && (!text.value || named(current))) {
        text.value = value;
        text.closest("details")?.setAttribute("open", "");
        differs = true;
      }
      const list = one(`select[name="${CSS.escape(name)}"]`, current);
      if (list && list.value !== value) {
        list.value = value;
        differs = true;
      }
      const input = one(`[type=radio][name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`, current);
      if (!input || input.checked) continue;
      input.checked = differs = true;
    }
    failed = null;
    tell({ restored: differs });
    current.dispatchEvent(new Event("restored", { bubbles: true }));
  };

  // Resend submitted drafts of forms that are no longer on the screen.
  const sendRest = async () => {
    const shown = forms().map(nameOf);
    for (const [name, draft] of Object.entries(stored())) {
      if (!draft.sent || shown.includes(name)) continue;
      const body = new URLSearchParams(draft.path ? draft.values : { ...draft.values, assignment: name });
      const address = draft.path ? stories.match(WORK)[0] + draft.path : stories;
      try {
        const reply = await fetch(address, { method: "POST", body, headers: { "HX-Request": "true" } });
        if (isSettled((said) => reply.headers.get(said), name)) store(name, null);
        await reply.text(); // frees the connection
      } catch {
        return; // still no network: retried on the next page load
      }
    }
  };

  const stopWaiting = () => {
    clearTimeout(timer);
    timer = null;
  };
  const again = () => {
    stopWaiting();
    const current = failed ?? form();
    if (!current?.isConnected || !stored()[nameOf(current)]?.sent) return;
    resent = true;
    current.requestSubmit();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(again, 1000 * RETRY[Math.min(tries++, RETRY.length - 1)]);
  };

  const changed = ({ target }) => {
    if (!target.name) return; // it opens the text, and answers nothing
    const current = target.closest("[data-answers][hx-post]");
    if (!current) return;
    stopWaiting(); // what was changed is sent when the person says so
    keep(current, false);
    if (!failed) return;
    keep(failed, false); // who answers after all does not skip
    tell();
  };
  for (const event of ["change", "input"]) document.addEventListener(event, changed); // words count as they are typed
  document.addEventListener("htmx:beforeRequest", ({ target }) => {
    if (!target.matches("[data-answers]")) return;
    failed = null;
    keep(target, !one(":is(input, select, textarea):invalid", target)); // the server refuses an incomplete form: no need to resend it
    tell();
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const target = detail.requestConfig.elt; // event.target may have been swapped out
    if (!target.matches("[data-answers]")) return;
    const { xhr } = detail;
    const byItself = resent;
    resent = false;
    stopWaiting();
    const settled = isSettled((said) => xhr.getResponseHeader(said), nameOf(target));
    if (settled) {
      tries = 0;
      store(nameOf(target), null);
      store(nameOf(target).replace(/^skip\./, ""), null); // a skipped story needs no answers
      store(`skip.${nameOf(target)}`, null); // nor a story with answers a skip
    } else if (xhr.status === 0 || xhr.status === 429 || xhr.status >= 500) wait();
    // Nothing took the form's place, and no page is on its way: that was no response of ours.
    const isDone = settled || !target.isConnected || xhr.getResponseHeader("HX-Redirect");
    failed = isDone ? null : target;
    if (!failed) return;
    tell();
    // Whoever pressed the button sees what became of it; a try that nobody asked for does not move the page.
    if (!byItself) one("[data-not-saved]", target).scrollIntoView({ block: "nearest" });
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-discard]") && form()) store(nameOf(form()), null);
  });
  addEventListener("online", again);
  document.addEventListener("htmx:afterSwap", restore);

  if (person) {
    restore();
    sendRest();
  }
})();

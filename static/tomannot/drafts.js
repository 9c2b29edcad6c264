// Nothing lost: what is chosen stays on the device until the server says which assignment it stored,
// survives a reload or a crash, and is sent again by itself when the network is back. The lease is the
// key, so sending twice counts once. Where storage is blocked the page works as before, without drafts.
(() => {
  "use strict";

  const RETRY = [5, 10, 20, 40, 60]; // seconds between tries while the network is away
  const SETTLED = ["X-Stored-Assignment", "X-Unknown-Assignment"];
  const KEEP = 14 * 24 * 3600 * 1000; // a visit's address works that long
  const { stories } = document.currentScript.dataset; // the only address that takes a story's answers
  const person = location.pathname.match(/\/work\/(\d+)-/)?.[1];
  const prefix = `draft.${person}.`;
  const one = (selector, root = document) => root.querySelector(selector);
  const form = () => one("[data-answers][hx-post]");
  const lease = (element) => one("[name=assignment]", element)?.value;
  let tries = 0;
  let timer;

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

  // The server's word that it has it, or that it knows no such assignment of this person's. A status alone
  // says neither: a link that works no more, or something between us and the server, may answer 404 as well.
  const isSettled = (header, name) => SETTLED.some((said) => header(said) === name);

  const keep = (element, sent) => {
    const values = Object.fromEntries([...new FormData(element)].filter(([name]) => name !== "assignment"));
    store(lease(element), { values, sent, at: Date.now() });
  };

  // The form as it was left, when the server shows it blank.
  const restore = () => {
    const current = form();
    const draft = current && stored()[lease(current)];
    if (!draft || one("input:checked", current)) return;
    for (const [name, value] of Object.entries(draft.values)) {
      const input = one(`[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`, current);
      if (input) input.checked = true;
    }
    const note = one("[data-restored]", current);
    if (note) note.hidden = false;
  };

  // Forms that were sent without an answer, of stories that are no longer on the screen.
  const sendRest = async () => {
    const current = form();
    for (const [name, draft] of Object.entries(stored())) {
      if (!draft.sent || (current && lease(current) === name)) continue;
      const body = new URLSearchParams({ ...draft.values, assignment: name });
      try {
        const reply = await fetch(stories, { method: "POST", body, headers: { "HX-Request": "true" } });
        if (isSettled((said) => reply.headers.get(said), name)) store(name, null);
      } catch {
        return; // still no network: the next arrival tries again
      }
    }
  };

  const again = () => {
    clearTimeout(timer);
    const current = form();
    if (current && stored()[lease(current)]?.sent) current.requestSubmit();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(again, 1000 * RETRY[Math.min(tries++, RETRY.length - 1)]);
  };

  document.addEventListener("change", ({ target }) => {
    const current = target.closest("[data-answers][hx-post]");
    if (current) keep(current, false);
  });
  document.addEventListener("htmx:beforeRequest", ({ target }) => {
    if (target.matches("[data-answers]")) keep(target, true);
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const target = detail.requestConfig.elt; // by now it may have been swapped out
    if (!target.matches("[data-answers]")) return;
    const { xhr } = detail;
    if (isSettled((said) => xhr.getResponseHeader(said), lease(target))) {
      clearTimeout(timer);
      tries = 0;
      store(lease(target), null);
    } else if (xhr.status === 0 || xhr.status === 429 || xhr.status >= 500) wait();
  });
  addEventListener("online", again);
  document.addEventListener("htmx:afterSwap", restore);

  if (person) {
    restore();
    sendRest();
  }
})();

// Keys, focus and status on the annotators' pages. Every page works without this file.
(() => {
  "use strict";

  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const SLOW = 1500; // milliseconds after which a save is announced as slow
  const DOUBLE_CLICK = 500; // milliseconds in which a click may still be meant for the story before
  const ANNOUNCED = 5000; // milliseconds for which an announcement stays
  const hide = (element, hidden) => element && (element.hidden = hidden);

  // Keys can be switched off (WCAG 2.1.4). Storage may be blocked inside another site's frame.
  const setting = one("[data-keys]");
  const keys = setting && one("input", setting);
  const showKeys = () => document.documentElement.classList.toggle("no-keys", !keys.checked);
  if (keys) {
    try {
      keys.checked = localStorage.getItem("keys") !== "off";
    } catch {}
    keys.onchange = () => {
      showKeys();
      try {
        localStorage.setItem("keys", keys.checked ? "on" : "off");
      } catch {}
    };
    showKeys();
    setting.hidden = false;
  }

  // On a phone, one question at a time (tomannot.css), with the parts of the story that it is about. Where scripts
  // do not run, the questions stand below each other, as they do on wider screens.
  const phone = matchMedia("(max-width: 30rem)");
  const CHOSEN = ":checked:not([value=''])"; // a radio button, or an option of a list that is an answer
  const WORDS = "textarea[name]:not(:placeholder-shown)"; // words were written
  // What may be left open counts as open until it was looked at.
  const isOpen = (row) => {
    const mayStay = row.matches("[data-optional]") && (!phone.matches || row.closest(".question--seen"));
    return !row.closest("[hidden]") && !mayStay && !one(`${CHOSEN}, ${WORDS}`, row);
  };
  const show = (question) => {
    const form = question.closest("[data-answers]");
    const shown = question.dataset.shows.split(" ");
    question.classList.add("question--seen");
    for (const other of all("[data-question]", form)) other.classList.toggle("question--now", other === question);
    for (const part of all("[data-part]", form)) part.classList.toggle("is-off", !shown.includes(part.dataset.part));
    label(form);
    const { top, bottom } = form.getBoundingClientRect();
    if (phone.matches && (top < 0 || bottom > innerHeight) && form.dataset.begun) form.scrollIntoView();
    form.dataset.begun = "yes";
  };
  // The steps say which question is shown and what was answered.
  const label = (form) => {
    const steps = one("[data-steps]", form);
    all("[data-question]", form).forEach((question, at) => {
      const step = steps.children[at] ?? steps.appendChild(document.createElement("button"));
      const told = (answer) => answer.value ?? answer.textContent;
      const chosen = all(`input:checked + label span, ${WORDS}`, question).map(told);
      const answer = chosen.length >= all("[data-row]", question).length ? chosen.join(", ").slice(0, 12) : "";
      step.type = "button";
      step.hidden = question.hidden;
      step.className = answer ? "step step--answered" : "step";
      step.textContent = `${at + 1} ${answer}`;
      step.ariaLabel = `${steps.dataset.steps} ${at + 1} ${answer}`.trim();
      step.ariaCurrent = question.matches(".question--now") ? "step" : null;
    });
  };
  // What somebody chose instead of the suggested option can be seen. A blank form comes with the suggestions.
  const markChanged = (list) => {
    const suggested = list.dataset.suggested ?? [...list.options].find((option) => option.defaultSelected)?.value;
    const option = [...list.options].find(({ value }) => value && value === suggested);
    const { note } = list.closest(".lists").dataset;
    list.parentNode.dataset.note = option && !option.selected ? `${note} ${option.text}` : "";
  };
  // A question that depends on an earlier answer is there once that was given.
  const showDependent = (form) => {
    for (const row of all("[data-after]", form)) {
      const [question, ...options] = row.dataset.after.split(" ");
      const asked = options.includes(one(`[name="${CSS.escape(question)}"]:checked:enabled`, form)?.value);
      hide(row.closest("[data-question]"), !asked);
      for (const field of all("input, textarea", row)) {
        field.disabled = !asked;
        field.required = asked && !row.matches("[data-optional]");
      }
    }
  };
  const begin = (form, { restored } = {}) => {
    showDependent(form);
    for (const list of all(".lists select", form)) markChanged(list);
    const rows = all("[data-row]", form);
    const several = all("[data-question]", form).length > 1;
    form.classList.toggle("stepped", several);
    hide(one("[data-steps]", form), !several);
    const first = rows.find(isOpen) ?? (restored ? rows.at(-1) : rows[0]);
    if (several) show(first.closest("[data-question]"));
  };
  let tapped; // answering by keyboard is another matter: arrow keys try out the answers
  document.addEventListener("click", ({ target }) => {
    const step = target.closest("[data-steps] button");
    const error = target.closest("a[href^='#field-']");
    const form = target.closest("[data-answers]") ?? one("[data-answers]");
    if (step) goTo(one("[data-row]", all("[data-question]", form)[[...step.parentNode.children].indexOf(step)]));
    if (error) goTo(document.getElementById(error.hash.slice(1)));
    if (target.closest(".option label")) tapped = target.closest("label").control;
    else if (target === tapped && form.matches(".stepped") && phone.matches) {
      showDependent(form); // the change is announced after the click
      const rows = all("[data-row]", form);
      const next = rows.slice(rows.indexOf(target.closest("[data-row]"))).find(isOpen) ?? rows.find(isOpen);
      if (next && next.closest("[data-question]") !== target.closest("[data-question]")) goTo(next);
    }
  });
  document.addEventListener("change", ({ target }) => {
    const form = target.closest("[data-answers]");
    if (form) [(form.dataset.touched = "yes"), showDependent(form)];
    if (form?.matches(".stepped")) label(form);
    if (target.matches(".lists select")) markChanged(target);
  });
  document.addEventListener("restored", ({ target }) => begin(target, { restored: true }));

  // On a radio button, arrow keys choose among the answers, as everywhere. They move between questions only
  // if our own keys set the focus (`placed`): otherwise going back would change an answer.
  let placed;
  const goTo = (row) => {
    const question = row?.closest("[data-question]");
    if (question) show(question);
    placed = row ? one("input:checked", row) || one("input, select, textarea", row) : one("[data-answers] [type=submit]");
    placed.focus({ preventScroll: true });
    // Show the question together with the part of the story above it.
    (!phone.matches && question ? question : placed).scrollIntoView({ block: "nearest" });
  };
  let lastList; // that the instructions open at
  document.addEventListener("focusin", ({ target }) => target.matches(".lists select") && (lastList = target));
  const leavePlace = ({ target }) => target !== placed && (placed = null);
  document.addEventListener("focusin", leavePlace);
  document.addEventListener("change", () => (placed = null));

  const move = (rows, target, step) => {
    const row = rows.indexOf(target.closest("[data-row]"));
    const here = target.matches("[type=submit]") ? rows.length : row;
    const missing = rows.findIndex(isOpen);
    // Without a focused question, start at the first open one, or at either end of a complete form.
    const outside = step > 0 ? Math.max(missing, 0) : (missing < 0 ? rows.length : missing) - 1;
    const goal = here < 0 ? outside : here + step;
    if (goal >= 0 && goal <= rows.length) goTo(rows[goal]);
  };

  // Open the instructions at the examples of the current question, above the story or beside it on wide screens
  // (tomannot.css). Closing them restores the position.
  const panel = one(".panel");
  const beside = matchMedia("(min-width: 70rem)");
  let before;
  const openInstructions = (target) => {
    const focus = document.activeElement;
    before = { focus, top: scrollY, placed: focus === placed };
    const row = target.closest("[data-row]") ?? target.closest("[data-question]");
    const name = row && one("[type=radio], select, .words", row)?.name;
    const examples = name && one(`#examples-${CSS.escape(name.split(".")[0])}`, panel);
    if (examples) examples.open = true;
    panel.open = true;
    one("summary", examples ?? panel).focus({ preventScroll: true });
    if (beside.matches) panel.scrollTo(0, examples?.offsetTop ?? 0);
    else (examples ?? panel).scrollIntoView();
  };
  const closeInstructions = () => {
    const inside = panel.contains(document.activeElement);
    panel.open = false;
    if (inside && before) {
      document.activeElement.blur();
      placed = before.placed ? before.focus : null;
      before.focus.focus({ preventScroll: true });
      scrollTo(0, before.top);
    } else if (inside) one("summary", panel).focus();
    before = null;
  };
  // After closing by mouse, keep the position; a phone shows nothing else meanwhile, so it goes back to the question.
  panel?.addEventListener("toggle", () => {
    if (panel.open) return;
    if (before && !beside.matches) {
      before.focus.focus({ preventScroll: true });
      scrollTo(0, before.top);
    }
    before = null;
  });
  document.addEventListener("click", (event) => {
    const help = event.target.closest("[data-help]");
    if (!help || !panel) return;
    event.preventDefault();
    const asked = phone.matches && one(".question--now");
    panel.open ? closeInstructions() : openInstructions(asked || (lastList?.isConnected && lastList) || help);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-examples]");
    if (!link || !panel || !one(link.getAttribute("href"), panel)) return;
    event.preventDefault();
    openInstructions(link);
  });

  // Signs of human work, which the researchers may look at (docs/adr/0044): how many clicks and keys are a person's
  // by the browser's word, or a script's, and the seconds to each answer while the page was looked at. No content.
  const signs = {};
  let byKey = false; // our own click, for a key that was counted
  const sign = ({ type, target, isTrusted }) => {
    const form = one("[data-signs]");
    if (!form) return;
    if (type === "change" && target.matches("[type=radio], select, .words")) {
      signs.seconds[target.name] = (signs.seconds[target.name] ?? 0) + performance.now() - signs.since;
      signs.since = performance.now();
    } else if (type !== "change" && !byKey) signs[isTrusted ? "trusted" : "untrusted"]++;
    const times = Object.entries(signs.seconds).map(([name, time]) => `${name}:${(time / 1000).toFixed(1)}`);
    const field = form.elements._signs ?? form.appendChild(document.createElement("input"));
    Object.assign(field, { type: "hidden", name: "_signs" });
    field.value = [signs.trusted, signs.untrusted, ...times].join(" ");
  };
  for (const type of ["click", "keydown", "change"]) document.addEventListener(type, sign, true);
  const beginSigns = (form) => {
    const story = form.elements.assignment?.value ?? "";
    if (signs.story === story) return; // an incomplete form came back
    Object.assign(signs, { story, trusted: 0, untrusted: 0, seconds: {}, since: performance.now() });
  };
  let leftAt = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) leftAt = performance.now();
    else signs.since += performance.now() - Math.max(signs.since, leftAt);
  });

  const BACK = document.documentElement.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
  const STEPS = { Backspace: -1, ArrowUp: -1, ArrowDown: 1, ArrowLeft: 1, ArrowRight: 1, [BACK]: -1 };
  const CHOOSES = "input, textarea, select, [contenteditable]";

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const form = one("[data-answers]");
    if (!form || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    if (key === "Escape" && panel?.open) return closeInstructions();
    if (!keys?.checked || target.closest("textarea, [contenteditable], input:not([type=radio], [type=checkbox])")) return;
    if (target.closest("select") && key !== "?") return;
    const rows = all("[data-row]", form);
    const missing = rows.filter(isOpen);
    const question = target.closest("[data-question]");
    const own = question ? all("[data-row]", question) : missing;
    const row = target.closest("[data-row]") ?? own.find((one) => missing.includes(one)) ?? own[0];

    if (key === "?" && panel) {
      event.preventDefault();
      panel.open ? closeInstructions() : openInstructions(target);
    } else if (target.closest(".panel") || (event.shiftKey && (key in STEPS || key === "Enter"))) {
      return; // no keys inside the instructions, and Shift selects text; but some keyboards need Shift for digits
    } else if (key === "Enter") {
      // On inputs, buttons and links, Enter does what the browser does.
      if (target.closest("input, button, a, summary")) return;
      event.preventDefault();
      if (missing.length) goTo(missing[0]);
      else if (!one(".lists", form)) form.requestSubmit(); // suggested options are not yet anybody's answers
    } else if (key in STEPS) {
      // Otherwise, up and down scroll the page.
      if (target !== placed && key !== "Backspace" && (target.matches(CHOOSES) || /Up|Down/.test(key))) return;
      event.preventDefault();
      move(rows, target, STEPS[key]);
    } else {
      const input = row && one(`[data-key="${CSS.escape(key)}"]`, row);
      if (!input) return;
      event.preventDefault();
      byKey = true;
      input.click();
      byKey = false;
      if (input.type === "checkbox") return; // there may be more to choose
      const next = missing.filter((other) => other !== row);
      goTo(next.find((other) => rows.indexOf(other) > rows.indexOf(row)) ?? next[0]);
    }
  });

  const arrive = () => {
    // Show the server's UTC times in local time.
    for (const time of all("time[data-local]")) {
      const { local } = time.dataset;
      const style = local === "date" ? {} : { hour: "2-digit", minute: "2-digit" };
      if (["day", "seconds"].includes(local)) style.second = "2-digit";
      if (["day", "date"].includes(local)) Object.assign(style, { year: "numeric", month: "long", day: "numeric" });
      const { lang } = document.documentElement; // of it, the variety that the browser prefers
      const variety = navigator.languages.find((one) => one.split("-")[0] === lang);
      time.textContent = new Date(time.dateTime).toLocaleString(variety ?? lang, style);
    }
    const form = one("[data-answers]");
    if (form) [begin(form), beginSigns(form)];
    return one("#work [role=alert]:not([hidden])");
  };

  // Of an incomplete form, focus the first question without an answer, below the alert that lists them all.
  const land = (heading) => {
    const alert = arrive();
    const missing = alert && one("#work .row:has(> .error) :is(input, select, textarea)");
    (missing ?? alert ?? heading)?.focus({ preventScroll: true });
    (missing ?? alert)?.scrollIntoView({ block: "nearest" });
  };

  // Prevent double submission; the server would not count it twice either. The button keeps the focus.
  let slow;
  const busy = (form, sending) => {
    clearTimeout(slow);
    for (const button of all("[type=submit]", form)) button.ariaDisabled = sending ? "true" : null;
    const note = one("[data-slow]", form);
    const status = one("#status");
    const announce = (text) => status && (status.textContent = text);
    hide(note, true);
    if (sending && note) slow = setTimeout(() => [hide(note, false), announce(note.textContent)], SLOW);
    else if (note && status?.textContent === note.textContent) announce("");
  };
  // A second click, or one that met an automatic resend, would find the blank form of the next story.
  let arrived = -Infinity;
  const isMeantForTheLast = (form) => performance.now() - arrived < DOUBLE_CLICK && !form.dataset.touched;
  addEventListener("submit", (event) => {
    if (!event.target.matches("[data-answers]") || !isMeantForTheLast(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  // On a phone, a question that may be left open is shown before the form is sent.
  addEventListener("submit", (event) => {
    const unseen = event.target.matches(".stepped") && all("[data-row]", event.target).find(isOpen);
    if (!phone.matches || !unseen || unseen.closest(".question--seen")) return;
    event.preventDefault();
    event.stopPropagation();
    goTo(unseen);
  }, true);
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[hx-post]")) return;
    if (one("[type=submit][aria-disabled]", event.target)) return event.preventDefault();
    setTimeout(() => busy(event.target, true));
  });
  addEventListener("pageshow", () => all("form").forEach((form) => busy(form, false)));
  document.addEventListener("htmx:beforeRequest", ({ target }) => busy(target, true));
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.xhr.getResponseHeader("HX-Redirect")) busy(detail.requestConfig.elt, false);
  });

  // Refusals and incomplete forms come with a page: show it whatever its status.
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // Other responses are not ours (a network's sign-in page, say): keep the form, marked as not saved.
    detail.shouldSwap = detail.xhr.responseText.includes('id="work"');
    detail.isError = !detail.shouldSwap;
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (panel && !beside.matches) panel.open = false;
    before = null;
    arrived = performance.now();
    const heading = one("#work h1");
    document.title = document.title.replace(/^.*?(?= · )/s, () => heading.textContent.trim());
    scrollTo(0, 0);
    land(heading);
    // The address may name an earlier receipt, which a reload would show as if it were the newest.
    if (/^\?(receipt|skipped)=/.test(location.search)) history.replaceState(null, "", location.pathname);
    // Announced once: it also stands on the page, where it would be read a second time.
    const status = one("#status");
    const said = (status.textContent = one("#work .receipt")?.textContent ?? "");
    setTimeout(() => status.textContent === said && (status.textContent = ""), ANNOUNCED);
  });
  // While the page is looked at, its story stays reserved; 409 says that it no longer is, or was for long enough.
  let held, renewed;
  const renew = async () => {
    const form = one("[data-renew]");
    const story = form && one("[name=assignment]", form).value;
    if (story !== held) [held, renewed] = [story, Date.now()];
    if (!form || document.hidden || Date.now() - renewed < 1000 * form.dataset.every) return;
    renewed = Date.now();
    const body = new URLSearchParams({ held });
    // A sandboxed frame has no origin: it may send this, though not read what comes back.
    const reply = await fetch(form.dataset.renew, { method: "POST", mode: "no-cors", body }).catch(() => null);
    if (reply?.status === 409 && story === held) renewed = Infinity;
  };
  setInterval(renew, 5000);
  document.addEventListener("visibilitychange", renew);

  addEventListener("beforeprint", () => all("details").forEach((part) => (part.open = true)));
  land();
})();

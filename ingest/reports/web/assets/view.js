/* The view of the page: tabs, inputs, answer, derivation, link, print. It computes nothing: `Ingest` answers.

   Beyond the interface at the head of arithmetic.js, the view shows, where they are given:
     Ingest.edition    text at the right of the title, such as "ingest 0.9.0, catalogs of 2026-11-20"
     Ingest.tabs       [{id, label}] in order; otherwise the keys of Ingest.forms
     field.more        true: under "Further inputs"; field.placeholder: text of an empty box
     choices           [{value, label, note}], or [value, label, note], or text
     headline          {name, label, display, range, level, scene}: scene says what is sized ("CosmoFlow on 1,024 × …");
                       with all: [{name, word}] several quantities, each followed by its word
     row.range         low and high end as text
     answer.tables     [{title, columns: [{label}], rows: [[text]], notes: [text]}], after the quantities
     answer.flips      such a table whose `rest` finds its rows one by one, when the reader pauses; `none` where there are none
     answer.beyond     true of an error where the command line answers and the page cannot
     answer.field      name of the input that an error is about
     answer.leader     inputs with which the first of a comparison is answered alone, sooner than all of them
     answer.sources    [{title, where, grade}]; otherwise gathered from the derivations of all rows
     answer.rungs, answer.chart   as in charts.js; points may be a generator, which the view asks for one point at a time
                       when the reader pauses, so that a key never waits for a chart */
(function () {
  "use strict";

  const { forms } = Ingest;
  const TABS = Ingest.tabs ?? Object.keys(forms).map((id) => ({ id, label: id }));
  const VERSION = "1", LONGEST = 300, FEW = 9, BETWEEN_KEYS = 120;
  const find = (id) => document.getElementById(id);
  const panel = find("panel"), fieldset = find("fields"), dialog = find("derivation");
  const state = { tab: TABS[0].id, set: Object.fromEntries(TABS.map(({ id }) => [id, {}])) };
  let answer = null, notices = [], edited = null, turnOf = 0, cost = 0;

  function make(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== "" && child !== false));
    return made;
  }

  /** A text whose words do not break at their hyphens, as options do not. */
  const whole = (text) => text.split(/(\S*-\S+)/).map((part, place) => (place % 2 ? make("span", { class: "whole" }, part) : part));

  /** Run `work` once, `wait` ms after the last call; `.flush()` runs it now if it waits. */
  function later(work, wait) {
    let timer = 0;
    const run = () => { timer = 0; work(); };
    const call = () => { clearTimeout(timer); timer = setTimeout(run, wait); };
    call.flush = () => { if (timer) { clearTimeout(timer); run(); } };
    call.stop = () => { clearTimeout(timer); timer = 0; };
    return call;
  }

  const choicesOf = (field) => (field.choices ?? []).map((choice) => {
    if (typeof choice === "string") return { value: choice, label: choice, note: "" };
    if (Array.isArray(choice)) return { value: choice[0], label: choice[1] ?? choice[0], note: choice[2] ?? "" };
    return { label: choice.value, note: "", ...choice };
  });
  /** What a box begins with; nothing where the reader has set an input that stands in its place. */
  const defaultOf = (field, tab = state.tab) => ((field.yields ?? []).some((name) => state.set[tab][name]) ? "" : String(field.default ?? ""));
  const values = (tab = state.tab) => Object.fromEntries(forms[tab].map((field) => [field.name, state.set[tab][field.name] ?? defaultOf(field, tab)]));
  const inFields = (text) => Ingest.inFields(state.tab, String(text));

  /* Link */

  const plain = (text) => encodeURIComponent(text).replace(/%20/g, "+").replace(/%(2F|3A|2C|40)/g, decodeURIComponent);

  /** The name of an input in a link, cut to the letters that no other input of the tab begins with. */
  function cut(name) {
    const others = forms[state.tab].filter((field) => field.name !== name);
    for (let size = 2; size < name.length; size++) if (!others.some((field) => field.name.startsWith(name.slice(0, size)))) return name.slice(0, size);
    return name;
  }

  function fragment() {
    const set = forms[state.tab].filter(({ name }) => name in state.set[state.tab]).map(({ name }) => name);
    const whole = (word) => `#${[`v=${VERSION}`, `tab=${state.tab}`, ...set.map((name) => `${plain(word(name))}=${plain(state.set[state.tab][name])}`)].join("&")}`;
    return [whole((name) => name), whole(cut)].find((written) => written.length <= LONGEST) ?? null;
  }

  function link(push) {
    const next = fragment();
    find("notices").querySelector(".long")?.remove();
    if (next === null) {
      find("notices").append(make("p", { class: "notice long" }, `These inputs are too long for a link of ${LONGEST} characters. Copy the command instead.`));
      return;
    }
    if (next === location.hash) return;
    history[push ? "pushState" : "replaceState"](null, "", next);
  }
  const relink = later(() => { link(edited?.fresh ?? false); if (edited) edited.fresh = false; }, 250);

  function decoded(text) {
    try {
      return decodeURIComponent(text.replace(/\+/g, " "));
    } catch {
      return text;
    }
  }

  const clipped = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

  /** Take the state from the link; what the page does not know becomes a notice. */
  function readLink() {
    notices = [];
    const pairs = location.hash.slice(1).split("&").filter(Boolean).map((pair) => {
      const [name, ...rest] = pair.split("=");
      return [decoded(name), decoded(rest.join("="))];
    });
    const given = new Map(pairs);
    const version = given.get("v"), tab = given.get("tab");
    if (version !== undefined && version !== VERSION) notices.push(`The link has version ${clipped(version)}; this page reads version ${VERSION}.`);
    if (tab !== undefined && !Object.hasOwn(forms, tab)) notices.push(`The link asks for “${clipped(tab)}”, which is not a tab of this page.`);
    if (tab === undefined && pairs.length) notices.push(`The link names no tab, so this is “${TABS[0].id}”. Links read #v=${VERSION}&tab=ID&input=value.`);
    state.tab = tab !== undefined && Object.hasOwn(forms, tab) ? tab : TABS[0].id;
    const known = forms[state.tab].map(({ name }) => name), set = {}, unknown = [];
    for (const [name, value] of given) {
      if (name === "v" || name === "tab") continue;
      const meant = known.includes(name) ? [name] : known.filter((one) => name.length > 1 && one.startsWith(name));
      if (meant.length === 1) set[meant[0]] = value;
      else unknown.push(clipped(name));
    }
    if (unknown.length) notices.push(`The link holds ${unknown.slice(0, 5).map((name) => `“${name}”`).join(", ")}${unknown.length > 5 ? " and more" : ""}: not an input of this tab, therefore ignored.`);
    state.set[state.tab] = set;
  }

  /* Inputs */

  /** Where an answer takes as long as from one key to the next, the keys that wait already go before it. */
  const soon = later(() => show(), 0);

  function change(field, text) {
    const set = state.set[state.tab];
    if ((set[field.name] ?? defaultOf(field)) === text) return;
    if (text === defaultOf(field)) delete set[field.name];
    else set[field.name] = text;
    if (edited?.name !== field.name) edited = { name: field.name, fresh: true };
    for (const other of forms[state.tab].filter(({ name, yields }) => yields?.includes(field.name) && !(name in set))) {
      const value = defaultOf(other);
      find(`in-${other.name}`).value = choicesOf(other).find((choice) => choice.value === value)?.label ?? value;
    }
    notices = [];
    if (cost < BETWEEN_KEYS) show();
    else {
      settle.stop(); // the tables and sources of the last answer would ask for this one first
      turnOf++;
      find("answer").setAttribute("aria-busy", "true");
      const first = answer.leader && !(field.name in answer.leader) && Ingest.answer(state.tab, { ...values(), ...answer.leader });
      if (first?.ok) {
        showHead(headOf(first), " (first in the last comparison, comparing again …)");
        requestAnimationFrame(() => requestAnimationFrame(soon)); // once it is drawn
      } else soon();
    }
    relink();
  }

  function listed(field, input, choices) {
    const list = make("ul", { role: "listbox", id: `${input.id}-list`, "aria-label": field.label, hidden: true });
    const labelOf = (value) => choices.find((choice) => choice.value === value)?.label ?? value;
    const matching = (text) => {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = choices.map((choice) => [choice, `${choice.value} ${choice.label} ${choice.note}`.toLowerCase()]).filter(([{ value }, whole]) => value && words.every((word) => whole.includes(word)));
      const late = ([, whole]) => (words.every((word) => ` ${whole}`.includes(` ${word}`)) ? 0 : 1);
      if (fits.length || !field.list) return fits.sort((a, b) => late(a) - late(b)).map(([choice]) => choice);
      const id = Ingest.meant(field.list, text);
      return choices.filter(({ value }) => value === id);
    };
    let active = -1, shown = [];
    const current = () => state.set[state.tab][field.name] ?? defaultOf(field);
    const exact = (text) => {
      const low = text.trim().toLowerCase();
      return choices.find((choice) => choice.value.toLowerCase() === low || choice.label.toLowerCase() === low);
    };
    const mark = (place) => {
      list.children[active]?.classList.remove("active");
      active = place;
      const option = list.children[active];
      option?.classList.add("active");
      option?.scrollIntoView({ block: "nearest" });
      if (option?.id) input.setAttribute("aria-activedescendant", option.id);
      else input.removeAttribute("aria-activedescendant");
    };
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      mark(-1);
    };
    const open = (all) => {
      shown = all ? choices : matching(input.value);
      list.replaceChildren(...shown.map((choice, place) => make("li", { role: "option", id: `${input.id}-${place}`, "aria-selected": String(choice.value === current()) },
        make("span", {}, choice.label), make("small", {}, choice.note || (choice.label === choice.value ? "" : choice.value)))));
      if (!shown.length) list.append(make("li", { role: "option", "aria-disabled": "true", "aria-selected": "false", class: "empty" }, "No entry of the catalogs"));
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      active = -1;
      // Of several rows none is taken unasked: what was typed may mean another one.
      const only = shown.length === 1 && `${shown[0].value} ${shown[0].label}`.toLowerCase().includes(input.value.trim().toLowerCase());
      mark(all ? shown.findIndex((choice) => choice.value === current()) : only ? 0 : -1);
    };
    const pick = (value) => {
      close();
      input.value = labelOf(value);
      change(field, value);
    };
    const settle = () => {
      const text = input.value.trim();
      if (!text) pick(defaultOf(field));
      else if (text === labelOf(current())) close();
      else pick(exact(text)?.value ?? text);
    };
    input.value = labelOf(current());
    input.addEventListener("click", () => (list.hidden ? open(true) : close()));
    input.addEventListener("focus", () => input.select());
    input.addEventListener("input", () => {
      open(false);
      const found = exact(input.value);
      if (found) change(field, found.value);
    });
    input.addEventListener("blur", () => { settle(); });
    input.addEventListener("keydown", (event) => {
      const { key } = event, last = shown.length - 1;
      if (key === "ArrowDown" || key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) open(true);
        else mark(key === "ArrowDown" ? (active >= last ? 0 : active + 1) : (active <= 0 ? last : active - 1));
      } else if (key === "Enter") {
        event.preventDefault();
        if (!list.hidden && active >= 0) pick(shown[active].value);
        else settle();
      } else if (key === "Tab" && !list.hidden && active >= 0 && !exact(input.value)) pick(shown[active].value);
      else if (key === "Escape" && !list.hidden) {
        event.stopPropagation();
        close();
        input.value = labelOf(current());
      }
    });
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const place = [...list.children].indexOf(event.target.closest("[role=option]"));
      if (shown[place]) pick(shown[place].value);
    });
    return list;
  }

  function fieldBox(field) {
    const id = `in-${field.name}`, words = field.help;
    const help = words ? `${id}-help` : undefined, choices = choicesOf(field);
    const value = state.set[state.tab][field.name] ?? defaultOf(field);
    let control, box;
    if (field.kind === "choice" && choices.length <= FEW && choices.some((choice) => choice.value === value)) {
      control = make("select", { id, "aria-describedby": help, onchange: () => change(field, control.value) },
        ...choices.map((choice) => make("option", { value: choice.value, selected: choice.value === value }, choice.label)));
      box = make("div", { class: "box pick" }, control);
    } else if (field.kind === "choice") {
      control = make("input", { id, type: "text", role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": `${id}-list`,
        "aria-describedby": help, spellcheck: "false", maxlength: 100 });
      box = make("div", { class: "box pick" }, control);
      box.append(listed(field, control, choices));
    } else {
      control = make("input", { id, type: "text", inputmode: field.kind === "number" ? "decimal" : undefined, "aria-describedby": help, spellcheck: "false",
        placeholder: field.placeholder, maxlength: 100, oninput: () => change(field, control.value.trim()) });
      control.value = value;
      box = make("div", { class: "box" }, control, field.unit && make("span", { class: "unit", "aria-hidden": "true" }, field.unit));
    }
    control.addEventListener("blur", () => { relink.flush(); edited = null; });
    control.dataset.name = field.name;
    const label = make("label", { for: id }, field.label, field.unit && make("span", { class: "unseen" }, `, ${field.unit}`));
    return make("div", { class: "field" }, label, box, help && make("p", { class: "help", id: help }, words));
  }

  function buildForm() {
    const fields = forms[state.tab], further = fields.filter((field) => field.more);
    fieldset.replaceChildren(...fields.filter((field) => !field.more).map(fieldBox));
    if (further.length) {
      const open = further.some(({ name }) => name in state.set[state.tab]);
      fieldset.append(make("details", { class: "more", open }, make("summary", {}, "Further inputs"), ...further.map(fieldBox)));
    }
  }

  function buildTabs() {
    find("tabs").replaceChildren(...TABS.map(({ id, label }) => make("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "panel",
      onclick: () => choose(id) }, label)));
  }

  function markTabs() {
    for (const { id } of TABS) {
      const tab = find(`tab-${id}`), own = id === state.tab;
      tab.setAttribute("aria-selected", String(own));
      tab.tabIndex = own ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${state.tab}`);
  }

  /** Turn to another tab; inputs of the same name that the reader set go along. */
  function choose(tab) {
    if (tab === state.tab) return;
    soon.flush();
    relink.flush();
    const from = state.set[state.tab];
    for (const field of forms[tab]) {
      const fits = field.name in from && !(field.name in state.set[tab]) && (field.kind !== "choice" || choicesOf(field).some(({ value }) => value === from[field.name]));
      if (fits && from[field.name] !== defaultOf(field)) state.set[tab][field.name] = from[field.name];
    }
    state.tab = tab;
    notices = [];
    edited = null;
    turn();
    link(true);
  }

  function turn() {
    markTabs();
    buildForm();
    show();
  }

  /* Answer */

  /** "808.1 MB/s (770.7 MiB/s)  [808,138,857.1 B/s]" as the value and what follows it. */
  function halves(display) {
    const [, first, rest] = /^(.*?)\s*([([].*)?$/s.exec(display);
    return first ? { first, rest: (rest ?? "").replace(/\s+/g, " ") } : { first: display, rest: "" };
  }

  /** The same value in binary units, and exactly, in words. */
  function further(display) {
    const { rest } = halves(display), binary = /\(([^)]*)\)/.exec(rest), exact = /\[(.*)\]/.exec(rest);
    return [binary?.[1], exact && `exactly ${exact[1]}`].filter(Boolean).join(", ");
  }

  /** "827.5 GB/s (770.7 GiB/s)" as number, unit and the rest. */
  function parts(display) {
    const [, number, unit, rest] = /^([-+~≥≤<>]*\s?[\d.,]+(?:e[-+]?\d+)?)(?:\s+([^(]*?))?(?:\s*(\(.*\)))?$/i.exec(display) ?? [null, display, "", ""];
    return { number, unit: unit ?? "", rest: rest ?? "" };
  }

  function rangeOf(row) {
    if (row.range !== undefined || row.low == null || row.high == null) return row.range ?? "";
    const [low, high] = [row.low, row.high].map((end) => IngestCharts.scaled(end, row.unit));
    const unit = low.replace(/^\S+/, "");
    return low === high ? low : `${unit && high.endsWith(unit) ? low.slice(0, -unit.length) : low} – ${high}`;
  }
  const headOf = (found) => {
    const head = typeof found.headline === "string" ? { name: found.headline } : found.headline;
    const row = found.rows.find(({ name }) => name === head.name) ?? found.rows[0];
    const scene = head.scene?.endsWith(`: ${found.basis}`) ? head.scene.slice(0, -found.basis.length - 2) : head.scene;
    const all = (head.all ?? []).map((one) => ({ ...found.rows.find(({ name }) => name === one.name), ...one })).filter(({ display }) => display);
    const said = all.map(({ display, word }) => `${halves(display).first} ${word}`).join(" · ");
    return { ...row, range: rangeOf(row), level: found.basis, ...head, ...(all.length ? { display: said, range: "" } : {}), all, scene };
  };

  function numberButton(row, kind) {
    const { number, unit, rest } = parts(row.display);
    return make("button", { type: "button", class: kind, "data-name": row.name, "aria-haspopup": "dialog" }, number,
      kind === "big" ? unit && make("span", {}, ` ${unit}`) : make("span", { class: "unit" }, ` ${unit}`),
      rest && make("span", { class: "unseen" }, ` ${rest}`));
  }

  let drawn = "";
  function showRows(rows, head) {
    const region = find("quantities").querySelector(".scroll"), key = rows.map(({ name, label }) => `${name}\t${label}`).join("\n") + head;
    const ranged = rows.some((row) => rangeOf(row));
    if (key + ranged !== drawn) {
      region.replaceChildren(make("table", { class: "stack" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Quantity"), make("th", { scope: "col", class: "n typical" }, ranged ? "Typical" : "Value"), ranged && make("th", { scope: "col", class: "n" }, "Low – high"))),
        make("tbody", {}, ...rows.map((row) => make("tr", { class: row.name === head ? "main" : undefined }, make("th", { scope: "row" }, row.label), make("td", { class: "n" }), ranged && make("td", { class: "n" }))))));
      drawn = key + ranged;
    }
    region.querySelectorAll("tbody tr").forEach((line, place) => {
      const row = rows[place], cell = line.children[1], range = rangeOf(row);
      if (cell.dataset.shown !== row.display) {
        cell.replaceChildren(numberButton(row, "number"));
        cell.dataset.shown = row.display;
      }
      if (ranged && line.children[2].textContent !== range) line.children[2].textContent = range;
    });
  }

  /** A cell without its value in binary units, which the derivation shows. */
  const decimal = (cell) => String(cell).replace(/ \([\d.,]+ [KMGTPE]iB[^)]*\)/g, "");
  const AMOUNT = /^[≥≤<>~]?[\d.,]+\*?( (per )?\S+\*?)?$|^unknown$/;
  /** A table without the columns that are empty; lines of one column are a list. */
  function tableOf({ title, columns, rows, notes }) {
    const kept = columns.map((_, place) => place).filter((place) => rows.some((row) => row[place]));
    const amounts = kept.filter((place) => rows.filter((row) => AMOUNT.test(decimal(row[place]))).length > rows.length / 2);
    const kind = (text, place) => (place && amounts.includes(place) ? "n" : /^\S{1,24}$|^.{1,8}$/.test(text) ? "tight" : undefined);
    const cell = (row, place) => make(place ? "td" : "th", { scope: place ? undefined : "row", class: kind(row[place], place), "data-label": columns[place].label }, decimal(row[place]));
    if (!title && kept.length === 2) return ""; // the quantities once more
    const lines = [...(kept.length > 1 ? [] : rows.map((row) => decimal(row.join(" ")))), ...(notes ?? [])];
    return make("section", {}, title && make("h2", {}, title),
      kept.length > 1 && make("div", { class: "scroll", role: "region", "aria-label": title, tabindex: 0 },
        make("table", { class: kept.length > 3 ? `cards${kept.length > 6 ? " dense" : ""}` : undefined },
          make("thead", {}, make("tr", {}, ...kept.map((place) => make("th", { scope: "col", class: kind(columns[place].label, place) }, columns[place].label)))),
          make("tbody", {}, ...rows.map((row) => make("tr", { class: row.includes("chosen") && "main" }, ...kept.map((place) => cell(row, place))))))),
      lines.length > 0 && make("ul", { class: "levels" }, ...lines.map((line) => make("li", {}, ...whole(inFields(line))))));
  }

  const speak = later(() => {
    if (!answer) return;
    if (!answer.ok) { find("spoken").textContent = inFields(answer.error); return; }
    const head = headOf(answer), count = answer.warnings.length;
    find("spoken").textContent = [`${head.label}: ${head.display}`, head.range && `range ${head.range}`, head.level && `evidence ${head.level}`, count && `${count} caution${count > 1 ? "s" : ""}`].filter(Boolean).join(", ");
  }, 700);

  /** The number that answers the question; `note` follows its label. */
  function showHead(head, note = "") {
    find("question").textContent = head.label + note;
    const range = head.range && head.range !== head.display;
    const big = head.all.length ? make("p", { class: "bigs" }, ...head.all.map((one) => make("span", {}, numberButton(one, "big"), ` ${one.word}`))) : numberButton(head, "big");
    find("headline").replaceChildren(...[head.scene && make("p", { class: "scene" }, head.scene), big,
      make("dl", { class: "marks" }, range && make("div", {}, make("dt", {}, "Range"), make("dd", {}, head.range)),
        !head.all.length && parts(head.display).rest && make("div", {}, make("dt", {}, "Binary units"), make("dd", {}, parts(head.display).rest.slice(1, -1))),
        head.level && make("div", {}, make("dt", {}, "Evidence level"), make("dd", {}, head.level)))].filter(Boolean));
    find("echo").replaceChildren(halves(head.display).first, make("span", {}, `  ${head.label}`));
  }

  function show() {
    turnOf++;
    const start = performance.now();
    answer = Ingest.answer(state.tab, values());
    cost = performance.now() - start;
    find("answer").removeAttribute("aria-busy");
    const { ok } = answer, tab = TABS.find(({ id }) => id === state.tab);
    find("notices").replaceChildren(...notices.map((text) => make("p", { class: "notice", role: "alert" }, text)));
    for (const id of ["quantities", "figures", "sources"]) find(id).hidden = !ok;
    find("cautions").hidden = !ok || !answer.warnings.length;
    for (const control of fieldset.querySelectorAll("[data-name]")) {
      if (!ok && control.dataset.name === answer.field) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
    find("command").hidden = find("copy").disabled = !answer.command;
    find("command").querySelector("code").replaceChildren(...whole(answer.command ?? ""));
    const next = answer.next;
    find("next").hidden = !next;
    find("next").replaceChildren(...(next ? [`${next.text}: `, make("code", {}, ...whole(next.command))] : []));
    find("download").disabled = !ok;
    find("done").textContent = "";
    if (ok) {
      const head = headOf(answer);
      showHead(head);
      showRows(answer.rows, head.name);
      find("cautions").querySelector("ul").replaceChildren(...answer.warnings.map(({ id, text }) => make("li", {}, id && make("span", { class: "code" }, id), make("span", {}, ...whole(inFields(text))))));
      document.title = `${halves(head.display).first}, ${tab.label}: storage sizing for AI training`;
    } else {
      find("echo").replaceChildren();
      find("question").textContent = tab.label;
      find("headline").replaceChildren(make("p", { class: "refusal" }, inFields(answer.error)), answer.beyond ? make("p", {}, "This case is beyond the page. The command below answers it.") : "");
      document.title = `${tab.label}: storage sizing for AI training`;
    }
    settle();
    speak();
  }

  /* What may wait until the reader pauses: tables, charts, sources */

  const curves = new WeakMap();
  const settle = later(() => {
    const mine = ++turnOf;
    if (!answer.ok) return;
    find("tables").replaceChildren(...(answer.tables ?? []).map(tableOf));
    drawFlips(mine);
    drawFigures(mine);
    collectSources(mine);
  }, 350);

  /** Do the steps of some work, between the events of the reader; a later answer ends it. */
  function stepwise(mine, now, step) {
    if (mine === turnOf && step()) {
      if (now) stepwise(mine, now, step);
      else setTimeout(() => stepwise(mine, now, step), 0);
    }
  }

  /** The values at which a verdict turns; the table comes when all are found. */
  function drawFlips(mine, now) {
    const { flips } = answer;
    if (!flips?.rest) return;
    stepwise(mine, now, () => {
      const { done: all, value } = flips.rest.next();
      if (value) flips.rows.push(value);
      if (!all) return true;
      flips.rest = null;
      find("tables").append(tableOf(flips.rows.length ? flips : { ...flips, columns: [{ label: "" }], rows: [[flips.none]] }));
      return false;
    });
  }

  function drawFigures(mine, now) {
    const made = answer, place = find("figures"), old = place.querySelector(".curve"), figures = [];
    const zoom = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const width = Math.max(260, Math.min(760, (place.clientWidth || 640) / zoom));
    if (made.rungs?.length > 1) {
      const title = "Evidence levels", picture = IngestCharts.rungs(made.rungs, made.rungs[0].unit ?? "", title, width);
      if (picture) figures.push(make("figure", {}, make("figcaption", {}, title), picture,
        make("ul", { class: "levels" }, ...made.rungs.filter(({ why }) => why).map(({ label, why }) => make("li", {}, make("b", {}, label), `: ${inFields(why)}`)))));
    }
    if (!curves.has(made)) {
      const chart = made.chart, listed = Array.isArray(chart?.points);
      curves.set(made, chart && { ...chart, points: listed ? chart.points : [], rest: listed ? null : chart.points });
    }
    const chart = curves.get(made);
    place.replaceChildren(...figures, ...(chart && old ? [old] : []));
    if (!chart) return;
    stepwise(mine, now, () => {
      const next = chart.rest?.next();
      if (next && !next.done) {
        chart.points.push(next.value);
        return true;
      }
      chart.rest = null;
      place.replaceChildren(...figures, ...curveFigure(chart, width));
      return false;
    });
  }

  function curveFigure(chart, width) {
    const { x, y, points, title } = chart, picture = IngestCharts.curve(chart, width);
    if (!picture) return [];
    const amount = (value) => (value === null || value === undefined ? "" : IngestCharts.scaled(value, y.unit));
    const heads = [x.label, y.label, "Low – high"].map((text, place) => make("th", { scope: "col", class: place ? "n" : undefined }, text));
    const lines = points.map((point) => make("tr", {}, make("th", { scope: "row" }, IngestCharts.scaled(point.x, x.unit)), make("td", { class: "n" }, amount(point.y)),
      make("td", { class: "n" }, point.low == null ? "" : `${amount(point.low)} – ${amount(point.high)}`)));
    return [make("figure", { class: "curve" }, make("figcaption", {}, title), picture,
      make("details", {}, make("summary", {}, "Values"), make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines))))];
  }

  const cited = ({ title, where, grade }) => [make("span", { class: "title" }, title), where ? `, ${where}` : "", grade ? make("span", { class: "grade" }, ` (${grade})`) : ""];

  function gather(tree, into) {
    for (const source of tree.sources ?? []) into.set(`${source.title}\t${source.where}`, source);
    for (const part of tree.parts ?? []) gather(part, into);
  }

  function collectSources(mine, now) {
    const found = new Map(), names = answer.rows.map(({ name }) => name), given = values();
    const write = () => {
      find("sources").querySelector("ol").replaceChildren(...[...found.values()].map((source) => make("li", {}, ...cited(source).filter(Boolean))));
      find("sources").hidden = !found.size;
    };
    if (answer.sources) {
      gather(answer, found);
      write();
      return;
    }
    stepwise(mine, now, () => {
      const name = names.shift();
      if (name === undefined) {
        write();
        return false;
      }
      const tree = Ingest.derivation(state.tab, given, name);
      if (tree) gather(tree, found);
      return true;
    });
  }

  /* Derivation */

  function explained(tree) {
    const sources = tree.sources ?? [], below = tree.parts ?? [];
    return [tree.definition && make("p", {}, inFields(tree.definition)), further(tree.display) && make("p", { class: "cite" }, further(tree.display)), tree.formula && make("p", { class: "formula code" }, tree.formula),
      ...sources.map((source) => make("p", { class: "cite" }, ...cited(source).filter(Boolean))),
      below.length > 0 && make("h3", {}, "From"), ...below.map(branch)].filter(Boolean);
  }

  function branch(tree) {
    const inside = make("div"), made = make("details", {}, make("summary", {}, make("span", {}, tree.label), make("span", {}, halves(tree.display).first)), inside);
    made.addEventListener("toggle", () => { if (made.open && !inside.childNodes.length) inside.append(...explained(tree)); });
    return made;
  }

  function derive(name) {
    soon.flush();
    const tree = Ingest.derivation(state.tab, values(), name);
    if (!tree) return;
    find("derivation-title").replaceChildren(tree.label, make("strong", {}, halves(tree.display).first));
    dialog.querySelector(".tree").replaceChildren(...explained(tree));
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  /* Take away */

  function done(text) {
    find("done").textContent = text;
  }

  async function copy() {
    soon.flush();
    try {
      await navigator.clipboard.writeText(answer.command);
      done("Command copied");
    } catch {
      getSelection().selectAllChildren(find("command").querySelector("code"));
      done("Command selected: copy it with the keyboard");
    }
  }

  function download() {
    soon.flush();
    const file = Ingest.siteFile(values());
    if (file.error) { done(`site.yaml not saved: ${inFields(file.error)}`); return; }
    const url = URL.createObjectURL(new Blob([file.text], { type: "application/yaml" }));
    make("a", { href: url, download: "site.yaml" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    done("site.yaml saved");
  }

  function paper() {
    soon.flush();
    relink.flush();
    settle.flush();
    const given = values(), shown = (field) => choicesOf(field).find(({ value }) => value === given[field.name])?.label ?? given[field.name];
    find("given").querySelector("tbody").replaceChildren(...forms[state.tab].filter((field) => given[field.name] !== "").map((field) => make("tr", {}, make("th", { scope: "row" }, field.label),
      make("td", {}, `${shown(field)}${field.unit ? ` ${field.unit}` : ""}`))));
    if (!answer.ok) return;
    drawFlips(++turnOf, true);
    drawFigures(turnOf, true);
    collectSources(turnOf, true);
  }

  /* Events */

  function begin() {
    find("edition").textContent = Ingest.edition ?? "";
    buildTabs();
    readLink();
    turn();
    find("tabs").addEventListener("keydown", (event) => {
      const place = TABS.findIndex(({ id }) => id === state.tab), last = TABS.length - 1;
      const next = { ArrowRight: place === last ? 0 : place + 1, ArrowLeft: place ? place - 1 : last, Home: 0, End: last }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      choose(TABS[next].id);
      find(`tab-${TABS[next].id}`).focus();
    });
    find("inputs").addEventListener("submit", (event) => event.preventDefault());
    find("inputs").addEventListener("reset", (event) => {
      event.preventDefault();
      state.set[state.tab] = {};
      notices = [];
      turn();
      link(true);
    });
    find("answer").addEventListener("click", (event) => {
      const button = event.target.closest("[data-name]");
      if (button) derive(button.dataset.name);
    });
    find("skip").addEventListener("click", (event) => {
      event.preventDefault();
      find("answer").focus();
    });
    find("copy").addEventListener("click", copy);
    find("download").addEventListener("click", download);
    find("print").addEventListener("click", () => print());
    find("close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    window.addEventListener("beforeprint", paper);
    window.addEventListener("pagehide", () => relink.flush());
    let seen = location.hash;
    const follow = () => {
      if (location.hash === fragment()) return;
      seen = location.hash;
      readLink();
      turn();
    };
    window.addEventListener("popstate", follow);
    window.addEventListener("hashchange", () => { if (location.hash !== seen) follow(); });
    window.addEventListener("resize", later(() => { if (answer.ok) drawFigures(turnOf); }, 200));
  }

  begin();
})();

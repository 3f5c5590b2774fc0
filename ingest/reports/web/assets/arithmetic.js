/* The questions of the page: `window.Ingest`, which the user interface asks.

   The arithmetic, the choice of evidence, the refusals and the texts are those of the command line: `javascript.py` prints
   the modules of the package, `runtime.js` gives them what Python means, `catalog.js` reads the embedded catalogs.

     Ingest.edition            version and catalogs, as text
     Ingest.tabs               [{id, label}] in order
     Ingest.catalog            {models, gpus, nodes, storage, corpora, formats, …: [{id, name}]}
     Ingest.forms[tab]         [{name, label, kind: choice|number|quantity|text, unit, default, choices: [{value, label, note}],
                               help, placeholder, more}]: names are options of the command, values are text as one types it
     Ingest.meant(kind, name)  the id that a name stands for, as tools print it and people type it; null for none or several
     Ingest.answer(tab, values)
       {ok: true, headline: {name, scene}, rows: [{name, label, display, range, low, high, value, unit}], basis, rungs, tables,
        warnings: [{id, text}], command, chart, next}
       {ok: false, error, field, command}   error: the line of the command line, without "ingest: "; beyond: true where only
                               the command line has an answer
     Ingest.derivation(tab, values, name)   tree of {label, display, formula, definition, sources: [{title, where, grade}], parts}
     Ingest.command(tab, values), Ingest.siteFile(values): {text} or {ok: false, error}                                                                   */
window.Ingest = (() => {
  "use strict";
  const { data } = $;
  const catalog = new $.Catalog();
  const of = (module, name) => $.modules[`ingest.${module}`][name];
  const text = (value) => String($.str(value));

  /* Inputs */

  const lists = {};
  for (const [kind, entries] of Object.entries(data.catalogs.entries)) lists[kind] = Object.entries(entries).map(([id, one]) => ({ id, name: one.name ?? id, class: one.family ?? one.holds }));
  // Those with an entry of their own first, then those that are known by their structure alone, as `catalog list` has them.
  const structures = Object.keys(data.architectures).filter((id) => !Object.hasOwn(data.catalogs.entries.models, id)).sort();
  lists.models.push(...structures.map((id) => ({ id, name: id, note: data.architectures[id][0]?.split(" ")[0].split("/")[0] })));
  /** The entry that a name stands for, in any spelling; null where it is none or several. */
  const meant = (kind, name) => {
    try {
      const id = kind === "models" ? catalog.model_id(name) : name;
      return catalog.find(kind, id) ?? (lists[kind].some((one) => one.id === id) ? id : null);
    } catch (error) {
      if (error instanceof $.BaseException) return null;
      throw error;
    }
  };
  const choices = (field) => (field.list ? [...(field.optional ? [{ value: field.none ?? "", label: field.optional }] : []),
    ...lists[field.list].filter((one) => !field.among || field.among.includes(one.class)).map(({ id, name, note = id }) => ({ value: id, label: name, note }))] : field.choices);
  const forms = Object.fromEntries(Object.entries(data.forms).map(([tab, fields]) => [tab, fields.map((field) => ({ ...field, choices: choices(field) }))]));

  /** What the reader gave: inputs that differ from what the command takes without them. */
  const given = (tab, values) => forms[tab].map((field) => [field, String(values[field.name] ?? field.default ?? "").trim()]).filter(([field, value]) => value !== "" && value !== field.usual);
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);
  const option = (name) => `--${name.replace(/_/g, "-")}`;
  function command(tab, values) {
    if (tab === "plan") {
      const { storage, units } = Object.fromEntries(given(tab, values).map(([field, value]) => [field.name, value]));
      return storage ? `ingest fit site.yaml --storage ${quoted(storage)}${units ? ` --units ${quoted(units)}` : ""} --flip` : "ingest plan site.yaml";
    }
    const words = given(tab, values).map(([field, value]) => (field.place ? quoted(value) : field.flag ? option(field.name) : `${option(field.name)} ${quoted(value)}`));
    return ["ingest", QUESTIONS[tab].command, ...words].join(" ");
  }

  /** A line of the package in words of a tab: options are called as their fields are, and advice that no field takes is left out. */
  function inFields(tab, line) {
    const called = (name) => forms[tab].find((field) => field.name === name.replace(/-/g, "_"))?.label;
    const nameOf = (way) => /^--set ([a-z_]+)|^--([a-z-]+)/.exec(way)?.slice(1).find(Boolean) ?? "";
    const advised = line.replace(/; (?:set|use) (--[^;]+)$/, (_, ways) => {
      const kept = ways.split(" or ").filter((way) => called(nameOf(way)));
      return kept.length ? `; set ${kept.join(" or ")}` : "";
    });
    const option = /(?<![\w-])--(?:set ([a-z_]+)(?:=\S+)?|([a-z-]+))/g;
    // What stands in backticks is a command to run.
    return advised.split("`").map((part, place) => (place % 2 ? part : part.replace(option, (_, quantity, name) => {
      const label = called(quantity ?? name);
      return label ? `“${label}”` : plain(quantity ?? name.replace(/-/g, "_"));
    }))).join("`");
  }

  /** The command of the question that follows on this one, whose simulations are beyond the page: it takes the same options. */
  const NEXT = {
    bw: ["feed", "Whether loaders and latency let the GPUs reach this, with the curve of utilization"],
    checkpoint: ["goodput", "How much of the time is progress, by the bandwidth bought"],
  };
  const next = (tab, values) => NEXT[tab] && { text: NEXT[tab][1], command: command(tab, values).replace(QUESTIONS[tab].command, NEXT[tab][0]) };

  /* Answers */

  const rowOf = (name, quantity, own = "") => {
    const [label, display, range] = of("reports.pages.sizing", "_value_row")(name, quantity);
    return { name, label: of("reports.labels", "capitalised")(own || label), display, range, low: quantity.low, high: quantity.high, value: quantity.value, unit: quantity.unit };
  };
  const tables = (answer) => [...$.m.items(answer.tables)].map(([name, rows]) => {
    const section = of("reports.pages.sizing", "_answer_table")(name, rows);
    const columns = section.columns.some(Boolean) ? section.columns : [];
    return { title: section.title, columns: columns.map((label, place) => ({ label, number: place > 0 && section.rows.every((row) => /^[-≥≤<>~]?\s?[\d.]|^$/.test(row[place])) })), rows: section.rows.map((row) => [...row].map(text)), notes: section.lines.map(text) };
  });
  const warnings = (answer) => [...(answer.unmet && !answer.systems ? [`NOT MET: ${text(answer.unmet)}`] : []), ...answer.warnings].map((line) => ({ id: line.rule ?? "", text: text(line) }));

  /** The answer in one line: its verb, and each value with its words. */
  const headlineOf = (answer) => {
    const [verb, parts] = of("reports.page", "headline")(answer.question, answer.results);
    const name = parts[0]?.name;
    return parts.length < 2 ? { name } : { name, label: verb, all: parts.map(({ name, around, value }) => ({ name, display: value, word: around.replace("{}", "").trim() })) };
  };

  const bandwidth = {
    command: "bw", label: "Bandwidth", headline: "mandatory_read_bandwidth",
    ask(options) {
      const found = $.worded(of("sizing.bandwidth", "bw"), [], { ...options, catalogs: catalog });
      return found instanceof of("sizing.bandwidth", "Scenarios") ? $.beyond("these are several scenarios, the page shows one") : found;
    },
    rows(answer) {
      return [...answer.results.entries()].map(([name, item]) => rowOf(name, item));
    },
    more(answer, options) {
      const blind = of("sizing.evidence_ladder", "blind_words");
      const rate = of("reports.pages.sizing", "_rate_of")(answer), unit = of("engine.registry", "unit_of")(rate).replace(/\/s\/GPU$/, "s/s");
      const rungs = answer.levels.filter(([, results]) => results.has(rate)).map(([level, results], place) => {
        const [, display, range] = of("reports.pages.sizing", "_value_row")(rate, results.at(rate));
        const { value, low, high } = results.at(rate);
        return { level: level.basis, label: level.basis, value, low, high, display, range, unit, used: place === 0, bound: level.basis === "peak", why: [text(level.note), blind(level.basis)].filter(Boolean).join("; ") };
      });
      // The estimate stands beside the bandwidth to require where both differ.
      const said = headlineOf(answer), both = said.all?.some(({ name }) => name === "ingest_bandwidth_per_job");
      const headline = { name: this.headline, scene: text(answer.title), ...(both ? said : {}) };
      return { basis: answer.basis, rungs, ...(answer.results.has(this.headline) ? { headline } : {}), get chart() { return curve(answer, options); } };
    },
  };

  /** The read bandwidth of the job over the number of nodes. */
  function curve(answer, options) {
    const own = answer.nodes, most = Math.max(own, 2), sizes = new Set([own]);
    for (let size = 1; size <= most * 4; size *= 2) sizes.add(size);
    const chosen = [...sizes].sort((a, b) => a - b).slice(-9);
    function* points() {
      for (const nodes of chosen) {
        try {
          const found = bandwidth.ask({ ...options, nodes }).results.at("ingest_bandwidth_per_job");
          if (found) yield { x: nodes, y: found.value, low: found.low, high: found.high };
        } catch { /* beyond the largest job */ }
      }
    }
    return { title: "Read bandwidth of the job by number of nodes", x: { label: "Nodes", unit: "" }, y: { label: "Read bandwidth", unit: "B/s" }, points: points(), own };
  }

  /** A command whose answer is results, tables and warnings. */
  const plainly = (name, module, label) => ({
    command: name, label,
    ask: (options) => $.worded(of(module, name), [], { ...options, catalogs: catalog }),
    rows(answer) {
      const own = of("reports.pages.sizing", "own_labels")(answer);
      return [...answer.results.entries()].map(([result, quantity]) => rowOf(result, quantity, own.at(result)));
    },
    more: (answer) => ({ headline: { scene: text(answer.title), ...headlineOf(answer) },
      tables: () => [...tables(answer), ...tabled(of("reports.page", "unknown_section")(answer.unknown, of("reports.pages.sizing", "own_labels")(answer)))] }),
  });

  const numeric = (cell) => /^[-≥≤<>~–]?\s?[\d.,]*\d|^$|^–$/.test(cell);
  /** A section of a page as a table; its lines as rows of one column. */
  function tabled(section) {
    // Values without a title are the rows of the answer.
    const rows = section.title || section.columns.some((one) => $.t(one)) ? section.rows.map((row) => [...row].map(text)) : [], lines = [...section.lines].map((line) => [text(line)]), found = [];
    const heads = section.columns.some((one) => $.t(one)) ? section.columns.map(text) : (rows[0] ?? []).map(() => "");
    if (rows.length) found.push({ title: text(section.title), columns: heads.map((label, place) => ({ label, number: place > 0 && rows.every((row) => numeric(row[place])) })), rows });
    if (lines.length) found.push({ title: rows.length ? "" : text(section.title), columns: [{ label: "" }], rows: lines });
    return found;
  }
  const fit = {
    command: "fit", label: "Fit",
    ask(options) {
      const flags = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, forms.fit.some((field) => field.name === name && field.flag) ? value !== "" : value]));
      return $.worded(of("storage.fit", "fit"), [], { ...flags, catalogs: catalog });
    },
    one: (answer) => (answer.systems.length === 1 ? answer.systems[0] : null),
    rows(answer) {
      const own = fit.one(answer), needed = [...answer.needed.entries()].map(([name, item]) => rowOf(name, item));
      return [...needed, ...(own ? [...own.results.entries()].filter(([name]) => !answer.needed.has(name)).map(([name, item]) => rowOf(name, item)) : [])];
    },
    more(answer) {
      const best = answer.systems[0], rows = fit.rows(answer);
      const headline = { name: rows[0]?.name, scene: text(of("reports.pages.storage", "fits_title")(answer)) };
      if (best) {
        const [, units] = of("reports.pages.storage", "_row")(best);
        Object.assign(headline, { label: `${of("reports.labels", "capitalised")(text(best.verdict))}: ${text(best.entry.name)}`, display: text(units) || text(best.entry.id), range: "" });
        if (fit.one(answer)) headline.name = "units_required";
      }
      const sections = () => [...of("reports.pages.storage", "fits_page")(answer).sections].slice(1).filter((section) => !/^(Assumptions|Sources)/.test(section.title));
      return { headline, leader: fit.one(answer) || !best ? undefined : { storage: best.entry.id }, tables: () => sections().flatMap(tabled) };
    },
    derivation: (answer, name) => {
      const own = fit.one(answer), first = answer.systems[0];
      return first ? first.answer.derivation(own ? own.quantity(name) : name) : null;
    },
  };

  /** How far from the value of today a flip of a small site is searched, and in how many steps. */
  const FAR = 100, STEPS = 12;
  /** What a small site reads, writes and holds. */
  function needOf({ parts }) {
    const value = (name) => parts.find(([part]) => part.results.has(name))?.[0].results.at(name).value ?? 0;
    const need = { read_bandwidth: value("mandatory_read_bandwidth"), write_bandwidth: value("checkpoint_write_bandwidth"), capacity: value("usable_bytes") + value("checkpoint_retained_bytes") };
    return Object.fromEntries(Object.entries(need).filter(([, number]) => number));
  }
  /** The values of inputs at which a system as it is chosen today meets the need no longer, or begins to, by asking again; undefined after each question. */
  function* flipsOf(options, answer, best) {
    const { need_of, from_numbers } = $.modules["ingest.storage.need"], { display } = $.modules["ingest.units"];
    const judge = $.call(of("storage.fit", "chosen"), best, of("storage.fit", "ONE_SPARE"), catalog), job = $.call(of("sizing.job", "Job"));
    const judged = (asked) => judge($.call(need_of, null, $.worded(from_numbers, [], needOf(asked)), job, catalog));
    const today = judged(answer).fits;
    const inputs = [["nodes", answer.read.nodes, "1"], ["tokens", answer.held?.known.value("tokens"), "token"], ["copies", answer.held && Number(options.copies ?? 1), "1"], ["keep", answer.saved && Number(options.keep ?? 3), "1"]];
    for (const [name, value, unit] of inputs.filter(([, one]) => one > 0)) {
      const whole = unit === "1", label = forms.plan.find((field) => field.name === name).label;
      const at = (one) => judged(site.parts({ ...options, [name]: String(one) })), turns = (one) => at(one).fits !== today;
      for (const side of [1, -1]) {
        let inner = value, outer = null;
        try {
          for (let step = 1; step <= STEPS && outer === null; step++) {
            const far = value * FAR ** ((side * step) / STEPS), next = whole ? Math.max(Math.round(far), 1) : far;
            if (next === inner) continue;
            if (turns(next)) outer = next;
            else inner = next;
            yield;
          }
          while (outer !== null && Math.abs(outer - inner) > (whole ? 1 : inner / 10_000)) {
            const middle = whole ? Math.round((inner + outer) / 2) : (inner + outer) / 2;
            if (turns(middle)) outer = middle;
            else inner = middle;
            yield;
          }
        } catch (error) {
          if (!$.caught(error, [of("errors", "IngestError")])) throw error;
          continue; // no site has this value
        }
        if (outer === null) continue;
        const then = at(outer), sign = whole ? { 1: "≥", [-1]: "≤" }[side] : { 1: ">", [-1]: "<" }[side];
        yield [label, display(value, unit), `${sign} ${display(outer, unit)}`, then.fits ? text(then.verdict) : `${text(then.verdict)}: ${text(then.narrow?.layer.name)}`];
      }
    }
  }

  /** The parts of a small site, each as its own command answers it: what one run reads and saves, and what the data take. */
  const site = {
    command: "plan", label: "Small site",
    ask(options) {
      const found = site.parts(options), { storage, units } = options;
      return { ...found, fits: storage && storage !== "all" ? fit.ask({ ...needOf(found), storage, ...(units && { units }) }) : null };
    },
    parts(options) {
      const { model, node, nodes, mode, keep, tokens, copies } = options, given = (words) => Object.fromEntries(Object.entries(words).filter(([, word]) => word !== undefined));
      if (copies?.includes("=")) throw $.call(of("errors", "IngestError"), `--copies: found '${copies}', expected a number: a site has one kind of data here`);
      const read = bandwidth.ask(given({ model, node, nodes }));
      if (read.incomplete) throw $.call(of("errors", "IngestError"), read.incomplete);
      const gpus = String(read.results.at("gpus").value), asked = (name, words) => $.worded(of(`sizing.${name}`, name), [], { ...given(words), catalogs: catalog });
      // A model of unknown size has no checkpoint that could be sized, and one without progress no site.
      const saved = $.t(read.model.parameters) || catalog.isArchitecture(read.model.id) ? asked("checkpoint", { model, gpus, gpu: read.gpu.id, mode, keep }) : null;
      if (saved && $.t(saved.unmet)) throw $.call(of("errors", "IngestError"), saved.unmet);
      const held = tokens === undefined || !read.model.tokens_per_sample ? null : asked("dataset", { tokens, copies, format: "megatron" });
      const parts = [[read, "mandatory_read_bandwidth ingest_bandwidth_per_job ingest_bandwidth_per_node file_opens_per_second_per_job gpus"],
        [saved, "checkpoint_write_bandwidth checkpoint_bytes checkpoint_interval restart_read_bandwidth checkpoint_retained_bytes"], [held, "usable_bytes dataset_bytes dataset_files"]].filter(([part]) => part);
      return { title: `${text(read.title)}: one run and its data; the command gives the requirement lines of the site`, read, saved, held, parts, warnings: parts.flatMap(([part]) => [...part.warnings]) };
    },
    rows: (answer) => answer.parts.flatMap(([part, names]) => names.split(" ").filter((name) => part.results.has(name)).map((name) => rowOf(name, part.results.at(name)))),
    /** What the storage has to deliver and to hold, as the answer of `plan` says it. */
    more(answer, options) {
      const found = answer.fits, best = found && fit.one(found);
      const flips = best && { title: `What turns the verdict on ${text(best.entry.name)}: ${text(best.verdict)} today`, rows: [], rest: flipsOf(options, answer, best),
        columns: ["Input", "Today", "Turns at", "There"].map((label) => ({ label })), notes: ["Held against reads, checkpoint writes and bytes alone; the command holds every requirement line of the site."],
        none: `No number of the above turns it between 1/${FAR} of its value and ${FAR} times as much.` };
      const all = [["mandatory_read_bandwidth", "read"], ["checkpoint_write_bandwidth", "checkpoint write"], ["usable_bytes", "of data"], ["checkpoint_retained_bytes", "of checkpoints"]];
      return { headline: { name: all[0][0], label: "Needs", all: all.map(([name, word]) => ({ name, word })), scene: text(answer.title) }, flips, tables: () => (found ? fit.more(found).tables() : []) };
    },
    derivation: (answer, name) => answer.parts.find(([part]) => part.results.has(name))?.[0].derivation(name) ?? null,
  };

  const QUESTIONS = {
    bw: bandwidth,
    checkpoint: plainly("checkpoint", "sizing.checkpoint", "Checkpoint"),
    dataset: plainly("dataset", "sizing.dataset", "Data set"),
    fit,
    vectors: plainly("vectors", "sizing.vectors", "Vectors"),
    rl: plainly("rl", "sizing.post_training", "Post-training"),
    train: plainly("train", "sizing.train", "Training run"),
    memory: plainly("memory", "sizing.memory", "Memory"),
    plan: site,
  };

  let last = { key: null };
  /** The answer of the package, or its refusal; the last one is kept for derivations. */
  function asked(tab, values) {
    const options = Object.fromEntries(given(tab, values).map(([field, value]) => [field.name, value])), key = JSON.stringify([tab, options]);
    if (last.key !== key) {
      last = { key, options };
      try {
        last.answer = QUESTIONS[tab].ask(options);
        if (tab === "bw" && last.answer.incomplete) throw $.call(of("errors", "IngestError"), last.answer.incomplete);
      } catch (error) {
        last.error = error;
      }
    }
    return last;
  }
  function refusal(tab, values, error) {
    const words = command(tab, values);
    if (error instanceof $.Beyond) return { ok: false, beyond: true, error: `${of("reports.labels", "capitalised")(error.message)}; the command line answers it.`, command: words };
    if (!(error instanceof of("errors", "IngestError"))) throw error;
    const line = of("errors", "shortened")(text(error.message).split(/\s+/).join(" ").replace(/\p{C}/gu, "\ufffd"), 292);
    const named = /^--([a-z-]+)/.exec(line), field = named && forms[tab].find(({ name }) => name === named[1].replace(/-/g, "_"));
    return { ok: false, error: line, field: field?.name, command: words };
  }

  function answer(tab, values) {
    const found = asked(tab, values);
    if (found.error) return refusal(tab, values, found.error);
    const question = QUESTIONS[tab], rows = question.rows(found.answer);
    const headline = rows.some(({ name }) => name === question.headline) ? question.headline : rows[0]?.name;
    const base = { ok: true, headline: { name: headline, scene: text(found.answer.title) }, rows, warnings: warnings(found.answer), command: command(tab, values), next: next(tab, values) };
    const more = question.more?.(found.answer, found.options) ?? {}, drawn = more.tables ?? (() => (found.answer.tables ? tables(found.answer) : []));
    // Tables are made when they are drawn: no key waits for them.
    let made;
    return Object.defineProperty(Object.defineProperties(base, Object.getOwnPropertyDescriptors(more)), "tables", { enumerable: true, get: () => (made ??= drawn()) });
  }

  /* Derivations */

  const plain = (name) => of("reports.labels", "plain")(name);
  const source = (id, where, grade) => ({ title: text(catalog.source(id).title), where: text(where), grade });
  function explained(step, seen) {
    const { display, exact } = $.modules["ingest.units"], unit = of("engine.registry", "unit_of")(step.name);
    const value = Number(step.value), shown = display(value, unit), exactly = `${exact(value)} ${unit}`.replace(/ 1$/, "");
    const tree = { label: of("reports.labels", "capitalised")(plain(step.name)), display: shown + (exactly === shown ? "" : `  [${exactly}]`), sources: [], parts: [] };
    if (step.formula !== null) {
      const made = step.formula.tree(), prose = of("engine.expression", "prose"), numbers = new Map([...step.inputs].map((part) => [part.name, exact(part.value)]));
      tree.formula = `${prose(made, plain)}\n= ${prose(made, (name) => numbers.get(name))}`;
      tree.definition = text(step.formula.meaning);
      if (!["", "definition"].includes(step.formula.source)) tree.sources.push(source(step.formula.source, step.formula.where, "formula"));
      if (!seen.has(step)) {
        seen.add(step);
        tree.parts = [...step.inputs].map((part) => explained(part, seen));
      }
      return tree;
    }
    const item = step.source;
    if (item === null) {
      const declared = of("engine.registry", "INPUTS").__getitem__(step.name);
      tree.definition = `By definition: ${text(declared.meaning)}`;
      if (declared.source) tree.sources.push(source(declared.source, "", ""));
      return tree;
    }
    const words = { user: "Given by you", default: "Assumed", catalog: item.grade ? of("reports.labels", "capitalised")(text(item.grade)) : "From the catalogs" };
    tree.definition = (words[item.origin] ?? text(item.origin)) + (text(item.note) ? `: ${text(item.note)}` : "");
    if (item.source) tree.sources.push(source(item.source, item.where, item.grade));
    tree.parts = [...item.parts].map((part) => ({ label: text(part.what), display: `${exact(part.value)} ${unit}`.replace(/ 1$/, ""), definition: text(part.advice), sources: part.source ? [source(part.source, part.where, part.grade)] : [], parts: [] }));
    return tree;
  }
  function derivation(tab, values, name) {
    const found = asked(tab, values);
    if (found.error) return null;
    try {
      const step = QUESTIONS[tab].derivation ? QUESTIONS[tab].derivation(found.answer, name) : found.answer.derivation(name);
      return step && explained(step, new Set());
    } catch (error) {
      if (error instanceof $.BaseException) return null;
      throw error;
    }
  }

  /** The inputs of the small site: those of the tab at hand, and else those that it begins with. */
  function siteInputs(values) {
    const { Gpu, Node } = $.modules["ingest.catalog.records"], known = (kind, id) => lists[kind].some((one) => one.id === id);
    const given = Object.fromEntries(forms.plan.map(({ name, default: usual }) => [name, values[name] || (name in values && !["model", "node", "nodes"].includes(name) ? "" : usual)]));
    if (!values.node && known("gpus", values.gpu)) given.node = catalog.get(Gpu, values.gpu).usual_node || given.node;
    if (!values.nodes && Number(values.gpus) > 0 && known("nodes", given.node)) given.nodes = String(Math.ceil(Number(values.gpus) / catalog.get(Node, given.node).gpus_per_node.value));
    return given;
  }
  /** A site file of one job and its data, as {text}; what `plan` would refuse of them, as {error}. */
  function siteFile(values) {
    const { name, model, node, nodes, mode, keep, tokens, copies } = siteInputs(values);
    const found = asked("plan", { model, node, nodes, mode, keep, tokens, copies });
    if (found.error) return refusal("plan", values, found.error);
    const { read, saved, held } = found.answer, samples = $.t(read.model.dataset_samples) && read.model.encodings.size;
    const data = { copies: copies || undefined }, corpus = held ? { tokens, format: "megatron", ...data } : samples ? { model: read.model.id, ...data } : null;
    const training = { cluster: "main", model, nodes, checkpoint: saved ? { mode, keep } : undefined, data: corpus ? "corpus" : undefined };
    const written = { format: 2, name: name.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").trim() || "My site", start: new Date().getFullYear(), clusters: { main: { node, count: nodes } },
      jobs: { training }, datasets: corpus ? { corpus } : undefined };
    return { text: `# Written by ${$.data.edition}: complete it, then run "ingest plan site.yaml".\n${Yaml.document(written)}` };
  }

  return {
    edition: data.edition, catalog: lists, forms, meant, inFields, command, answer, derivation, siteFile,
    tabs: Object.entries(QUESTIONS).map(([id, { label }]) => ({ id, label })),
  };
})();

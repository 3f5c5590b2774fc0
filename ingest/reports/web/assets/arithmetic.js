/* The questions of the page: `window.Ingest`, which the user interface asks.

   The arithmetic, the choice of evidence, the refusals and the texts are those of the command line: `javascript.py` prints
   the modules of the package, `runtime.js` gives them what Python means, `catalog.js` reads the embedded catalogs.

     Ingest.edition            version and catalogs, as text
     Ingest.tabs               [{id, label}] in order
     Ingest.catalog            {models, gpus, nodes, storage, corpora, formats, …: [{id, name}]}
     Ingest.forms[tab]         [{name, label, kind: choice|number|quantity|text, unit, default, choices: [{value, label, note}],
                               help, placeholder, more}]: names are options of the command, values are text as one types it
     Ingest.answer(tab, values)
       {ok: true, headline: {name, scene}, rows: [{name, label, display, range, low, high, value, unit}], basis, rungs, tables,
        warnings: [{id, text}], command, chart}
       {ok: false, error, field, command}   error: the line of the command line, without "ingest: "; beyond: true where only
                               the command line has an answer
     Ingest.derivation(tab, values, name)   tree of {label, display, formula, definition, sources: [{title, where, grade}], parts}
     Ingest.command(tab, values), Ingest.siteYaml(values)                                                                     */
window.Ingest = (() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const catalog = new $.Catalog();
  const of = (module, name) => $.modules[`ingest.${module}`][name];
  const text = (value) => String($.str(value));

  /* Inputs */

  const lists = {};
  for (const [kind, entries] of Object.entries(data.catalogs.entries)) lists[kind] = Object.entries(entries).map(([id, one]) => ({ id, name: one.name ?? id, class: one.family ?? one.holds }));
  const choices = (field) => (field.list ? [...(field.optional ? [{ value: "", label: field.optional }] : []),
    ...lists[field.list].filter((one) => !field.among || field.among.includes(one.class)).map(({ id, name }) => ({ value: id, label: name, note: id }))] : field.choices);
  const forms = Object.fromEntries(Object.entries(data.forms).map(([tab, fields]) => [tab, fields.map((field) => ({ ...field, choices: choices(field) }))]));

  /** What the reader gave: inputs that differ from what the command takes without them. */
  const given = (tab, values) => forms[tab].map((field) => [field, String(values[field.name] ?? field.default ?? "").trim()]).filter(([field, value]) => value !== "" && value !== field.usual);
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);
  const option = (name) => `--${name.replace(/_/g, "-")}`;
  function command(tab, values) {
    const words = given(tab, values).map(([field, value]) => (field.place ? quoted(value) : `${option(field.name)} ${quoted(value)}`));
    return ["ingest", QUESTIONS[tab].command, ...words].join(" ");
  }

  /* Answers */

  const rowOf = (name, quantity) => {
    const [label, display, range] = of("reports.pages.sizing", "_value_row")(name, quantity);
    return { name, label: of("reports.labels", "capitalised")(label), display, range, low: quantity.low, high: quantity.high, value: quantity.value, unit: quantity.unit };
  };
  const tables = (answer) => [...$.m.items(answer.tables)].map(([name, rows]) => {
    const section = of("reports.pages.sizing", "_answer_table")(name, rows);
    const columns = section.columns.some(Boolean) ? section.columns : [];
    return { title: section.title, columns: columns.map((label, place) => ({ label, number: place > 0 && section.rows.every((row) => /^[-≥≤<>~]?\s?[\d.]|^$/.test(row[place])) })), rows: section.rows.map((row) => [...row].map(text)), notes: section.lines.map(text) };
  });
  const warnings = (answer) => [...answer.warnings].map((line) => ({ id: line.rule ?? "", text: text(line) }));

  const bandwidth = {
    command: "bw", label: "Bandwidth", headline: "ingest_bandwidth_per_job",
    ask(options) {
      const found = $.worded(of("sizing.bandwidth", "bw"), [], { ...options, catalogs: catalog });
      return found instanceof of("sizing.bandwidth", "Scenarios") ? $.beyond("these are several scenarios, the page shows one") : found;
    },
    rows(answer) {
      const rate = of("reports.pages.sizing", "_rate_of")(answer), results = answer.results;
      const shown = of("reports.pages.sizing", "SHOWN").filter((name) => results.has(name) && (name !== "samples_per_second_per_gpu" || rate === name));
      return shown.map((name) => rowOf(name, results.at(name)));
    },
    more(answer, options) {
      const rate = of("reports.pages.sizing", "_rate_of")(answer), unit = of("engine.registry", "unit_of")(rate).replace(/\/s\/GPU$/, "s/s");
      const rungs = answer.levels.filter(([, results]) => results.has(rate)).map(([level, results], place) => {
        const [, display, range] = of("reports.pages.sizing", "_value_row")(rate, results.at(rate));
        const { value, low, high } = results.at(rate);
        return { level: level.basis, label: level.basis, value, low, high, display, range, unit, used: place === 0, bound: level.basis === "peak", why: text(level.note) };
      });
      return { basis: answer.basis, rungs, get chart() { return curve(answer, options); } };
    },
  };

  /** The read bandwidth of the job over the number of nodes. */
  function curve(answer, options) {
    const own = answer.nodes, most = Math.max(own, 2), sizes = new Set([own]);
    for (let size = 1; size <= most * 4; size *= 2) sizes.add(size);
    const chosen = [...sizes].sort((a, b) => a - b).slice(-9);
    const points = [];
    for (const nodes of chosen) {
      try {
        const found = bandwidth.ask({ ...options, nodes }).results.at("ingest_bandwidth_per_job");
        if (found) points.push({ x: nodes, y: found.value, low: found.low, high: found.high });
      } catch { /* beyond the largest job */ }
    }
    return points.length < 2 ? undefined : { title: "Read bandwidth of the job by number of nodes", x: { label: "Nodes", unit: "" }, y: { label: "Read bandwidth", unit: "B/s" }, points, own };
  }

  /** A command whose answer is results, tables and warnings. */
  const plainly = (name, module, label, headline) => ({
    command: name, label, headline,
    ask: (options) => $.worded(of(module, name), [], { ...options, catalogs: catalog }),
    rows: (answer) => [...answer.results.entries()].map(([result, quantity]) => rowOf(result, quantity)),
  });

  const QUESTIONS = {
    bw: bandwidth,
    checkpoint: plainly("checkpoint", "sizing.checkpoint", "Checkpoint", "checkpoint_write_bandwidth"),
    dataset: plainly("dataset", "sizing.dataset", "Data set", "usable_bytes"),
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
    const line = of("errors", "shortened")(text(error.message).split(/\s+/).join(" "), 292);
    const named = /^--([a-z-]+)/.exec(line), field = named && forms[tab].find(({ name }) => name === named[1].replace(/-/g, "_"));
    return { ok: false, error: line, field: field?.name, command: words };
  }

  function answer(tab, values) {
    const found = asked(tab, values);
    if (found.error) return refusal(tab, values, found.error);
    const question = QUESTIONS[tab], rows = question.rows(found.answer);
    const headline = rows.some(({ name }) => name === question.headline) ? question.headline : rows[0]?.name;
    const base = { ok: true, headline: { name: headline, scene: text(found.answer.title) }, rows, tables: tables(found.answer), warnings: warnings(found.answer), command: command(tab, values) };
    return Object.defineProperties(base, Object.getOwnPropertyDescriptors(question.more?.(found.answer, found.options) ?? {}));
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
      return explained(found.answer.derivation(name), new Set());
    } catch (error) {
      if (error instanceof $.BaseException) return null;
      throw error;
    }
  }

  const siteYaml = (values) => `# ${command("bw", values)}\n`;

  return {
    edition: data.edition, catalog: lists, forms, command, answer, derivation, siteYaml,
    tabs: Object.entries(QUESTIONS).map(([id, { label }]) => ({ id, label })),
  };
})();

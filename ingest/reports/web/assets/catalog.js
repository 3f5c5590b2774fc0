/* The catalogs of the page: `ingest.catalog.store` over the data that was embedded. */
$.Catalog = (() => {
  "use strict";
  const packed = document.getElementById("data"), letters = packed.textContent, digits = new Uint8Array(128);
  // Five digits of 85 are four bytes.
  [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~"].forEach((one, digit) => { digits[one.charCodeAt()] = digit; });
  const bytes = new Uint8Array(letters.length / 5 * 4), words = new DataView(bytes.buffer);
  for (let at = 0; at < letters.length; at += 5) {
    let word = 0;
    for (let next = at; next < at + 5; next++) word = 85 * word + digits[letters.charCodeAt(next)];
    words.setUint32(at / 5 * 4, word);
  }
  const data = $.data = JSON.parse(new TextDecoder().decode($.unpacked(bytes, Number(packed.dataset.bytes))));
  // They stand by column, which packs closer.
  const { ids, names, patterns, numbers } = data.architectures, written = names.split("|");
  data.architectures = Object.fromEntries(ids.split("|").map((id, at) => [id, [written[at] === "-" ? null : written[at].replaceAll("~", id), patterns[at], numbers[at]]]));
  const { Dict } = $;

  class Catalog {
    static $class = true;
    /** One for the whole page. */
    static one = null;
    constructor() {
      if (Catalog.one) return Catalog.one;
      Catalog.one = this;
      this.memory = new Dict();
      this.made = new Map();
      this.folders = [];
    }
    get records() { return $.modules["ingest.catalog.records"]; }
    text(place) { return data.catalogs.texts[place]; }
    value(found) {
      const [value, unit, source, grade, where, note, low = null, high = null] = found, { Value } = this.records;
      return new Value(value, this.text(unit), this.text(source), this.text(grade), this.text(where), low, high, this.text(note));
    }
    field(form, item) {
      const { Statement, Encoding, Tier } = this.records;
      switch (form) {
        case "value": return item === undefined ? null : this.value(item);
        case "values": return new Dict(Object.entries(item ?? {}).map(([name, one]) => [name, this.value(one)]));
        case "statement": return item === undefined ? null : new Statement(...item);
        case "encodings": return new Dict(Object.entries(item ?? {}).map(([name, one]) => [name, this.record(Encoding, "encodings", one)]));
        case "tiers": return new Dict(Object.entries(item ?? {}).map(([name, one]) => [name, this.record(Tier, "tiers", one)]));
        case "texts": return item ?? [];
        case "notes": return new Dict(Object.entries(item ?? {}));
      }
      return item ?? "";
    }
    record(made, kind, found) {
      const record = Object.create(made.prototype);
      for (const [name, form] of Object.entries(data.catalogs.forms[kind])) $.setattr(record, name, this.field(form, found[name]));
      return record;
    }
    find(kind, name) {
      const wanted = name.toLowerCase(), known = data.catalogs.entries[kind];
      for (const candidate of [wanted, data.catalogs.aliases[kind]?.[wanted] ?? ""]) if (Object.hasOwn(known, candidate)) return candidate;
      const meant = this.meaning(kind, name).entry;
      return Object.hasOwn(known, meant) ? meant : null;
    }
    /** What a name means that is neither an id nor an alias. */
    meaning(kind, name) {
      const { meaning, plain, unwrapped } = $.modules["ingest.catalog.device_names"], wrapped = ["gpus", "nodes", "corpora"].includes(kind);
      const wanted = plain(wrapped ? unwrapped(name) : name), aliases = Object.entries(data.catalogs.aliases[kind] ?? {});
      const same = [...new Set([...this.ids(kind).map((id) => [id, id]), ...aliases].filter(([written]) => plain(written) === wanted).map(([, id]) => id))];
      return meaning(name, this.patternsOf(kind), same);
    }
    patternsOf(kind) {
      const { patterns_of } = $.modules["ingest.catalog.device_names"], key = `patterns ${kind}`, listed = Object.entries(data.catalogs.names[kind] ?? {});
      if (!this.made.has(key)) this.made.set(key, patterns_of(new Dict(listed.map(([vendor, names]) => [vendor, new Dict(Object.entries(names))]))));
      return this.made.get(key);
    }
    get patterns() { return new Dict([["released", this.patternsOf("released")]]); }
    get(record, name) {
      const key = `${record.kind} ${name}`;
      if (!this.made.has(key)) {
        const model = record.kind === "models", id = /[.]ya?ml$/.test(name) ? null : this.find(record.kind, model ? this.model_id(name) : name);
        if (id === null && /[/]|[.]ya?ml$/.test(name) && !(model && /hf:/.test(this.releases.hint(name)))) $.beyond("the page reads no files");
        if (id === null) throw this.unknown(record.kind, name);
        const found = this.record(record, record.kind, data.catalogs.entries[record.kind][id]);
        found.id = id;
        found.path = new $.Path(`${record.kind}/${id}.yaml`);
        this.made.set(key, id === name ? found : this.get(record, id));
      }
      return this.made.get(key);
    }
    unknown(kind, name) {
      const { UsageError, listed, nearest, unknown } = $.modules["ingest.errors"];
      const singular = { families: "family", corpora: "corpus" }[kind] ?? kind.replace(/s$/, "");
      const known = [...this.ids(kind), ...Object.keys(data.catalogs.aliases[kind] ?? {}), ...(kind === "models" ? data.structures : [])], meant = this.meaning(kind, name);
      if (meant.slice && ["nodes", "gpus"].includes(kind)) return new UsageError(`'${name}' is a slice of a GPU, expected the whole GPU: ${[...(meant.possible.length ? meant.possible : meant.near)].join(", ")}`);
      if (meant.possible.length) return new UsageError(`${singular} '${name}' could be ${listed(meant.possible)}${meant.possible.length === 1 ? ", or one not listed" : ""}: name one`);
      const three = kind === "models" ? this.releases.hint(name) : "", near = nearest(name, known, { gpus: 2, nodes: 2, models: 1 }[kind] ?? 0);
      if (three && (!near || /\d|[/]/.test(name))) return new UsageError(three);
      if (!near && meant.near.length) return new UsageError(unknown(`${singular} '${name}'`, meant.near, "a YAML file", "a file"));
      return new UsageError(`unknown ${singular} '${name}'${near || `; \`ingest catalog list ${kind}\` lists them`}`);
    }
    referred(record, name) { return this.get(record, name); }
    once(key, make) {
      if (!this.memory.has(key)) this.memory.put(key, make());
      return this.memory.at(key);
    }
    rates(model) {
      const { Rate } = this.records, key = `rates ${model.id}`;
      if (!this.made.has(key)) {
        const rows = data.catalogs.rates[model.id] ?? [], texts = [0, 1, 6, 7, 8, 9, 10, 11];
        this.made.set(key, rows.map((row) => new Rate(...row.map((one, place) => (texts.includes(place) ? this.text(one) : one)))));
      }
      return this.made.get(key);
    }
    /** The structures that are known by name. */
    get releases() {
      if (!this.made.has("releases")) {
        const rows = Object.keys(data.architectures).filter((id) => data.architectures[id][0] !== null).sort();
        const whole = (id) => data.architectures[id][0].split(" ").map((name) => (name.endsWith("/") ? name + id : name));
        const named = rows.map((id) => [id, { id, hub: whole(id)[0], model_type: data.structures.includes(id) ? "" : data.patterns.model_type[data.architectures[id][1]], names: [id, ...whole(id)].filter(Boolean) }]);
        const own = [...data.structures, ...this.ids("models")].map((id) => [id, id]);
        this.made.set("releases", new $.modules["ingest.catalog.releases"].Releases(new Dict(named), new Dict([...Object.entries(data.catalogs.aliases.models), ...own])));
      }
      return this.made.get("releases");
    }
    /** Whether a name is an id or an alias of a model with an entry of its own. */
    isModel(name) { return this.ids("models").includes(name.toLowerCase()) || Object.hasOwn(data.catalogs.aliases.models, name.toLowerCase()); }
    model_id(written) {
      if (this.isModel(written) || data.structures.includes(written.toLowerCase()) || (written.includes("://") && !written.startsWith("hf://"))) return written;
      return this.releases.named(written) ?? written;
    }
    describes(source) { return !this.isModel(source) && (data.structures.includes(source.toLowerCase()) || this.releases.rows.has(source)); }
    isArchitecture(name) {
      const wanted = name.toLowerCase();
      return [wanted, data.catalogs.aliases.models[wanted]].some((one) => data.structures.includes(one)) || (!this.ids("models").includes(wanted) && this.releases.rows.has(name));
    }
    /** The table of weights of an id. */
    architecture(name) {
      const { Architecture } = $.modules["ingest.architecture.structure"], { Weight, Attention, usual_passes } = $.modules["ingest.architecture.weight_table"];
      const key = `architecture ${name}`;
      if (!this.made.has(key)) {
        const [, pattern, numbers] = data.architectures[name];
        let next = 0;
        const filled = (item) => (typeof item === "number" ? (item ? numbers[next - item] : numbers[next++]) : Array.isArray(item) ? item.map(filled) : item && typeof item === "object" ? Object.fromEntries(Object.entries(item).map(([key, one]) => [key, filled(one)])) : item);
        const stated = Object.fromEntries(Object.entries(data.patterns).map(([field, column]) => [field, filled(column[pattern])]).filter(([, item]) => item !== null));
        const { parts, shapes, counts, active, passed, positions, attentions, defaults, missing, ...rest } = stated;
        const weights = parts.split(" ").map((part, at) => {
          const [word, kind] = data.parts[part].split("|");
          return new Weight(word, shapes[at], kind, counts[at], (active ?? counts)[at], passed?.[at] ?? usual_passes(kind, shapes[at], (active ?? counts)[at]), positions?.[at] ?? 0);
        });
        this.made.set(key, $.worded(Architecture, [], { ...rest, id: name, weights, attentions: (attentions ?? []).map((row) => new Attention(...row)),
          defaults: new Dict(Object.entries(defaults ?? {})), missing: new Dict(Object.entries(missing ?? {})) }));
      }
      return this.made.get(key);
    }
    get aliases() {
      const made = new Dict(Object.entries(data.catalogs.aliases).map(([kind, names]) => [kind, new Dict(Object.entries(names))]));
      Object.defineProperty(this, "aliases", { value: made });
      return made;
    }
    canonical(kind, name) { return data.catalogs.aliases[kind]?.[name.toLowerCase()] ?? name; }
    ids(kind) { return kind === "architectures" ? data.structures : Object.keys(data.catalogs.entries[kind] ?? {}); }
    all(record) { return this.ids(record.kind).map((name) => this.get(record, name)); }
    source(name) {
      const { Source } = $.modules["ingest.engine.value"], title = data.catalogs.sources[name];
      return new Source(name, title);
    }
    content_hash() { return data.hash; }
    /** The rates of every model by protocol and GPU, then by model and precision. */
    get seen() {
      const cells = new Dict();
      for (const [protocol, precision, model, gpu, rate] of data.seen) {
        const key = [protocol, gpu];
        if (!cells.has(key)) cells.put(key, new Dict());
        cells.at(key).put([model, precision], rate);
      }
      Object.defineProperty(this, "seen", { value: cells });
      return cells;
    }
  }
  return Catalog;
})();

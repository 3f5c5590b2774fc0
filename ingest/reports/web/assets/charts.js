/* Charts of the page, as plain SVG in user-space pixels: text keeps its size, CSS classes give the colours.

   A chart reads one of two shapes, both part of `Ingest.answer`:
     rungs: [{level, label, value, low, high, display, range, used, bound, why}]
        value, low, high: numbers in `unit` of the first level, per GPU, or null; bound: true where the value is only an upper bound;
        used: true for the level that the answer rests on; display, range, why: text.
     chart: {title, x: {label, unit}, y: {label, unit}, points: [{x, y, low, high}], own: x of the reader's point}
        low, high: null where unknown. Both axes are logarithmic where their values span more than a factor of 20. */
(function () {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const PREFIXES = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const PREFIXED = /^(B|FLOP)(\/|$)/;

  function node(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  /** A value of an axis with its unit: `scaled(2e9, "B/s")` is "2 GB/s". */
  function scaled(value, unit) {
    const found = PREFIXED.test(unit) && PREFIXES.find(([size]) => value >= size * 0.9999999);
    const number = found ? value / found[0] : value;
    const digits = Number(number.toPrecision(3)).toLocaleString("en-US", { maximumSignificantDigits: 3 });
    const name = (found ? found[1] : "") + unit.replace(/^1$/, "");
    return name && name !== "1" ? `${digits} ${name}` : digits;
  }

  /** An axis over [low, high] drawn on [from, to]: its place for a value, and its ticks. */
  function axis(low, high, from, to, most) {
    const logarithmic = low > 0 && high / low > 20;
    let ticks = [];
    if (logarithmic) {
      let first = Math.floor(Math.log10(low) + 1e-9), last = Math.ceil(Math.log10(high) - 1e-9);
      const step = Math.max(1, Math.ceil((last - first) / most));
      if (last - first <= 2) {
        for (let power = first; power <= last; power++) for (const part of [1, 2, 5]) ticks.push(part * 10 ** power);
        const floor = ticks.filter((tick) => tick <= low * 1.0000001).pop(), top = ticks.find((tick) => tick >= high * 0.9999999);
        low = floor; high = top;
        ticks = ticks.filter((tick) => tick >= floor && tick <= top);
      } else {
        low = 10 ** first; high = 10 ** last;
        for (let power = first; power <= last; power += step) ticks.push(10 ** power);
      }
    } else {
      low = 0;
      const raw = high / most || 1, size = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 2.5, 5, 10].find((part) => part * size >= raw * 0.9999) * size;
      const count = Math.max(1, Math.ceil(high / step - 1e-9));
      high = count * step;
      for (let n = 0; n <= count; n++) ticks.push(n * step);
    }
    const [a, b] = logarithmic ? [Math.log(low), Math.log(high)] : [low, high];
    const place = (value) => {
      const at = logarithmic ? Math.log(Math.max(value, low)) : value;
      return from + ((at - a) / (b - a)) * (to - from);
    };
    return { place, ticks, logarithmic };
  }

  function canvas(width, height, title, text) {
    const id = `chart-${title.replace(/\W+/g, "-").toLowerCase()}`;
    const svg = document.createElementNS(SVG, "svg");
    for (const [key, value] of [["viewBox", `0 0 ${width} ${height}`], ["role", "img"], ["aria-labelledby", `${id}-t ${id}-d`]])
      svg.setAttribute(key, value);
    node(svg, "title", { id: `${id}-t` }, title);
    node(svg, "desc", { id: `${id}-d` }, text);
    return svg;
  }

  /** Levels of evidence as horizontal bars from low to high, the value as a mark on the bar. */
  function rungs(levels, unit, title, width) {
    const shown = levels.filter((level) => level.value !== null && level.value > 0);
    if (!shown.length) return null;
    const narrow = width < 460, left = narrow ? 4 : 118, right = narrow ? 4 : 96;
    const row = narrow ? 52 : 38, top = 6, height = top + shown.length * row + 44;
    const ends = shown.flatMap((level) => [level.low ?? level.value, level.value, level.high ?? level.value]).filter((end) => end > 0);
    const x = axis(Math.min(...ends), Math.max(...ends), left + 6, width - right - 6, Math.max(2, Math.floor((width - left - right) / 110)));
    const told = shown.map((level) => `${level.label}${level.used ? " (in use)" : ""}: ${level.display}${level.range ? `, ${level.range}` : ""}`);
    const svg = canvas(width, height, title, `${told.join("; ")}.`);
    const foot = top + shown.length * row;
    for (const tick of x.ticks) {
      node(svg, "line", { class: "grid", x1: x.place(tick), x2: x.place(tick), y1: top, y2: foot });
      const at = x.place(tick), edge = at > width - 30 ? "end" : at < 30 ? "start" : "middle";
      node(svg, "text", { class: "tick", x: at, y: foot + 17, "text-anchor": edge }, scaled(tick, ""));
    }
    shown.forEach((level, place) => {
      const mid = top + place * row + (narrow ? 35 : row / 2), kind = level.used ? "used" : level.bound ? "bound" : "other";
      node(svg, "text", { class: `name ${kind}`, x: narrow ? 6 : left - 10, y: narrow ? mid - 17 : mid + 4.5,
        "text-anchor": narrow ? "start" : "end" }, level.label);
      node(svg, "text", { class: `amount ${kind}`, x: width - 4, y: narrow ? mid - 17 : mid + 4.5, "text-anchor": "end" }, level.display.split(" ")[0]);
      const low = level.low ?? level.value, high = level.high ?? level.value;
      if (level.bound) {
        node(svg, "line", { class: "reach", x1: left + 6, x2: x.place(level.value), y1: mid, y2: mid });
        node(svg, "path", { class: "stop", d: `M${x.place(level.value)} ${mid - 8}V${mid + 8}` });
        return;
      }
      const from = x.place(low), to = x.place(high);
      if (to > from) node(svg, "rect", { class: `bar ${kind}`, x: from, y: mid - 7, width: to - from, height: 14, rx: 2 });
      node(svg, "path", { class: `mark ${kind}`, d: `M${x.place(level.value)} ${mid - 11}V${mid + 11}` });
    });
    node(svg, "text", { class: "axis", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" },
      `${unit} per GPU${x.logarithmic ? ", logarithmic" : ""}`);
    return svg;
  }

  /** A quantity over another: line of the value, band from low to high, the reader's own point marked. */
  function curve(chart, width) {
    const points = chart.points.filter((point) => point.y !== null && point.y > 0);
    if (points.length < 2) return null;
    const height = Math.round(Math.min(340, Math.max(230, width * 0.5))), left = 74, right = 18, top = 26, bottom = 50;
    const ends = points.flatMap((point) => [point.low ?? point.y, point.y, point.high ?? point.y]).filter((end) => end > 0);
    const x = axis(points[0].x, points[points.length - 1].x, left, width - right, Math.max(2, Math.floor((width - left) / 80)));
    const y = axis(Math.min(...ends), Math.max(...ends), height - bottom, top, 5);
    const own = points.find((point) => point.x === chart.own);
    const told = points.map((point) => `${scaled(point.x, chart.x.unit)}: ${scaled(point.y, chart.y.unit)}`);
    const svg = canvas(width, height, chart.title, `${told.join("; ")}.`);
    for (const tick of y.ticks) {
      node(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y.place(tick), y2: y.place(tick) });
      node(svg, "text", { class: "tick", x: left - 8, y: y.place(tick) + 4, "text-anchor": "end" }, scaled(tick, chart.y.unit));
    }
    for (const tick of x.ticks) {
      const at = x.place(tick);
      if (at < left - 1 || at > width - right + 1) continue;
      node(svg, "line", { class: "grid", x1: at, x2: at, y1: top, y2: height - bottom });
      node(svg, "text", { class: "tick", x: at, y: height - bottom + 17, "text-anchor": "middle" }, scaled(tick, ""));
    }
    const at = (point, key) => `${x.place(point.x).toFixed(1)} ${y.place(point[key] ?? point.y).toFixed(1)}`;
    if (points.some((point) => point.low !== null && point.high !== null)) {
      const up = points.map((point) => at(point, "high")), down = points.map((point) => at(point, "low")).reverse();
      node(svg, "path", { class: "band", d: `M${up.concat(down).join("L")}Z` });
    }
    node(svg, "path", { class: "line", d: `M${points.map((point) => at(point, "y")).join("L")}` });
    for (const point of points) if (point !== own) node(svg, "circle", { class: "dot", cx: x.place(point.x), cy: y.place(point.y), r: 2.5 });
    if (own) {
      const cx = x.place(own.x), cy = y.place(own.y), late = cx > width / 2;
      node(svg, "circle", { class: "own", cx, cy, r: 6 });
      node(svg, "text", { class: "amount used", x: cx + (late ? -12 : 12), y: cy + (late ? -8 : 20), "text-anchor": late ? "end" : "start" },
        scaled(own.y, chart.y.unit));
    }
    node(svg, "text", { class: "axis", x: 4, y: 12 }, y.logarithmic ? `${chart.y.label}, logarithmic` : chart.y.label);
    node(svg, "text", { class: "axis", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" },
      x.logarithmic ? `${chart.x.label}, logarithmic` : chart.x.label);
    return svg;
  }

  window.IngestCharts = { rungs, curve, scaled };
})();

/* The YAML that the page writes: maps of words, numbers and maps. `Yaml.document(map)` is its text. */
const Yaml = (() => {
  "use strict";
  /* What every version of YAML reads as the same word or number: anything else is quoted, in the escapes of JSON. */
  const NUMBER = /^(0|[1-9]\d{0,14})(\.\d{1,14})?$/, QUANTITY = /^[1-9]\d{0,14}(\.\d{1,14})?[A-Za-z]{1,5}$/, WORD = /^[A-Za-z][A-Za-z0-9]*([._-][A-Za-z0-9]+)*$/;
  const RESERVED = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;
  const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, HIDDEN = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
  function scalar(value) {
    const text = String(value);
    if (NUMBER.test(text) || QUANTITY.test(text) || (WORD.test(text) && !RESERVED.test(text))) return text;
    return JSON.stringify(text.replace(LONE, "\ufffd")).replace(HIDDEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  const isMap = (value) => typeof value === "object";
  const given = (map) => Object.entries(map).filter(([, value]) => value !== undefined && value !== "");
  /** A map in one line if it holds no other map, else a line for each key. */
  function lines(map, indent) {
    return given(map).flatMap(([key, value]) => {
      if (!isMap(value)) return [`${indent}${scalar(key)}: ${scalar(value)}`];
      if (given(value).some(([, inner]) => isMap(inner)) || given(value).length > 4) return [`${indent}${scalar(key)}:`, ...lines(value, `${indent}  `)];
      return [`${indent}${scalar(key)}: {${given(value).map(([name, inner]) => `${scalar(name)}: ${scalar(inner)}`).join(", ")}}`];
    });
  }
  return { scalar, document: (map) => `${lines(map, "").join("\n")}\n` };
})();

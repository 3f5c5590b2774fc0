/* What Python means, for the modules that javascript.py prints: numbers, text, containers, records, exceptions.

   Values: None is null, numbers are numbers, a list and a tuple are arrays, a dict is a Dict, a set a PySet, a named tuple
   or a data class an object with its fields. A function carries the names of its parameters in `$p`. */
const $ = (() => {
  "use strict";
  const $ = { modules: {}, m: {} };

  /* Exceptions. They are no `Error` of JavaScript: thousands steer the flow of an answer, and the stack of each is a third of
     its time. */

  class BaseException {
    constructor(...given) { this.args = given; if (this.__init__) this.__init__(...given); }
    __init__(...given) { this.args = given; }
    get message() { return $.str(this); }
    toString() { return this.__str__ ? this.__str__() : this.args.length === 1 ? $.str(this.args[0]) : this.args.length ? $.repr(this.args) : ""; }
  }
  $.BaseException = BaseException;
  $.Exception = class Exception extends BaseException {};
  const parents = {
    ArithmeticError: "Exception", ZeroDivisionError: "ArithmeticError", OverflowError: "ArithmeticError", AssertionError: "Exception",
    AttributeError: "Exception", LookupError: "Exception", IndexError: "LookupError", KeyError: "LookupError", ValueError: "Exception",
    UnicodeDecodeError: "ValueError", TypeError: "Exception", RuntimeError: "Exception", RecursionError: "RuntimeError",
    NotImplementedError: "RuntimeError", StopIteration: "Exception", OSError: "Exception", FileNotFoundError: "OSError",
    ImportError: "Exception", ModuleNotFoundError: "ImportError",
  };
  for (const [name, parent] of Object.entries(parents)) {
    $[name] = { [name]: class extends $[parent] {} }[name];
    $[name].$name = name;
  }
  /** A question that this page has no answer to; the command line has. */
  $.Beyond = class Beyond extends BaseException {};
  $.beyond = (what) => { throw new $.Beyond(what); };
  $.caught = (error, types) => types.flat().some((type) => error instanceof type
    || (error instanceof TypeError && (type === $.TypeError || type === $.Exception) && /iterable|iterator/.test(error.message)));

  /* Functions, keywords, classes */

  class Keywords { constructor(given) { this.given = given; } }
  $.Keywords = Keywords;
  /** A function of the modules; its parameters are read from its text where one of them is named. */
  $.fn = (made, name, more = false, doc = null) => {
    made.$name = made.__name__ = name;
    made.$more = more;
    made.$printed = true;
    made.__doc__ = doc; // of Formula.meaning; a function without words has null
    if (doc !== null) {
      const names = parametersOf(made);
      made.__code__ = { co_varnames: names, co_argcount: names.length };
    }
    return made;
  };
  const parametersOf = (made) => {
    if (made.$p !== undefined || !made.$printed) return made.$p;
    const source = made.toString(), names = [];
    let depth = 0, word = "", naming = true;
    for (let place = source.indexOf("(") + 1; depth >= 0; place++) {
      const letter = source[place];
      if (letter === '"') { place = source.indexOf('"', place + 1); continue; }
      if ("([{".includes(letter)) depth++;
      else if (")]}".includes(letter)) depth--;
      if (depth < 0 || (depth === 0 && letter === ",")) {
        if (word.trim()) names.push(word.trim().replace(/\$$/, ""));
        word = "";
        naming = true;
      } else if (depth === 0 && letter === "=") naming = false;
      else if (naming && depth === 0) word += letter;
    }
    if (made.$more) names.pop();
    made.$p = names;
    return names;
  };
  const isClass = (made) => made.$fields !== undefined || made.prototype instanceof BaseException || made.$class === true;
  $.call = (made, ...given) => (isClass(made) ? new made(...given) : made(...given));
  $.keywords = (given) => (given[given.length - 1] instanceof Keywords ? { ...given.pop().given } : {});
  $.taken = (words, name, usual) => {
    if (!(name in words)) return usual();
    const value = words[name];
    delete words[name];
    return value;
  };
  $.rest = (words) => new Dict(Object.entries(words));
  $.spread = (words) => (words instanceof Dict ? Object.fromEntries(words.entries()) : words);
  function placed(made, given, words) {
    const names = parametersOf(made);
    if (!names) return [...given, new Keywords(words)];
    const all = [...given];
    if (made.$more === true) {
      const rest = {};
      for (const [name, value] of Object.entries(words)) {
        const place = names.indexOf(name);
        if (place < 0) rest[name] = value;
        else all[place] = value;
      }
      for (let place = 0; place < all.length; place++) if (!(place in all)) all[place] = undefined;
      if (Object.keys(rest).length) {
        while (all.length < names.length) all.push(undefined);
        all.push(new Keywords(rest));
      }
      return all;
    }
    const rest = made.$more === "more" ? new Dict() : null;
    for (const [name, value] of Object.entries(words)) {
      const place = names.indexOf(name);
      if (place >= 0) all[place] = value;
      else if (rest) rest.put(name, value);
      else throw new $.TypeError(`${made.$name}() got an unexpected keyword argument '${name}'`);
    }
    if (rest) { all.length = Math.max(all.length, names.length); all[names.length] = rest; }
    return Array.from(all);
  }
  $.worded = (made, given, words, self = undefined) => (isClass(made) ? new made(...placed(signature(made), given, words)) : made.apply(self, placed(made, given, words)));
  $.sent = (owner, name, given, words) => {
    if (name in $.m && (typeof owner === "string" || owner instanceof String || Array.isArray(owner) || owner instanceof Dict || owner instanceof PySet)) return $.m[name](owner, ...given, new Keywords(words));
    const made = owner[name];
    return isClass(made) ? $.worded(made, given, words) : made.apply(owner, placed(made, given, words));
  };
  const signature = (made) => (made.$fields !== undefined && made.$form !== "plain" ? { $p: made.$fields.map(([name]) => name), $name: made.$name } : made.prototype.__init__ ?? made);

  class Plain {
    constructor(...given) {
      const made = this.constructor;
      if (made.$form === "data") {
        made.$fields.forEach(([name, usual], place) => {
          const value = given[place];
          if (value === undefined && usual === null) throw new $.TypeError(`${made.$name}() missing '${name}'`);
          this[name] = value === undefined ? usual() : value;
        });
        if (this.__post_init__) this.__post_init__();
      } else if (this.__init__) this.__init__(...given);
    }
  }
  $.Plain = Plain;
  class Named {
    *[Symbol.iterator]() { for (const [name] of this.constructor.$fields) yield this[name]; }
    _replace(words) {
      const made = Object.create(Object.getPrototypeOf(this));
      Object.assign(made, this);
      return words ? Object.assign(made, words.given ?? words) : made;
    }
    _asdict() { return new Dict(this.constructor.$fields.map(([name]) => [name, this[name]])); }
  }
  $.Named = Named;
  Plain.$fields = Named.$fields = [];
  Plain.$form = Named.$form = "plain";
  $.made = (made, name, form, fields, methods) => {
    made.$name = name;
    made.__name__ = name;
    const above = Object.getPrototypeOf(made);
    made.$form = form === "plain" && above.$form === "data" ? "data" : form;
    const base = form === "tuple" ? [] : above.$fields ?? [];
    const own = new Map([...base, ...fields].map((one) => [one[0], one]));
    made.$fields = [...own.values()];
    for (const owner of [made.prototype, made]) {
      for (const [method, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
        if (typeof value !== "function" || method === "constructor") continue;
        $.fn(value, method, methods[method] ?? false);
        if (owner === made && !(method in made.prototype)) Object.defineProperty(made.prototype, method, { value: bound(made, value), configurable: true });
      }
    }
    if (form === "data") for (const [name, usual] of fields) if (usual !== null) Object.defineProperty(made, name, { get: usual, configurable: true });
    if ("__iter__" in made.prototype && !(Symbol.iterator in made.prototype)) {
      made.prototype[Symbol.iterator] = function () { return $.iter(this.__iter__())[Symbol.iterator](); };
    }
  };
  $.setattr = (owner, name, value) => {
    if (typeof owner === "function" && owner.prototype) {
      Object.defineProperty(owner, name, { value, writable: true, configurable: true });
      Object.defineProperty(owner.prototype, name, { value, writable: true, configurable: true });
    } else owner[name] = value;
    return null;
  };
  $.setattrs = (owner, names, values) => [...values].forEach((value, place) => $.setattr(owner, names[place], value));
  $.once = (self, name, make) => {
    const value = make();
    Object.defineProperty(self, name, { value, writable: true, configurable: true, enumerable: false });
    return value;
  };
  const bound = (owner, made) => {
    const found = made.bind(owner);
    found.$p = parametersOf(made); found.$more = made.$more; found.$name = found.__name__ = made.$name;
    return found;
  };
  const builtin = (owner) => typeof owner === "string" || owner instanceof String || Array.isArray(owner) || owner instanceof Dict || owner instanceof PySet;
  $.attr = (owner, name) => {
    if (builtin(owner) && name in $.m && !(owner instanceof String && Object.hasOwn(owner, name))) return (...given) => $.m[name](owner, ...given);
    if (owner !== null && owner !== undefined && owner.$type === true && name in $.m && !Object.hasOwn(owner, name)) return (own, ...given) => $.m[name](own, ...given);
    const value = owner?.[name];
    if (value === undefined) {
      if (owner === null) throw new $.AttributeError(`'NoneType' object has no attribute '${name}'`);
      if (name === "__name__") return owner.$name;
      if (name === "__dict__") return $.vars(owner);
      throw new $.AttributeError(`'${$.type(owner)?.$name}' object has no attribute '${name}'`);
    }
    return typeof value === "function" && !isClass(value) && typeof owner !== "function" && !Object.hasOwn(owner, name) && Object.getPrototypeOf(owner) !== Object.prototype ? bound(owner, value) : value;
  };
  $.getattr = (owner, name, usual) => {
    try {
      return $.attr(owner, name);
    } catch (error) {
      if (usual !== undefined && error instanceof $.AttributeError) return usual;
      throw error;
    }
  };
  $.hasattr = (owner, name) => owner !== null && (Object(owner)[name] !== undefined || (builtin(owner) && name in $.m));
  $.vars = (owner) => new Dict(Object.entries(owner));

  /* Types */

  const typed = (name, make) => { make.$name = name; make.__name__ = name; make.$type = true; return make; };
  $.str = typed("str", (value = "") => {
    if (typeof value === "string") return value;
    if (value === null) return "None";
    if (typeof value === "number") return $.numeral(value);
    if (typeof value === "boolean") return value ? "True" : "False";
    if (value instanceof String) return value.valueOf();
    if (value.__str__) return value.__str__();
    if (value instanceof BaseException) return value.toString();
    return $.repr(value);
  });
  /** Digits of any script as those of ASCII: Python reads them all. */
  const ascii = (text) => text.replace(/[^\x00-\x7f]/gu, (letter) => {
    if (!/\p{Nd}/u.test(letter)) return letter;
    const code = letter.codePointAt(0), first = /\p{Nd}/u.test(String.fromCodePoint(code & ~15)) ? code & ~15 : (code & ~15) + 6;
    return String(code - first);
  });
  $.int = typed("int", (value = 0) => {
    if (typeof value === "number") {
      if (!Number.isFinite(value)) throw Number.isNaN(value) ? new $.ValueError("cannot convert float NaN to integer") : new $.OverflowError("cannot convert float infinity to integer");
      return Math.trunc(value) + 0;
    }
    if (typeof value === "boolean") return value ? 1 : 0;
    const text = ascii(String(value).trim().replace(/(?<=\d)_(?=\d)/g, ""));
    if (!/^[+-]?\d+$/.test(text)) throw new $.ValueError(`invalid literal for int() with base 10: ${$.repr(String(value))}`);
    return Number(text);
  });
  $.float = typed("float", (value = 0) => {
    if (typeof value === "number") return value;
    if (typeof value === "boolean") return value ? 1 : 0;
    if (typeof value !== "string" && !(value instanceof String)) {
      if (value !== null && value.__float__) return value.__float__();
      throw new $.TypeError("float() argument must be a string or a real number");
    }
    const text = ascii(String(value).trim().replace(/(?<=\d)_(?=\d)/g, ""));
    if (/^[+-]?(inf|infinity)$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw new $.ValueError(`could not convert string to float: ${$.repr(String(value))}`);
    return Number(text);
  });
  $.bool = typed("bool", (value = false) => $.t(value));
  $.list = typed("list", (value = []) => [...$.iter(value)]);
  $.tuple = typed("tuple", (value = []) => [...$.iter(value)]);
  $.object = typed("object", () => new Plain());
  Object.assign($.object, { __hash__: () => null, __eq__: null, __ne__: null });
  $.type = typed("type", (value) => {
    if (typeof value === "number") return Number.isInteger(value) ? $.int : $.float;
    if (typeof value === "string") return $.str;
    if (typeof value === "boolean") return $.bool;
    if (Array.isArray(value)) return $.list;
    if (value === null) return $.NoneType;
    if (value instanceof Dict) return $.dict;
    if (value instanceof PySet) return $.set;
    return value.constructor;
  });
  $.NoneType = typed("NoneType", () => null);
  const abstract = {
    Mapping: (value) => value instanceof Dict || value instanceof $.Mapping,
    Sequence: (value) => Array.isArray(value) || typeof value === "string" || value instanceof String || value instanceof Named,
    Iterable: (value) => value !== null && typeof value !== "number" && Symbol.iterator in Object(value),
    Callable: (value) => typeof value === "function",
    Collection: (value) => builtin(value),
    Container: (value) => builtin(value),
    Iterator: (value) => value !== null && typeof value === "object" && "next" in value,
  };
  $.isinstance = (value, type) => {
    if (Array.isArray(type)) return type.some((one) => $.isinstance(value, one));
    switch (type) {
      case $.str: return typeof value === "string" || value instanceof String;
      case $.int: return (typeof value === "number" && Number.isInteger(value)) || typeof value === "boolean";
      case $.float: return typeof value === "number";
      case $.bool: return typeof value === "boolean";
      case $.list: return Array.isArray(value);
      case $.tuple: return Array.isArray(value) || value instanceof Named;
      case $.dict: return value instanceof Dict;
      case $.set: case $.frozenset: return value instanceof PySet;
      case $.type: return typeof value === "function" && (isClass(value) || value.$type === true);
      case $.object: return true;
      case $.NoneType: return value === null;
    }
    if (type.$abstract) return abstract[type.$abstract](value);
    return typeof value === "object" && value instanceof type;
  };
  $.issubclass = (one, other) => one === other || one.prototype instanceof other;
  $.callable = (value) => typeof value === "function";
  $.is = (one, other) => one === other;
  $.id = (value) => value;

  /* Truth, equality, order */

  $.t = (value) => {
    switch (typeof value) {
      case "boolean": return value;
      case "number": return value !== 0;
      case "string": return value.length > 0;
      case "function": return true;
    }
    if (value === null || value === undefined) return false;
    if (Array.isArray(value) || value instanceof String) return value.length > 0;
    if (value instanceof Dict || value instanceof PySet) return value.size > 0;
    if (value.__bool__) return value.__bool__();
    if (value.__len__) return value.__len__() > 0;
    return true;
  };
  $.or = (first, ...others) => {
    let value = first;
    for (const other of others) { if ($.t(value)) return value; value = other(); }
    return value;
  };
  $.and = (first, ...others) => {
    let value = first;
    for (const other of others) { if (!$.t(value)) return value; value = other(); }
    return value;
  };
  const primitive = (value) => (value instanceof String ? value.valueOf() : typeof value === "boolean" ? Number(value) : value);
  /** A key of a Map: equal for equal values. */
  /** Keys of records, which do not change. */
  const keys = new WeakMap();
  const keyOf = (value) => {
    if (typeof value === "string" || typeof value === "number") return value;
    if (value === null) return null;
    if (typeof value === "boolean") return Number(value);
    if (value instanceof String) return value.valueOf();
    if (value instanceof Named && keys.has(value)) return keys.get(value);
    if (Array.isArray(value) || value instanceof Named) {
      if (value.constructor.prototype.__hash__ === $.object.__hash__) return value;
      let key = "\u0001(";
      for (const one of value) key += part(one);
      if (value instanceof Named) keys.set(value, key);
      return key;
    }
    if (value instanceof PySet) return "\u0001{" + [...value.k.keys()].map(part).sort().join("");
    if (value instanceof Plain && value.constructor.$form === "data") {
      if (!keys.has(value)) keys.set(value, "\u0001<" + value.constructor.$name + value.constructor.$fields.map(([name]) => part(value[name])).join(""));
      return keys.get(value);
    }
    if (value instanceof Path) return "\u0001/" + value.text;
    return value;
  };
  const numbers = new WeakMap();
  let numbered = 0;
  function part(value) {
    const key = keyOf(value);
    if (typeof key === "string") return `s${key.length}:${key}`;
    if (typeof key === "number" || key === null) return `n${key};`;
    if (!numbers.has(key)) numbers.set(key, ++numbered);
    return `o${numbers.get(key)};`;
  }
  $.eq = (one, other) => {
    if (one === other) return true;
    if ((typeof one === "string" || typeof one === "number") && (typeof other === "string" || typeof other === "number")) return false;
    const a = primitive(one), b = primitive(other);
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
    if (a instanceof Dict) return b instanceof Dict && a.size === b.size && [...a.entries()].every(([key, value]) => b.has(key) && $.eq(value, b.at(key)));
    if (a instanceof PySet) return b instanceof PySet && a.size === b.size && [...a].every((item) => b.has(item));
    if (Array.isArray(a) || a instanceof Named) {
      if (a.constructor.prototype.__hash__ === $.object.__hash__) return false;
      if (!(Array.isArray(b) || b instanceof Named)) return false;
      if (a instanceof Named && a.constructor === b.constructor) return a.constructor.$fields.every(([name]) => $.eq(a[name], b[name]));
      const left = [...a], right = [...b];
      return left.length === right.length && left.every((item, place) => $.eq(item, right[place]));
    }
    if (a.constructor.$form === "data" && a.constructor === b.constructor) return a.constructor.$fields.every(([name]) => $.eq(a[name], b[name]));
    if (a instanceof Path && b instanceof Path) return a.text === b.text;
    return false;
  };
  $.ne = (one, other) => !$.eq(one, other);
  const order = (one, other) => {
    const a = primitive(one), b = primitive(other);
    if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : a === b ? 0 : NaN;
    if (typeof a === "string" && typeof b === "string") return byCode(a, b);
    if ((Array.isArray(a) || a instanceof Named) && (Array.isArray(b) || b instanceof Named)) {
      const left = [...a], right = [...b];
      for (let place = 0; place < Math.min(left.length, right.length); place++) {
        if (!$.eq(left[place], right[place])) return order(left[place], right[place]);
      }
      return left.length - right.length;
    }
    if (a instanceof PySet && b instanceof PySet) {
      const within = [...a].every((item) => b.has(item)), around = [...b].every((item) => a.has(item));
      return within && around ? 0 : within ? -1 : around ? 1 : NaN;
    }
    if (a !== null && a.__lt__) return a.__lt__(b) ? -1 : $.eq(a, b) ? 0 : 1;
    if (a instanceof Day && b instanceof Day) return a.ordinal - b.ordinal;
    throw new $.TypeError(`'<' not supported between instances of '${$.type(a).$name}' and '${$.type(b).$name}'`);
  };
  function byCode(a, b) {
    if (a === b) return 0;
    const left = [...a], right = [...b];
    for (let place = 0; place < Math.min(left.length, right.length); place++) {
      if (left[place] !== right[place]) return left[place].codePointAt(0) - right[place].codePointAt(0);
    }
    return left.length - right.length;
  }
  const compared = (name, test) => (one, other) => {
    if (typeof one === "number" && typeof other === "number") return test(one < other ? -1 : one > other ? 1 : one === other ? 0 : NaN);
    if (one !== null && typeof one === "object" && one[name]) return one[name](other);
    return test(order(one, other));
  };
  $.lt = compared("__lt__", (sign) => sign < 0);
  $.le = compared("__le__", (sign) => sign <= 0);
  $.gt = compared("__gt__", (sign) => sign > 0);
  $.ge = compared("__ge__", (sign) => sign >= 0);
  $.in = (item, container) => {
    if (container instanceof Dict || container instanceof PySet) return container.has(item);
    if (typeof container === "string" || container instanceof String) return container.includes(item);
    if (container.__contains__) return container.__contains__(item);
    if (container instanceof $.Mapping) return container.has(item);
    for (const one of $.iter(container)) if ($.eq(one, item)) return true;
    return false;
  };

  /* Arithmetic */

  const number = (value) => typeof value === "number" || typeof value === "boolean";
  const operated = (sign, direct, reflected, otherwise) => (a, b) => {
    if (a !== null && typeof a === "object" && a[direct]) return a[direct](b);
    if (b !== null && typeof b === "object" && b[reflected]) return b[reflected](a);
    const found = otherwise(a, b);
    if (found === undefined) throw new $.TypeError(`unsupported operand type(s) for ${sign}: '${$.type(a)?.$name}' and '${$.type(b)?.$name}'`);
    return found;
  };
  const finite = (value, a, b) => {
    if (!Number.isFinite(value) && Number.isFinite(a) && Number.isFinite(b)) throw new $.OverflowError("(34, 'Numerical result out of range')");
    return value;
  };
  const addOther = operated("+", "__add__", "__radd__", (a, b) => {
    if (number(a) && number(b)) return a + b;
    if ((typeof a === "string" || a instanceof String) && (typeof b === "string" || b instanceof String)) return a.valueOf() + b.valueOf();
    if (Array.isArray(a) || a instanceof Named) return [...a, ...b];
    return undefined;
  });
  $.add = (a, b) => (typeof a === "number" && typeof b === "number" ? a + b : addOther(a, b));
  const subOther = operated("-", "__sub__", "__rsub__", (a, b) => {
    if (number(a) && number(b)) return a - b;
    if (a instanceof PySet) return new PySet([...a].filter((item) => !$.in(item, b)));
    if (a instanceof Day && b instanceof Day) return { days: a.ordinal - b.ordinal };
    return undefined;
  });
  $.sub = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : subOther(a, b));
  const repeated = (what, times) => (typeof what === "string" ? what.repeat(Math.max(times, 0)) : Array.from({ length: Math.max(times, 0) }, () => what).flat(1));
  const mulOther = operated("*", "__mul__", "__rmul__", (a, b) => {
    if (number(a) && number(b)) return a * b;
    if (typeof a === "string" || Array.isArray(a)) return repeated(a, b);
    if (typeof b === "string" || Array.isArray(b)) return repeated(b, a);
    return undefined;
  });
  $.mul = (a, b) => (typeof a === "number" && typeof b === "number" ? a * b : mulOther(a, b));
  const divOther = operated("/", "__truediv__", "__rtruediv__", (a, b) => {
    if (number(a) && number(b)) return $.div(Number(a), Number(b));
    if (a instanceof Path) return new Path(`${a.text}/${b}`);
    return undefined;
  });
  $.div = (a, b) => {
    if (typeof a !== "number" || typeof b !== "number") return divOther(a, b);
    if (b === 0) throw new $.ZeroDivisionError("division by zero");
    return a / b;
  };
  $.floordiv = (a, b) => { if (b === 0) throw new $.ZeroDivisionError("division by zero"); return Math.floor(a / b); };
  $.mod = (a, b) => {
    if (typeof a === "string") return a.replace(/%s/g, () => $.str(b));
    if (b === 0) throw new $.ZeroDivisionError("modulo by zero");
    const rest = a % b;
    return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
  };
  const powOther = operated("**", "__pow__", "__rpow__", () => undefined);
  $.pow = (a, b) => {
    if (typeof a !== "number" || typeof b !== "number") return powOther(a, b);
    if (a === 0 && b < 0) throw new $.ZeroDivisionError("0.0 cannot be raised to a negative power");
    return finite(a ** b, a, b);
  };
  const merged = (a, b) => (a instanceof Dict ? new Dict(a.entries()).merge(b) : a instanceof PySet ? new PySet([...a, ...$.iter(b)]) : undefined);
  $.bitor = operated("|", "__or__", "__ror__", (a, b) => (number(a) ? Number(BigInt(a) | BigInt(b)) : merged(a, b)));
  $.bitand = operated("&", "__and__", "__rand__", (a, b) => (number(a) ? Number(BigInt(a) & BigInt(b)) : new PySet([...a].filter((item) => $.in(item, b)))));
  $.bitxor = operated("^", "__xor__", "__rxor__", (a, b) => Number(BigInt(a) ^ BigInt(b)));
  $.shl = (a, b) => a * 2 ** b;
  $.shr = (a, b) => Math.floor(a / 2 ** b);
  $.neg = (a) => (typeof a === "number" ? -a : a.__neg__());
  $.iadd = (a, b) => { if (Array.isArray(a)) { for (const item of $.iter(b)) a.push(item); return a; } return $.add(a, b); };
  $.ibitor = (a, b) => {
    if (a instanceof Dict) return a.merge(b);
    if (a instanceof PySet) { for (const item of $.iter(b)) a.add(item); return a; }
    return $.bitor(a, b);
  };
  Object.assign($, { isub: $.sub, imul: $.mul, idiv: $.div, ifloordiv: $.floordiv, imod: $.mod, ipow: $.pow, ibitand: $.bitand, ishl: $.shl, ishr: $.shr });
  $.abs = (value) => Math.abs(value);
  $.round = (value, digits = null) => {
    if (digits === null) {
      if (!Number.isFinite(value)) throw Number.isNaN(value) ? new $.ValueError("cannot convert float NaN to integer") : new $.OverflowError("cannot convert float infinity to integer");
      const low = Math.floor(value), rest = value - low;
      return (rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low) + 0;
    }
    if (digits < 0) { const unit = 10 ** -digits; return $.round(value / unit) * unit; }
    return Number(fixed(value, digits));
  };
  $.divmod = (a, b) => [$.floordiv(a, b), $.mod(a, b)];

  /* Numbers as text */

  /** `toFixed` with ties to even, as Python rounds the exact value. */
  function fixed(value, digits) {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
    if (Math.abs(value) >= 1e21) return BigInt(value).toString() + (digits ? "." + "0".repeat(digits) : "");
    const text = value.toFixed(Math.min(digits, 100));
    if (digits > 98) return text;
    const exact = Math.abs(value).toFixed(100), point = exact.indexOf(".");
    const after = exact.slice(point + 1 + digits);
    if (!/^50*$/.test(after)) return text;
    const kept = exact.slice(0, digits ? point + 1 + digits : point), last = Number(kept.replace(".", "").slice(-1));
    return last % 2 ? text : (value < 0 ? "-" : "") + kept;
  }
  /** Digits and exponent of a number at so many significant digits, ties to even. */
  function scientific(value, digits) {
    const text = Math.abs(value).toExponential(Math.min(digits, 100));
    let [mantissa, exponent] = text.split("e");
    exponent = Number(exponent);
    const exact = Math.abs(value).toExponential(100), [long] = exact.split("e");
    const after = long.slice(digits ? 2 + digits : 2);
    if (digits < 98 && /^50*$/.test(after) && Number(exact.split("e")[1]) === exponent | 0) {
      const kept = digits ? long.slice(0, 2 + digits) : long.slice(0, 1);
      if (Number(kept.replace(".", "").slice(-1)) % 2 === 0) { mantissa = kept; exponent = Number(exact.split("e")[1]); }
    }
    return [(value < 0 || Object.is(value, -0) ? "-" : "") + mantissa, exponent];
  }
  const power = (exponent) => `e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  function general(value, digits, alternate) {
    if (!Number.isFinite(value)) return fixed(value, 0);
    if (value === 0) return alternate ? `0.${"0".repeat(digits - 1)}` : Object.is(value, -0) ? "-0" : "0";
    const places = Math.max(digits, 1);
    const [mantissa, exponent] = scientific(value, places - 1);
    const trimmed = (text) => (alternate || !text.includes(".") ? text : text.replace(/\.?0+$/, ""));
    if (exponent < -4 || exponent >= places) return trimmed(mantissa) + power(exponent);
    return trimmed(fixed(value, Math.max(places - 1 - exponent, 0)));
  }
  const grouped = (text) => text.replace(/^([-+]?\d+)/, (whole) => whole.replace(/\B(?=(\d{3})+(?!\d))/g, ","));
  $.numeral = (value) => {
    if (!Number.isFinite(value)) return fixed(value, 0);
    if (Number.isInteger(value)) return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
    const [mantissa, exponent] = value.toExponential().split("e");
    if (Number(exponent) < -4 || Number(exponent) >= 16) return mantissa + power(Number(exponent));
    return Math.abs(value) < 1e-6 ? value.toFixed(mantissa.replace(/\D/g, "").length - 1 - Number(exponent)) : String(value);
  };
  const SPEC = /^(?:(.)?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/su;
  $.format = (value, spec = "") => {
    if (spec === "") return $.str(value);
    const found = SPEC.exec(spec);
    if (!found) return $.str(value);
    let [, fill, align, sign, alternate, zero, width, group, precision, kind] = found;
    let text;
    if (typeof value === "number" || typeof value === "boolean") {
      const item = Number(value), digits = precision === undefined ? 6 : Number(precision);
      switch (kind) {
        case "f": case "F": text = fixed(item, digits); break;
        case "e": case "E": { const [mantissa, exponent] = Number.isFinite(item) ? scientific(item, digits) : [fixed(item, 0), null]; text = exponent === null ? mantissa : mantissa + power(exponent); break; }
        case "g": case "G": text = general(item, precision === undefined ? 6 : digits, alternate); break;
        case "%": text = fixed(item * 100, digits) + "%"; break;
        case "x": text = item.toString(16); break;
        case "d": text = $.numeral(item); break;
        default: text = precision === undefined ? $.numeral(item) : general(item, digits, alternate);
      }
      if (group) text = grouped(text);
      if (sign === "+" && !text.startsWith("-")) text = `+${text}`;
      if (zero && align === undefined) { fill = "0"; align = "="; }
      align ??= ">";
    } else {
      text = $.str(value);
      if (precision !== undefined) text = [...text].slice(0, Number(precision)).join("");
      align ??= "<";
    }
    const room = Number(width ?? 0) - [...text].length;
    if (room <= 0) return text;
    const pad = (fill ?? " ");
    if (align === "<") return text + pad.repeat(room);
    if (align === ">") return pad.repeat(room) + text;
    if (align === "=") return /^[-+]/.test(text) ? text[0] + pad.repeat(room) + text.slice(1) : pad.repeat(room) + text;
    return pad.repeat(Math.floor(room / 2)) + text + pad.repeat(Math.ceil(room / 2));
  };
  $.text = (...parts) => parts.join("");
  $.repr = (value) => {
    if (typeof value === "string" || value instanceof String) {
      const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
      const escaped = value.valueOf().replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t")
        .replace(/[\u0000-\u001f\u007f-\u009f\u00ad]/g, (letter) => `\\x${letter.charCodeAt(0).toString(16).padStart(2, "0")}`);
      return quote + (quote === "'" ? escaped.replace(/'/g, "\\'") : escaped) + quote;
    }
    if (typeof value === "number" || typeof value === "boolean" || value === null) return $.str(value);
    if (Array.isArray(value)) return `[${value.map($.repr).join(", ")}]`;
    if (value instanceof Dict) return `{${[...value.entries()].map(([key, item]) => `${$.repr(key)}: ${$.repr(item)}`).join(", ")}}`;
    if (value instanceof PySet) return value.size ? `{${[...value].map($.repr).join(", ")}}` : "set()";
    if (value.__repr__) return value.__repr__();
    if (value instanceof BaseException) return `${value.constructor.$name}(${value.args.map($.repr).join(", ")})`;
    if (value.constructor?.$fields) return `${value.constructor.$name}(${value.constructor.$fields.map(([name]) => `${name}=${$.repr(value[name])}`).join(", ")})`;
    return String(value);
  };
  $.ord = (letter) => letter.codePointAt(0);
  $.chr = (code) => String.fromCodePoint(code);
  $.hash = (value) => part(value);

  /* Containers */

  class Dict {
    constructor(pairs) {
      this.map = new Map();
      this.k = null;
      if (pairs) for (const [key, value] of pairs) this.put(key, value);
    }
    get size() { return this.map.size; }
    put(key, value) {
      const place = keyOf(key);
      if (place !== key) { (this.k ??= new Map()).has(place) || this.k.set(place, key); }
      this.map.set(place, value);
      return this;
    }
    has(key) { return this.map.has(keyOf(key)); }
    at(key) { return this.map.get(keyOf(key)); }
    delete(key) { const place = keyOf(key); this.k?.delete(place); return this.map.delete(place); }
    merge(other) {
      if (other instanceof Dict) for (const [key, value] of other.entries()) this.put(key, value);
      else if (other instanceof $.Mapping) for (const key of other) this.put(key, other.__getitem__(key));
      else if (other !== null && other !== undefined) for (const [key, value] of $.iter(other)) this.put(key, value);
      return this;
    }
    entries() { return this.k === null ? this.map.entries() : this.renamed(); }
    *renamed() { for (const [place, value] of this.map) yield [this.k.has(place) ? this.k.get(place) : place, value]; }
    [Symbol.iterator]() { return this.k === null ? this.map.keys() : this.keys(); }
    *keys() { for (const place of this.map.keys()) yield this.k.has(place) ? this.k.get(place) : place; }
  }
  $.Dict = Dict;
  class PySet {
    constructor(items) {
      this.k = new Map();
      if (items) for (const item of items) this.add(item);
    }
    get size() { return this.k.size; }
    add(item) { const place = keyOf(item); if (!this.k.has(place)) this.k.set(place, item); return null; }
    has(item) { return this.k.has(keyOf(item)); }
    delete(item) { return this.k.delete(keyOf(item)); }
    [Symbol.iterator]() { return this.k.values(); }
  }
  $.PySet = PySet;
  const dictMethods = { fromkeys: (keys, value = null) => new Dict([...$.iter(keys)].map((key) => [key, value])) };
  $.dict = typed("dict", (...given) => {
    const words = $.keywords(given);
    return new Dict().merge(given[0] ?? null).merge(new Dict(Object.entries(words)));
  });
  $.dict.fromkeys = dictMethods.fromkeys;
  $.set = typed("set", (items = []) => new PySet($.iter(items)));
  $.frozenset = typed("frozenset", (items = []) => new PySet($.iter(items)));
  $.Mapping = class Mapping extends Plain {
    get(key, usual = null) { return this.has(key) ? this.__getitem__(key) : usual; }
    has(key) { try { this.__getitem__(key); return true; } catch (error) { if (error instanceof $.KeyError) return false; throw error; } }
    keys() { return new PySet(this); }
    values() { return [...this].map((key) => this.__getitem__(key)); }
    items() { return [...this].map((key) => [key, this.__getitem__(key)]); }
  };
  for (const name of Object.keys(abstract)) { const made = name === "Mapping" ? $.Mapping : class {}; made.$abstract = name; $[`abstract${name}`] = made; }

  $.iter = (value) => {
    if (value === null || value === undefined || typeof value === "number" || typeof value[Symbol.iterator] !== "function") {
      if (value !== null && value !== undefined && value.__iter__) return $.iter(value.__iter__());
      throw new $.TypeError(`'${value === null ? "NoneType" : $.type(value)?.$name}' object is not iterable`);
    }
    return value;
  };
  $.seq = (value) => (Array.isArray(value) ? value : $.iter(value));
  $.gathered = (value, place, count) => {
    const all = [...$.iter(value)], after = count - place - 1;
    return [...all.slice(0, place), all.slice(place, all.length - after), ...all.slice(all.length - after)];
  };
  const placeIn = (length, index) => (index < 0 ? index + length : index);
  $.get = (owner, key) => {
    if (Array.isArray(owner) || typeof owner === "string") {
      const place = placeIn(owner.length, key);
      if (!(place in Object(owner))) throw new $.IndexError("list index out of range");
      return owner[place];
    }
    if (owner instanceof Dict) {
      const place = keyOf(key), value = owner.map.get(place);
      if (value === undefined && !owner.map.has(place)) {
        if (owner.missing) { const made = owner.missing(key); return made; }
        throw new $.KeyError(key);
      }
      return value;
    }
    if (owner.__getitem__) return owner.__getitem__(key);
    if (owner instanceof Named) { const all = [...owner]; return all[placeIn(all.length, key)]; }
    if (owner instanceof String) return owner.valueOf()[placeIn(owner.length, key)];
    if (typeof owner === "function") return owner;
    throw new $.TypeError(`'${$.type(owner)?.$name}' object is not subscriptable`);
  };
  $.put = (owner, key, value) => {
    if (Array.isArray(owner)) owner[placeIn(owner.length, key)] = value;
    else if (owner instanceof Dict) owner.put(key, value);
    else owner.__setitem__(key, value);
  };
  $.splice = (owner, from, to, items) => {
    const first = from === null ? 0 : placeIn(owner.length, from), last = to === null ? owner.length : placeIn(owner.length, to);
    owner.splice(first, last - first, ...items);
  };
  $.del = (owner, key) => { if (Array.isArray(owner)) owner.splice(placeIn(owner.length, key), 1); else if (!owner.delete(key)) throw new $.KeyError(key); };
  $.part = (owner, from, to, step) => {
    const all = typeof owner === "string" || owner instanceof String ? [...owner.valueOf()] : Array.isArray(owner) ? owner : [...owner];
    let found;
    if (step === null || step === 1) found = all.slice(from ?? 0, to ?? all.length);
    else if (step === -1) {
      const start = from === null ? all.length - 1 : placeIn(all.length, from), stop = to === null ? -1 : placeIn(all.length, to);
      found = [];
      for (let place = Math.min(start, all.length - 1); place > stop; place--) found.push(all[place]);
    } else found = all.slice(from ?? 0, to ?? all.length).filter((_, place) => place % step === 0);
    return typeof owner === "string" || owner instanceof String ? found.join("") : found;
  };
  $.len = (value) => {
    if (typeof value === "string" || value instanceof String) { let count = 0; for (const _ of value.valueOf()) count++; return count; }
    if (Array.isArray(value)) return value.length;
    if (value instanceof Dict || value instanceof PySet) return value.size;
    if (value.__len__) return value.__len__();
    return [...value].length;
  };
  $.range = (...given) => {
    const [start, stop, step] = given.length === 1 ? [0, given[0], 1] : [given[0], given[1], given[2] ?? 1];
    const found = [];
    if (step > 0) for (let value = start; value < stop; value += step) found.push(value);
    else for (let value = start; value > stop; value += step) found.push(value);
    return found;
  };
  $.any = (items) => { for (const item of $.iter(items)) if ($.t(item)) return true; return false; };
  $.all = (items) => { for (const item of $.iter(items)) if (!$.t(item)) return false; return true; };
  $.sum = (items, start = 0) => {
    // Since Python 3.12 sums of floats are compensated.
    let value = start, carry = 0, plain = typeof start === "number";
    for (const item of $.iter(items)) {
      if (plain && (typeof item === "number" || typeof item === "boolean")) {
        const other = Number(item), next = value + other;
        if ($.compensated && Number.isFinite(next)) carry += Math.abs(value) >= Math.abs(other) ? value - next + other : other - next + value;
        value = next;
      } else {
        if (plain && carry) { value += carry; carry = 0; }
        plain = false;
        value = $.add(value, item);
      }
    }
    return plain && carry && Number.isFinite(carry) ? value + carry : value;
  };
  $.compensated = true;
  const extreme = (better) => (...given) => {
    const words = $.keywords(given), items = given.length === 1 ? [...$.iter(given[0])] : given;
    if (!items.length) {
      if ("default" in words) return words.default;
      throw new $.ValueError("iterable argument is empty");
    }
    const key = words.key ?? ((item) => item);
    let best = items[0], bestKey = $.call(key, best);
    for (const item of items.slice(1)) {
      const itsKey = $.call(key, item);
      if (better(itsKey, bestKey)) { best = item; bestKey = itsKey; }
    }
    return best;
  };
  $.min = extreme((one, best) => $.lt(one, best));
  $.max = extreme((one, best) => $.gt(one, best));
  const arranged = (items, words) => {
    const key = words.key ?? null, keyed = items.map((item, place) => [key ? $.call(key, item) : item, place, item]);
    const sign = words.reverse ? -1 : 1;
    keyed.sort((a, b) => sign * order(a[0], b[0]) || a[1] - b[1]);
    return keyed.map(([, , item]) => item);
  };
  $.sorted = (items, words = new Keywords({})) => arranged([...$.iter(items)], words.given);
  $.reversed = (items) => [...items].reverse();
  $.enumerate = function* (items, start = 0) { let place = start instanceof Keywords ? start.given.start : start; for (const item of $.iter(items)) yield [place++, item]; };
  $.zip = function* (...given) {
    $.keywords(given);
    const all = given.map((one) => $.iter(one)[Symbol.iterator]());
    while (all.length) {
      const found = all.map((one) => one.next());
      if (found.some((one) => one.done)) return;
      yield found.map((one) => one.value);
    }
  };
  $.map = function* (made, ...given) {
    if (given.length === 1) { for (const item of $.iter(given[0])) yield $.call(made, item); return; }
    for (const items of $.zip(...given)) yield $.call(made, ...items);
  };
  $.filter = function* (made, items) { for (const item of $.iter(items)) if (made === null ? $.t(item) : $.t($.call(made, item))) yield item; };
  $.next = (items, usual) => {
    const found = items.next ? items.next() : items[Symbol.iterator]().next();
    if (!found.done) return found.value;
    if (usual === undefined) throw new $.StopIteration();
    return usual;
  };
  $.print = () => null;
  $.NotImplemented = null;

  /* Methods */

  const isText = (value) => typeof value === "string" || value instanceof String;
  const method = (name, kinds) => {
    $.m[name] = (owner, ...given) => {
      if (isText(owner) && kinds.text && !(owner instanceof String && Object.hasOwn(owner, name))) return kinds.text(owner.valueOf(), ...given.map(primitive));
      if (Array.isArray(owner) && kinds.list) return kinds.list(owner, ...given);
      if (owner instanceof Dict && kinds.dict) return kinds.dict(owner, ...given);
      if (owner instanceof PySet && kinds.set) return kinds.set(owner, ...given);
      if (owner instanceof Named && kinds.list && !(name in owner)) return kinds.list([...owner], ...given);
      if (owner === null) throw new $.AttributeError(`'NoneType' object has no attribute '${name}'`);
      return owner[name](...given);
    };
  };
  const strip = (text, letters, left, right) => {
    const within = letters === undefined || letters === null ? (letter) => /\s/.test(letter) : (letter) => letters.includes(letter);
    let from = 0, to = text.length;
    while (left && from < to && within(text[from])) from++;
    while (right && to > from && within(text[to - 1])) to--;
    return text.slice(from, to);
  };
  const splitted = (text, separator, most) => {
    if (separator === undefined || separator === null) {
      const words = text.trim().split(/\s+/).filter(Boolean);
      return most === undefined || most < 0 || words.length <= most ? words : [...words.slice(0, most), text.trim().split(/\s+/).slice(most).join(" ")];
    }
    const parts = text.split(separator);
    return most === undefined || most < 0 || parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(separator)];
  };
  const most = (given) => (given instanceof Keywords ? given.given.maxsplit : given);
  const starts = (text, what, test) => (Array.isArray(what) ? what.some((one) => test(text, one)) : test(text, what));
  const template = (text, given) => {
    const words = $.keywords(given);
    let place = 0;
    return text.replace(/\{\{|\}\}|\{([^{}:!]*)(?:!([rs]))?(?::([^{}]*(?:\{[^{}]*\}[^{}]*)*))?\}/g, (whole, name, conversion, spec) => {
      if (whole === "{{") return "{";
      if (whole === "}}") return "}";
      const [first, ...path] = name.split(/[.[]/);
      let value = first === "" ? given[place++] : /^\d+$/.test(first) ? given[Number(first)] : words[first];
      if (value === undefined) throw new $.KeyError(first);
      for (const step of path) value = $.attr(value, step.replace("]", ""));
      if (conversion === "r") value = $.repr(value);
      return $.format(value, spec === undefined ? "" : template(spec, [...given, new Keywords(words)]));
    });
  };
  const METHODS = {
    append: { list: (own, item) => { own.push(item); return null; } },
    extend: { list: (own, items) => { for (const item of $.iter(items)) own.push(item); return null; } },
    insert: { list: (own, place, item) => { own.splice(place, 0, item); return null; } },
    remove: { list: (own, item) => { own.splice(own.findIndex((one) => $.eq(one, item)), 1); return null; }, set: (own, item) => { if (!own.delete(item)) throw new $.KeyError(item); return null; } },
    reverse: { list: (own) => { own.reverse(); return null; } },
    clear: { list: (own) => { own.length = 0; return null; }, dict: (own) => { own.map.clear(); own.k = null; return null; } },
    sort: { list: (own, words = new Keywords({})) => { const found = arranged(own, words.given); own.splice(0, own.length, ...found); return null; } },
    index: { list: (own, item) => { const place = own.findIndex((one) => $.eq(one, item)); if (place < 0) throw new $.ValueError(`${$.repr(item)} is not in list`); return place; }, text: (own, item) => { const place = own.indexOf(item); if (place < 0) throw new $.ValueError("substring not found"); return place; } },
    count: { list: (own, item) => own.filter((one) => $.eq(one, item)).length, text: (own, item) => own.split(item).length - 1 },
    pop: { list: (own, place = -1) => { if (!own.length) throw new $.IndexError("pop from empty list"); return own.splice(placeIn(own.length, place), 1)[0]; },
      dict: (own, key, usual) => { if (own.has(key)) { const value = own.at(key); own.delete(key); return value; } if (usual === undefined) throw new $.KeyError(key); return usual; } },
    copy: { list: (own) => [...own], dict: (own) => new Dict(own.entries()), set: (own) => new PySet(own) },
    get: { dict: (own, key, usual = null) => { const place = keyOf(key), value = own.map.get(place); return value === undefined ? usual : value; } },
    keys: { dict: (own) => new PySet(own) },
    values: { dict: (own) => [...own.map.values()] },
    items: { dict: (own) => [...own.entries()] },
    setdefault: { dict: (own, key, usual = null) => { if (!own.has(key)) own.put(key, usual); return own.at(key); } },
    update: { dict: (own, ...given) => { const words = $.keywords(given); for (const one of given) own.merge(one); own.merge(new Dict(Object.entries(words))); return null; }, set: (own, ...given) => { for (const items of given) for (const item of $.iter(items)) own.add(item); return null; } },
    most_common: { dict: (own, count) => arranged([...own.entries()], { key: ([, value]) => -value }).slice(0, count ?? undefined) },
    add: { set: (own, item) => own.add(item) },
    discard: { set: (own, item) => { own.delete(item); return null; } },
    union: { set: (own, ...given) => new PySet([...own, ...given.flatMap((items) => [...$.iter(items)])]) },
    intersection: { set: (own, items) => new PySet([...own].filter((item) => $.in(item, items))) },
    difference: { set: (own, items) => new PySet([...own].filter((item) => !$.in(item, items))) },
    issuperset: { set: (own, items) => [...$.iter(items)].every((item) => own.has(item)) },
    isdisjoint: { set: (own, items) => ![...$.iter(items)].some((item) => own.has(item)) },
    issubset: { set: (own, items) => [...own].every((item) => $.in(item, items)) },
    lower: { text: (own) => own.toLowerCase() }, upper: { text: (own) => own.toUpperCase() }, casefold: { text: (own) => own.toLowerCase() },
    title: { text: (own) => own.replace(/[A-Za-z]+/g, (word) => word[0].toUpperCase() + word.slice(1).toLowerCase()) },
    capitalize: { text: (own) => own.charAt(0).toUpperCase() + own.slice(1).toLowerCase() },
    isprintable: { text: (own) => !/[^\P{Z} ]|\p{C}/u.test(own) },
    strip: { text: (own, letters) => strip(own, letters, true, true) }, lstrip: { text: (own, letters) => strip(own, letters, true, false) }, rstrip: { text: (own, letters) => strip(own, letters, false, true) },
    split: { text: (own, separator, count) => (separator instanceof Keywords ? splitted(own, undefined, most(separator)) : splitted(own, separator, most(count))) },
    rsplit: { text: (own, separator, count) => { const parts = own.split(separator), kept = most(count); return parts.length <= kept + 1 ? parts : [parts.slice(0, parts.length - kept).join(separator), ...parts.slice(-kept)]; } },
    splitlines: { text: (own) => { const lines = own.split(/\r\n|\n|\r/); if (lines[lines.length - 1] === "") lines.pop(); return lines; } },
    join: { text: (own, items) => [...$.iter(items)].map((item) => { if (!isText(item)) throw new $.TypeError("sequence item: expected str"); return item.valueOf(); }).join(own) },
    replace: { text: (own, what, by, count) => (count === undefined ? own.split(what).join(by) : own.replace(what, () => by)) },
    startswith: { text: (own, what) => starts(own, what, (text, one) => text.startsWith(one)) },
    endswith: { text: (own, what) => starts(own, what, (text, one) => text.endsWith(one)) },
    removeprefix: { text: (own, what) => (what && own.startsWith(what) ? own.slice(what.length) : own) },
    removesuffix: { text: (own, what) => (what && own.endsWith(what) ? own.slice(0, -what.length) : own) },
    partition: { text: (own, what) => { const place = own.indexOf(what); return place < 0 ? [own, "", ""] : [own.slice(0, place), what, own.slice(place + what.length)]; } },
    rpartition: { text: (own, what) => { const place = own.lastIndexOf(what); return place < 0 ? ["", "", own] : [own.slice(0, place), what, own.slice(place + what.length)]; } },
    find: { text: (own, what) => own.indexOf(what) },
    isupper: { text: (own) => own !== own.toLowerCase() && own === own.toUpperCase() }, islower: { text: (own) => own !== own.toUpperCase() && own === own.toLowerCase() },
    isdecimal: { text: (own) => /^\p{Nd}+$/u.test(own) }, isdigit: { text: (own) => /^\p{Nd}+$/u.test(own) }, isalpha: { text: (own) => /^\p{L}+$/u.test(own) }, isspace: { text: (own) => /^\s+$/.test(own) },
    ljust: { text: (own, width, fill = " ") => own.padEnd(width, fill) }, rjust: { text: (own, width, fill = " ") => own.padStart(width, fill) }, zfill: { text: (own, width) => own.padStart(width, "0") },
    translate: { text: (own, table) => [...own].map((letter) => { const found = table.at(letter.codePointAt(0)); return found === undefined ? letter : found ?? ""; }).join("") },
    format: { text: (own, ...given) => template(own, given) },
    fromkeys: {}, is_integer: {},
  };
  for (const [name, kinds] of Object.entries(METHODS)) method(name, kinds);
  $.m.format = (owner, ...given) => (isText(owner) ? template(owner.valueOf(), given) : owner.format(...given));
  $.m.bit_length = (owner) => (owner === 0 ? 0 : Math.abs(owner).toString(2).length);
  $.m.is_integer = (owner) => Number.isInteger(owner);
  $.m.fromkeys = (owner, ...given) => owner.fromkeys(...given);
  $.Keywords = Keywords;

  /* The standard library */

  class Path {
    constructor(...parts) { this.text = parts.map(String).join("/"); }
    toString() { return this.text; }
    __str__() { return this.text; }
    get name() { return this.text.split("/").pop(); }
    get suffix() { const at = this.name.lastIndexOf("."); return at > 0 ? this.name.slice(at) : ""; }
    get stem() { return this.suffix ? this.name.slice(0, -this.suffix.length) : this.name; }
    get parent() { return new Path(this.text.split("/").slice(0, -1).join("/")); }
    get parents() { return []; }
    with_suffix(suffix) { return new Path(this.text.slice(0, this.text.length - this.suffix.length) + suffix); }
    is_file() { return false; }
    is_dir() { return false; }
  }
  Path.$class = true;
  $.Path = Path;
  class Day { constructor(year, month, day) { this.year = year; this.month = month; this.day = day; this.ordinal = Date.UTC(year, month - 1, day) / 864e5; } }
  Day.$class = true;
  const cached = (made) => {
    const kept = new Map();
    const found = (...given) => {
      const key = keyOf(given);
      if (!kept.has(key)) kept.set(key, made(...given));
      return kept.get(key);
    };
    return Object.assign(found, { cache_clear: () => { kept.clear(); return null; }, $p: parametersOf(made), $more: made.$more, $name: made.$name, __name__: made.__name__ });
  };
  class Pattern {
    constructor(source, flags) {
      this.source = source.replace(/\(\?P</g, "(?<").replace(/\(\?P=(\w+)\)/g, "\\k<$1>").replace(/\\Z/g, "$").replace(/\\A/g, "^");
      this.flags = `g${flags}`;
      try {
        // A digit of any script is a digit.
        const source = this.source.replace(/\\d/g, "\\p{Nd}").replace(/\\([-µ'"<>=!#&,:;@~` ])/g, (_, letter) => (letter === "-" ? "\\-" : letter));
        new RegExp(source, `${this.flags}u`);
        this.source = source;
        this.flags += "u";
      } catch { /* a pattern that this flag does not take */ }
    }
    expression(sticky, whole) { return new RegExp(whole ? `^(?:${this.source})$` : this.source, sticky ? this.flags.replace("g", "y") : this.flags); }
    fullmatch(text) { return matched(new RegExp(`^(?:${this.source})$`, this.flags.replace("g", "").replace("m", "")).exec(text)); }
    match(text) { return matched(this.expression(true).exec(text)); }
    search(text) { return matched(this.expression().exec(text)); }
    findall(text) { return [...String(text).matchAll(this.expression())].map((found) => (found.length === 1 ? found[0] : found.length === 2 ? found[1] ?? "" : found.slice(1).map((one) => one ?? ""))); }
    finditer(text) { return [...String(text).matchAll(this.expression())].map(matched); }
    split(text) { return String(text).split(this.expression()); }
    sub(by, text) {
      return String(text).replace(this.expression(), (...given) => {
        const at = given.findIndex((one, place) => place > 0 && typeof one === "number"), groups = given.slice(0, at);
        if (typeof by === "function") return by(matched(Object.assign(groups, { index: given[at], groups: typeof given[given.length - 1] === "object" ? given[given.length - 1] : undefined })));
        return String(by).replace(/\\(\d)|\\g<(\w+)>/g, (_, place, name) => groups[Number(place ?? name)] ?? "");
      });
    }
  }
  class Match {
    constructor(found) { this.found = found; }
    __getitem__(name) { const value = typeof name === "number" ? this.found[name] : this.found.groups[name]; return value ?? null; }
    group(...names) { return names.length > 1 ? names.map((name) => this.__getitem__(name)) : this.__getitem__(names[0] ?? 0); }
    groups() { return [...this.found].slice(1).map((one) => one ?? null); }
    start() { return this.found.index; }
    end() { return this.found.index + this.found[0].length; }
  }
  const matched = (found) => (found ? new Match(found) : null);
  const compile = (source, flags = "") => (source instanceof Pattern ? source : new Pattern(source, flags));
  const patterns = new Map();
  const pattern = (source, flags) => {
    const given = flags instanceof Keywords ? flags.given.flags : flags;
    const key = `${given ?? ""} ${source}`;
    if (!patterns.has(key)) patterns.set(key, compile(source, given ?? ""));
    return patterns.get(key);
  };
  const re = {
    compile: (source, flags) => pattern(source, flags), DOTALL: "s", IGNORECASE: "i", MULTILINE: "m",
    escape: (text) => text.replace(/[-.*+?^${}()|[\]\\/ ]/g, "\\$&"),
    sub: (source, by, text, flags) => pattern(source, flags).sub(by, text),
  };
  for (const name of ["fullmatch", "match", "search", "findall", "split", "finditer"]) re[name] = (source, text, flags) => pattern(source, flags)[name](text);
  const domain = (value, test) => { if (!test) throw new $.ValueError("math domain error"); return value; };
  const math = {
    pi: Math.PI, e: Math.E, inf: Infinity, nan: NaN,
    floor: (value) => (typeof value === "number" ? whole(Math.floor(value)) : value.__floor__()), ceil: (value) => (typeof value === "number" ? whole(Math.ceil(value)) + 0 : value.__ceil__()), trunc: (value) => whole(Math.trunc(value)),
    log: (value, base) => (domain(0, value > 0), base === undefined ? Math.log(value) : Math.log(value) / Math.log(base)),
    log10: (value) => (domain(0, value > 0), log10(value)), log2: (value) => (domain(0, value > 0), Math.log2(value)), log1p: Math.log1p, expm1: Math.expm1,
    exp: (value) => finite(Math.exp(value), value, value), sqrt: (value) => (domain(0, value >= 0), Math.sqrt(value)), pow: (a, b) => $.pow(a, b),
    isfinite: (value) => Number.isFinite(value), isinf: (value) => Math.abs(value) === Infinity, isnan: (value) => Number.isNaN(value),
    isclose: (a, b, words = new Keywords({})) => {
      const { rel_tol = 1e-9, abs_tol = 0 } = words.given;
      return a === b || (Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= Math.max(rel_tol * Math.max(Math.abs(a), Math.abs(b)), abs_tol));
    },
    prod: (items) => { let value = 1; for (const item of $.iter(items)) value = $.mul(value, item); return value; },
    gcd: (...given) => given.reduce((a, b) => { while (b) [a, b] = [b, a % b]; return Math.abs(a); }, 0),
    lcm: (...given) => given.reduce((a, b) => (a / math.gcd(a, b)) * b, 1), fsum: (items) => $.sum(items), hypot: Math.hypot, copysign: (a, b) => (b < 0 ? -Math.abs(a) : Math.abs(a)),
    comb: (n, k) => { let value = 1; for (let place = 1; place <= k; place++) value = (value * (n - k + place)) / place; return Math.round(value); }, isqrt: (value) => Math.floor(Math.sqrt(value)), fabs: Math.abs,
    erf: () => $.beyond("a distribution"), lgamma: () => $.beyond("a distribution"), gamma: () => $.beyond("a distribution"),
  };
  function whole(value) {
    if (!Number.isFinite(value)) throw Number.isNaN(value) ? new $.ValueError("cannot convert float NaN to integer") : new $.OverflowError("cannot convert float infinity to integer");
    return value + 0;
  }
  /** The logarithm to base 10, exact for powers of ten. */
  function log10(value) {
    const found = Math.log10(value), near = Math.round(found);
    return Math.abs(near) < 300 && Number(`1e${near}`) === value ? near : found;
  }
  const partial = (made, ...given) => {
    const words = $.keywords(given);
    return (...more) => $.worded(made, [...given, ...more.filter((one) => !(one instanceof Keywords))], { ...words, ...Object.assign({}, ...more.filter((one) => one instanceof Keywords).map((one) => one.given)) });
  };
  const chain = (...given) => chain.from_iterable(given);
  chain.from_iterable = function* (given) { for (const items of $.iter(given)) yield* $.iter(items); };
  const itertools = {
    chain,
    product: (...given) => { const words = $.keywords(given); const all = Array.from({ length: words.repeat ?? 1 }, () => given).flat().map((items) => [...$.iter(items)]); return all.reduce((found, items) => found.flatMap((one) => items.map((item) => [...one, item])), [[]]); },
    pairwise: (items) => { const all = [...items]; return all.slice(1).map((item, place) => [all[place], item]); },
    combinations: (items, count) => { const all = [...items]; const choose = (from, left) => (left === 0 ? [[]] : all.slice(from).flatMap((item, place) => choose(from + place + 1, left - 1).map((rest) => [item, ...rest]))); return choose(0, count); },
    islice: function* (items, first, last) { const [from, to] = last === undefined ? [0, first] : [first, last]; let place = 0; for (const item of items) { if (to !== null && place >= to) return; if (place++ >= from) yield item; } },
    accumulate: (items, how = $.add) => { let value; return [...$.iter(items)].map((item, place) => (value = place ? $.call(how, value, item) : item)); },
    zip_longest: (...given) => { const words = $.keywords(given); const all = given.map((items) => [...items]); return $.range(Math.max(0, ...all.map((items) => items.length))).map((place) => all.map((items) => (place < items.length ? items[place] : words.fillvalue ?? null))); },
    groupby: (items, key) => { const found = []; for (const item of items) { const own = key(item); if (!found.length || !$.eq(found[found.length - 1][0], own)) found.push([own, []]); found[found.length - 1][1].push(item); } return found; },
    count: function* (start = 0, step = 1) { for (let value = start; ; value += step) yield value; },
    repeat: (item, times) => Array.from({ length: times }, () => item),
    takewhile: function* (test, items) { for (const item of items) { if (!test(item)) return; yield item; } },
  };
  const getter = (...names) => (owner) => { const found = names.map((name) => name.split(".").reduce((value, step) => $.attr(value, step), owner)); return found.length > 1 ? found : found[0]; };
  const replace = $.fn((owner, words) => {
    const made = owner.constructor;
    return new made(...made.$fields.map(([name]) => (name in words.given ? words.given[name] : owner[name])));
  }, "replace");
  replace.$p = null;

  /** `difflib.SequenceMatcher`, as far as the nearest name needs it. */
  function similar(one, other) {
    const a = [...one], b = [...other], places = new Map();
    b.forEach((letter, place) => { if (!places.has(letter)) places.set(letter, []); places.get(letter).push(place); });
    const longest = (alo, ahi, blo, bhi) => {
      let best = [alo, blo, 0], lengths = new Map();
      for (let i = alo; i < ahi; i++) {
        const next = new Map();
        for (const j of places.get(a[i]) ?? []) {
          if (j < blo) continue;
          if (j >= bhi) break;
          const size = (lengths.get(j - 1) ?? 0) + 1;
          next.set(j, size);
          if (size > best[2]) best = [i - size + 1, j - size + 1, size];
        }
        lengths = next;
      }
      return best;
    };
    const total = (alo, ahi, blo, bhi) => {
      const [i, j, size] = longest(alo, ahi, blo, bhi);
      if (!size) return 0;
      return size + (alo < i && blo < j ? total(alo, i, blo, j) : 0) + (i + size < ahi && j + size < bhi ? total(i + size, ahi, j + size, bhi) : 0);
    };
    const length = a.length + b.length;
    return length ? (2 * total(0, a.length, 0, b.length)) / length : 1;
  }
  class SequenceMatcher { constructor(_, one, other) { this.value = similar(one, other); } ratio() { return this.value; } }
  SequenceMatcher.$class = true;
  const get_close_matches = (word, choices, ...given) => {
    const { n = given[0] ?? 3, cutoff = given[1] ?? 0.6 } = $.keywords(given);
    const scored = [...$.iter(choices)].map((choice) => [similar(choice, word), choice]).filter(([score]) => score >= cutoff);
    return arranged(scored, { reverse: true }).slice(0, n).map(([, choice]) => choice);
  };
  class Counter extends Dict {
    constructor(items = []) { super(); for (const item of $.iter(items)) this.put(item, (this.at(item) ?? 0) + 1); }
    missing() { return 0; }
  }
  Counter.$class = true;
  class DefaultDict extends Dict { constructor(make) { super(); this.make = make; } missing(key) { const value = $.call(this.make); this.put(key, value); return value; } }
  DefaultDict.$class = true;
  const same = (value) => value;
  const libraries = {
    math, re, itertools,
    functools: { cache: cached, lru_cache: () => cached, partial, reduce: (made, items, ...start) => { let [value, begun] = start.length ? [start[0], true] : [null, false]; for (const item of $.iter(items)) { value = begun ? $.call(made, value, item) : item; begun = true; } return value; } },
    operator: { eq: $.eq, ne: $.ne, lt: $.lt, le: $.le, gt: $.gt, ge: $.ge, attrgetter: getter, itemgetter: (...names) => (owner) => (names.length > 1 ? names.map((name) => $.get(owner, name)) : $.get(owner, names[0])), is_: $.is, add: $.add, mul: $.mul },
    dataclasses: { replace, fields: (owner) => (owner.$fields ?? owner.constructor.$fields).map(([name]) => ({ name })), asdict: (owner) => new Dict(owner.constructor.$fields.map(([name]) => [name, owner[name]])) },
    collections: { Counter, defaultdict: DefaultDict, ChainMap: Dict },
    types: { MappingProxyType: same, NoneType: $.NoneType },
    typing: { Any: same, cast: (_, value) => value, TypeVar: same, NamedTuple: Named, Protocol: Plain },
    "collections.abc": Object.fromEntries(Object.keys(abstract).map((name) => [name, $[`abstract${name}`]])),
    importlib: { import_module: (name) => $.modules[name] ?? {} },
    difflib: { SequenceMatcher: (...given) => new SequenceMatcher(...given), get_close_matches },
    pathlib: { Path }, datetime: { date: Day }, bisect: { bisect: (items, value) => [...items].filter((item) => order(item, value) <= 0).length },
    contextlib: {}, os: { sep: "/", pathsep: ":", environ: new Dict(), path: { isdir: () => false } }, sys: {}, json: {}, csv: {}, textwrap: {}, fnmatch: {}, html: {}, shutil: {}, unicodedata: {}, yaml: {}, stat: {}, errno: {}, io: {}, zlib: {}, hashlib: {}, jsonschema: {},
  };
  $.library = (name) => libraries[name] ?? $.beyond(`what ${name} computes`);
  $.Pattern = Pattern;
  $.order = order;

  /* Data that were compressed */

  /** The bytes of a raw LZMA stream with an `lc` of 4 and `lp` and `pb` of 0 (the specification's names); at once, since no browser does that. */
  const LC = 4;
  $.unpacked = (packed, size) => {
    const made = new Uint8Array(size), odds = (count) => new Uint16Array(count).fill(1024);
    // Range and code, in an array of whole numbers: a variable would hold each in an object of its own.
    const now = Uint32Array.of(2 ** 32 - 1, new DataView(packed.buffer, packed.byteOffset).getUint32(1));
    let at = 5, end = 0, state = 0, last = [0, 0, 0, 0];
    const shift = () => {
      if (now[0] >= 2 ** 24) return;
      now[0] <<= 8;
      now[1] = (now[1] << 8) | packed[at++];
    };
    const bit = (table, place) => {
      const odd = table[place], bound = (now[0] >>> 11) * odd;
      if (now[1] < bound) {
        now[0] = bound;
        table[place] = odd + ((2048 - odd) >> 5);
        shift();
        return 0;
      }
      now[0] -= bound;
      now[1] -= bound;
      table[place] = odd - (odd >> 5);
      shift();
      return 1;
    };
    const tree = (table, bits) => { let node = 1; for (let turn = 0; turn < bits; turn++) node = 2 * node + bit(table, node); return node - (1 << bits); };
    const reversed = (table, start, bits) => { let node = 1, found = 0; for (let turn = 0; turn < bits; turn++) { const one = bit(table, start + node); node = 2 * node + one; found |= one << turn; } return found; };
    const direct = (bits) => {
      let found = 0;
      for (let turn = 0; turn < bits; turn++) {
        now[0] >>>= 1;
        const one = now[1] < now[0] ? 0 : 1;
        now[1] -= one * now[0];
        found = 2 * found + one;
        shift();
      }
      return found;
    };
    const lengths = () => ({ choice: odds(2), low: odds(8), middle: odds(8), high: odds(256) });
    const length = ({ choice, low, middle, high }) => (bit(choice, 0) ? (bit(choice, 1) ? 18 + tree(high, 8) : 10 + tree(middle, 3)) : 2 + tree(low, 3));
    const isMatch = odds(12), isRep = odds(12), isRepG = [odds(12), odds(12), odds(12)], isRep0Long = odds(12), ofMatch = lengths(), ofRep = lengths();
    const literals = odds(0x300 << LC), slots = [odds(64), odds(64), odds(64), odds(64)], special = odds(115), align = odds(16);
    const literal = () => {
      const base = 0x300 * (end ? made[end - 1] >> (8 - LC) : 0);
      let symbol = 1;
      for (let matched = made[end - last[0] - 1], same = state >= 7; symbol < 0x100;) {
        const expected = (matched >> 7) & 1, one = bit(literals, base + symbol + (same ? (1 + expected) << 8 : 0));
        matched <<= 1;
        symbol = 2 * symbol + one;
        same &&= one === expected;
      }
      made[end++] = symbol;
      state = state < 4 ? 0 : state - (state < 10 ? 3 : 6);
    };
    const distance = (size) => {
      const slot = tree(slots[Math.min(size - 2, 3)], 6), bits = (slot >> 1) - 1;
      if (slot < 4) return slot;
      const start = (2 | (slot & 1)) << bits;
      return slot < 14 ? start + reversed(special, start - slot, bits) : start + direct(bits - 4) * 16 + reversed(align, 0, 4);
    };
    while (end < size) {
      if (!bit(isMatch, state)) { literal(); continue; }
      let count = 1;
      if (!bit(isRep, state)) {
        count = length(ofMatch);
        state = state < 7 ? 7 : 10;
        last = [distance(count), ...last.slice(0, 3)];
      } else {
        const which = bit(isRepG[0], state) ? (bit(isRepG[1], state) ? 2 + bit(isRepG[2], state) : 1) : 0;
        if (which || bit(isRep0Long, state)) {
          last = [last[which], ...last.filter((_, place) => place !== which)];
          count = length(ofRep);
          state = state < 7 ? 8 : 11;
        } else state = state < 7 ? 9 : 11;
      }
      for (const from = end - last[0] - 1, start = end; end - start < count; end++) made[end] = made[from + end - start];
    }
    return made;
  };

  /* Messages: text that holds the options that it names */

  $.message = (worded, optionOf) => class Message extends String {
    constructor(...given) {
      const words = $.keywords(given), supply = words.supply ?? [];
      const parts = given.flatMap((part) => (part instanceof Message ? part.parts : [part]));
      const inner = given.flatMap((part) => (part instanceof Message ? part.supply : []));
      const ways = [...inner, ...supply.map((way) => (typeof way === "string" || way instanceof String ? optionOf(way.valueOf()) : way))];
      super(worded(parts, ways, (option) => option.on_command_line));
      this.parts = parts;
      this.supply = ways;
      this.rule = words.rule || given.map((part) => part?.rule ?? "").find(Boolean) || "";
    }
    static $class = true;
  };
  return $;
})();
const $M = $.modules;

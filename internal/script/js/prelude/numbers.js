// Buffer's readUInt16LE and its many siblings, made from a list.

const kinds = [
  ["Int8", 1],
  ["Uint8", 1],
  ["Int16", 2],
  ["Uint16", 2],
  ["Int32", 4],
  ["Uint32", 4],
  ["BigInt64", 8],
  ["BigUint64", 8],
  ["Float32", 4, "Float"],
  ["Float64", 8, "Double"],
];

export const failure = (type, code, message) => Object.assign(new type(message), { code });

/** A value as errors of Node.js describe it. */
export function received(value) {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return `function ${value.name}`;
  if (typeof value === "object") return `an instance of ${value.constructor?.name ?? "Object"}`;
  return `type ${typeof value} (${typeof value === "string" ? `'${value.slice(0, 25)}'` : String(value)})`;
}

export const wrongType = (name, expected, value) =>
  failure(TypeError, "ERR_INVALID_ARG_TYPE", `The "${name}" argument must be ${expected}. Received ${received(value)}`);

export const outOfRange = (name, what, value) =>
  failure(RangeError, "ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be ${what}. Received ${value}`);

export function checkNumber(name, value, low, high = Infinity) {
  if (typeof value !== "number") throw wrongType(name, "of type number", value);
  if (!(value >= low && value <= high)) throw outOfRange(name, high === Infinity ? `>= ${low}` : `>= ${low} && <= ${high}`, value);
}

export function checkOffset(name, value, low, high = Number.MAX_SAFE_INTEGER) {
  if (typeof value === "number" && !Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  checkNumber(name, value, low, high);
}

function viewAt(buffer, offset, size) {
  if (typeof offset !== "number") throw wrongType("offset", "of type number", offset);
  if (size > buffer.length)
    throw failure(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
  if (!Number.isInteger(offset)) throw outOfRange("offset", "an integer", offset);
  if (offset < 0 || offset + size > buffer.length)
    throw outOfRange("offset", `>= 0 and <= ${buffer.length - size}`, offset);
  return new DataView(buffer.buffer, buffer.byteOffset + offset, size);
}

function limits(kind) {
  if (kind.startsWith("Float")) return null;
  const bits = BigInt(parseInt(/\d+$/.exec(kind)[0], 10));
  const [low, high] = kind.includes("int") ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
  return kind.startsWith("Big") ? [low, high] : [Number(low), Number(high)];
}

export function numberMethods(prototype) {
  const add = (name, fn) => {
    Object.defineProperty(prototype, name, { value: fn, writable: true, configurable: true });
    const old = name.replace("Uint", "UInt"); // both spellings are in use
    if (old !== name) Object.defineProperty(prototype, old, { value: fn, writable: true, configurable: true });
  };
  for (const [kind, size, name = kind] of kinds) {
    const bounds = limits(kind);
    for (const [suffix, little] of size === 1
      ? [["", true]]
      : [
          ["LE", true],
          ["BE", false],
        ]) {
      add(`read${name}${suffix}`, function (offset = 0) {
        return viewAt(this, offset, size)[`get${kind}`](0, little);
      });
      add(`write${name}${suffix}`, function (value, offset = 0) {
        if (bounds && (value < bounds[0] || value > bounds[1]))
          throw outOfRange("value", `>= ${bounds[0]} and <= ${bounds[1]}`, value);
        viewAt(this, offset, size)[`set${kind}`](0, value, little);
        return offset + size;
      });
    }
  }
  for (const [suffix, little] of [
    ["LE", true],
    ["BE", false],
  ]) {
    const read = (buffer, offset, size) => {
      checkOffset("byteLength", size, 1, 6);
      viewAt(buffer, offset, size);
      let value = 0;
      for (let i = 0; i < size; i++) value = value * 256 + buffer[offset + (little ? size - 1 - i : i)];
      return value;
    };
    const write = (buffer, value, offset, size, low) => {
      checkOffset("byteLength", size, 1, 6);
      const [least, most] = low ? [-(256 ** size) / 2, 256 ** size / 2 - 1] : [0, 256 ** size - 1];
      if (value < least || value > most) throw outOfRange("value", `>= ${least} and <= ${most}`, value);
      viewAt(buffer, offset, size);
      let rest = value < 0 ? value + 256 ** size : value;
      for (let i = 0; i < size; i++, rest = Math.floor(rest / 256))
        buffer[offset + (little ? i : size - 1 - i)] = rest % 256;
      return offset + size;
    };
    add(`readUint${suffix}`, function (offset, size) {
      return read(this, offset, size);
    });
    add(`readInt${suffix}`, function (offset, size) {
      const value = read(this, offset, size);
      return value >= 256 ** size / 2 ? value - 256 ** size : value;
    });
    for (const name of ["Uint", "Int"]) {
      add(`write${name}${suffix}`, function (value, offset, size) {
        return write(this, value, offset, size, name === "Int");
      });
    }
  }
}

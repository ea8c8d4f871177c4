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

function range(what) {
  return Object.assign(new RangeError(what), { code: "ERR_OUT_OF_RANGE" });
}

function viewAt(buffer, offset, size) {
  if (size > buffer.length)
    throw Object.assign(new RangeError("Attempt to access memory outside buffer bounds"), {
      code: "ERR_BUFFER_OUT_OF_BOUNDS",
    });
  if (!Number.isInteger(offset) || offset < 0 || offset + size > buffer.length) {
    throw range(
      `The value of "offset" is out of range. It must be >= 0 and <= ${buffer.length - size}. Received ${offset}`,
    );
  }
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
        if (bounds && (value < bounds[0] || value > bounds[1])) {
          throw range(
            `The value of "value" is out of range. It must be >= ${bounds[0]} and <= ${bounds[1]}. Received ${value}`,
          );
        }
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
      viewAt(buffer, offset, size);
      let value = 0;
      for (let i = 0; i < size; i++) value = value * 256 + buffer[offset + (little ? size - 1 - i : i)];
      return value;
    };
    const write = (buffer, value, offset, size) => {
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
        return write(this, value, offset, size);
      });
    }
  }
}

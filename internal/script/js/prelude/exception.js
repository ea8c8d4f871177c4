const codes = {
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
};

export class DOMException extends Error {
  #name;
  constructor(message = "", options = "Error") {
    super(message);
    const { name = "Error", cause } = typeof options === "object" && options ? options : { name: options };
    this.#name = String(name);
    if (cause !== undefined) Object.defineProperty(this, "cause", { value: cause, writable: true, configurable: true });
  }
  get name() {
    return this.#name;
  }
  get code() {
    return Object.hasOwn(codes, this.#name) ? codes[this.#name] : 0;
  }
  get [Symbol.toStringTag]() {
    return "DOMException";
  }
}

// AbortError is 20, and its constant ABORT_ERR: so for all of them.
for (const [name, value] of Object.entries(codes)) {
  const constant =
    name
      .replace(/Error$/, "")
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .toUpperCase() + "_ERR";
  for (const place of [DOMException, DOMException.prototype]) {
    Object.defineProperty(place, constant, { value, enumerable: true });
  }
}

const { equal } = require("../prelude/equal.js");
const { inspect } = require("../prelude/inspect.js");

class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
    this.name = "AssertionError";
    Object.assign(this, { code: "ERR_ASSERTION", generatedMessage: message === undefined, actual, expected, operator });
  }
}

function fail(message, actual, expected, operator) {
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, actual, expected, operator });
}

function check(holds, message, actual, expected, operator, text) {
  if (!holds)
    fail(
      message ?? (text && `${text}\n\n${inspect(actual)} ${operator} ${inspect(expected)}\n`),
      actual,
      expected,
      operator,
    );
}

/** Whether an error is of the kind that was expected. */
function matches(error, expected, message) {
  if (expected === undefined || typeof expected === "string") return;
  if (expected instanceof RegExp)
    return check(
      expected.test(String(error)),
      message,
      error,
      expected,
      "throws",
      "The input did not match the regular expression",
    );
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (Error.isPrototypeOf(expected) || expected === Error) throw error;
    return check(
      expected.call({}, error) === true,
      message,
      error,
      expected,
      "throws",
      "The validation function is expected to return true",
    );
  }
  for (const key of Object.keys(expected)) {
    const fits =
      expected[key] instanceof RegExp && typeof error[key] === "string"
        ? expected[key].test(error[key])
        : equal(error[key], expected[key]);
    check(fits, message, error[key], expected[key], "throws", `The ${key} of the error is not as expected`);
  }
}

function assert(value, message) {
  check(Boolean(value), message, value, true, "==", "The expression evaluated to a falsy value");
}

const texts = {
  equal: "Expected values to be loosely equal:",
  strictEqual: "Expected values to be strictly equal:",
  deepEqual: "Expected values to be loosely deep-equal:",
  deepStrictEqual: "Expected values to be strictly deep-equal:",
};

Object.assign(assert, {
  AssertionError,
  ok: (value, message) => assert(value, message),
  fail: (message = "Failed") => fail(message, undefined, undefined, "fail"),
  equal: (a, b, m) => check(a == b || (a !== a && b !== b), m, a, b, "==", texts.equal),
  notEqual: (a, b, m) =>
    check(!(a == b || (a !== a && b !== b)), m, a, b, "!=", 'Expected "actual" to be loosely unequal to:'),
  strictEqual: (a, b, m) => check(Object.is(a, b), m, a, b, "!==", texts.strictEqual),
  notStrictEqual: (a, b, m) => check(!Object.is(a, b), m, a, b, "===", 'Expected "actual" to be strictly unequal to:'),
  deepEqual: (a, b, m) => check(equal(a, b, false), m, a, b, "deepEqual", texts.deepEqual),
  deepStrictEqual: (a, b, m) => check(equal(a, b), m, a, b, "deepStrictEqual", texts.deepStrictEqual),
  notDeepEqual: (a, b, m) =>
    check(!equal(a, b, false), m, a, b, "notDeepEqual", 'Expected "actual" not to be loosely deep-equal to:'),
  notDeepStrictEqual: (a, b, m) =>
    check(!equal(a, b), m, a, b, "notDeepStrictEqual", 'Expected "actual" not to be strictly deep-equal to:'),
  match: (text, pattern, m) =>
    check(
      typeof text === "string" && pattern.test(text),
      m,
      text,
      pattern,
      "match",
      "The input did not match the regular expression",
    ),
  doesNotMatch: (text, pattern, m) =>
    check(
      typeof text === "string" && !pattern.test(text),
      m,
      text,
      pattern,
      "doesNotMatch",
      "The input was expected to not match the regular expression",
    ),
  ifError(value) {
    if (value !== null && value !== undefined)
      fail(
        value instanceof Error ? value : `ifError got unwanted exception: ${inspect(value)}`,
        value,
        null,
        "ifError",
      );
  },
  throws(fn, expected, message) {
    try {
      fn();
    } catch (error) {
      return matches(error, expected, message);
    }
    fail(
      typeof expected === "string" ? expected : (message ?? "Missing expected exception."),
      undefined,
      expected,
      "throws",
    );
  },
  async rejects(promise, expected, message) {
    try {
      await (typeof promise === "function" ? promise() : promise);
    } catch (error) {
      return matches(error, expected, message);
    }
    fail(
      typeof expected === "string" ? expected : (message ?? "Missing expected rejection."),
      undefined,
      expected,
      "rejects",
    );
  },
  doesNotThrow(fn, message) {
    try {
      fn();
    } catch (error) {
      fail(
        `Got unwanted exception${typeof message === "string" ? `: ${message}` : ""}.\nActual message: "${error?.message}"`,
        error,
        undefined,
        "doesNotThrow",
      );
    }
  },
  async doesNotReject(promise) {
    try {
      await (typeof promise === "function" ? promise() : promise);
    } catch (error) {
      fail(`Got unwanted rejection.\nActual message: "${error?.message}"`, error, undefined, "doesNotReject");
    }
  },
});

const strict = Object.assign((value, message) => assert(value, message), assert, {
  equal: assert.strictEqual,
  notEqual: assert.notStrictEqual,
  deepEqual: assert.deepStrictEqual,
  notDeepEqual: assert.notDeepStrictEqual,
});
strict.strict = assert.strict = strict;
module.exports = assert;

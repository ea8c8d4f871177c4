import * as core from "../core/index.js";
import { ZodRealError } from "./errors.js";
export const parse = /* @__PURE__ */ core._parse(ZodRealError), parseAsync = /* @__PURE__ */ core._parseAsync(ZodRealError), safeParse = /* @__PURE__ */ core._safeParse(ZodRealError), safeParseAsync = /* @__PURE__ */ core._safeParseAsync(ZodRealError);
export { validate, validateAsync } from "../core/index.js";
export const encode = /* @__PURE__ */ core._encode(ZodRealError), decode = /* @__PURE__ */ core._decode(ZodRealError), encodeAsync = /* @__PURE__ */ core._encodeAsync(ZodRealError), decodeAsync = /* @__PURE__ */ core._decodeAsync(ZodRealError), safeEncode = /* @__PURE__ */ core._safeEncode(ZodRealError), safeDecode = /* @__PURE__ */ core._safeDecode(ZodRealError), safeEncodeAsync = /* @__PURE__ */ core._safeEncodeAsync(ZodRealError), safeDecodeAsync = /* @__PURE__ */ core._safeDecodeAsync(ZodRealError);

import * as core from "./core.js";
import * as errors from "./errors.js";
import * as util from "./util.js";
function finalizeParams(callee, params) {
return { callee: params?.callee ?? callee, Err: params?.Err };
}
export const _parse = (_Err) => {
const fn = (schema, value, _ctx, _params) => {
const ctx = _ctx ? { ..._ctx, async: !1 } : { async: !1 }, result = schema._zod.run({ value, issues: [] }, ctx);
if (result instanceof Promise)
throw new core.$ZodAsyncError();
if (result.issues.length) {
const e = new (_params?.Err ?? _Err)(result.issues.map((iss) => util.finalizeIssue(iss, ctx, core.config())));
throw util.captureStackTrace(e, _params?.callee ?? fn), e;
}
return result.value;
};
return fn;
}, parse = /* @__PURE__ */ _parse(errors.$ZodRealError), _parseAsync = (_Err) => {
const fn = async (schema, value, _ctx, params) => {
const ctx = _ctx ? { ..._ctx, async: !0 } : { async: !0 };
let result = schema._zod.run({ value, issues: [] }, ctx);
if (result instanceof Promise && (result = await result), result.issues.length) {
const e = new (params?.Err ?? _Err)(result.issues.map((iss) => util.finalizeIssue(iss, ctx, core.config())));
throw util.captureStackTrace(e, params?.callee ?? fn), e;
}
return result.value;
};
return fn;
}, parseAsync = /* @__PURE__ */ _parseAsync(errors.$ZodRealError), _safeParse = (_Err) => (schema, value, _ctx) => {
const ctx = _ctx ? { ..._ctx, async: !1 } : { async: !1 }, result = schema._zod.run({ value, issues: [] }, ctx);
if (result instanceof Promise)
throw new core.$ZodAsyncError();
return result.issues.length ? failure(_Err, result.issues, ctx) : { success: !0, data: result.value };
}, safeParse = /* @__PURE__ */ _safeParse(errors.$ZodRealError);
function failure(Err, issues, ctx) {
let error;
return {
success: !1,
get error() {
return error || (error = new Err(issues.map((iss) => util.finalizeIssue(iss, ctx, core.config()))), issues = void 0, ctx = void 0), error;
},
set error(e) {
error = e, issues = void 0, ctx = void 0;
}
};
}
export const _safeParseAsync = (_Err) => async (schema, value, _ctx) => {
const ctx = _ctx ? { ..._ctx, async: !0 } : { async: !0 };
let result = schema._zod.run({ value, issues: [] }, ctx);
return result instanceof Promise && (result = await result), result.issues.length ? failure(_Err, result.issues, ctx) : { success: !0, data: result.value };
}, safeParseAsync = /* @__PURE__ */ _safeParseAsync(errors.$ZodRealError);
const COMPILE_INVALID = /* @__PURE__ */ Symbol.for("zod.compile.invalid"), COMPILE_FALLBACK = /* @__PURE__ */ Symbol.for("zod.compile.fallback");
export const validate = ((schema, value, _ctx) => {
const validator = schema._zod.bag.validator;
if (validator !== void 0) {
if (validator(value) !== COMPILE_INVALID)
return !0;
if (validator.definite === !0 && _ctx === void 0)
return !1;
}
return validateFallback(schema, value, _ctx);
});
function validateFallback(schema, value, _ctx) {
const ctx = _ctx ? { ..._ctx, async: !1, abortEarly: !0 } : { async: !1, abortEarly: !0 }, fallbackRun = schema._zod.bag.fallbackRun;
let result;
if (fallbackRun ? (ctx[COMPILE_FALLBACK] = !0, result = fallbackRun({ value, issues: [] }, ctx)) : result = schema._zod.run({ value, issues: [] }, ctx), result instanceof Promise)
throw new core.$ZodAsyncError();
return result.issues.length === 0;
}
export const validateAsync = async (schema, value, _ctx) => {
const ctx = _ctx ? { ..._ctx, async: !0, abortEarly: !0 } : { async: !0, abortEarly: !0 };
let result = schema._zod.run({ value, issues: [] }, ctx);
return result instanceof Promise && (result = await result), result.issues.length === 0;
}, _encode = (_Err) => {
const parse2 = _parse(_Err), fn = (schema, value, _ctx, _params) => {
const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
return parse2(schema, value, ctx, finalizeParams(fn, _params));
};
return fn;
}, encode = /* @__PURE__ */ _encode(errors.$ZodRealError), _decode = (_Err) => {
const parse2 = _parse(_Err), fn = (schema, value, _ctx, _params) => parse2(schema, value, _ctx, finalizeParams(fn, _params));
return fn;
}, decode = /* @__PURE__ */ _decode(errors.$ZodRealError), _encodeAsync = (_Err) => {
const parseAsync2 = _parseAsync(_Err), fn = async (schema, value, _ctx, _params) => {
const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
return await parseAsync2(schema, value, ctx, finalizeParams(fn, _params));
};
return fn;
}, encodeAsync = /* @__PURE__ */ _encodeAsync(errors.$ZodRealError), _decodeAsync = (_Err) => {
const parseAsync2 = _parseAsync(_Err), fn = async (schema, value, _ctx, _params) => await parseAsync2(schema, value, _ctx, finalizeParams(fn, _params));
return fn;
}, decodeAsync = /* @__PURE__ */ _decodeAsync(errors.$ZodRealError), _safeEncode = (_Err) => (schema, value, _ctx) => {
const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
return _safeParse(_Err)(schema, value, ctx);
}, safeEncode = /* @__PURE__ */ _safeEncode(errors.$ZodRealError), _safeDecode = (_Err) => (schema, value, _ctx) => _safeParse(_Err)(schema, value, _ctx), safeDecode = /* @__PURE__ */ _safeDecode(errors.$ZodRealError), _safeEncodeAsync = (_Err) => async (schema, value, _ctx) => {
const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
return _safeParseAsync(_Err)(schema, value, ctx);
}, safeEncodeAsync = /* @__PURE__ */ _safeEncodeAsync(errors.$ZodRealError), _safeDecodeAsync = (_Err) => async (schema, value, _ctx) => _safeParseAsync(_Err)(schema, value, _ctx), safeDecodeAsync = /* @__PURE__ */ _safeDecodeAsync(errors.$ZodRealError);

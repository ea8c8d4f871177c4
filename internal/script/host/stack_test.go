package host

import "testing"

// As the package depd does, by which express finds out who uses what is deprecated.
func TestCallSites(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, `
		function sites() {
			const { prepareStackTrace, stackTraceLimit } = Error;
			const object = {};
			Error.prepareStackTrace = (_, stack) => stack;
			Error.stackTraceLimit = Math.max(10, stackTraceLimit);
			Error.captureStackTrace(object);
			const stack = object.stack.slice(1);
			Error.prepareStackTrace = prepareStackTrace;
			Error.stackTraceLimit = stackTraceLimit;
			return stack;
		}
		function caller() { return sites()[0]; }`, []snippet{
		{"the caller", `const site = caller(); return [site.getFunctionName(), typeof site.getFileName(), site.getLineNumber() > 0, site.getColumnNumber() > 0, site.isEval(), site.isNative(), site.toString().startsWith("caller (")]`, `["caller","string",true,true,false,false,true]`},
		{"what it leaves", `typeof new Error("x").stack + typeof Error.prepareStackTrace`, "stringundefined"},
		{"native", `[1].map(() => sites())[0].some((site) => site.isNative() && site.getFileName() === null)`, "true"},
		{"a text without it", `const o = {}; Error.captureStackTrace(o); return typeof o.stack`, "string"},
	})
}

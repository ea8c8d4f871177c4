export*from"./errors.js";export*from"./helpers/parseUtil.js";export*from"./helpers/typeAliases.js";export*from"./helpers/util.js";export*from"./types.js";export*from"./ZodError.js";

export { format, inspect } from "node:util";

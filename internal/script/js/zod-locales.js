export { default as en } from "./third_party/zod/v4/locales/en.js";

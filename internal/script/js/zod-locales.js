export { default as en } from "./vendor/zod/v4/locales/en.js";

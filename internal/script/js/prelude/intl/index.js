// Intl: the engine has en-US; this adds other languages.
import "./number.js";
import "./datetime.js";
import "./text.js";
import "./collator.js";
import { Locale, offer } from "./locale.js";
import { missing } from "../host.js";

offer("Locale", Locale);

for (const name of ["DisplayNames", "supportedValuesOf"]) {
  const stub = missing(`Intl.${name}`, "write the names that you need into the agent");
  Object.defineProperty(Intl, name, { value: stub, writable: true, configurable: true });
}

import parse from "pdf-parse/lib/pdf-parse.js";
import { agent } from "./lib/agent.js";

function document(text) {
  const stream = `BT /F1 12 Tf 10 50 Td (${text}) Tj ET`;
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
    `<</Length ${stream.length}>>\nstream\n${stream}\nendstream`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
  ];
  let doc = "%PDF-1.4\n";
  const places = objects.map((object, i) => {
    const at = doc.length;
    doc += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = places.map((at) => `${`${at}`.padStart(10, "0")} 00000 n \n`).join("");
  return `${doc}xref\n0 6\n0000000000 65535 f \n${table}trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n${doc.length}\n%%EOF\n`;
}

const run = async () => {
  const { numpages, text } = await parse(new TextEncoder().encode(document("Hello PDF")));
  return [numpages, text.trim()];
};

export const rootAgent = agent(run);

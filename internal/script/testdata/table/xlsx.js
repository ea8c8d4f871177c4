import * as xlsx from "xlsx";
import { agent } from "./lib/agent.js";

const run = () => {
  const book = xlsx.utils.book_new();
  xlsx.utils.book_append_sheet(book, xlsx.utils.json_to_sheet([{ a: 1, b: "x" }, { a: 2.5, b: "ü" }]), "S");
  const again = xlsx.read(xlsx.write(book, { type: "buffer", bookType: "xlsx" }));
  return [again.SheetNames, xlsx.utils.sheet_to_json(again.Sheets.S), xlsx.utils.sheet_to_csv(again.Sheets.S)];
};

export const rootAgent = agent(run);

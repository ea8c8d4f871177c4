import ExcelJS from "exceljs";
import { agent } from "./lib/agent.js";

const run = async () => {
  const book = new ExcelJS.Workbook();
  const sheet = book.addWorksheet("S");
  sheet.addRow(["a", 1, new Date(0)]);
  sheet.getCell("A2").value = { formula: "B1*2", result: 2 };
  const again = new ExcelJS.Workbook();
  await again.xlsx.load(await book.xlsx.writeBuffer());
  return again.getWorksheet("S").getSheetValues();
};

export const rootAgent = agent(run);

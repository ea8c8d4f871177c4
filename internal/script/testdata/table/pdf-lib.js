import { PDFDocument, rgb, StandardFonts } from "pdf-lib";
import { agent } from "./lib/agent.js";

const run = async () => {
  const doc = await PDFDocument.create();
  const page = doc.addPage([200, 100]);
  page.drawText("Grüße", { x: 10, y: 50, font: await doc.embedFont(StandardFonts.Helvetica), color: rgb(1, 0, 0) });
  doc.setCreationDate(new Date(0));
  doc.setModificationDate(new Date(0));
  const bytes = await doc.save();
  const again = await PDFDocument.load(bytes);
  return [bytes.length, again.getPageCount(), again.getPage(0).getSize(), Buffer.from(bytes.subarray(0, 8)).toString("latin1")];
};

export const rootAgent = agent(run);

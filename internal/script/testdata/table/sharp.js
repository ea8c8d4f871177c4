import sharp from "sharp";
import { agent } from "./lib/agent.js";

const run = async () => {
  const png = await sharp({ create: { width: 4, height: 2, channels: 3, background: { r: 255, g: 0, b: 0 } } }).png().toBuffer();
  const { width, height, format } = await sharp(png).resize(2).metadata();
  return [width, height, format];
};

export const rootAgent = agent(run);

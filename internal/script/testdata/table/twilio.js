import VoiceResponse from "twilio/lib/twiml/VoiceResponse.js";
import { getExpectedTwilioSignature, validateRequest } from "twilio/lib/webhooks/webhooks.js";
import { agent } from "./lib/agent.js";

const run = () => {
  const response = new VoiceResponse();
  response.say({ voice: "alice" }, "hello & bye");
  const params = { a: "1", b: "2" };
  const signature = getExpectedTwilioSignature("token", "https://x.example/", params);
  return [response.toString(), signature, validateRequest("token", signature, "https://x.example/", params), validateRequest("other", signature, "https://x.example/", params)];
};

export const rootAgent = agent(run);

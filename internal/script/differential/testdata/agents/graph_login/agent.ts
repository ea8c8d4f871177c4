// > weather
// > adk_request_credential returned {"result":"key-1234"}
import { AuthCredentialTypes, Workflow, node } from "@google/adk";

const authConfig: any = {
  authScheme: { type: "apiKey", in: "header", name: "X-Key" },
  rawAuthCredential: { authType: AuthCredentialTypes.API_KEY, apiKey: "placeholder" },
  credentialKey: "weather",
};
const fetch = node((ctx: any) => `with ${ctx.state.get("temp:weather").apiKey.slice(0, 3)}`, { name: "fetch", authConfig, rerunOnResume: true });
const end = node((_: any, input: any) => `${input}!`, { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", fetch, end]] });

// The model of every agent here. It answers with one step for each request, and
// writes the request to the console, where the test reads it.
import { BaseLlm } from "@google/adk";

export const call = (name: string, args: object = {}, id?: string) => ({ functionCall: { name, args, ...(id && { id }) } });

/** A step is a text, an error, a response, or the parts of a content. */
export class Scripted extends BaseLlm {
  steps: any[];
  constructor(...steps: any[]) {
    super({ model: "scripted" });
    this.steps = steps;
  }
  async *generateContentAsync(request: any, stream?: boolean): AsyncGenerator<any, void> {
    console.log(`REQUEST ${JSON.stringify(shown(request))}`);
    const step = this.steps.shift() ?? "no step is left";
    if (step instanceof Error) throw step;
    if (typeof step === "string") {
      if (stream) for (const word of step.split(/(?<= )/)) yield { content: { role: "model", parts: [{ text: word }] }, partial: true };
      yield { content: { role: "model", parts: [{ text: step }] } };
    } else if (Array.isArray(step)) yield { content: { role: "model", parts: step } };
    else yield step;
  }
  async connect(): Promise<any> {
    throw new Error("this model has no live connection");
  }
}

const shown = ({ model, contents, config = {} }: any) => {
  const { tools, responseJsonSchema, responseSchema = responseJsonSchema, ...rest } = config;
  const declarations = (tools ?? []).flatMap((t: any) => t.functionDeclarations ?? []);
  const others = (tools ?? []).filter((t: any) => !t.functionDeclarations);
  return {
    model,
    contents,
    config: {
      ...rest,
      responseSchema,
      functions: declarations.map((d: any) => ({ name: d.name, description: d.description, parameters: d.parameters ?? d.parametersJsonSchema })),
      others,
    },
  };
};

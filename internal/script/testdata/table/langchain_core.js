import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { agent } from "./lib/agent.js";

const run = async () => {
  const chain = ChatPromptTemplate.fromMessages([["system", "You are {who}."], ["human", "{q}"]])
    .pipe(RunnableLambda.from((prompt) => new AIMessage(prompt.toChatMessages().map((m) => m.content).join("|"))))
    .pipe(new StringOutputParser());
  const parts = [];
  for await (const part of await chain.stream({ who: "x", q: "y" })) parts.push(part);
  return [await chain.invoke({ who: "a", q: "b" }), await chain.batch([{ who: "1", q: "2" }]), parts, new HumanMessage("h").getType()];
};

export const rootAgent = agent(run);

// > go
// > ask returned {"answer":"yes"}
import { BaseAgent, createEvent } from "@google/adk";

// It asks once, and then says what it was told.
class Asks extends BaseAgent {
  async *runAsyncImpl(context: any) {
    const { parts } = context.userContent;
    if (parts[0].functionResponse) {
      yield createEvent({ author: this.name, invocationId: context.invocationId, content: { role: "model", parts: [{ text: JSON.stringify(parts[0].functionResponse.response) }] } });
      return;
    }
    yield createEvent({
      author: this.name,
      invocationId: context.invocationId,
      content: { role: "model", parts: [{ functionCall: { id: "call-123", name: "ask", args: { question: "sure?" } } }] },
      longRunningToolIds: ["call-123"],
    });
  }
  async *runLiveImpl() {}
}
export const rootAgent = new Asks({ name: "asks" });

// Planners: what makes a model think before it acts.
import { camelOptions, setMark } from "./names.js";

/** A planner of an author: the instruction of the model, and how its answer is
 * read. */
export class BasePlanner {
  constructor() {
    setMark(this, "basePlanner");
  }
  buildPlanningInstruction() {
    return undefined;
  }
  processPlanningResponse() {
    return undefined;
  }
}

/** Lets the model think by itself, as its settings say. They are named
 * thinkingConfig, or given as they are. */
export class BuiltInPlanner extends BasePlanner {
  constructor(options = {}) {
    super();
    const given = camelOptions(options);
    const thinkingConfig = given.thinkingConfig ?? (Object.keys(given).length > 0 ? given : undefined);
    if (!thinkingConfig) throw new Error("BuiltInPlanner needs a thinkingConfig");
    this.thinkingConfig = thinkingConfig;
  }
}

/** Has the model write a plan, act on it, and mark its final answer. */
export class PlanReActPlanner extends BasePlanner {}

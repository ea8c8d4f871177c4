// Branches and states of nodes, for code that reads them. The graph itself runs
// in Go.

const segmentsOf = (branch) => (branch ? branch.split(".") : []);

export class BranchPath {
  constructor(segments) {
    this.segments = [...segments];
  }
  toString() {
    return this.segments.join(".");
  }
  getSegments() {
    return [...this.segments];
  }
  isDescendantOf({ segments }) {
    return this.segments.length > segments.length && segments.every((one, i) => one === this.segments[i]);
  }
  append(name, runId) {
    return new BranchPath([...this.segments, runId === undefined ? name : `${name}@${runId}`]);
  }
}

export const createSubBranch = (branch, { name, runId }) => new BranchPath(segmentsOf(branch)).append(name, runId).toString();

/** The branch that all branches begin with. */
export function commonPrefixOf(branches) {
  const [first = [], ...others] = branches.map(segmentsOf);
  const end = first.findIndex((one, i) => others.some((other) => other[i] !== one));
  return (end < 0 ? first : first.slice(0, end)).join(".");
}

const names = ["INACTIVE", "PENDING", "RUNNING", "COMPLETED", "WAITING", "FAILED", "CANCELLED"];

export const NodeStatus = Object.freeze(Object.fromEntries(names.flatMap((name, i) => [[name, i], [i, name]])));

export const createNodeState = (init) => ({ status: NodeStatus.INACTIVE, attemptCount: 1, interrupts: [], resumeInputs: {}, runCounter: 0, ...init });

export const isNodeState = (value) => typeof value?.status === "number" && "attemptCount" in value && Array.isArray(value.interrupts);

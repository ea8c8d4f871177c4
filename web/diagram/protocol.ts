// What the page and the frame that draws diagrams send each other. Requests have a port, for the answer.

/** The first message of the frame, without a port: its script has run. */
export const ready = 'diagrams: ready';

/** Asks for a diagram. The port gets an Answer. */
export interface Request {
  source: string;
  dark: boolean;
  /** Colours of the page, by their names in styles.css. */
  colors: Record<string, string>;
}

/** Asks the frame to be busy for some milliseconds. The port gets true before, and false after it. */
export interface Probe {
  busy: number;
}

export interface Drawing {
  svg: string;
  width: number;
  height: number;
  /** The kind of diagram, as Mermaid calls it. */
  kind: string;
  /** The title that the diagram has for those who do not see it. */
  title: string;
}

export type Answer = Drawing | { error: string };

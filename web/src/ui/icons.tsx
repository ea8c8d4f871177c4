// One set of marks, drawn on a 16-unit grid with square ends.
const paths = {
  apps: 'M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z',
  sessions: 'M2.5 3.5h11M2.5 8h11M2.5 12.5h7',
  waiting: 'M4 2.5h8M4 13.5h8M4.5 2.5c0 3 3.5 3.5 3.5 5.5s-3.5 2.5-3.5 5.5M11.5 2.5c0 3-3.5 3.5-3.5 5.5s3.5 2.5 3.5 5.5',
  runs: 'M2.5 4h7M5 8h8.5M2.5 12h5',
  webhooks: 'M2.5 13.5 13.5 2.5M13.5 2.5H7M13.5 2.5V9',
  triggers: 'M8.5 1.5 3.5 9h4l-1 5.5 5-7.5h-4l1-5.5z',
  schedules: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 4.5V8l2.5 2',
  logins: 'M8.5 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM8.5 8h5v3M11 8v2',
  tools: 'M9.5 6.5 3 13M10 2.5A3.5 3.5 0 0 0 13.5 6M10 2.5 8.5 6l1.5 1.5L13.5 6',
  memory: 'M4 2.5h8v11l-4-3-4 3z',
  feedback: 'M5 14V7l3-5c1.2 0 1.8.9 1.5 2L9 6.5h4c.8 0 1.3.7 1.1 1.5l-1.2 4.8c-.2.7-.8 1.2-1.5 1.2zM5 14H2.5V7H5',
  api: 'M5.5 3.5 2 8l3.5 4.5M10.5 3.5 14 8l-3.5 4.5',
  usage: 'M2.5 13.5h11M4 11V8M8 11V3M12 11V6',
  curl: 'M2.5 4.5 6 8l-3.5 3.5M8 12h5.5',
  send: 'M8 13V3.5M3.5 7.5 8 3l4.5 4.5',
  stop: 'M4 4h8v8H4z',
  fork: 'M4.5 2.5v11M4.5 8c4 0 7-1 7-5M11.5 3h0',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M11 7a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM10 10l3.5 3.5',
  plus: 'M8 3v10M3 8h10',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3',
  check: 'M3 8.5 6.5 12 13 4.5',
  edit: 'M3 13l.5-3L11 2.5 13.5 5 6 12.5zM9.5 4 12 6.5',
  retry: 'M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3',
  clip: 'M11.5 6.5 7 11a2 2 0 0 1-3-3l5-5a3 3 0 0 1 4.5 4L8 13',
  sun: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.5 3.5l.5.5M12 12l.5.5M12.5 3.5l-.5.5M4 12l-.5.5',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  right: 'M6 3.5 10.5 8 6 12.5',
  left: 'M10 3.5 5.5 8 10 12.5',
  before: 'M3.5 10 8 5.5 12.5 10',
  after: 'M3.5 6 8 10.5 12.5 6',
  file: 'M4 2.5h5L12 5.5v8H4zM9 2.5v3h3',
  trash: 'M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9',
  down: 'M8 3v7.5M4 7l4 4 4-4M3 13.5h10',
  up: 'M8 13V5.5M4 9l4-4 4 4M3 2.5h10',
  out: 'M6.5 2.5h-4v11h4M6 8h7.5M10.5 5l3 3-3 3',
  alert: 'M8 2.5 14 13.5H2zM8 6.5v3.5M8 11.7v.1',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth={name === 'more' ? 2 : 1.4} strokeLinecap="square" aria-hidden="true" className="shrink-0">
      <path d={paths[name]} />
    </svg>
  );
}

/** What the theme can be switched to. */
export function ThemeIcon() {
  return (
    <>
      <span className="dark:hidden"><Icon name="moon" /></span>
      <span className="hidden dark:inline"><Icon name="sun" /></span>
    </>
  );
}

/** Two brackets that face each other: a message and its answer. */
export function Mark({ size = 20 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="4 4 24 24" fill="currentColor" aria-hidden="true" className="shrink-0">
      <path d="M8 8h4v16H8zM14 8h10v4H14zM20 14h4v10h-4zM14 20h4v4h-4z" />
    </svg>
  );
}

// Whether the server is there. Requests tell; while it is lost, it is asked
// again and again.
type Listener = () => void;

const listeners = new Set<Listener>();
let isLost = false;
let timer: ReturnType<typeof setTimeout> | undefined;
const retryAfter = 1500;

function set(lost: boolean) {
  if (isLost === lost) return;
  isLost = lost;
  for (const listener of listeners) listener();
}

async function probe() {
  try {
    if ((await fetch('/health', { cache: 'no-store' })).ok) {
      connection.found();
      return;
    }
  } catch {
    // Still away.
  }
  timer = setTimeout(probe, retryAfter);
}

export const connection = {
  isLost: () => isLost,
  lost() {
    set(true);
    timer ??= setTimeout(probe, retryAfter);
  },
  found() {
    clearTimeout(timer);
    timer = undefined;
    set(false);
  },
  subscribe(listener: Listener) {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

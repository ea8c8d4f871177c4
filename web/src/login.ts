// A login at a provider, in a window of its own. It comes back to /dev-ui/,
// which is the address that providers have on file for other UIs as well, and
// says so in the same words.
const channel = 'parley.login';

export const redirectAddress = () => `${window.location.origin}/dev-ui/`;

/** Hands what a provider sent over to the window that waits. It is false when there is nothing. */
export function deliverLogin(): boolean {
  const query = new URLSearchParams(window.location.search);
  if (!query.has('state') || !(query.has('code') || query.has('error'))) return false;
  const message = { authResponseUrl: window.location.href };
  // Some providers cut the window off from the one that opened it.
  window.opener?.postMessage(message, window.location.origin);
  const broadcast = new BroadcastChannel(channel);
  broadcast.postMessage(message);
  setTimeout(() => {
    broadcast.close();
    window.close();
  }, 150);
  return true;
}

/** Opens the provider. The promise holds the address that the user came back with, or undefined if they closed the window. */
export function openLogin(address: string, signal: AbortSignal): Promise<string | undefined> {
  const wanted = new URL(address).searchParams.get('state');
  const left = window.screenX + Math.max(0, (window.outerWidth - 600) / 2);
  const popup = window.open(address, 'oauthPopup', `width=600,height=700,left=${left},top=${window.screenY + 60}`);
  if (!popup) return Promise.reject(new Error('The browser has blocked the window. Allow pop-up windows for this page, and try again.'));
  return new Promise((resolve) => {
    const broadcast = new BroadcastChannel(channel);
    const watch = setInterval(() => popup.closed && setTimeout(() => end(undefined), 400), 400);
    const end = (value: string | undefined) => {
      clearInterval(watch);
      broadcast.close();
      window.removeEventListener('message', onMessage);
      resolve(value);
    };
    const take = (data: unknown) => {
      const url = (data as { authResponseUrl?: unknown } | null)?.authResponseUrl;
      if (typeof url === 'string' && new URL(url).searchParams.get('state') === wanted) end(url);
    };
    const onMessage = (event: MessageEvent) => event.origin === window.location.origin && take(event.data);
    window.addEventListener('message', onMessage);
    broadcast.onmessage = (event) => take(event.data);
    signal.addEventListener('abort', () => (popup.close(), end(undefined)), { once: true });
  });
}

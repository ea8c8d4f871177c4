/** Switches between light and dark, and remembers it. */
export function toggleTheme() {
  const next = document.documentElement.dataset['theme'] === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset['theme'] = next;
  localStorage.setItem('parley.theme', next);
}

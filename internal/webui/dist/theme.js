// Runs before the first paint, so that the page does not flash in the wrong theme.
document.documentElement.dataset.theme =
  localStorage.getItem('parley.theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

// Runs before the first paint, so that nobody is blinded by the wrong theme.
document.documentElement.dataset.theme =
  localStorage.getItem('parley.theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

// The script of each page: the search, the theme, and the menu on a phone.
import MiniSearch from 'minisearch';

import { toggleTheme } from '../src/theme';
import './style.css';

interface Section {
  id: string;
  page: string;
  title: string;
  text: string;
}

const get = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

get('theme').addEventListener('click', toggleTheme);

// The list of pages is longer than the window: the one that is shown comes into view.
const pages = get('nav');
const here = pages.querySelector<HTMLElement>('[aria-current]');
if (here && here.offsetTop > pages.clientHeight) pages.scrollTop = here.offsetTop - pages.clientHeight / 2;

const menu = get('menu');
menu.addEventListener('click', () => {
  const open = document.documentElement.toggleAttribute('data-menu');
  menu.setAttribute('aria-expanded', String(open));
});

const input = get<HTMLInputElement>('search');
const results = get('results');

let loading: Promise<(words: string) => Section[]> | undefined;
/** Loads the text of all pages, on first use. */
const load = () => (loading ??= read().catch((error: unknown) => {
  loading = undefined;
  throw error;
}));

async function read() {
  const response = await fetch('search.json');
  if (!response.ok) throw new Error(`search.json: ${response.status}`);
  const sections = (await response.json()) as Section[];
  const index = new MiniSearch<Section>({ fields: ['title', 'page', 'text'], searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.1, combineWith: 'AND' } });
  index.addAll(sections);
  const byId = new Map(sections.map((section) => [section.id, section]));
  return (words: string) => index.search(words).slice(0, 10).map((found) => byId.get(found.id as string)!);
}

let selected = -1;

function select(at: number) {
  const options = [...results.querySelectorAll('a')];
  selected = options.length > 0 ? (at + options.length) % options.length : -1;
  options.forEach((option, i) => option.setAttribute('aria-selected', String(i === selected)));
  options[selected]?.scrollIntoView({ block: 'nearest' });
  if (selected >= 0) input.setAttribute('aria-activedescendant', options[selected]!.id);
  else input.removeAttribute('aria-activedescendant');
}

function show(items: HTMLElement[]) {
  results.replaceChildren(...items);
  results.hidden = items.length === 0;
  input.setAttribute('aria-expanded', String(items.length > 0));
  select(0);
}

/** The words around the first one that was searched for. */
function excerpt(text: string, words: string): string {
  const first = words.toLowerCase().split(/\s+/).find((word) => word && text.toLowerCase().includes(word));
  const at = Math.max(0, (first ? text.toLowerCase().indexOf(first) : 0) - 40);
  const from = at === 0 ? 0 : text.indexOf(' ', at) + 1;
  return (from > 0 ? '… ' : '') + text.slice(from, from + 140) + (from + 140 < text.length ? ' …' : '');
}

function option(section: Section, i: number, words: string): HTMLElement {
  const [item, link, title, text] = [document.createElement('li'), document.createElement('a'), document.createElement('strong'), document.createElement('span')];
  item.role = 'presentation';
  link.id = `result-${i}`;
  link.role = 'option';
  link.href = section.id;
  link.tabIndex = -1;
  title.textContent = section.title === section.page ? section.page : `${section.page} › ${section.title}`;
  text.textContent = excerpt(section.text, words);
  link.append(title, text);
  link.addEventListener('click', close);
  item.append(link);
  return item;
}

function message(text: string): HTMLElement {
  const item = document.createElement('li');
  item.className = 'message';
  item.textContent = text;
  return item;
}

const close = () => show([]);

async function search() {
  const words = input.value.trim();
  if (!words) return close();
  try {
    const find = await load();
    if (words !== input.value.trim()) return; // it has changed in the meantime
    const found = find(words);
    show(found.length > 0 ? found.map((section, i) => option(section, i, words)) : [message('No page has these words.')]);
  } catch {
    show([message('The search index cannot be loaded.')]);
  }
}

input.addEventListener('focus', () => void search());
input.addEventListener('input', () => void search());
input.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    select(selected + (event.key === 'ArrowDown' ? 1 : -1));
  } else if (event.key === 'Enter') {
    results.querySelectorAll('a')[selected]?.click();
  } else if (event.key === 'Escape') {
    close();
  }
});
document.addEventListener('click', (event) => {
  if (!(event.target as Element).closest('search')) close();
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  }
});

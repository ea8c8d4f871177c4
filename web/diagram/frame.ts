// Draws diagrams, in a page without an origin: it has no cookies and no storage, reaches no server, and talks only to the
// page that frames it, which shows what it draws as a picture. What Mermaid does with a hostile diagram stays in here.
import mermaid from 'mermaid';

import { ready, type Answer, type Probe, type Request } from './protocol';

const longestPicture = 2_000_000;
const widest = 6000;
/** How long, in milliseconds, a diagram may make dates: Gantt charts go through all days of their tasks. */
const longestDates = 5000;

// Nothing else can end a loop in Mermaid while it goes on. Where the frame has no process of its own, the page waits for it.
let datesEnd = Infinity;
globalThis.Date = new Proxy(Date, {
  construct(target, args, made) {
    if (performance.now() > datesEnd) throw new Error('Its dates are too far apart.');
    return Reflect.construct(target, args, made) as Date;
  },
});

// What a diagram may not set for itself: limits, and what would make it unlike the page around it.
const secure = [
  'secure', 'securityLevel', 'startOnLoad', 'suppressErrorRendering', 'maxTextSize', 'maxEdges', 'dompurifyConfig', 'logLevel',
  'theme', 'themeVariables', 'themeCSS', 'darkMode', 'fontFamily', 'altFontFamily', 'htmlLabels', 'deterministicIds', 'deterministicIDSeed',
];

// The picture has the fonts of the machine only, so it is measured with them.
const fontFamily = 'system-ui, sans-serif';

/** The variables of Mermaid's theme, in the colours of the page. Many of those that Mermaid derives are alike, or black. */
function themeOf({ dark, colors }: Request): Record<string, unknown> {
  const { sheet, sunk, ink, soft, rule, accent, onaccent, tint, busy, wait, waittint, bad, badtint, good } = colors;
  const categories = [accent, busy, wait, bad, good, soft];
  const numbered = (prefix: string, first: number, value: (i: number) => unknown) => Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`${prefix}${i + first}`, value(i)]));
  const category = (i: number) => categories[i % categories.length];
  const axis = (name: string) => ({ [`${name}LabelColor`]: ink, [`${name}TitleColor`]: ink, [`${name}TickColor`]: soft, [`${name}LineColor`]: soft });
  return {
    darkMode: dark, background: sheet, fontFamily, fontSize: '14px',
    primaryColor: tint, primaryTextColor: ink, primaryBorderColor: accent, secondaryColor: sunk, secondaryTextColor: ink, secondaryBorderColor: rule,
    tertiaryColor: sunk, tertiaryTextColor: ink, tertiaryBorderColor: rule, lineColor: soft, textColor: ink, titleColor: ink, edgeLabelBackground: sheet,
    noteBkgColor: waittint, noteTextColor: ink, noteBorderColor: wait, errorBkgColor: badtint, errorTextColor: bad,
    ...numbered('cScale', 0, category), ...numbered('cScaleLabel', 0, () => onaccent),
    ...numbered('git', 0, category), ...numbered('gitBranchLabel', 0, () => onaccent), commitLabelColor: ink, commitLabelBackground: sunk,
    ...numbered('pie', 1, category), pieOpacity: '1', pieSectionTextColor: onaccent, pieStrokeColor: sheet, pieOuterStrokeColor: sheet,
    taskBkgColor: tint, taskBorderColor: accent, taskTextColor: ink, taskTextDarkColor: ink, taskTextLightColor: ink, taskTextOutsideColor: ink,
    activeTaskBkgColor: waittint, activeTaskBorderColor: wait, doneTaskBkgColor: sunk, doneTaskBorderColor: rule, critBkgColor: badtint, critBorderColor: bad,
    gridColor: rule, sectionBkgColor: sunk, altSectionBkgColor: sheet, sectionBkgColor2: sunk, todayLineColor: bad,
    xyChart: { backgroundColor: sheet, titleColor: ink, dataLabelColor: ink, ...axis('xAxis'), ...axis('yAxis'), plotColorPalette: categories.join(',') },
  };
}

// Its dates have 10 pixels otherwise.
const axes = '.grid .tick text { font-size: 11px !important }';

// Mermaid does not centre these texts without HTML.
const centred = '.mindmap-node:has(> circle, > rect, > polygon) .label text { text-anchor: middle }';

/** How bright a colour is, as the guidelines for contrast define it. */
function luminance(color: string): number | undefined {
  const rgb = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(color)?.slice(1).map((v) => (Number(v) / 255 <= 0.03928 ? Number(v) / 3294.6 : ((Number(v) / 255 + 0.055) / 1.055) ** 2.4));
  return rgb && 0.2126 * rgb[0]! + 0.7152 * rgb[1]! + 0.0722 * rgb[2]!;
}

/** Makes texts black or white that cannot be read on the fill that the diagram chose, which was written for another theme. */
function makeReadable(picture: SVGSVGElement) {
  for (const node of picture.querySelectorAll('.node, .cluster')) {
    const shape = node.querySelector(':is(rect, circle, ellipse, polygon, path)');
    const texts = [...node.querySelectorAll<SVGElement>('text, tspan')];
    if (!shape || !texts[0]) continue;
    const [fill, text] = [luminance(getComputedStyle(shape).fill), luminance(getComputedStyle(texts.at(-1)!).fill)];
    if (fill === undefined || text === undefined || (Math.max(fill, text) + 0.05) / (Math.min(fill, text) + 0.05) >= 3) continue;
    for (const one of texts) one.style.setProperty('fill', fill > 0.18 ? '#000' : '#fff', 'important');
  }
}

async function draw(request: Request): Promise<Answer> {
  const place = document.createElement('div');
  datesEnd = performance.now() + longestDates;
  try {
    mermaid.initialize({
      startOnLoad: false, securityLevel: 'strict', suppressErrorRendering: true, logLevel: 'fatal', secure, maxTextSize: 20_000, maxEdges: 400,
      theme: 'base', themeVariables: themeOf(request), fontFamily, fontSize: 14, htmlLabels: false, flowchart: { htmlLabels: false }, gantt: { useWidth: 1000, fontSize: 13, sectionFontSize: 13, leftPadding: 90 },
      themeCSS: `${centred} ${axes} .lineWrapper line { stroke: ${request.colors['soft']} !important }`,
    });
    document.body.append(place);
    const { svg, diagramType } = await mermaid.render('diagram', request.source, place);
    place.innerHTML = svg;
    const picture = place.querySelector('svg');
    const box = picture?.viewBox.baseVal;
    if (!picture || !box || !(box.width > 0) || !(box.height > 0)) return { error: 'It has no size.' };
    makeReadable(picture);
    const scale = Math.min(1, widest / Math.max(box.width, box.height));
    const width = Math.ceil(box.width * scale);
    const height = Math.ceil(box.height * scale);
    picture.removeAttribute('style');
    picture.setAttribute('width', String(width));
    picture.setAttribute('height', String(height));
    // A picture has to be XML, which the text that Mermaid returns need not be.
    const text = new XMLSerializer().serializeToString(picture);
    if (text.length > longestPicture) return { error: 'It is too large.' };
    return { svg: text, width, height, kind: diagramType, title: picture.querySelector(':scope > title')?.textContent?.slice(0, 300) ?? '' };
  } catch (err) {
    return { error: (err instanceof Error ? err.message : String(err)).slice(0, 2000) };
  } finally {
    datesEnd = Infinity;
    place.remove();
  }
}

function beBusy(port: MessagePort, time: number) {
  port.postMessage(true);
  for (const end = performance.now() + time; performance.now() < end; );
  port.postMessage(false);
}

addEventListener('message', ({ source, data, ports: [port] }: MessageEvent<Request | Probe>) => {
  if (source !== parent || !port) return;
  if ('busy' in data) beBusy(port, data.busy);
  else void draw(data).then((answer) => port.postMessage(answer));
});
parent.postMessage(ready, '*'); // the page that frames this one has an origin that is not known here

// The references, the pseudo-references with their judgements, and what was left out.
import { badge, element, letter, make } from './text.js';

const JUDGED = [
  ['bleu', 'BLEU', (value) => value.toFixed(1), 'Sentence BLEU against the references, 0 to 100'],
  ['content', 'content', (value) => value.toFixed(2), 'Share of what most references say that it says'],
  ['crossings', 'crossings', (value) => String(value), 'How often it changes from one reference to another, at least'],
  ['fluency', 'fluency', (value) => value.toFixed(2), 'Mean log-probability of its words, each given its neighbours'],
  ['risk', 'risk', (value) => value.toFixed(1), 'How risky its crossings are; 0 is what references have'],
];

export function show_references(references, picked, pick) {
  const seen = new Map();
  element('references-list').replaceChildren(...references.map(({ text }, number) => {
    const button = make('button', { dir: 'auto' }, badge(number), ` ${text}`);
    if (seen.has(text)) button.append(make('span', { className: 'times' }, ` (the same as ${letter(seen.get(text))})`));
    else seen.set(text, number);
    button.setAttribute('aria-pressed', String(picked === number));
    button.addEventListener('click', () => pick(number));
    return make('li', {}, button);
  }));
}

// A sentence whose parts are underlined in the colours of references that say them.
function in_parts(sentence) {
  if (!sentence.parts) return [sentence.text];
  return sentence.parts.map(([text, reference, name]) => make('span', {
    className: `run line${reference % 10}`, 'data-by': name,
  }, text));
}

export function show_sentences(place, sentences, marked, pick) {
  const judged = JUDGED.filter(([name]) => sentences.some((one) => typeof one[name] === 'number'));
  const head = make('tr', {}, make('th', { scope: 'col' }, '#'));
  for (const [, words, , help] of judged) head.append(make('th', { scope: 'col', title: help }, words));
  head.append(make('th', { scope: 'col' }, 'sentence'));
  const rows = sentences.map((one, rank) => {
    const row = make('tr', {}, make('td', { 'data-name': '#' }, String(rank + 1)));
    for (const [name, words, write] of judged) {
      row.append(make('td', { 'data-name': words }, typeof one[name] === 'number' ? write(one[name]) : '–'));
    }
    const button = make('button', { className: 'say', dir: 'auto' }, ...in_parts(one));
    button.setAttribute('aria-pressed', String(one.text === marked));
    button.setAttribute('aria-label', one.text);
    button.addEventListener('click', () => pick(one));
    const cell = make('td', {}, button);
    if (one.reason) cell.append(make('span', { className: 'reason' }, one.reason));
    row.append(cell);
    row.classList.toggle('on', one.text === marked);
    return row;
  });
  // What has the focus, by its rank, keeps it.
  const at = [...place.querySelectorAll('.say')].indexOf(document.activeElement);
  place.replaceChildren(rows.length
    ? make('table', { className: 'table' }, make('thead', {}, head), make('tbody', {}, ...rows))
    : make('p', { className: 'faint' }, 'None.'));
  if (at >= 0) place.querySelectorAll('.say')[Math.min(at, rows.length - 1)]?.focus({ preventScroll: true });
}

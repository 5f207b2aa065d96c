// The page: what is chosen, where it is kept (in the address), and what follows from a change.
import { Latest, ask } from './ask.js';
import { Chooser } from './chooser.js';
import { Controls, read, written } from './controls.js';
import { Curve } from './curve.js';
import { show_references, show_sentences } from './lists.js';
import { LatticeMap } from './map.js';
import { SimilarityMatrix, show_pair } from './matrix.js';
import { copy, element, grouped, make, readable } from './text.js';

const state = { example: null, references: null, sentence: null, reference: null, pair: [0, 1], cell: null };
let is_restored = false;
let about, controls, chooser, answer = null, left_out = [];
const lattice_map = new LatticeMap(element('map'), element('word'));
const matrix = new SimilarityMatrix(element('matrix-picture'), element('cell'), (cell) => { state.cell = cell; keep(); });
let curve;

// -- the address: all of the state, behind the #, so that it stays on this machine

function address() {
  const given = new URLSearchParams();
  if (state.references) state.references.forEach((text) => given.append('reference', text));
  else given.set('example', state.example);
  for (const [name, value] of Object.entries(controls.given)) given.set(name, written(value));
  if (state.sentence !== null) given.set('sentence', state.sentence);
  if (state.reference !== null) given.set('line', state.reference);
  given.set('pair', state.pair.join());
  if (state.cell) given.set('cell', state.cell.join());
  return `#${given}`;
}

function keep(is_new = false) {
  if (is_new) history.pushState(null, '', address());
  else history.replaceState(null, '', address());
}

function restore() {
  const given = new URLSearchParams(location.hash.slice(1)), is_new = !location.hash;
  const own = given.getAll('reference');
  state.references = own.length ? own : null;
  state.example = own.length ? null : given.get('example') ?? about.first;
  state.sentence = given.get('sentence');
  state.reference = given.has('line') ? Number(given.get('line')) : null;
  state.pair = pair_of(given.get('pair')) ?? [0, 1];
  state.cell = matrix.at = pair_of(given.get('cell'));
  const values = {};
  for (const one of about.controls) {
    if (is_new) values[one.name] = one.value;
    else if (given.has(one.name)) values[one.name] = read(one, given.get(one.name));
  }
  controls.set(values);
  is_restored = true;
  keep();
  chooser.set(state.example);
  refresh();
}

function pair_of(text) {
  const found = /^(\d{1,4}),(\d{1,4})$/.exec(text ?? '');
  return found && [Number(found[1]), Number(found[2])];
}

// -- questions

function question(more = {}) {
  const of = state.references ? { references: state.references } : { example: state.example };
  return { ...of, settings: controls.given, width: width(), ...more };
}

// A map is laid out a little wider than its place, and shrinks: fewer rows, and still readable.
const width = () => Math.round(Math.min(2400, Math.max(320, (element('map').clientWidth - 4) / 0.8)));
const fail = (error) => {
  document.body.classList.remove('busy');
  element('error').hidden = false;
  element('error').textContent = error.message;
};
const look = new Latest('/api/look', show, fail);
const compare = new Latest('/api/matrix', (found) => matrix.show(found), (error) => matrix.none(error.message));
const count = new Latest('/api/curve', (found) => curve.show(found.points), () => curve.show([]));
const out = new Latest('/api/left-out', (found) => { left_out = found.sentences; list(); }, fail);

// Everything again: the example has changed, or a setting other than the penalty.
function refresh() {
  moved();
  if (controls.values.align === 'soft') count.ask(question());
  else curve.show([]);
}

// The penalty has changed: the curve stays.
function moved() {
  document.body.classList.add('busy');
  look.ask(question());
}

// -- answers

function show(found) {
  answer = found;
  document.body.classList.remove('busy');
  element('error').hidden = true;
  element('name').textContent = state.references ? 'Your own references' : found.id;
  const source = typeof found.source === 'string' ? found.source : JSON.stringify(found.source);
  element('about').replaceChildren(make('span', {}, found.source === null || source === found.id ? '' : source));
  document.title = `${state.references ? 'own references' : found.id} – polyref explore`;
  show_size(found);
  curve.mark(found.penalty, readable(found.size.sentences)[0]);
  lattice_map.show(found);
  if (state.reference !== null && state.reference >= found.references.length) state.reference = null;
  list();
  if (is_restored) scroll_to_marked();
  is_restored = false;
  show_command('command', found.commands.expand);
  show_command('command-draw', found.commands.draw ?? 'lattice does not ask a language model: choose other rules');
  const some = found.references.length;
  if (state.pair.some((one) => one >= some)) state.pair = [0, Math.min(1, some - 1)];
  show_pair(some, state.pair, (side, reference) => { state.pair[side] = reference; state.cell = matrix.at = null; keep(); show_matrix(); });
  show_matrix();
  if (element('left-out').open) out.ask(question());
  else left_out = [];
}

// No line ends inside an option.
function show_command(id, line) {
  element(id).replaceChildren(...line.split(' ').flatMap((word, n) => (n ? [' ', make('span', {}, word)] : [make('span', {}, word)])));
}

function show_matrix() {
  if (answer.references.length < 2) matrix.none('There is one reference: nothing to compare it with.');
  else compare.ask(question({ pair: state.pair }));
}

function show_size({ size, references, exact, penalty }) {
  const [short, is_whole] = readable(size.sentences);
  const facts = [`${readable(size.new)[0]} of them new`, `${references.length} references`, `${size.words} words`];
  if (size.pieces > 1) facts.push(`in ${size.pieces} pieces`);
  if (penalty !== null) facts.push(`penalty ${penalty}`);
  if (!exact) facts.push('search cut short');
  const whole = is_whole ? [] : [make('small', {}, `exactly ${grouped(size.sentences)}`)];
  element('count').replaceChildren(make('strong', {}, short),
    ` ${size.deterministic ? (size.sentences === '1' ? 'sentence' : 'sentences') : 'paths'}, ${facts.join(', ')}`, ...whole);
}

// The lists, and what is marked in the map: a reference, or a sentence; without a choice, the best sentence.
function list() {
  const marked = chosen();
  show_references(answer.references, state.reference, (reference) => {
    state.reference = state.reference === reference ? null : reference;
    keep();
    list();
  });
  const pick = (sentence) => {
    state.sentence = sentence.text;
    state.reference = null;
    keep();
    list();
  };
  show_sentences(element('sentences-list'), answer.sentences, marked?.text, pick);
  const { length } = answer.sentences;
  if (!answer.wanted) {
    const why = `None: the ${answer.references.length} references are as many as wanted. Raise “per example” to get more.`;
    element('sentences-list').replaceChildren(make('p', { className: 'faint' }, why));
  }
  element('got').textContent = length < answer.wanted ? `${length} of ${answer.wanted} wanted` : length ? `the best ${length}` : '';
  element('copy-sentence').disabled = !marked;
  const causes = Object.entries(answer.left_out).map(([cause, number]) => `${number.toLocaleString('en')} ${about.causes[cause]}`);
  element('left-out').querySelector('summary').textContent = `Left out${causes.length ? `: ${causes.join(', ')}` : ': nothing'}`;
  show_sentences(element('left-out-list'), left_out, marked?.text, pick);
  lattice_map.mark(marked, state.reference);
}

// The sentence that an address names comes into sight, if its list scrolls by itself.
function scroll_to_marked() {
  const place = element('sentences'), row = place.querySelector('tr.on');
  if (!row || getComputedStyle(place).overflowY !== 'auto') return;
  place.scrollTop += Math.max(0, row.getBoundingClientRect().bottom - place.getBoundingClientRect().bottom + 8);
}

function chosen() {
  const { sentences } = answer;
  if (state.sentence === null) return sentences[0];
  return sentences.find((one) => one.text === state.sentence) ?? left_out.find((one) => one.text === state.sentence);
}

// -- what people do

// Shows an example of the file, by its id; or references that somebody typed, and then the id is null.
function choose(id, references = null) {
  Object.assign(state, { example: id, references, sentence: null, reference: null, pair: [0, 1], cell: null });
  matrix.at = null;
  lattice_map.tell(null);
  keep(true);
  chooser.set(id);
  refresh();
}

function show_own() {
  const lines = element('own-text').value.split('\n').map((line) => line.trim()).filter(Boolean);
  if (!lines.length) return;
  choose(null, lines);
  element('own').close();
}

function write() {
  const now = state.references ?? answer?.references.map((one) => one.text) ?? [];
  element('own-text').value = now.join('\n');
  element('own').showModal();
  element('own-text').focus();
}

async function save(form) {
  try {
    const found = await ask('/api/export', question({ form, sentence: state.reference === null ? chosen()?.text ?? null : null }));
    const name = /filename="([\w.]+)"/.exec(found.headers.get('content-disposition'))[1];
    const place = URL.createObjectURL(await found.blob());
    make('a', { href: place, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(place), 10_000);
  } catch (error) {
    fail(error);
  }
}

function wire() {
  element('larger').addEventListener('click', () => lattice_map.bigger());
  element('smaller').addEventListener('click', () => lattice_map.smaller());
  element('fit').addEventListener('click', () => lattice_map.fit());
  element('write').addEventListener('click', write);
  element('own-show').addEventListener('click', show_own);
  element('link').addEventListener('click', () => copy(location.href, element('link')));
  element('copy-command').addEventListener('click', () => copy(element('command').textContent, element('copy-command')));
  element('copy-sentence').addEventListener('click', () => copy(chosen().text, element('copy-sentence')));
  element('left-out').addEventListener('toggle', () => { if (element('left-out').open) out.ask(question()); });
  for (const button of document.querySelectorAll('[data-export]')) button.addEventListener('click', () => save(button.dataset.export));
  for (const button of document.querySelectorAll('[data-close]')) button.addEventListener('click', () => button.closest('dialog').close());
  element('help').addEventListener('click', () => element('how').showModal());
  const keys = { '?': 'help', n: 'next', p: 'previous', '/': 'choose', o: 'write', '+': 'larger', '-': 'smaller', 0: 'fit' };
  document.addEventListener('keydown', (event) => {
    const is_typing = event.target.closest('textarea, select, dialog, input:not([type="range"], [type="radio"], [type="checkbox"])');
    if (is_typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    element(keys[event.key]).click();
  });
  window.addEventListener('popstate', restore);
  let last = width(), timer;
  window.addEventListener('resize', () => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (width() !== last) { last = width(); look.ask(question()); } }, 200);
  });
}

async function start() {
  about = await (await ask('/api/about')).json();
  controls = new Controls(element('form'), about.controls, (name) => {
    keep();
    if (name === 'penalty') moved();
    else refresh();
  });
  curve = new Curve(controls.curve);
  chooser = new Chooser(about.orders, choose);
  wire();
  restore();
}

start().catch(fail);

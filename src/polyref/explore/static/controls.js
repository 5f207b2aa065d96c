// The form of settings, made from what the server says about them. One place in the form is for the curve.
import { make } from './text.js';

const FIRST = ['align', 'encoder', 'penalty', 'judge', 'per_example', 'tokenizer'];

export class Controls {
  // `changed(name)` is called with the name of the setting that was changed.
  constructor(form, declared, changed) {
    this.declared = Object.fromEntries(declared.map((one) => [one.name, one]));
    this.values = {};
    this.changed = changed;
    this.boxes = {};
    this.curve = make('div', { className: 'curve-place' });
    const rest = make('details', {}, make('summary', {}, 'More settings'));
    const more = make('div', { className: 'more' });
    rest.append(more);
    const others = declared.map((one) => one.name).filter((name) => !FIRST.includes(name));
    for (const name of FIRST) form.append(this.box(this.declared[name]));
    let group = null;
    for (const name of others) {
      if (this.declared[name].group !== group) {
        group = this.declared[name].group;
        more.append(make('p', { className: 'faint' }, group));
      }
      more.append(this.box(this.declared[name]));
    }
    form.append(rest);
    form.addEventListener('submit', (event) => event.preventDefault());
    this.rest = rest;
  }

  // Settings that are not as declared: what is asked for, and what the address carries.
  get given() {
    const entries = Object.entries(this.values);
    return Object.fromEntries(entries.filter(([name, value]) => !same(value, this.declared[name].default)));
  }

  set(values) {
    for (const one of Object.values(this.declared)) {
      this.values[one.name] = one.name in values ? values[one.name] : one.default;
      this.boxes[one.name].show(this.values[one.name]);
    }
    this.dim();
  }

  change(name, value) {
    this.values[name] = value;
    this.boxes[name].show(value);
    this.dim();
    this.changed(name);
  }

  has_effect(one) {
    if (!one.needs) return true;
    const [name, value] = one.needs;
    return this.values[name] === value && this.has_effect(this.declared[name]);
  }

  dim() {
    for (const one of Object.values(this.declared)) {
      const off = !this.has_effect(one), { place } = this.boxes[one.name];
      place.classList.toggle('off', off);
      place.disabled = off;
    }
  }

  box(one) {
    const place = make('fieldset', { className: 'control' });
    const id = `set-${one.name}`, words = one.name.replaceAll('_', ' ');
    const label = make('label', { htmlFor: id, title: `${one.help} ${one.more}`.trim() }, words);
    const help = make('span', { className: 'help', id: `${id}-help` }, `${one.help} ${one.more}`.trim());
    const kinds = { choice: 'choice', several: 'several', flag: 'flag', number: 'number', whole: 'number' };
    const show = this[kinds[one.kind]](one, place, label, id);
    if (!FIRST.includes(one.name)) place.append(help);
    for (const input of place.querySelectorAll('input, select')) input.title = `${one.help} ${one.more}`.trim();
    this.boxes[one.name] = { place, show };
    return place;
  }

  choice(one, place, label, id) {
    if (one.choices.length > 2 || one.name === 'encoder') {
      const options = one.choices.map((word) => make('option', { value: word }, word));
      const select = make('select', { id }, ...options);
      select.addEventListener('change', () => this.change(one.name, select.value));
      place.append(label, select);
      return (value) => { select.value = value ?? one.choices.at(-1); };
    }
    const group = make('div', { className: 'choices', role: 'radiogroup', 'aria-label': label.textContent });
    const inputs = one.choices.map((word) => {
      const input = make('input', { type: 'radio', name: id, value: word });
      input.addEventListener('change', () => this.change(one.name, word));
      group.append(make('label', {}, input, word));
      return input;
    });
    place.append(make('span', { title: label.title }, label.textContent), group);
    return (value) => inputs.forEach((input) => { input.checked = input.value === value; });
  }

  several(one, place, label, id) {
    const group = make('div', { className: 'several', role: 'group', 'aria-label': label.textContent });
    const inputs = one.choices.map((word) => {
      const input = make('input', { type: 'checkbox', value: word, id: `${id}-${word}` });
      input.addEventListener('change', () => {
        this.change(one.name, inputs.filter((other) => other.checked).map((other) => other.value));
      });
      group.append(make('label', { className: 'flag' }, input, word));
      return input;
    });
    place.append(make('span', {}, label.textContent), group);
    return (value) => inputs.forEach((input) => { input.checked = value.includes(input.value); });
  }

  flag(one, place, label, id) {
    const input = make('input', { type: 'checkbox', id });
    input.addEventListener('change', () => this.change(one.name, input.checked));
    place.append(label, input);
    return (value) => { input.checked = value; };
  }

  // A number; with a slider where it has a range and is one of the first, and a box for each word it may also be.
  number(one, place, label, id) {
    const step = one.kind === 'whole' ? 1 : 'any', { least, most } = one;
    const input = make('input', { type: 'number', id, step, placeholder: one.unset || '' });
    if (least !== null) input.min = least;
    if (most !== null) input.max = most;
    place.append(label, input);
    const slides = one.name === 'penalty';
    const slider = make('input', { type: 'range', min: least, max: most, step: 0.01, 'aria-label': `${label.textContent} slider` });
    const [word] = one.choices;
    const tick = word && make('input', { type: 'checkbox', id: `${id}-${word}` });
    const read = () => {
      if (tick?.checked) return this.change(one.name, word);
      const value = input.value === '' ? null : Number(input.value);
      if (value === null && one.default !== null) return undefined; // while somebody types
      return this.change(one.name, value);
    };
    input.addEventListener('change', read);
    if (slides) {
      place.append(this.curve, slider);
      input.step = 0.01;
      slider.addEventListener('input', () => this.change(one.name, Number(slider.value)));
    }
    if (tick) {
      tick.addEventListener('change', () => this.change(one.name, tick.checked ? word : Number(slider.value)));
      place.append(make('label', { className: 'flag' }, tick, word));
    }
    return (value) => {
      const is_word = typeof value === 'string';
      if (tick) tick.checked = is_word;
      input.disabled = slider.disabled = is_word;
      if (document.activeElement !== input || Number(input.value) !== value) input.value = is_word || value === null ? '' : value;
      if (!is_word && value !== null) slider.value = value;
    };
  }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// A setting's value in an address, and back.
export function written(value) {
  return Array.isArray(value) ? value.join(',') : String(value);
}
export function read(one, text) {
  if (one.kind === 'several') return text === '' ? [] : text.split(',');
  if (one.kind === 'flag') return text === 'true';
  if (text === 'null') return null;
  if (['number', 'whole'].includes(one.kind) && text.trim() !== '' && !Number.isNaN(Number(text))) return Number(text);
  return text;
}

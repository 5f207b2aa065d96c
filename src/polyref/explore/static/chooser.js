// Choose an example: search, order, a list that grows; the ones before and behind the chosen one.
import { ask } from './ask.js';
import { element, make, readable } from './text.js';

const SIZE = 50;
const ORDERS = {
  file: 'order of the file', references: 'most references', sentences: 'most sentences',
  worst: 'worst BLEU kept', 'left-out': 'most left out',
};

export class Chooser {
  constructor(orders, chosen) {
    Object.assign(this, { chosen, search: '', order: 'file', current: null, size: SIZE, asked: 0 });
    this.dialog = element('chooser');
    element('order').append(...orders.map((name) => make('option', { value: name }, ORDERS[name] || name)));
    element('search').addEventListener('input', () => { this.search = element('search').value; this.refresh(); });
    element('order').addEventListener('change', () => { this.order = element('order').value; this.refresh(); });
    element('more').addEventListener('click', () => { this.size += SIZE; this.refresh(); });
    element('choose').addEventListener('click', () => this.open());
    element('previous').addEventListener('click', () => this.beside.previous && chosen(this.beside.previous));
    element('next').addEventListener('click', () => this.beside.next && chosen(this.beside.next));
    element('list').addEventListener('keydown', (event) => {
      const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
      const item = step && event.target.closest('li')?.[step];
      if (!item) return;
      event.preventDefault();
      item.firstChild.focus();
    });
    this.beside = {};
  }

  open() {
    this.dialog.showModal();
    element('search').select();
    this.refresh();
  }

  // `current` is the id of the chosen example, null for references that somebody typed.
  set(current) {
    this.current = current;
    this.refresh();
  }

  async refresh() {
    const number = this.asked += 1;
    const given = new URLSearchParams({ search: this.search, order: this.order, size: Math.min(this.size, 200) });
    if (this.current !== null) given.set('at', this.current);
    const answer = await (await ask(`/api/examples?${given}`)).json();
    if (number !== this.asked) return;
    this.beside = answer;
    element('previous').disabled = !answer.previous;
    element('next').disabled = !answer.next;
    element('place').textContent = answer.place === null ? '' : `${answer.place + 1}/${answer.found}`;
    const [done, of] = answer.ranked, is_ranked = !['file', 'references'].includes(this.order);
    const progress = is_ranked && done < of ? `, ${done} of ${of} looked at` : is_ranked ? `, of the first ${of}` : '';
    element('found').textContent = `${answer.found} found${progress}`;
    this.list(answer.examples);
    element('more').hidden = answer.found <= answer.examples.length || this.size >= 200;
    if (is_ranked && done < of && this.dialog.open) setTimeout(() => { if (number === this.asked) this.refresh(); }, 700);
  }

  list(examples) {
    const had = [...element('list').querySelectorAll('button')].indexOf(document.activeElement);
    element('list').replaceChildren(...examples.map((one) => {
      const facts = [`${one.references} references`];
      if (one.sentences) facts.push(`${readable(one.sentences)[0]} sentences`);
      if (one.worst !== null) facts.push(`worst BLEU kept ${one.worst.toFixed(1)}`);
      if (one.left_out !== null) facts.push(`${one.left_out.toLocaleString('en')} left out`);
      const button = make('button', {}, make('strong', {}, one.id), ' ', make('span', { className: 'faint' }, facts.join(', ')),
        make('span', { className: 'text', dir: 'auto' }, one.text));
      if (one.id === this.current) button.setAttribute('aria-current', 'true');
      button.addEventListener('click', () => { this.dialog.close(); this.chosen(one.id); });
      return make('li', {}, button);
    }));
    if (had >= 0) element('list').querySelectorAll('button')[had]?.focus();
  }
}

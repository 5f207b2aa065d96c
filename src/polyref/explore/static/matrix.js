// The matrix of two references: a cell that is clicked, or gone to by arrow keys, tells its numbers.
import { badge, drawing, element, make, make_svg } from './text.js';

const SMALLEST = 0.75; // as far as a matrix shrinks to fit

export class SimilarityMatrix {
  constructor(place, told, moved) {
    Object.assign(this, { place, told, moved, at: null, answer: null });
    place.addEventListener('click', (event) => this.click(event));
    place.addEventListener('keydown', (event) => this.key(event));
  }

  show(answer) {
    const { scrollLeft, scrollTop } = this.place;
    this.answer = answer;
    this.place.classList.remove('empty');
    this.svg = drawing(answer.svg);
    const [width, height] = [this.svg.width.baseVal.value, this.svg.height.baseVal.value];
    const scale = Math.min(1, Math.max(SMALLEST, (this.place.clientWidth - 2) / width));
    this.svg.setAttribute('width', width * scale);
    this.svg.setAttribute('height', height * scale);
    this.grid = this.svg.querySelector('g');
    this.place.replaceChildren(this.svg);
    this.place.scrollTo(scrollLeft, scrollTop);
    if (this.at && (this.at[0] >= answer.left.length || this.at[1] >= answer.right.length)) this.at = null;
    this.tell();
  }

  none(why) {
    this.answer = null;
    this.place.classList.add('empty');
    this.place.replaceChildren(make('p', {}, why));
    this.told.replaceChildren();
  }

  click(event) {
    if (!this.answer) return;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.grid.getScreenCTM().inverse());
    this.go(Math.floor(point.y / this.answer.cell), Math.floor(point.x / this.answer.cell));
  }

  key(event) {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (!this.answer || !(event.key in steps)) return;
    event.preventDefault();
    const [u, v] = this.at || [0, -1].map((n, side) => n + (steps[event.key][side] ? 0 : side));
    this.go(u + steps[event.key][0], v + steps[event.key][1]);
    this.grid.querySelector('.cursor')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  go(u, v) {
    const { left, right } = this.answer;
    if (u < 0 || v < 0 || u >= left.length || v >= right.length) return;
    this.at = [u, v];
    this.moved(this.at);
    this.tell();
  }

  tell() {
    this.grid?.querySelector('.cursor')?.remove();
    this.told.replaceChildren();
    const { pair, left, right, cell, caption } = this.answer;
    if (!this.at) {
      this.told.append(make('span', { className: 'faint' }, `${caption}. Click a cell for its numbers.`));
      return;
    }
    const [u, v] = this.at;
    this.grid.append(make_svg('rect', { class: 'cursor', x: v * cell + 1, y: u * cell + 1, width: cell - 2, height: cell - 2, rx: 4 }));
    this.told.append(badge(pair[0]), make('strong', {}, left[u]), ' – ', badge(pair[1]), make('strong', {}, right[v]), ': ', this.words(u, v));
  }

  // What is known about a pair of words, in words.
  words(u, v) {
    const { similarity, before, penalty, links, never } = this.answer;
    const value = similarity[u][v], linked = links.some(([a, b]) => a === u && b === v);
    const why = never.find(([a, b]) => a === u && b === v)?.[2];
    if (penalty === null) {
      if (linked) return 'equal words, linked.';
      return value ? 'equal words, but another alignment links more.' : 'different words: hard alignment links equal ones only.';
    }
    if (why !== undefined) return `never linked: ${why}. Their vectors have similarity ${before[u][v].toFixed(2)}.`;
    const lost = before[u][v] - value;
    const said = `similarity ${value.toFixed(2)}${lost >= 0.00995 ? ` (${before[u][v].toFixed(2)} less ${lost.toFixed(2)} for their places)` : ''}`;
    const gain = value - penalty, worth = `${gain < 0 ? '−' : '+'}${Math.abs(gain).toFixed(2)}`;
    if (linked) return `${said}, linked: ${worth} over the penalty ${penalty}.`;
    if (gain <= 0) return `${said}, not above the penalty ${penalty}: not linked.`;
    return `${said}, ${worth} over the penalty ${penalty}, but another alignment is worth more.`;
  }
}

// Two lists to choose a pair from.
export function show_pair(count, pair, changed) {
  for (const [side, id] of ['left', 'right'].entries()) {
    const select = element(id);
    const options = Array.from({ length: count }, (_, n) => make('option', { value: n }, badge(n).textContent));
    if (select.options.length !== count) select.replaceChildren(...options);
    select.value = pair[side];
    select.disabled = count < 2;
    select.onchange = () => changed(side, Number(select.value));
  }
}

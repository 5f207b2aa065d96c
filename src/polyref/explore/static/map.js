// The map: zoom, pan, words that tell about themselves, and the way of a sentence.
import { badge, drawing, make, make_svg } from './text.js';

const STEP = 1.25, LEAST = 0.3, MOST = 4;
const SMALLEST = 0.7; // as far as a map shrinks to fit

export class LatticeMap {
  constructor(place, told) {
    Object.assign(this, { place, told, zoom: null, svg: null, words: {}, current: null, pinned: null });
    place.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    place.addEventListener('pointerdown', (event) => this.drag(event));
    place.addEventListener('pointerover', (event) => this.point(event.target));
    place.addEventListener('focusin', (event) => this.point(event.target));
    place.addEventListener('click', (event) => this.pin(event.target));
    place.addEventListener('pointerleave', (event) => { if (event.pointerType === 'mouse') this.leave(); });
    place.addEventListener('keydown', (event) => this.key(event));
  }

  // Puts a new drawing in the place of the old one; what was looked at stays where it is.
  show(answer) {
    this.words = answer.words;
    this.references = answer.references;
    const { scrollLeft, scrollTop } = this.place, had_focus = this.place.contains(document.activeElement);
    this.place.dir = answer.direction;
    this.place.classList.toggle('empty', !answer.map);
    if (!answer.map) {
      this.svg = null;
      this.place.replaceChildren(make('p', {}, `Not drawn: ${answer.why_no_map}`));
      return;
    }
    this.svg = drawing(answer.map);
    this.size = [this.svg.width.baseVal.value, this.svg.height.baseVal.value];
    for (const [node, { word, references }] of Object.entries(this.words)) {
      const station = this.station(node);
      station.setAttribute('role', 'button');
      station.setAttribute('tabindex', '-1');
      station.setAttribute('aria-label', `${word}, reference ${references.map((one) => badge(one).textContent).join(', ')}`);
      station.querySelector('title')?.remove(); // the line under the map says more
    }
    this.rescale();
    this.place.replaceChildren(this.svg);
    this.place.scrollTo(scrollLeft, scrollTop);
    const first = this.order()[0];
    const station = this.station(this.current) || this.station(first);
    station?.setAttribute('tabindex', '0');
    if (had_focus && station) station.focus({ preventScroll: true });
    if (this.current !== null && !this.words[this.current]) this.tell(null);
    else if (this.current !== null) this.tell(this.current);
  }

  station(node) {
    return this.svg?.querySelector(`[data-node="${CSS.escape(node)}"]`);
  }

  // The middle of a station's upper edge.
  middle(node) {
    const box = this.station(node).querySelector('rect');
    return [box.x.baseVal.value + box.width.baseVal.value / 2, box.y.baseVal.value];
  }

  // Words from left to right, and from top to bottom.
  order() {
    const places = Object.keys(this.words).map((node) => [node, ...this.middle(node)]);
    return places.sort((a, b) => a[1] - b[1] || a[2] - b[2]).map(([node]) => node);
  }

  // -- zoom and pan: without a zoom that somebody chose, the map is as large as it fits, down to what can be read

  get scale() {
    if (this.zoom !== null) return this.zoom;
    const [wide, high] = [this.place.offsetWidth / this.size[0], this.place.offsetHeight / this.size[1]];
    // Where the page is one column, a map is as high as it likes.
    return Math.min(1, Math.max(SMALLEST, 0.99 * Math.min(wide, matchMedia('(min-width: 60rem)').matches ? high : 1)));
  }

  rescale() {
    const { scale } = this;
    this.svg.setAttribute('width', this.size[0] * scale);
    this.svg.setAttribute('height', this.size[1] * scale);
  }

  // Zooms around a point of the window, or around the middle.
  zoom_by(factor, x, y) {
    if (!this.svg) return;
    const box = this.place.getBoundingClientRect(), before = this.scale;
    const [dx, dy] = [(x ?? box.x + box.width / 2) - box.x, (y ?? box.y + box.height / 2) - box.y];
    const [left, top] = [this.place.scrollLeft + dx, this.place.scrollTop + dy];
    this.zoom = factor === null ? null : Math.min(MOST, Math.max(LEAST, before * factor));
    this.rescale();
    this.place.scrollTo(left * (this.scale / before) - dx, top * (this.scale / before) - dy);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom_by(event.deltaY < 0 ? 1.1 : 1 / 1.1, event.clientX, event.clientY);
  }

  drag(event) {
    if (event.pointerType !== 'mouse' || event.button !== 0) return; // a finger scrolls by itself
    const from = [event.clientX + this.place.scrollLeft, event.clientY + this.place.scrollTop];
    const move = (other) => {
      this.place.classList.add('dragged');
      this.place.scrollTo(from[0] - other.clientX, from[1] - other.clientY);
    };
    const end = () => {
      this.place.classList.remove('dragged');
      window.removeEventListener('pointermove', move);
    };
    window.addEventListener('pointermove', move);
    window.addEventListener('pointerup', end, { once: true });
  }

  key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 'down', ArrowUp: 'up' };
    if (!(event.key in steps) || !this.svg || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    const order = this.order(), at = Math.max(0, order.indexOf(this.current));
    let next = order[at + steps[event.key]];
    if (typeof steps[event.key] === 'string') next = this.beside(order[at], steps[event.key] === 'down');
    if (next !== undefined) this.station(next).focus();
  }

  // The nearest word below, or above.
  beside(node, below) {
    const [x, y] = this.middle(node);
    const others = Object.keys(this.words).map((one) => [one, ...this.middle(one)]).filter(([, , v]) => (below ? v > y + 1 : v < y - 1));
    const cost = ([, u, v]) => 2 * Math.abs(u - x) + Math.abs(v - y);
    return others.sort((a, b) => cost(a) - cost(b))[0]?.[0];
  }

  // -- words

  point(target) {
    const station = target.closest?.('[data-node]');
    if (station && this.words[station.dataset.node]) this.tell(station.dataset.node);
  }

  // A word that is clicked stays, until it or another one is clicked.
  pin(target) {
    const node = target.closest?.('[data-node]')?.dataset.node ?? null;
    this.pinned = node === this.pinned || !this.words[node] ? null : node;
    this.tell(this.pinned);
  }

  leave() {
    if (!this.place.contains(document.activeElement)) this.tell(this.words[this.pinned] ? this.pinned : null);
  }

  // Says which references have a word, and by what similarity it was linked.
  tell(node) {
    if (this.station(this.current)) this.station(this.current).setAttribute('tabindex', '-1');
    this.current = node;
    this.told.replaceChildren();
    if (node === null) return;
    this.station(node).setAttribute('tabindex', '0');
    const { word, references, links } = this.words[node];
    const who = references.length === this.references.length && references.length > 1 ? ' said by all: ' : ' said by ';
    this.told.append(make('strong', { dir: 'auto' }, word), make('span', { className: 'faint' }, who), ...references.map(badge));
    if (!links.length) {
      const alone = references.length > 1 ? '' : ', linked with no other word';
      this.told.append(make('span', { className: 'faint' }, alone));
      return;
    }
    this.told.append(make('span', { className: 'faint' }, ' linked: '));
    for (const [left, left_word, right, right_word, alike] of links) {
      this.told.append(make('span', { className: 'pairing' }, badge(left), `${left_word} – `, badge(right),
        `${right_word} `, make('span', { className: 'faint' }, alike === 1 ? '1' : alike.toFixed(2))));
    }
  }

  // -- ways

  // Marks a sentence: its words and the way between them. Or a reference: all others fade.
  mark(sentence, reference = null) {
    if (!this.svg) return;
    this.svg.querySelectorAll('.on').forEach((part) => part.classList.remove('on'));
    this.svg.querySelector('.way')?.remove();
    this.svg.classList.toggle('dim', reference !== null);
    const nodes = reference === null ? sentence?.nodes : this.references[reference].nodes;
    (nodes || []).forEach((node) => this.station(node)?.classList.add('on'));
    if (reference !== null) {
      this.svg.querySelectorAll(`[data-reference="${reference}"]`).forEach((part) => part.classList.add('on'));
    } else if (sentence?.path) {
      const way = make_svg('path', { class: 'way', d: sentence.path, fill: 'none', stroke: '#ffdf70',
        'stroke-width': this.references.length <= 6 ? 15 : 14, 'stroke-linejoin': 'round' });
      this.svg.querySelector('g').prepend(way);
    }
  }

  bigger() { this.zoom_by(STEP); }
  smaller() { this.zoom_by(1 / STEP); }
  fit() { this.zoom_by(null); }
}

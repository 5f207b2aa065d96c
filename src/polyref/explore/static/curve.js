// A small plot: how many sentences there are at each penalty, over the slider that sets it.
import { make_svg, readable } from './text.js';

const HEIGHT = 74, TOP = 14, FOOT = 60, SIDE = 8; // the side is half of a slider's thumb

export class Curve {
  constructor(place) {
    this.place = place;
    this.points = [];
    this.now = null;
  }

  show(points) {
    this.points = points;
    this.draw();
  }

  // The penalty now, and how many sentences it gives.
  mark(penalty, count) {
    this.now = penalty;
    this.count = count;
    this.draw();
  }

  draw() {
    this.place.replaceChildren();
    if (!this.points.length) return;
    const width = this.place.clientWidth || 240;
    const most = Math.max(1, ...this.points.map(([, , log]) => log));
    const x = (penalty) => SIDE + penalty * (width - 2 * SIDE), y = (log) => FOOT - (log / most) * (FOOT - TOP);
    const way = this.points.map(([penalty, , log]) => `${x(penalty).toFixed(1)} ${y(log).toFixed(1)}`).join('L');
    const [first, last] = [this.points[0][1], this.points.at(-1)[1]].map((digits) => readable(digits)[0]);
    const said = `Sentences against penalty: ${first} at 0, ${last} at 1`;
    const svg = make_svg('svg', { class: 'curve', viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: 'img', 'aria-label': said });
    svg.append(
      make_svg('title', {}, said),
      make_svg('path', { class: 'area', d: `M${x(0)} ${FOOT}L${way}L${x(1)} ${FOOT}Z` }),
      make_svg('path', { class: 'line', d: `M${way}` }),
      make_svg('text', { x: SIDE, y: HEIGHT - 3 }, '0'),
      make_svg('text', { x: width / 2, y: HEIGHT - 3, 'text-anchor': 'middle' }, 'sentences by penalty, log scale'),
      make_svg('text', { x: width - SIDE, y: HEIGHT - 3, 'text-anchor': 'end' }, '1'),
    );
    if (this.now !== null) {
      const nearest = this.points.reduce((a, b) => (Math.abs(b[0] - this.now) < Math.abs(a[0] - this.now) ? b : a));
      const at = x(this.now);
      svg.append(
        make_svg('path', { class: 'now', d: `M${at} ${TOP - 4}V${FOOT}` }),
        make_svg('circle', { cx: at, cy: y(nearest[2]), r: 4 }),
        make_svg('text', { class: 'said', x: at + (this.now > 0.6 ? -5 : 5), y: 9,
          'text-anchor': this.now > 0.6 ? 'end' : 'start' }, `${this.now}: ${this.count}`),
      );
    }
    this.place.append(svg);
  }
}

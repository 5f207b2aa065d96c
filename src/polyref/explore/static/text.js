// Texts of the data on the page: always as text, never as markup.

// What has no place in a line of text, and what turns the text around it, as the drawings have it (draw/svg.py).
const UNSHOWN = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]/gu;
export const visible = (text) => String(text).replace(UNSHOWN, '\ufffd');

export const element = (id) => document.getElementById(id);

// make('p', {className: 'faint'}, 'text', node): properties are set, strings become text.
export function make(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.map((child) => (typeof child === 'string' ? visible(child) : child)));
  return made;
}

export const SVG = 'http://www.w3.org/2000/svg';
export function make_svg(name, attributes = {}, text = '') {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

// The server's drawing as an element: parsed as XML, which has no scripts of its own under the page's policy.
export function drawing(text) {
  const parsed = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  if (parsed.nodeName !== 'svg') throw new Error('the drawing cannot be read');
  const svg = document.importNode(parsed, true);
  svg.setAttribute('role', 'group');
  return svg;
}

export const letter = (reference) => (reference < 26 ? String.fromCharCode(65 + reference) : String(reference));
export const badge = (reference) => make('b', { className: `line${reference % 10}` }, letter(reference));

// A whole number that may have any number of digits, as a string: readable, and whether that is all of it.
export function readable(digits) {
  if (digits.length <= 15) return [digits.replace(/\B(?=(\d{3})+$)/g, ','), true];
  const power = String(digits.length - 1).replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]);
  return [`${digits[0]}.${digits.slice(1, 3)} × 10${power}`, false];
}
export const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u202f');

export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not allowed';
  }
  setTimeout(() => { button.textContent = before; }, 1200);
}

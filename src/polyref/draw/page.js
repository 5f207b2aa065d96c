const all = (root, selector) => [...root.querySelectorAll(selector)];

// A row that is pointed at shows its path in the map; a click keeps it.
function show(row) {
  const one = row.closest('.one'), svg = one.querySelector('svg'), { nodes, reference, way } = row.dataset;
  all(one, '.on').forEach((part) => part.classList.remove('on'));
  svg.classList.toggle('dim', reference !== undefined);
  const parts = nodes.split(' ').map((node) => `[data-node="${node}"]`);
  parts.push(way === undefined ? `[data-reference="${reference}"]` : `[data-way="${way}"]`);
  all(svg, parts.join()).concat(row).forEach((part) => part.classList.add('on'));
}
const kept = new Map();
const row_at = (event) => event.target.closest('tr[data-nodes]');
for (const name of ['mouseover', 'focusin', 'click']) {
  document.addEventListener(name, (event) => {
    const row = row_at(event);
    if (!row) return;
    if (name === 'click') kept.set(row.closest('.one'), row);
    show(row);
  });
}
document.addEventListener('mouseout', (event) => {
  const row = row_at(event);
  if (!row || row.contains(event.relatedTarget)) return;
  const one = row.closest('.one'), back = kept.get(one) || one.querySelector('tr[data-way]');
  if (back) show(back);
});

// A small screen shows the first map at once.
const how = document.querySelector('details:not(.one)');
if (how && matchMedia('(max-width: 40rem)').matches) how.open = false;

// Search and filters: an example is there if its text has every word, and if every filter is unset or fits.
const form = document.querySelector('.find');
if (form) {
  const ones = all(document, '.one'), links = all(document, 'nav a');
  const texts = ones.map((one) => all(one, 'summary, table').map((part) => part.textContent).join(' ').toLowerCase());
  const choices = all(form, 'select'), words = form.querySelector('input');
  const refresh = () => {
    const wanted = words.value.toLowerCase().split(/\s+/);
    let count = 0;
    ones.forEach((one, n) => {
      const values = one.dataset.facets.split(' ');
      const fits = choices.every((choice, c) => !choice.value || choice.value === values[c]);
      const found = fits && wanted.every((word) => texts[n].includes(word));
      one.hidden = links[n].hidden = !found;
      count += found;
    });
    form.querySelector('output').textContent = `${count} of ${ones.length}`;
  };
  form.addEventListener('input', refresh);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.querySelector('button').addEventListener('click', () => {
    const open = ones.some((one) => !one.hidden && !one.open);
    ones.forEach((one) => { if (!one.hidden) one.open = open; });
  });
  const open_target = () => {
    const one = location.hash && document.getElementById(location.hash.slice(1));
    if (one) one.open = true;
  };
  window.addEventListener('hashchange', open_target);
  form.hidden = false;
  refresh();
  open_target();
}

// Steps: one at a time.
const stepper = document.querySelector('.stepper');
if (stepper) {
  const steps = all(document, 'figure'), slider = stepper.querySelector('input');
  const go = (to) => {
    slider.value = to;
    steps.forEach((step, n) => { step.hidden = n !== Number(slider.value); });
  };
  const tallest = Math.max(...steps.map((step) => step.offsetHeight));
  steps.forEach((step) => { step.style.minHeight = `${tallest}px`; });
  slider.addEventListener('input', () => go(slider.value));
  all(stepper, 'button').forEach((button, n) => {
    button.addEventListener('click', () => go(Number(slider.value) + (n ? 1 : -1)));
  });
  stepper.hidden = false;
  go(0);
}

const svg = document.querySelector('.map svg'), items = [...document.querySelectorAll('li')];
const mark = (selector) => svg.querySelectorAll(selector).forEach((part) => part.classList.add('on'));
function show(item) {
  document.querySelectorAll('.on').forEach((part) => part.classList.remove('on'));
  svg.classList.toggle('dim', item.dataset.reference !== undefined);
  item.classList.add('on');
  item.dataset.nodes.split(' ').forEach((node) => mark(`[data-node="${node}"]`));
  if (item.dataset.way !== undefined) mark(`[data-way="${item.dataset.way}"]`);
  else mark(`[data-reference="${item.dataset.reference}"]`);
}
let kept = items.find((item) => item.dataset.way !== undefined);
items.forEach((item) => {
  item.addEventListener('mouseenter', () => show(item));
  item.addEventListener('focus', () => show(item));
  item.addEventListener('click', () => show(kept = item));
  item.addEventListener('mouseleave', () => kept && show(kept));
});
if (kept) show(kept);

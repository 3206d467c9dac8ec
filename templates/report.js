(() => {
  'use strict';
  const collator = new Intl.Collator('en', { numeric: true });

  // What a row is sorted by in a column: a number where the page tells one, else its text; nothing for a dash.
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    return text === '' || text === '–' ? null : text;
  };

  const compare = (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return collator.compare(String(a), String(b));
  };

  // Rows without a value are last, whichever way the others go.
  const order = (column, way) => (a, b) => {
    const [one, other] = [key(a, column), key(b, column)];
    if (one === null || other === null) return (one === null) - (other === null);
    return way * compare(one, other);
  };

  const NEXT = { none: 'ascending', ascending: 'descending', descending: 'none' };

  const sortable = (table) => {
    const body = table.tBodies[0];
    const head = table.tHead && table.tHead.rows[0];
    if (!body || !head || body.rows.length < 2) return;
    const original = [...body.rows];
    [...head.cells].forEach((cell, column) => {
      if (!cell.textContent.trim()) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.title = 'Sort by this column';
      button.append(...cell.childNodes);
      cell.append(button);
      cell.setAttribute('aria-sort', 'none');
      button.addEventListener('click', () => {
        const state = NEXT[cell.getAttribute('aria-sort')];
        for (const other of head.cells) {
          if (other.hasAttribute('aria-sort')) other.setAttribute('aria-sort', 'none');
        }
        cell.setAttribute('aria-sort', state);
        const rows = [...original];
        if (state !== 'none') rows.sort(order(column, state === 'ascending' ? 1 : -1));
        body.append(...rows);
      });
    });
  };

  // A row is found by its names, which are its cells that are not figures.
  const names = (row) => {
    const cells = [...row.cells].filter((cell) => !cell.classList.contains('r'));
    return (cells.length ? cells : [...row.cells]).map((cell) => cell.textContent).join(' ').toLowerCase();
  };

  const filter = (form, tables) => {
    const input = form.querySelector('input');
    const output = form.querySelector('output');
    const folds = [...document.querySelectorAll('details[data-cell]')];
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const has = (text) => words.every((word) => text.includes(word));
      tables.forEach((table, at) => {
        const rows = table.tBodies[0] ? [...table.tBodies[0].rows] : [];
        let shown = 0;
        for (const row of rows) {
          row.hidden = !has(names(row));
          if (!row.hidden) shown += 1;
        }
        if (at === 0) output.textContent = words.length ? `${shown} of ${rows.length} rows of the first table` : '';
      });
      for (const fold of folds) fold.hidden = !has(fold.dataset.cell.toLowerCase());
    };
    input.addEventListener('input', apply);
    form.addEventListener('submit', (event) => event.preventDefault());
    form.hidden = false;
    apply();
  };

  const tables = [...document.querySelectorAll('table.rows')];
  tables.forEach(sortable);
  const form = document.querySelector('.filter');
  if (form && tables.length) filter(form, tables);
})();

// Ask the server. Of what is asked again and again, as while a slider moves, only the latest matters.

export async function ask(path, body, signal) {
  const options = body === undefined ? {} : {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  };
  const answer = await fetch(path, { ...options, signal });
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Error(said.error || `the server says ${answer.status}`);
  }
  return answer;
}

const PATIENCE = 400; // milliseconds until an answer that is out of date is given up

// Asks one thing at a time. While it waits, a newer question takes the place of the one that comes next.
export class Latest {
  constructor(path, show, fail) {
    Object.assign(this, { path, show, fail, next: null, running: null });
  }

  ask(body) {
    this.next = body;
    if (!this.running) this.run();
    else if (performance.now() - this.since > PATIENCE) this.running.abort();
    else setTimeout(() => { if (this.next === body && this.running) this.running.abort(); }, PATIENCE);
  }

  async run() {
    while (this.next) {
      const body = this.next;
      this.next = null;
      this.running = new AbortController();
      this.since = performance.now();
      try {
        const answer = await (await ask(this.path, body, this.running.signal)).json();
        this.show(answer, body);
      } catch (error) {
        if (error.name !== 'AbortError' && !this.next) this.fail(error);
      }
    }
    this.running = null;
  }
}

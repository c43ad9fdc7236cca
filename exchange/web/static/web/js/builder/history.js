// One history for text and builder: up to 100 states {root, text, said}. Quick changes of one thing
// are one step; of a text that is typed, every state that was right is one.

const LIMIT = 100;
const ONE_STEP_MS = 1200;

export class History {
  constructor(state) {
    this.restart(state);
  }

  restart(state) {
    Object.assign(this, { states: [state], at: 0, key: null, time: 0 });
  }

  get now() {
    return this.states[this.at];
  }

  get canUndo() {
    return this.at > 0;
  }

  get canRedo() {
    return this.at < this.states.length - 1;
  }

  push(state, key = null) {
    const isQuick = key !== null && key === this.key && Date.now() - this.time < ONE_STEP_MS;
    const isSame = isQuick && !(state.isWrong && !this.now.isWrong);
    const kept = this.states.slice(0, isSame ? this.at : this.at + 1);
    this.states = [...kept, state].slice(-LIMIT - 1);
    Object.assign(this, { at: this.states.length - 1, key, time: Date.now() });
  }

  // Says what was undone or redone; null where there is nothing.
  go(step) {
    if (!this.states[this.at + step]) return null;
    const { said } = this.states[step < 0 ? this.at : this.at + 1];
    Object.assign(this, { at: this.at + step, key: null });
    return said;
  }
}

interface ModelValidator {
  readonly address: string
  power: number
  priority: number
}

/**
 * CometBFT's proposer rotation once more, written as its code runs: objects changed in place, a list that is sorted anew,
 * double-precision numbers, exact for powers up to a million.
 */
export class ModelValidators {
  #list: ModelValidator[] = []
  proposer = ''

  /** @returns false when the changes are refused, and nothing has changed */
  change(changes: readonly { readonly address: string; readonly power: number }[]): boolean {
    const find = (address: string) => this.#list.find((validator) => validator.address === address)
    if (new Set(changes.map(({ address }) => address)).size < changes.length) return false
    const removed = changes.filter(({ power }) => power === 0)
    if (removed.some(({ address }) => find(address) === undefined)) return false
    const added = changes.filter(({ address, power }) => power > 0 && find(address) === undefined)
    if (added.length === 0 && removed.length === this.#list.length) return false

    for (const { address, power } of changes) {
      const validator = find(address)
      if (validator !== undefined && power > 0) validator.power = power
    }
    const total = this.#total() + added.reduce((sum, { power }) => sum + power, 0)
    for (const { address, power } of added) {
      this.#list.push({ address, power, priority: -(total + Math.floor(total / 8)) })
    }
    this.#list = this.#list.filter(({ address }) => !removed.some((one) => one.address === address))
    this.#normalize()
    this.#list.sort((a, b) => b.power - a.power || (a.address < b.address ? -1 : 1))
    return true
  }

  turn(times: number): void {
    this.#normalize()
    for (let i = 0; i < times; i++) {
      for (const validator of this.#list) validator.priority += validator.power
      const [winner] = [...this.#list].sort((a, b) => b.priority - a.priority || (a.address < b.address ? -1 : 1))
      winner!.priority -= this.#total()
      this.proposer = winner!.address
    }
  }

  toString(): string {
    return this.#list.map(({ address, priority }) => `${address} ${priority === 0 ? 0 : priority}`).join()
  }

  #total(): number {
    return this.#list.reduce((sum, { power }) => sum + power, 0)
  }

  #normalize(): void {
    const priorities = this.#list.map(({ priority }) => priority)
    const distance = Math.max(...priorities) - Math.min(...priorities)
    const ratio = Math.ceil(distance / (2 * this.#total()))
    if (ratio > 1) for (const validator of this.#list) validator.priority = Math.trunc(validator.priority / ratio)
    const sum = this.#list.reduce((total, { priority }) => total + priority, 0)
    const average = Math.floor(sum / this.#list.length)
    for (const validator of this.#list) validator.priority -= average
  }
}

/** A genesis that no node can start from. The message names the place inside the file. */
export class GenesisError extends Error {
  override readonly name = 'GenesisError'

  constructor(place: string, problem: string) {
    super(place === '' ? `genesis: ${problem}` : `genesis: ${place}: ${problem}`)
  }
}

import { decodeLightBlock, type LightBlock } from '../../chain/comet/lightBlock.ts'
import { ConsensusDecodingError } from '../../chain/comet/wire.ts'
import { type HeightBounds, type LightBlockSource, LightClientError } from './lightBlockSource.ts'

/**
 * Asks a peer for the encoded light block of a height, or the nearest one above it that the peer
 * has; undefined when there is no such block. Rejects when the peer does not answer.
 */
export type ReadPeerLightBlock = (height: number) => Promise<Uint8Array | undefined>

/** Light blocks of a peer, which may have dropped most old ones. */
export class PeerSource implements LightBlockSource {
  readonly name: string
  readonly isStranger = true
  readonly #read: ReadPeerLightBlock
  /** the newest answer: a light block that was found by {@link nearest} is then fetched */
  #newest: LightBlock | undefined

  /** @param id of the peer */
  constructor(id: string, read: ReadPeerLightBlock) {
    this.name = `peer ${id}`
    this.#read = read
  }

  async fetch(height: number, signal: AbortSignal): Promise<LightBlock | undefined> {
    if (this.#newest?.header.height === height) return this.#newest
    const block = await this.#ask(height, signal)
    return block?.header.height === height ? block : undefined
  }

  /**
   * Returns the nearest height above `height`; if the peer has no such block, one between `from`
   * and it, found by a few requests.
   */
  async nearest(height: number, { from, to }: HeightBounds, signal: AbortSignal): Promise<number | undefined> {
    let asked = height
    while (true) {
      const found = (await this.#ask(asked, signal))?.header.height
      if (found !== undefined && found < to) return found
      if (asked <= from + 1) return undefined
      asked = from + Math.max(1, Math.floor((asked - from) / 2))
    }
  }

  async #ask(height: number, signal: AbortSignal): Promise<LightBlock | undefined> {
    signal.throwIfAborted()
    let bytes: Uint8Array | undefined
    try {
      bytes = await this.#read(height)
    } catch (cause) {
      throw new LightClientError(
        'unavailable',
        `${this.name} did not return a light block: ${(cause as Error).message}`,
        { cause },
      )
    }
    signal.throwIfAborted()
    if (bytes === undefined) return undefined
    const block = this.#decode(bytes, height)
    if (block.header.height < height) {
      throw new LightClientError(
        'invalid',
        `${this.name} returned a light block of height ${block.header.height} instead of ${height}`,
      )
    }
    this.#newest = block
    return block
  }

  #decode(bytes: Uint8Array, height: number): LightBlock {
    try {
      return decodeLightBlock(bytes)
    } catch (error) {
      if (!(error instanceof ConsensusDecodingError)) throw error
      throw new LightClientError(
        'invalid',
        `${this.name} returned an invalid light block of height ${height}: ${error.message}`,
      )
    }
  }
}

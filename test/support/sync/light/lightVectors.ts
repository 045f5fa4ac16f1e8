import { readFileSync } from 'node:fs'
import { decodeLightBlock, type LightBlock } from '../../../../src/chain/comet/lightBlock.ts'

type Verdict = 'valid' | 'expired' | 'distrusted' | 'invalid'

type JsonObject = { readonly [key: string]: unknown }

/** Light blocks in base64 and what CometBFT 0.38.19's light client says of them; makeVectors.go writes them. */
interface Vectors {
  readonly chainId: string
  readonly trustingPeriodMs: number
  readonly maxClockDriftMs: number
  readonly verify: readonly {
    readonly name: string
    readonly trusted: string
    readonly untrusted: string
    readonly nowMs: number
    readonly verdict: Verdict
  }[]
  /** light blocks by height − 1 */
  readonly chains: readonly (readonly string[])[]
  readonly skipping: readonly {
    readonly name: string
    readonly chain: number
    readonly trusted: number
    readonly target: number
    readonly nowMs: number
    readonly verdict: Verdict
    /** heights of the light blocks that were fetched after the target's */
    readonly asked: readonly number[]
  }[]
  /** what CometBFT's RPC answers about a block, by method, and the same block as bytes */
  readonly rpc: { readonly commit: JsonObject; readonly validators: JsonObject }
  readonly rpcBlock: string
}

export const VECTORS = JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8')) as Vectors

export function lightBlockOf(base64: string): LightBlock {
  return decodeLightBlock(Uint8Array.from(Buffer.from(base64, 'base64')))
}

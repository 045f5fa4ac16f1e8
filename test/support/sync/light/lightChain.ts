import { headerHash } from '../../../../src/chain/comet/block.ts'
import type { LightBlock } from '../../../../src/chain/comet/lightBlock.ts'
import type { ValidatorSet } from '../../../../src/chain/comet/types.ts'
import type { HeightBounds, LightBlockSource } from '../../../../src/sync/light/lightBlockSource.ts'
import { LightClient, type LightClientOptions, MAX_CLOCK_DRIFT_MS } from '../../../../src/sync/light/lightClient.ts'
import type { TrustRoot } from '../../../../src/sync/light/trustRoot.ts'
import { type ServedChain, verifyFake } from '../servedChain.ts'

/** A served chain as a light client sees it. */
export interface LightChain {
  readonly chainId: string
  readonly root: TrustRoot & { readonly kind: 'genesis' }
  /** by height − 1 */
  readonly blocks: readonly LightBlock[]
  readonly hash: (height: number) => Uint8Array
  /** after its last block */
  readonly nowMs: number
}

export function lightChain({ states, decided }: ServedChain): LightChain {
  const [genesis] = states
  const blocks = decided.map(({ block, seenCommit }, index): LightBlock => {
    const { validators, totalPower }: ValidatorSet = states[index]!.validators
    return { header: block.header, commit: seenCommit, validators: { validators, totalPower } }
  })
  return {
    chainId: genesis!.chainId,
    root: { kind: 'genesis', timeMs: genesis!.lastBlockTimeMs, validators: genesis!.validators },
    blocks,
    hash: (height) => headerHash(blocks[height - 1]!.header),
    nowMs: blocks.at(-1)!.header.timeMs + 1_000,
  }
}

/** A source that serves these blocks, and the heights that it was asked for. */
export function sourceOf(
  name: string,
  at: (height: number) => LightBlock | undefined,
  nearest?: (height: number, bounds: HeightBounds) => number | undefined,
): LightBlockSource & { readonly asked: number[] } {
  const asked: number[] = []
  return {
    name,
    asked,
    fetch: async (height) => {
      asked.push(height)
      return at(height)
    },
    ...(nearest && { nearest: async (height: number, bounds: HeightBounds) => nearest(height, bounds) }),
  }
}

export function honestSource(name: string, { blocks }: Pick<LightChain, 'blocks'>) {
  return sourceOf(name, (height) => blocks[height - 1])
}

/** A source that has only these heights, and says which of them is nearest. */
export function prunedSource(name: string, { blocks }: Pick<LightChain, 'blocks'>, kept: readonly number[]) {
  return sourceOf(
    name,
    (height) => (kept.includes(height) ? blocks[height - 1] : undefined),
    (height, { from, to }) =>
      kept
        .filter((other) => other > from && other < to)
        .sort((a, b) => Math.abs(a - height) - Math.abs(b - height))
        .at(0),
  )
}

/** A client with an hour's trusting period, and the warnings that it gives. */
export function clientOf(
  { chainId, root, nowMs }: LightChain,
  options: Pick<LightClientOptions, 'sources'> & Partial<LightClientOptions>,
): LightClient & { readonly warnings: string[] } {
  const warnings: string[] = []
  const client = new LightClient({
    rules: {
      chainId,
      trustingPeriodMs: 3_600_000,
      maxClockDriftMs: MAX_CLOCK_DRIFT_MS,
      verifySignature: verifyFake,
    },
    root,
    nowMs: () => nowMs,
    onWarning: (message) => warnings.push(message),
    ...options,
  })
  return Object.assign(client, { warnings })
}

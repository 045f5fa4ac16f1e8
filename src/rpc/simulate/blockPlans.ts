import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import { RPC_CODES, RpcError } from '../jsonrpc/errors.ts'
import type { BlockOverrides, CallRequest, StateOverrides } from '../params/callRequest.ts'

/** A block as a request describes it. */
export interface RequestedBlock {
  readonly blockOverrides?: BlockOverrides | undefined
  readonly stateOverrides?: StateOverrides | undefined
  readonly calls?: readonly CallRequest[] | undefined
}

/** A block to simulate, with its number and time resolved. */
export interface BlockPlan {
  readonly number: number
  /** whole seconds */
  readonly timestamp: number
  readonly overrides: BlockOverrides
  readonly stateOverrides: StateOverrides
  readonly calls: readonly CallRequest[]
}

/** Most blocks of one request, including those that fill gaps. */
const MAX_BLOCKS = 256
const MAX_CALLS_OF_BLOCK = 5_000
const MAX_CALLS = 10_000

/**
 * Returns the blocks of a request in order, with empty ones where numbers leave a gap (geth:
 * simulator.sanitizeChain).
 * @param secondsPerBlock between blocks whose time is not given
 * @throws RpcError when there are too many, or numbers or times do not rise
 */
export function planBlocks(
  requested: readonly RequestedBlock[],
  base: Pick<EthereumHeader, 'number' | 'timestamp'>,
  secondsPerBlock: number,
): readonly BlockPlan[] {
  checkSize(requested)
  const plans: BlockPlan[] = []
  let last: Pick<BlockPlan, 'number' | 'timestamp'> = base
  const add = (plan: BlockPlan): void => {
    plans.push(plan)
    last = plan
  }
  for (const { blockOverrides: overrides = {}, stateOverrides = [], calls = [] } of requested) {
    const number = overrides.number ?? last.number + 1
    if (number <= last.number) {
      throw new RpcError(
        RPC_CODES.blockNumbersOutOfOrder,
        `block numbers must be in order: ${number} <= ${last.number}`,
      )
    }
    if (number - base.number > MAX_BLOCKS) throw tooMany('blocks')
    while (last.number + 1 < number) {
      const timestamp = last.timestamp + secondsPerBlock
      add({ number: last.number + 1, timestamp, overrides: {}, stateOverrides: [], calls: [] })
    }
    const timestamp = overrides.time ?? last.timestamp + secondsPerBlock
    if (timestamp <= last.timestamp) {
      throw new RpcError(
        RPC_CODES.blockTimesOutOfOrder,
        `block timestamps must be in order: ${timestamp} <= ${last.timestamp}`,
      )
    }
    add({ number, timestamp, overrides, stateOverrides, calls })
  }
  return plans
}

function checkSize(requested: readonly RequestedBlock[]): void {
  if (requested.length === 0) throw new RpcError(RPC_CODES.invalidParams, 'empty input')
  if (requested.length > MAX_BLOCKS) throw tooMany('blocks')
  const counts = requested.map(({ calls = [] }) => calls.length)
  if (counts.some((count) => count > MAX_CALLS_OF_BLOCK)) throw tooMany('calls in block')
  if (counts.reduce((sum, count) => sum + count, 0) > MAX_CALLS) throw tooMany('calls')
}

function tooMany(what: string): RpcError {
  return new RpcError(RPC_CODES.clientLimitExceeded, `too many ${what}`)
}

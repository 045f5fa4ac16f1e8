import type { Log } from '../../chain/block/receipt.ts'
import type { Tracer } from '../../evm/tracer.ts'
import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, hexToBytes, padLeft } from '../../primitives/bytes.ts'

/** ERC-7528: the address that represents the chain's own coin. */
const COIN_ADDRESS = hexToBytes('0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE')
/** keccak256 of `Transfer(address,address,uint256)`. */
const TRANSFER = hexToBytes('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')

interface IndexedLog {
  readonly log: Log
  /** in the block */
  readonly index: number
}

/** Collects the logs of a simulated block's calls. */
export interface CallLogs {
  readonly tracer: Tracer
  /** Returns the logs of the call since the last `take`, without those of frames that failed. */
  take(): readonly IndexedLog[]
}

/**
 * Creates the collector.
 * @param withTransfers Transfers of the coin are logs too, as ERC-20's Transfer at ERC-7528's
 *   address; receipts do not have them. A log uses up an index even when its frame fails, as the
 *   cases of execution-apis require; geth 1.17.10 reuses these indexes.
 */
export function collectCallLogs(withTransfers: boolean): CallLogs {
  let frames: IndexedLog[][] = []
  let taken: readonly IndexedLog[] = []
  let count = 0
  const add = (log: Log): void => {
    frames.at(-1)?.push({ log, index: count++ })
  }
  return {
    tracer: {
      onEnter({ type, from, to, value }) {
        frames.push([])
        if (!withTransfers || type === 'DELEGATECALL' || type === 'CALLCODE' || value === undefined || value === 0n)
          return
        add(transferLog(from, to, value))
      },
      onExit({ error }) {
        const logs = frames.pop()
        if (logs === undefined || error !== undefined) return
        const outer = frames.at(-1)
        if (outer === undefined) taken = logs
        else for (const log of logs) outer.push(log)
      },
      onLog: add,
    },
    take: () => {
      const logs = taken
      taken = []
      frames = []
      return logs
    },
  }
}

function transferLog(from: Address, to: Address, amount: bigint): Log {
  return {
    address: COIN_ADDRESS,
    topics: [TRANSFER, padLeft(from, 32), padLeft(to, 32)],
    data: bigIntToBytes(amount, 32),
  }
}

import type { AccessListItem } from '../../src/chain/block/transaction.ts'
import type { Hardfork } from '../../src/chain/genesis/hardfork.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bigIntToBytes, bigIntToMinimalBytes, bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import type { Hash } from '../../src/primitives/hash.ts'
import { Journal } from '../../src/state/journal.ts'
import { putSchedule, VESTING_KINDS } from '../../src/state/vesting.ts'
import { MemoryStateReader } from '../support/state/memoryReader.ts'

/** An account of the state before. */
export interface FuzzAccount {
  readonly address: Address
  readonly nonce: bigint
  readonly balance: bigint
  readonly code: Uint8Array
  readonly storage: readonly (readonly [slot: bigint, value: bigint])[]
  /** acoin that are locked for ever; none by default */
  readonly locked?: bigint
}

/** A transaction from SENDER. */
export interface FuzzMessage {
  /** undefined creates a contract */
  readonly to: Address | undefined
  readonly value: bigint
  readonly data: Uint8Array
  readonly gasLimit: bigint
  readonly accessList: readonly AccessListItem[]
  readonly blobHashes: readonly Hash[]
}

/** One execution to compare: a state and transactions that run one after the other on one journal. */
export interface FuzzCase {
  /** which generator made it */
  readonly kind: string
  readonly fork: Hardfork
  /** whether the engine is asked to run in slices */
  readonly isSliced: boolean
  readonly accounts: readonly FuzzAccount[]
  readonly messages: readonly FuzzMessage[]
}

const PERMANENT_LOCK = { kind: VESTING_KINDS.PERMANENT, startTime: 0n, endTime: 0n, periods: [] }

export function stateOf({ accounts }: Pick<FuzzCase, 'accounts'>): MemoryStateReader {
  const state = new MemoryStateReader()
  for (const { address, nonce, balance, code, storage } of accounts) {
    state.setAccount(address, { nonce, balance, code })
    for (const [slot, value] of storage) {
      state.setStorage(address, bigIntToBytes(slot, 32), bigIntToMinimalBytes(value))
    }
  }
  const world = new Journal(state)
  for (const { address, locked = 0n } of accounts) {
    if (locked > 0n) putSchedule(world.native, address, { ...PERMANENT_LOCK, originalVesting: locked })
  }
  state.apply(world.changes())
  return state
}

/** The case as JSON, which {@link parseCase} reads. */
export function formatCase(fuzzCase: FuzzCase): string {
  return JSON.stringify(
    fuzzCase,
    (_key, value: unknown) => {
      if (typeof value === 'bigint') return `n${value}`
      return value instanceof Uint8Array ? bytesToHex(value) : value
    },
    1,
  )
}

export function parseCase(text: string): FuzzCase {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== 'string') return value
    if (value.startsWith('0x')) return hexToBytes(value)
    return /^n[0-9]+$/.test(value) ? BigInt(value.slice(1)) : value
  }) as FuzzCase
}
